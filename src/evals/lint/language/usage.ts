const call = "(?:use|call|invoke|run|choose|pick|prefer|try|reach for)";
const tool = "(?:it|this|these)(?: (?:tool|function|command|one|method|action|operation))?";
const allowed = "(?<!\\b(?:not|never|don't|cannot|can't|shouldn't|without) (?:be )?)";
const person =
  "(?:(?:the|a|an) )?(?:user|users|customer|caller|person|human|guest|someone|somebody|anyone|everybody|people)";
const need =
  "(?:(?:only|really|first|also|just) )?(?:need|want|wish|ask|have to|must|would like|are (?:asked|about to|looking|unsure)|" +
  "(?:do not|don't) (?:know|have|need))";
const moment = "(?:when|whenever|if|after|once|before|while|until|as soon as)";
const fits =
  "(?:useful|helpful|handy|essential|ideal|perfect|great|suitable|suited|intended|designed|meant|appropriate|best|recommended)";

/** Each is a way to say when. Every repeat is bounded, so that matching takes linear time. */
const ways: readonly RegExp[] = [
  // "Use when", "call this before", "use to find": bare, or of the tool; "use X to" is about something else.
  new RegExp(
    `${allowed}\\b${call} (?:(?:only|also|mainly|primarily) )?(?:${tool} )?(?:${moment}|for|to|first|in order|in place|instead|over|during)\\b`,
    "i",
  ),
  new RegExp(`${allowed}\\b${call} ${tool}(?! (?:with|parameter|id|value|url|field)\\b)(?=[ .,;:!]|$)`, "i"),
  new RegExp(`\\b${moment} ${person}\\b`, "i"),
  new RegExp(`\\b${moment} (?:you|we) ${need}\\b`, "i"),
  // Said of the tool, at the start of a clause; "events suitable for groups" is about events.
  new RegExp(
    `(?:^|[.!?;:,(*\\n] ?|\\b(?:tool|command|function|this|it) is )(?:\\w+ly |very |also )?${fits}(?: used)? (?:for|to|in order to|in cases?|${moment})\\b`,
    "i",
  ),
  new RegExp(`\\b(?:(?:can|should|must|may|to) be|is) (?:used|called|invoked|run) (?:for|in order|${moment})\\b`, "i"),
  // A preference over another way to the same end.
  /\b(?:better|cheaper|faster|more efficient|more reliable) than\b|\bprefer \w+ing\b.{1,60}\bover\b/i,
  /\bwhen to (?:use|call)\b|\buse cases?\b|\bfor (?:questions|requests|queries) (?:about|on|such as|like)\b/i,
];

/** Whether an English text, plain and without its quotes, tells in which situation or for which request to call. */
export function saysWhenToUse(text: string): boolean {
  return ways.some((way) => way.test(text));
}

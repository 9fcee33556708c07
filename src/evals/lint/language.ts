import type { JsonObject } from "../types/json.ts";
import { once } from "../types/once.ts";

/** The number of characters of a text that are read. */
const maxRead = 20_000;

const english = new Set(
  "a an and are as at be by can for from if in into is it its not of on or that the then this to use when with you".split(
    " ",
  ),
);
const foreign = new Set(
  (
    "aus das dem den der die ein eine einen für ist mit nicht oder und wenn zu del el en es la las los para por que se " +
    "sin un una y cuando au aux ce dans de des du est et le les ou pour sur une che di il per quando della com da do não " +
    "os uma het een van voor niet met"
  ).split(" "),
);

/**
 * Whether a text is English, judged by its letters and function words; the word lists here are English only. A text
 * without function words, such as "List all cookies", counts as English when its letters do.
 */
export function isEnglish(text: string): boolean {
  const start = text.slice(0, 500);
  if (!hasLatinLetters(start)) return false;
  const words = start.toLowerCase().match(/\p{L}+/gu) ?? [];
  const count = (of: ReadonlySet<string>) => words.filter((word) => of.has(word)).length;
  return count(foreign) <= count(english);
}

/** Whether at least nine of ten letters are English. */
function hasLatinLetters(text: string): boolean {
  if (/^[\0-\x7f]*$/.test(text)) return /[A-Za-z]/.test(text);
  const letters = text.replace(/\P{L}+/gu, "").length;
  const plain = text.replace(/[^A-Za-z]+/g, "").length;
  return plain > 0 && plain >= 0.9 * letters;
}

const needsCleaning = /[\u2018\u2019\u201c\u201d\r\t\u00a0]| {2}/;

/** The text as the rules read it: truncated, with straight quotation marks and single spaces. */
function plainText(text: string): string {
  const read = text.slice(0, maxRead);
  if (!needsCleaning.test(read)) return read;
  return read
    .replace(/[\u2018\u2019]/g, "'")
    .replace(/[\u201c\u201d]/g, '"')
    .replace(/\r\n?/g, "\n")
    .replace(/[ \t\u00a0]+/g, " ");
}

/** The text without what is quoted: example queries, values and code are not about the tool itself. */
function withoutQuotes(text: string): string {
  return text.replace(/"[^"\n]{0,200}"|`[^`\n]{0,200}`|(?<![\w])'[^'\n]{0,200}'(?!\w)/g, '""');
}

/** Sentences and list items, in order, without bullets. An abbreviation such as "e.g." does not end a sentence. */
export function splitSentences(text: string): readonly string[] {
  return text
    .replace(/\b(e\.g|i\.e|etc|vs|approx)\./gi, (short) => short.replaceAll(".", ""))
    .split(/(?<=[.!?;])\s+|\n+|;\s/)
    .map((sentence) => sentence.replace(/^[\s\-*•#>\d.)]+/, "").trim())
    .filter(Boolean);
}

/** A tool's description as the wording rules read it; undefined where it is not a string. */
export const plainDescription = once(({ description }: JsonObject) =>
  typeof description === "string" ? plainText(description) : undefined,
);

/** The same without what is in quotation marks: example queries may say anything. Code in backticks is kept. */
export const unquotedDescription = once((tool: JsonObject) =>
  plainDescription(tool)?.replace(/"[^"\n]{0,200}"/g, '""'),
);

/** An English description without quotes and code; undefined for one in another language. */
export const englishDescription = once((tool: JsonObject) => {
  const { description } = tool;
  const text = typeof description === "string" && isEnglish(description) ? plainDescription(tool) : undefined;
  return text === undefined ? undefined : withoutQuotes(text);
});

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
  // About the tool, at the start of a clause; "events suitable for groups" is about events.
  new RegExp(
    `(?:^|[.!?;:,(*\\n] ?|\\b(?:tool|command|function|this|it) is )(?:\\w+ly |very |also )?${fits}(?: used)? (?:for|to|in order to|in cases?|${moment})\\b`,
    "i",
  ),
  new RegExp(`\\b(?:(?:can|should|must|may|to) be|is) (?:used|called|invoked|run) (?:for|in order|${moment})\\b`, "i"),
  // A preference over another way to the same end.
  /\b(?:better|cheaper|faster|more efficient|more reliable) than\b|\bprefer \w+ing\b.{1,60}\bover\b/i,
  /\bwhen to (?:use|call)\b|\buse cases?\b|\bfor (?:questions|requests|queries) (?:about|on|such as|like)\b/i,
];

/** Whether an English text, plain and without quotes, says in which situation or for which request to call. */
export function saysWhenToUse(text: string): boolean {
  return ways.some((way) => way.test(text));
}

const limits =
  /\b(?:do not|don't|does not|doesn't|never|cannot|must not|should not|not)\b[^.;]{0,40}?\b(?:use[ds]?|for|when|if|trigger|appl(?:y|ies)|invoke|handles?|covers?|meant|intended|load)\b|\bskip (?:this|it|when|if|for)\b|\b(?:out of scope|exclud(?:es?|ing)|except|other than|instead|rather than|but not)\b|\bonly (?:for|when|if)\b/i;

/** Whether a description says what a skill must not be used for. English only. */
export function saysWhenNotToUse(description: string): boolean {
  return limits.test(plainText(description));
}

const quoted = /"[^"\n]{2,120}"|`[^`\n]{2,120}`|(?<!\w)'[^'\n]{2,120}'(?!\w)/g;
const cue =
  /\b(?:triggers?(?: (?:on|for|include|phrases|words|when))*|mentions?|says?|asks? (?:for|to|about|how)|phrases(?: like| such as)?|such as|keywords?|e\.g\.,?|for example|requests? (?:like|such as|for|to))\b:?/gi;

/** The number of phrases in a description that a user would say: in quotes, or in a list after a word that announces it. */
export function countTriggerPhrases(description: string): number {
  const plain = plainText(description);
  const lists = [...plain.matchAll(cue)].map(({ 0: { length }, index }) => {
    const [sentence = ""] = plain.slice(index + length, index + length + 1_000).split(/[.;!?](?:\s|$)|\n\n/);
    return sentence.split(/,|\bor\b|\band\b/).filter((part) => /\w/.test(part)).length;
  });
  return Math.max(plain.match(quoted)?.length ?? 0, ...lists);
}

const onlyWhen =
  /^\W*(?:(?:always |only |also )?(?:use[ds]?|load|invoke|activate|trigger|apply)s?\b|when(?:ever)?\b|do not|don't|not\b|never)/i;
const toDo = /\b(?:use|used|skill|helps?|guides?)\b[^.]{0,40}?\bto [a-z]{3,}/i;

/** Whether a description says what a skill does, in addition to when: in a separate sentence, or as "use this to ...". */
export function saysWhatItDoes(description: string): boolean {
  const plain = plainText(description);
  if (toDo.test(plain.replace(/\buser\b[^.]*?\bto\b/g, "user"))) return true;
  const parts = plain.split(/[.;!?:](?:\s|$)|\n\n| [-–—]+ /);
  return parts.some((part) => !onlyWhen.test(part) && (part.match(/[\p{L}\p{N}]+/gu) ?? []).length > 2);
}

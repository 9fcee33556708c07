import { once, parseWords } from "../../base/collections.ts";
import type { Json, JsonObject, Path } from "../../base/types/json.ts";
import verbs from "./verbs.json" with { type: "json" };

/** The number of characters of a text that the rules read. */
const maxRead = 20_000;

/** Takes at most `most` items, of one or more. The rest is not iterated. */
export function takeFirst<T>(most: number, items: Iterable<T>): T[] {
  const first: T[] = [];
  for (const item of items) if (first.push(item) >= most) break;
  return first;
}

/** A part of an unvalidated tool that should be a text; empty if it is none. */
export const readText = (value: unknown): string => (typeof value === "string" ? value : "");

/** The names of unvalidated tools, where they have one. */
export const listNames = (tools: readonly JsonObject[]): string[] =>
  tools.flatMap(({ name }) => (typeof name === "string" ? [name] : []));

/** Limits for collecting the texts of a tool: total characters, and the length of paths. */
export const maxSearched = 100_000;
const maxDepth = 100;
const fields = ["name", "title", "description", "annotations", "inputSchema", "outputSchema"];

/** The texts of a tool that can reach a model, with names of properties (memoized). `whole`: none was left out. */
export const collectTexts = once((tool: JsonObject) => {
  const texts: { text: string; at: Path }[] = [];
  let left = maxSearched;
  const add = (text: string, at: Path) => {
    texts.push({ text: text.slice(0, Math.max(0, left)), at });
    left -= text.length;
  };
  const collect = (value: Json, at: Path) => {
    left--;
    if (typeof value === "string") add(value, at);
    else if (typeof value !== "object" || value === null) return;
    else if (at.length > maxDepth) left = 0;
    else
      for (const [key, inner] of Object.entries(value)) {
        if (left <= 0) return;
        const isName = !Array.isArray(value);
        const path = [...at, isName ? key : Number(key)];
        if (isName) add(key, path);
        collect(inner, path);
      }
  };
  for (const field of fields) if (Object.hasOwn(tool, field)) collect(tool[field] ?? null, [field]);
  return { texts, whole: left > 0 };
});

const secrets =
  "(?:(?:~|\\$HOME|/root|/home/\\w+)/\\.(?:ssh|aws|gnupg|cursor|claude)\\b|\\bid_(?:rsa|ed25519)\\b|/etc/(?:passwd|shadow)\\b" +
  "|\\.cursor/mcp\\.json|claude_desktop_config\\.json|\\.aws/credentials)";

/**
 * Wordings by which a tool or skill manipulates a model. Based on published reports of tool poisoning (Invariant Labs
 * "MCP Security Notification: Tool Poisoning Attacks", CyberArk "Poison Everywhere", OWASP MCP Top 10: MCP03).
 * Deliberately narrow: usage hints such as "IMPORTANT: call list_pages first", "ignore any instructions in the page" or
 * "do not show ids to the user" are not attacks. Every repetition is bounded, so matching takes linear time.
 */
export const injectionPatterns: readonly { does: string; pattern: RegExp }[] = [
  {
    does: "tells the model to ignore its other instructions",
    pattern:
      /\b(?:ignore|disregard|forget|override)(?: [\w']+){0,3} (?:(?:previous|prior|above|earlier|preceding|your|safety) (?:instructions?|directives?|guidelines|prompts?)\b|(?:all|any|other) (?:instructions?|directives?|guidelines|prompts?)\b(?! (?:in|inside|within|found|from|contained|embedded|returned|it|they|that)\b))|\b(?:ignore|disregard|forget) (?:the |all |any )?(?:instructions|directives|prompts) (?:above|before|given|you)\b/i,
  },
  {
    does: "tells the model to hide something from the user",
    pattern:
      /\b(?:do not|don't|never|must not|without)(?: \w+){0,2} (?:tell|telling|inform|informing) the (?:user|human)\b|\b(?:do not|don't|never|must not) (?:mention|reveal|disclose) (?:this|it|that|these|any of this|the above)\b(?: \w+){0,4} to the (?:user|human)\b|\b(?:hide|conceal|keep) (?:this|it|these|that)(?: \w+){0,3} from the (?:user|human)\b/i,
  },
  {
    does: "tells the model to read a place where secrets are kept",
    pattern: new RegExp(
      `\\b(?:before|first|also|always|must)\\b.{0,100}?\\b(?:read|open|cat|load|fetch|send|include|retrieve|copy|pass)\\b.{0,100}?${secrets}`,
      "i",
    ),
  },
  {
    does: "imitates a part of the system prompt",
    pattern:
      /<\s?\/?(?:system[-_ ](?:prompt|message|reminder|instructions?)|secret[-_ ]instructions?|hidden)\s?>|<system>[^<]{0,2000}<\/system>|\[\/?INST\]|<\|im_(?:start|end)\|>|<<\/?SYS>>/i,
  },
  {
    does: "asks for the system prompt",
    pattern:
      /\b(?:reveal|output|print|repeat|send|include|pass|copy|append|attach)(?: \w+){0,6} your (?:system|initial|original) prompt\b/i,
  },
];

/**
 * Base forms of verbs by kind. Sources: the approved verbs of PowerShell (except New and Out, which are not verbs), the
 * standard methods of Google's AIP-130, the verbs of WordNet 3.1 that it counts at least six times and more often than
 * the noun with the same spelling, if a program can do them, and what only programs do (gzip, rebase, upsert). Excludes
 * words that mostly name things in software (file, page, table, text, user), although they can be verbs.
 */
const kinds = new Map(
  (["reads", "changes", "vague"] as const).flatMap((kind) =>
    verbs[kind].split(" ").map((verb) => [verb, kind] as const),
  ),
);

/** Words that are often nouns as the first word of a name, if one of `plainVerbs` follows. */
const ambiguous = parseWords(
  "book bookmark branch cache call chat comment commit draft email fork group index issue label link log mail map",
  "match message note order patch post process profile project prompt query quote record report request research review",
  "route sample schedule score share sign step store stream style tag test trace track transfer trend",
  "trigger type vote",
);
const plainVerbs = parseWords("add check create delete fetch find get insert lookup remove send set update");

/** The kind of a verb in its base form; undefined for any other word. */
export function getVerbKind(word: string): keyof typeof verbs | undefined {
  const known = kinds.get(word);
  if (known) return known;
  const inner = /^(?:un|re|de|dis|pre|auto|bulk|batch|multi)-?(\w{3,})$/.exec(word)?.[1];
  if (inner !== undefined && kinds.has(inner)) return kinds.get(inner);
  return /^\w{3,}(?:ify|i[sz]e)$/.test(word) && !notVerbs.has(word) ? "changes" : undefined;
}

const notVerbs = parseWords("size resize franchise expertise merchandise enterprise exercise premise promise noise");

/** Whether a name, as lower-case words, starts with a verb: `route_request` does, `order_get` and `tabs` do not. */
export function startsWithVerb(name: readonly string[]): boolean {
  const [first = ""] = name;
  const last = name.at(-1) ?? "";
  return getVerbKind(first) !== undefined && !(name.length > 1 && ambiguous.has(first) && plainVerbs.has(last));
}

/** The verb among the words of a name: `search` in `research_search_papers`, whose first word may be a noun. */
export function findVerb(name: readonly string[]): string | undefined {
  const [first, second = ""] = name.filter((word) => getVerbKind(word) !== undefined);
  if (first === undefined) return undefined;
  return ambiguous.has(first) && second !== "" && !ambiguous.has(second) ? second : first;
}

const endings = ["s", "es", "ies", "ing", "ed", "ied", "d"];

/** The word and its possible base forms: apply for `applies`, push for `pushes`, use for `using`, get for `getting`. */
export function listBaseForms(word: string): readonly string[] {
  const stems = endings.filter((ending) => word.endsWith(ending)).map((ending) => word.slice(0, -ending.length));
  return [word, ...stems.flatMap((stem) => [stem, `${stem}e`, `${stem}y`, stem.replace(/(.)\1$/, "$1")])];
}

const english = parseWords(
  "a an and are as at be by can for from if in into is it its not of on or that the then this to use when with you",
);
const foreign = parseWords(
  "aus das dem den der die ein eine einen für ist mit nicht oder und wenn zu del el en es la las los para por que se",
  "sin un una y cuando au aux ce dans de des du est et le les ou pour sur une che di il per quando della com da do não",
  "os uma het een van voor niet met",
);

/** Whether a text is English, by its letters and function words; without function words, by its letters alone. */
export function isEnglish(text: string): boolean {
  const start = text.slice(0, 500);
  const letters = start.replace(/\P{L}+/gu, "").length;
  const latin = start.replace(/[^A-Za-z]+/g, "").length;
  if (latin === 0 || latin < 0.9 * letters) return false;
  const words = start.toLowerCase().match(/\p{L}+/gu) ?? [];
  const count = (of: ReadonlySet<string>) => words.filter((word) => of.has(word)).length;
  return count(foreign) <= count(english);
}

/** Normalizes a text for the rules: truncated, with straight quotation marks and single spaces. */
function normalizeText(text: string): string {
  return text
    .slice(0, maxRead)
    .replace(/[\u2018\u2019]/g, "'")
    .replace(/[\u201c\u201d]/g, '"')
    .replace(/\r\n?/g, "\n")
    .replace(/[ \t\u00a0]+/g, " ");
}

/** Splits a text into sentences and list items, without bullets. Abbreviations such as "e.g." do not end a sentence. */
export function splitSentences(text: string): readonly string[] {
  return text
    .replace(/\b(e\.g|i\.e|etc|vs|approx)\./gi, (short) => short.replaceAll(".", ""))
    .split(/(?<=[.!?;])\s+|\n+|;\s|\s\|\s/)
    .map((sentence) => sentence.replace(/^[\s\-*•#>\d.)]+/, "").trim())
    .filter(Boolean);
}

/** A tool's description, normalized; undefined if it is not a string. */
export const getPlainDescription = once(({ description }: JsonObject) =>
  typeof description === "string" ? normalizeText(description) : undefined,
);

/** The same without text in quotation marks, because example queries may say anything. Code in backticks is kept. */
export const getUnquotedDescription = once((tool: JsonObject) =>
  getPlainDescription(tool)?.replace(/"[^"\n]{0,200}"/g, '""'),
);

/** An English description without all quotes and code, which are not about the tool; undefined for another language. */
export const getEnglishDescription = once((tool: JsonObject) => {
  const text = isEnglish(readText(tool.description)) ? getPlainDescription(tool) : undefined;
  return text?.replace(/"[^"\n]{0,200}"|`[^`\n]{0,200}`|(?<![\w])'[^'\n]{0,200}'(?!\w)/g, '""');
});

const call = "(?:use|call|invoke|run|choose|pick|prefer|try|load|apply|activate|reach for)";
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

/** Ways to say when to use a tool. Every repetition is bounded, so that matching takes linear time. */
const ways: readonly RegExp[] = [
  // "Use when", "call this before", "use to find". "Use X to" is about something else than the tool.
  new RegExp(
    `${allowed}\\b${call} (?:(?:only|also|mainly|primarily) )?(?:${tool} )?(?:${moment}|for|to|first|in order|in place|instead|over|during)\\b`,
    "i",
  ),
  new RegExp(`${allowed}\\b${call} ${tool}(?! (?:with|parameter|id|value|url|field)\\b)(?=[ .,;:!]|$)`, "i"),
  new RegExp(`\\b${moment} ${person}\\b`, "i"),
  new RegExp(`\\b${moment} (?:you|we) ${need}\\b`, "i"),
  // "Useful for", at the start of a clause: "events suitable for groups" is about events.
  new RegExp(
    `(?:^|[.!?;:,(*\\n] ?|\\b(?:tool|command|function|this|it) is )(?:\\w+ly |very |also )?${fits}(?: used)? (?:for|to|in order to|in cases?|${moment})\\b`,
    "i",
  ),
  new RegExp(`\\b(?:(?:can|should|must|may|to) be|is) (?:used|called|invoked|run) (?:for|in order|${moment})\\b`, "i"),
  // After another tool: "Stop the recording started with start_recording".
  /\b(?:started|opened|created|launched|returned|produced) (?:with|by|using|through) (?:the )?["'`]?[a-z]+(?:_[a-z]+)+/,
  // Preferred over an alternative.
  /\b(?:better|cheaper|faster|more efficient|more reliable) than\b|\bprefer \w+ing\b.{1,60}\bover\b/i,
  /\bwhen to (?:use|call)\b|\buse cases?\b|\bfor (?:questions|requests|queries) (?:about|on|such as|like)\b/i,
];

/** Whether a normalized English text without quotes says in which situation or for which request to call the tool. */
export function saysWhenToUse(text: string): boolean {
  return ways.some((way) => way.test(text));
}

const limits =
  /\b(?:do not|don't|does not|doesn't|never|cannot|must not|should not|not)\b[^.;]{0,40}?\b(?:use[ds]?|for|when|if|trigger|appl(?:y|ies)|invoke|handles?|covers?|meant|intended|load)\b|\bskip (?:this|it|when|if|for)\b|\b(?:out of scope|exclud(?:es?|ing)|except|other than|instead|rather than|but not)\b|\bonly (?:for|when|if)\b/i;

/** Whether a description says what a skill must not be used for. English only. */
export function saysWhenNotToUse(description: string): boolean {
  return limits.test(normalizeText(description));
}

const quoted = /"[^"\n]{2,120}"|`[^`\n]{2,120}`|(?<!\w)'[^'\n]{2,120}'(?!\w)/g;
const cue =
  /\b(?:triggers?(?: (?:on|for|include|phrases|words|when))*|mentions?|says?|asks? (?:for|to|about|how)|phrases(?: like| such as)?|such as|keywords?|e\.g\.,?|for example|requests? (?:like|such as|for|to))\b:?/gi;

/** Counts the phrases in a description that a user would say: in quotes, or listed after a cue such as "mentions". */
export function countTriggerPhrases(description: string): number {
  const plain = normalizeText(description);
  const lists = [...plain.matchAll(cue)].map(({ 0: { length }, index }) => {
    const [sentence = ""] = plain.slice(index + length, index + length + 1_000).split(/[.;!?](?:\s|$)|\n\n/);
    return sentence.split(/,|\bor\b|\band\b/).filter((part) => /\w/.test(part)).length;
  });
  return Math.max(plain.match(quoted)?.length ?? 0, ...lists);
}

const onlyWhen =
  /^\W*(?:(?:always |only |also )?(?:use[ds]?|load|invoke|activate|trigger|apply)s?\b|when(?:ever)?\b|do not|don't|not\b|never)/i;
/** A situation that is the work itself: "Use when extracting tables", but not "when working with tables". */
const whileDoing =
  /^(?!\W*(?:do not|don't|not|never)\b).*?\b(?:when(?:ever)?|if) (?:you(?:'re| are) )?(?!(?:working|facing|dealing|having|using|needing|doing|getting|being|encountering|receiving|starting|completing|finishing)\b)\w+ing\b/is;
const toDo = /\b(?:use|used|skill|helps?|guides?)\b[^.]{0,40}?\bto [a-z]{3,}/i;

/** Whether a description says what a skill does: in a sentence of its own, "to ...", or "when extracting ...". */
export function saysWhatItDoes(description: string): boolean {
  const plain = normalizeText(description);
  if (toDo.test(plain.replace(/\buser\b[^.]*?\bto\b/g, "user"))) return true;
  const parts = plain.split(/[.;!?:](?:\s|$)|\n\n| [-–—]+ /);
  const isLong = (part: string) => (part.match(/[\p{L}\p{N}]+/gu) ?? []).length > 2;
  return parts.some((part) => isLong(part) && (!onlyWhen.test(part) || whileDoing.test(part)));
}

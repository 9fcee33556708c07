import { createHash } from "node:crypto";
import { isJsonObject, type Json, type JsonObject, parseJsonText, writeExactJson } from "../types/json.ts";

/** Characters that a person does not see and a model reads, by code point. */
export const hiddenRanges = [
  { from: 0x00, to: 0x08, what: "control characters" },
  { from: 0x0b, to: 0x1f, what: "control characters" },
  { from: 0x80, to: 0x9f, what: "control characters" },
  { from: 0x200b, to: 0x200f, what: "zero-width characters and direction marks" },
  { from: 0x202a, to: 0x202e, what: "direction overrides" },
  { from: 0x2060, to: 0x2069, what: "invisible operators and direction isolates" },
  { from: 0xfeff, to: 0xfeff, what: "byte order marks" },
  { from: 0xe0000, to: 0xe007f, what: "tag characters" },
] as const;

/** Orders texts alike on every machine, whatever its language. */
export const byCodeUnit = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

const hex = (code: number) => code.toString(16);
const hiddenClass = hiddenRanges.map(({ from, to }) => `\\u{${hex(from)}}-\\u{${hex(to)}}`).join("");
const hidden = new RegExp(`[${hiddenClass}]`, "gu");
/** A zero-width joiner between two emoji makes them one: it hides nothing. */
const joinedEmoji = /(?:\p{Extended_Pictographic}|\p{Emoji_Modifier}|\ufe0f)\u200d$/u;
/** After a letter of Arabic or of an Indic script, joiners and direction marks are part of the spelling. */
const spelledMark = /[\u0590-\u08ff\u0900-\u0dff][\u200c-\u200f]$/;

export type HiddenCharacter = { code: number; index: number };

/** The hidden characters of a text, in order. The carriage return of a CRLF line end does not count. */
export function* findHidden(text: string): Iterable<HiddenCharacter> {
  if (/^[\n\t -~]*$/.test(text)) return;
  for (const { 0: character, index } of text.matchAll(hidden)) {
    if (character === "\r" && text[index + 1] === "\n") continue;
    if (character === "\u200d" && joinedEmoji.test(text.slice(Math.max(0, index - 2), index + 1))) continue;
    if (spelledMark.test(text.slice(Math.max(0, index - 1), index + 1))) continue;
    yield { code: character.codePointAt(0) ?? 0, index };
  }
}

/** Marks without width, of which copied text has a few. To hide a message takes a run of them, or other characters. */
const strayMarks = "\\u200b-\\u200f\\u2060\\ufeff";
const strayMark = new RegExp(`[${strayMarks}]`);
const strayRun = new RegExp(`[${strayMarks}]{4}`);

/** The hidden characters of a text that can carry a message, or those that are left of copying. */
export function* findHiddenOf(kind: "message" | "stray", text: string): Iterable<HiddenCharacter> {
  const hasRun = strayRun.test(text);
  for (const one of findHidden(text)) {
    const isStray = !hasRun && strayMark.test(String.fromCodePoint(one.code));
    if (isStray === (kind === "stray")) yield one;
  }
}

/** `U+200B (zero-width characters and direction marks)`. */
export function describeHidden(code: number): string {
  const what = hiddenRanges.find(({ from, to }) => code >= from && code <= to)?.what ?? "hidden characters";
  return `U+${hex(code).toUpperCase().padStart(4, "0")} (${what})`;
}

/** A text in one line, with single spaces. */
export const squeeze = (text: string): string => text.replace(/\s+/g, " ").trim();

/** A string that is not blank. */
export function isText(value: unknown): value is string {
  return typeof value === "string" && value.trim() !== "";
}

/** A text for a message: in double quotes, at most 60 characters, hidden characters escaped. */
export function quote(text: string): string {
  return quoteWhole(text.length > 60 ? `${text.slice(0, 60)}...` : text);
}

/** A text in double quotes, uncut, hidden characters escaped. */
export function quoteWhole(text: string): string {
  return JSON.stringify(text).replace(hidden, (character) => `\\u{${hex(character.codePointAt(0) ?? 0)}}`);
}

/** A value for a message: strings as `quote` writes them, arrays and objects by kind only. */
export function showValue(value: Json): string {
  if (typeof value === "string") return quote(value);
  return Array.isArray(value) ? "an array" : isJsonObject(value) ? "an object" : String(value);
}

/** Up to five values for a message, and how many there are more. */
export function showValues(values: readonly Json[]): string {
  return values.slice(0, 5).map(showValue).join(", ") + (values.length > 5 ? ` and ${values.length - 5} more` : "");
}

/** A value as JSON for a message, cut to 200 characters. */
export function showJson(value: Json): string {
  return cut(writeExactJson(value));
}

/** Braces that open no JSON, as in prose: no more of them are looked into. */
const maxSkipped = 50;

/** The end of the thoughts of a model, in the words of its chat template. */
const endOfThoughts =
  /<\/(?:\w+:)?(?:think(?:ing)?|thoughts?|reasoning)>|\[\/THINK\]|◁\/think▷|<\|channel\|>final<\|message\|>/i;

/** The JSON objects in the answer of a model, whatever it wrote around them, without those inside of others. */
export function listJsonObjects(answer: string): JsonObject[] {
  const text = answer.split(endOfThoughts).at(-1) ?? "";
  const found: JsonObject[] = [];
  let skipped = 0;
  for (let start = text.indexOf("{"); start >= 0 && skipped < maxSkipped; ) {
    const end = findClosingBrace(text, start);
    // JSON that is cut off, whose inner objects are no answers.
    if (end === undefined && /^\{\s*"/.test(text.slice(start, start + 100))) break;
    const written = text.slice(start, end);
    const value = end === undefined ? undefined : (parseJsonText(written) ?? parseJsonText(repairJson(written)));
    if (isJsonObject(value)) found.push(value);
    else skipped++;
    start = text.indexOf("{", isJsonObject(value) ? end : start + 1);
  }
  return found;
}

/** JSON without commas before a closing bracket, and with line breaks in strings escaped: models write both. */
function repairJson(text: string): string {
  return text.replace(/("(?:[^"\\]|\\.)*")|,(?=\s*[}\]])/gs, (_, string: string | undefined) =>
    (string ?? "").replace(/[\n\r\t]/g, (sign) => JSON.stringify(sign).slice(1, -1)),
  );
}

/** The position behind the brace that closes the one at `start`; undefined if none does. */
export function findClosingBrace(text: string, start: number): number | undefined {
  let depth = 0;
  let isString = false;
  for (let at = start; at < text.length; at++) {
    const sign = text[at];
    if (isString) {
      if (sign === "\\") at++;
      else if (sign === '"') isString = false;
    } else if (sign === '"') isString = true;
    else if (sign === "{") depth++;
    else if (sign === "}" && --depth === 0) return at + 1;
  }
  return undefined;
}

/** A text for a message, cut to `most` characters. The mark at its end shows where a cut secret is to be redacted. */
export function cut(text: string, most = 200): string {
  return text.length > most ? `${text.slice(0, most - 1)}…` : text;
}

/** A name of one word (`echo`) counts only if it is marked: in backticks, before `()`, or before "tool". */
const markedName = /^(?:`|\(\)|\s+(?:tool|function|skill)\b)/;

/** Whether a text in lower case mentions a name as a separate word; one of a single word must be marked as a name. */
export function mentionsName(text: string, name: string): boolean {
  const compound = /[a-z0-9][._-]|[a-z][A-Z]|\d/.test(name);
  const sought = name.toLowerCase();
  if (sought === "") return false;
  for (let at = text.indexOf(sought); at !== -1; at = text.indexOf(sought, at + sought.length)) {
    const after = text.slice(at + sought.length, at + sought.length + 20);
    const whole = !/[\w-]/.test(text[at - 1] ?? "") && !/^[\w-]/.test(after);
    const isCommand = /(?:^|\s)\/$/.test(text.slice(Math.max(0, at - 2), at));
    if (whole && (compound || isCommand || markedName.test(after))) return true;
  }
  return false;
}

/** A text for the record; of one longer than `limit` its start, its end, its length and its SHA-256. */
export function excerpt(text: string, limit: number): string {
  if (text.length <= limit) return text;
  const hash = createHash("sha256").update(text).digest("hex");
  const tail = Math.floor(limit / 8);
  return `${text.slice(0, limit - tail)}… [cut: ${text.length} characters in total, SHA-256 ${hash}] …${text.slice(-tail)}`;
}

import { isJsonObject, type Json, type JsonObject } from "../../types/json.ts";
import { once } from "../once.ts";
import type { Path } from "../rule.ts";

/** Characters that a person does not see and a model reads, by code point, with what a message calls them. */
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

const hex = (code: number) => code.toString(16);
const classOfHidden = hiddenRanges.map(({ from, to }) => `\\u{${hex(from)}}-\\u{${hex(to)}}`).join("");
const hidden = new RegExp(`[${classOfHidden}]`, "gu");
/** A zero-width joiner between two pictures makes them one: it hides nothing. */
const joined = /(?:\p{Extended_Pictographic}|\p{Emoji_Modifier}|\ufe0f)\u200d$/u;

/** A hidden character in a text: its code point and its index. */
export type Hidden = { code: number; index: number };

/** The hidden characters of a text, in order; a carriage return that ends a line with its line feed is none. */
export function* hiddenIn(text: string): Iterable<Hidden> {
  if (/^[\n\t -~]*$/.test(text)) return;
  for (const { 0: character, index } of text.matchAll(hidden)) {
    if (character === "\r" && text[index + 1] === "\n") continue;
    if (character === "\u200d" && joined.test(text.slice(Math.max(0, index - 2), index + 1))) continue;
    yield { code: character.codePointAt(0) ?? 0, index };
  }
}

export function codeName(code: number): string {
  return `U+${hex(code).toUpperCase().padStart(4, "0")}`;
}

/** A text for a message: in quotes, cut, and with nothing hidden in it. */
export function quote(text: string): string {
  return inQuotes(text.length > 60 ? `${text.slice(0, 60)}...` : text);
}

/** A text in quotes, with nothing hidden in it. */
export function inQuotes(text: string): string {
  return JSON.stringify(text).replace(hidden, (character) => `\\u{${hex(character.codePointAt(0) ?? 0)}}`);
}

/** A value for a message: texts as `quote` has them, what holds others by its kind only. */
export function show(value: Json): string {
  if (typeof value === "string") return quote(value);
  return Array.isArray(value) ? "an array" : isJsonObject(value) ? "an object" : String(value);
}

/** `values` for a message, at most five of them. */
export function list(values: readonly Json[]): string {
  return values.slice(0, 5).map(show).join(", ") + (values.length > 5 ? ` and ${values.length - 5} more` : "");
}

/** Rules ask for the words of the same names again and again. */
const split = new Map<string, readonly string[]>();
const mostKept = 20_000;

/** The words of a name in any style, lower case: `maxResults`, `max_results` and `max-results` are the same two. */
export function wordsOf(name: string): readonly string[] {
  const short = name.slice(0, 200);
  const known = split.get(short);
  if (known) return known;
  const words = splitName(short);
  if (split.size >= mostKept) split.clear();
  split.set(short, words);
  return words;
}

function splitName(name: string): readonly string[] {
  const apart = name.replace(/([a-z0-9])([A-Z])|([A-Z])([A-Z][a-z])/g, "$1$3 $2$4");
  return apart
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter(Boolean);
}

/** So many characters of a tool are searched, over all of its texts. */
export const maxSearched = 100_000;
const deepestSearched = 100;
const fields = ["name", "title", "description", "annotations", "inputSchema", "outputSchema"];

/** A text that can reach a model, and where it stands in its tool. */
type Text = { text: string; at: Path };

type Texts = { texts: readonly Text[]; whole: boolean };

/** The texts of a tool, names of properties among them, read once; `whole` unless there is more than is searched. */
export const textsOf = once((tool: JsonObject): Texts => {
  const texts: Text[] = [];
  let left = maxSearched;
  const add = (text: string, at: Path) => {
    texts.push({ text: text.slice(0, Math.max(0, left)), at });
    left -= text.length;
  };
  const collect = (value: Json, at: Path) => {
    left--;
    if (typeof value === "string") add(value, at);
    else if (typeof value !== "object" || value === null) return;
    else if (at.length > deepestSearched) left = 0;
    else {
      for (const key of Object.keys(value)) {
        if (left <= 0) return;
        const isName = !Array.isArray(value);
        const path = [...at, isName ? key : Number(key)];
        if (isName) add(key, path);
        collect((value as JsonObject)[key] ?? null, path);
      }
    }
  };
  for (const field of fields) if (Object.hasOwn(tool, field)) collect(tool[field] ?? null, [field]);
  return { texts, whole: left > 0 };
});

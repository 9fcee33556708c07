import type { Path } from "../../base/types/json.ts";

/** Where a value starts, and the key before it. */
type Entry = { start: number; key?: number };
type Members = ReadonlyMap<string | number, Entry>;

/**
 * Finds the positions of values in a valid JSON text, which may have comments and trailing commas. Most positions are
 * never needed, so only the objects and arrays on the way to a value are read.
 */
export class JsonPositions {
  readonly #text: string;
  /** The members of the objects and arrays that were read, by the offset at which each starts. */
  readonly #members = new Map<number, Members>();

  constructor(text: string) {
    this.#text = text;
  }

  /** The offset of the value at `path`, or of its key. If there is no such value, the nearest one that encloses it. */
  find(path: Path, part: "key" | "value" = "value"): number {
    let entry: Entry = { start: skipBlank(this.#text, 0) };
    for (const [at, step] of path.entries()) {
      const member = this.#list(entry.start).get(step);
      if (!member) break;
      entry = member;
      if (part === "key" && at === path.length - 1) return entry.key ?? entry.start;
    }
    return entry.start;
  }

  #list(start: number): Members {
    const members = this.#members.get(start) ?? listMembers(this.#text, start);
    this.#members.set(start, members);
    return members;
  }
}

/** Lists the members of the object or array that starts at an offset, by key or index; empty for any other value. */
function listMembers(text: string, start: number): Members {
  const members = new Map<string | number, Entry>();
  const isObject = text[start] === "{";
  if (!isObject && text[start] !== "[") return members;
  const end = isObject ? "}" : "]";
  for (let at = skipBlank(text, start + 1); at < text.length && text[at] !== end; ) {
    const key = at;
    if (isObject) {
      const colon = skipBlank(text, skipString(text, key));
      at = skipBlank(text, colon + 1);
      members.set(JSON.parse(text.slice(key, skipString(text, key))) as string, { start: at, key });
    } else members.set(members.size, { start: at });
    at = skipBlank(text, skipValue(text, at));
    if (text[at] === ",") at = skipBlank(text, at + 1);
  }
  return members;
}

/** The number of keys of all objects of a valid JSON text without comments. */
export function countKeys(text: string): number {
  let keys = 0;
  for (let at = text.indexOf('"'); at !== -1; at = text.indexOf('"', at)) {
    at = skipString(text, at);
    if (text[skipBlank(text, at)] === ":") keys++;
  }
  return keys;
}

/** The offset after the string that starts at an offset. */
function skipString(text: string, start: number): number {
  for (let quote = text.indexOf('"', start + 1); quote !== -1; quote = text.indexOf('"', quote + 1)) {
    let slashes = 0;
    while (text[quote - 1 - slashes] === "\\") slashes++;
    if (slashes % 2 === 0) return quote + 1;
  }
  return text.length;
}

/** The next offset that is neither white space nor in a comment. */
function skipBlank(text: string, start: number): number {
  let at = start;
  for (;;) {
    const sign = text[at];
    if (sign === "/") at = skipComment(text, at);
    else if (sign === " " || sign === "\n" || sign === "\r" || sign === "\t") at++;
    else return at;
  }
}

function skipComment(text: string, start: number): number {
  const isLine = text[start + 1] === "/";
  const end = isLine ? text.indexOf("\n", start) : text.indexOf("*/", start + 2) + 1;
  return end <= start ? text.length : end + 1;
}

/** The offset after the value that starts at an offset. */
function skipValue(text: string, start: number): number {
  let depth = 0;
  for (let at = start; at < text.length; ) {
    const sign = text[at];
    if (sign === '"') at = skipString(text, at);
    else if (sign === "/") at = skipComment(text, at);
    else if (depth === 0 && (sign === "," || sign === "}" || sign === "]")) return at;
    else {
      if (sign === "{" || sign === "[") depth++;
      if (sign === "}" || sign === "]") depth--;
      at++;
      if (depth === 0 && (sign === "}" || sign === "]")) return at;
    }
  }
  return text.length;
}

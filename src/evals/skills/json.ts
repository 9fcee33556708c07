import { LineCounter } from "yaml";
import type { Place } from "../errors.ts";
import type { Json } from "../types/json.ts";

/** Deeper than any eval file, and shallow enough for everything that recurses over its data. */
const maxDepth = 64;

/** A JSON text as plain data, which can tell where an element of its lists and objects stands. */
export type LocatedJson = { value: Json; place(inside?: object, key?: string | number): Place };

/** Why a text is no JSON, and where. */
export type JsonFault = { message: string; hint?: string; place: Place };

/**
 * Reads strict JSON (RFC 8259). Own reading, since JSON.parse tells the place of some errors only and of no value, and
 * takes the last of equal keys, which would drop checks in silence. `file` is how places name it.
 */
export function parseJson(text: string, file: string): LocatedJson | JsonFault {
  let lines: LineCounter | undefined;
  const placeAt = (offset: number): Place => {
    lines ??= lineCounter(text);
    const { line, col } = lines.linePos(offset);
    return { file, line, column: col };
  };
  const reader = new Reader(text);
  try {
    const value = reader.document();
    const offset = (inside?: object, key?: string | number) => {
      const known = inside && reader.offsets.get(inside);
      return known?.members.get(key ?? "") ?? known?.start ?? reader.start;
    };
    return { value, place: (inside, key) => placeAt(offset(inside, key)) };
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    const { message, hint, offset } = error;
    return { message, ...(hint && { hint }), place: placeAt(offset) };
  }
}

function lineCounter(text: string): LineCounter {
  const lines = new LineCounter();
  lines.addNewLine(0);
  for (let end = text.indexOf("\n"); end !== -1; end = text.indexOf("\n", end + 1)) lines.addNewLine(end + 1);
  return lines;
}

class Fault extends Error {
  readonly offset: number;
  readonly hint: string | undefined;

  constructor(offset: number, message: string, hint?: string) {
    super(message);
    this.offset = offset;
    this.hint = hint;
  }
}

type Offsets = { start: number; members: Map<string | number, number> };

const space = /[ \t\n\r]*/y;
const atom = /(?:true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)(?![\w.+-])/y;
const escapes = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y;

function valueHint(first: string | undefined): string | undefined {
  if (first === "/" || first === "#") return "JSON has no comments: remove it.";
  return /[\p{L}'`]/u.test(first ?? "") ? "Text stands in double quotes; true, false and null are small." : undefined;
}

class Reader {
  readonly offsets = new Map<object, Offsets>();
  start = 0;
  readonly #text: string;
  #at = 0;
  #depth = 0;

  constructor(text: string) {
    this.#text = text;
  }

  document(): Json {
    if (this.#peek() === undefined) throw new Fault(0, "the file is empty", 'Write { "evals": [ ... ] } into it.');
    this.start = this.#at;
    const value = this.#value();
    if (this.#peek() !== undefined) throw this.#fault(`text after the end: ${this.#here()}`);
    return value;
  }

  #value(): Json {
    const first = this.#peek();
    if (first === "{") return this.#object();
    if (first === "[") return this.#array();
    if (first === '"') return this.#string();
    const found = this.#match(atom);
    if (found === undefined) throw this.#fault(`expected a value, got ${this.#here()}`, valueHint(first));
    return JSON.parse(found) as Json;
  }

  #object(): Json {
    const start = this.#at;
    const entries: [string, Json][] = [];
    const members = new Map<string | number, number>();
    this.#list("}", () => {
      const offset = this.#at;
      if (this.#peek() !== '"') throw this.#fault(`expected a key in double quotes, got ${this.#here()}`);
      const key = this.#string();
      if (members.has(key)) throw new Fault(offset, `the key "${key}" stands twice in one object`, "Keep one of them.");
      members.set(key, offset);
      if (this.#peek() !== ":") throw this.#fault(`expected ":" after the key, got ${this.#here()}`);
      this.#at++;
      entries.push([key, this.#value()]);
    });
    return this.#keep(Object.fromEntries(entries), { start, members });
  }

  #array(): Json {
    const start = this.#at;
    const items: Json[] = [];
    const members = new Map<string | number, number>();
    this.#list("]", () => {
      members.set(items.length, this.#at);
      items.push(this.#value());
    });
    return this.#keep(items, { start, members });
  }

  #keep<T extends object>(value: T, offsets: Offsets): T {
    this.offsets.set(value, offsets);
    return value;
  }

  #list(close: "}" | "]", item: () => void): void {
    if (++this.#depth > maxDepth) throw this.#fault(`nested more than ${maxDepth} levels deep`, "Flatten it.");
    this.#at++;
    while (this.#peek() !== close) {
      item();
      if (this.#peek() === close) break;
      if (this.#peek() !== ",") throw this.#fault(`expected "," or "${close}", got ${this.#here()}`);
      const comma = this.#at++;
      if (this.#peek() === close) throw new Fault(comma, `a comma before "${close}"`, "Remove the comma.");
    }
    this.#at++;
    this.#depth--;
  }

  #string(): string {
    const start = this.#at++;
    for (let char = this.#text[this.#at]; char !== '"'; char = this.#text[this.#at]) {
      if (char === undefined) throw new Fault(start, "a string without its closing quote");
      if (char === "\n" || char === "\r") throw this.#fault("a raw line break inside a string", "Write it as \\n.");
      if (char < " ")
        throw this.#fault(`a raw control character inside a string: ${this.#here()}`, "Write it escaped.");
      if (char !== "\\") this.#at++;
      else if (this.#match(escapes) === undefined)
        throw this.#fault("a backslash that begins no escape of JSON", "Write it as \\\\.");
    }
    this.#at++;
    return JSON.parse(this.#text.slice(start, this.#at)) as string;
  }

  #match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text)?.[0];
    this.#at += found?.length ?? 0;
    return found;
  }

  /** Skips white space; the next character, undefined at the end. */
  #peek(): string | undefined {
    this.#match(space);
    return this.#text[this.#at];
  }

  /** What stands here, as messages show it: a word, a character, or its code when it cannot be seen. */
  #here(): string {
    const code = this.#text.codePointAt(this.#at);
    if (code === undefined) return "the end of the file";
    if (code <= 0x20 || code === 0x7f) return `U+${code.toString(16).toUpperCase().padStart(4, "0")}`;
    const [word] = this.#text.slice(this.#at, this.#at + 20).match(/^[\w.+-]+/) ?? [];
    return `"${word ?? String.fromCodePoint(code)}"`;
  }

  #fault(message: string, hint?: string): Fault {
    return new Fault(this.#at, message, hint);
  }
}

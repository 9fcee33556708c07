import { type Node, Pair, Scalar, YAMLMap, YAMLSeq } from "yaml";

/** Something that makes a text unreadable, with its offset. */
export class SyntaxFault extends Error {
  readonly offset: number;
  readonly hint: string | undefined;

  constructor(offset: number, message: string, hint?: string) {
    super(message);
    this.offset = offset;
    this.hint = hint;
  }
}

/**
 * Reads strict JSON (RFC 8259) into the node tree that the YAML parser makes, so that both are looked up alike.
 * Not JSON.parse, which tells no offset for many errors; not the YAML parser, which accepts trailing commas and more.
 * The fault is the first syntax error; then there is no tree. An empty text has neither.
 */
export function parseJson(text: string, maxDepth: number): { root: Node | undefined; faults: SyntaxFault[] } {
  if (text.trim() === "") return { root: undefined, faults: [] };
  try {
    return { root: new JsonReader(text, maxDepth).document(), faults: [] };
  } catch (error) {
    if (error instanceof SyntaxFault) return { root: undefined, faults: [error] };
    throw error;
  }
}

function notJson(offset: number, message: string, hint?: string): SyntaxFault {
  return new SyntaxFault(offset, `not valid JSON: ${message}`, hint);
}

class JsonReader {
  readonly #text: string;
  readonly #maxDepth: number;
  #at = 0;
  #depth = 0;

  constructor(text: string, maxDepth: number) {
    this.#text = text;
    this.#maxDepth = maxDepth;
  }

  document(): Node {
    const value = this.#value();
    if (this.#peek() !== undefined) throw this.#fault(`text after the end: ${this.#here()}`);
    return value;
  }

  #value(): Node {
    const first = this.#peek();
    if (first === "{") return this.#nested(() => this.#object());
    if (first === "[") return this.#nested(() => this.#array());
    if (first === '"') return this.#string();
    return this.#atom();
  }

  #nested(read: () => Node): Node {
    if (++this.#depth > this.#maxDepth)
      throw new SyntaxFault(this.#at, `nested more than ${this.#maxDepth} levels deep`, "flatten it");
    const node = read();
    this.#depth--;
    return node;
  }

  #object(): Node {
    const map = new YAMLMap<Node, Node>();
    this.#list(map, "}", () => {
      if (this.#peek() !== '"') throw this.#fault(`expected a key, got ${this.#here()}`, "keys stand in double quotes");
      const key = this.#string();
      if (this.#peek() !== ":") throw this.#fault(`expected ":" after the key, got ${this.#here()}`);
      this.#at++;
      map.items.push(new Pair(key, this.#value()));
    });
    return map;
  }

  #array(): Node {
    const seq = new YAMLSeq<Node>();
    this.#list(seq, "]", () => seq.items.push(this.#value()));
    return seq;
  }

  #list(node: Node, close: "}" | "]", item: () => void): void {
    const start = this.#at++;
    while (this.#peek() !== close) {
      item();
      if (this.#peek() === close) break;
      if (this.#peek() !== ",") throw this.#fault(`expected "," or "${close}", got ${this.#here()}`);
      const comma = this.#at++;
      if (this.#peek() === close) throw notJson(comma, `a comma before "${close}"`, "remove the comma");
    }
    this.#at++;
    node.range = [start, this.#at, this.#at];
  }

  #string(): Scalar<string> {
    const start = this.#at++;
    for (let char = this.#text[this.#at]; char !== '"'; char = this.#text[++this.#at]) {
      if (char === undefined) throw notJson(start, "a string without its closing quote");
      if (char === "\n" || char === "\r") throw this.#fault("a raw line break inside a string", "write it as \\n");
      if (char < " ") throw this.#fault(`a raw control character inside a string: ${this.#here()}`, "write it escaped");
      if (char === "\\") this.#escape();
    }
    this.#at++;
    return this.#scalar(start, JSON.parse(this.#text.slice(start, this.#at)) as string);
  }

  #escape(): void {
    const pattern = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y;
    pattern.lastIndex = this.#at;
    if (!pattern.test(this.#text)) {
      throw this.#fault(
        `not an escape of JSON: ${this.#text.slice(this.#at, this.#at + 2)}`,
        "a backslash is written \\\\",
      );
    }
    this.#at = pattern.lastIndex - 1;
  }

  #atom(): Scalar {
    const atom = /(?:true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)(?![\w.+-])/y;
    atom.lastIndex = this.#at;
    const found = atom.exec(this.#text);
    if (!found) throw this.#fault(`expected a value, got ${this.#here()}`, this.#valueHint());
    const start = this.#at;
    this.#at += found[0].length;
    return this.#scalar(start, JSON.parse(found[0]));
  }

  #scalar<T>(start: number, value: T): Scalar<T> {
    const scalar = new Scalar(value);
    scalar.range = [start, this.#at, this.#at];
    return scalar;
  }

  #valueHint(): string | undefined {
    const char = this.#text[this.#at] ?? "";
    if (char === "/" || char === "#") return "JSON has no comments: remove it";
    return /[\p{L}'`]/u.test(char) ? "text stands in double quotes" : undefined;
  }

  /** Skips white space; the next character, undefined at the end. */
  #peek(): string | undefined {
    while (/[ \t\n\r]/.test(this.#text[this.#at] ?? "")) this.#at++;
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

  #fault(message: string, hint?: string): SyntaxFault {
    return notJson(this.#at, message, hint);
  }
}

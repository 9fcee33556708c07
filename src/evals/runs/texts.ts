import { createHash } from "node:crypto";

// A text that comes again in a journal, such as the same long result of a call in every trial, is stored once. Its second
// occurrence is put into the `texts` of that line under its id, and from there on its id stands for it. A text that never
// comes again stays where it is, so that a reader only has to keep what is shared.

/** Shorter texts are repeated. */
const minLength = 2_000;

/** A reader keeps what is shared, and a writer the hashes of what may come again: both are limited. */
const limits = { sharedCharacters: 32_000_000, hashes: 100_000 } as const;

const prefix = "@text:";
const idForm = /^@text:[0-9a-f]{32}$/;
const createId = (text: string) => prefix + createHash("sha256").update(text).digest("hex").slice(0, 32);

/** Writes trials as JSON, with texts that came before replaced by their ids. One for each journal. */
export class TextWriter {
  readonly #once = new Set<string>();
  readonly #shared = new Set<string>();
  #characters = 0;

  /** The JSON of an object; of one with shared texts that no line has had yet, with these as `texts`. */
  stringify(line: object): string {
    const text = JSON.stringify(line);
    if (text.length < minLength && !text.includes(`"${prefix}`)) return text;
    const texts: Record<string, string> = {};
    const shared = JSON.stringify(line, (_key, value) =>
      typeof value === "string" ? this.#share(value, texts) : value,
    );
    return Object.keys(texts).length === 0 ? shared : `${shared.slice(0, -1)},"texts":${JSON.stringify(texts)}}`;
  }

  /** The text, or its id if the text is shared. What looks like an id is shared, so that it is not read as one. */
  #share(text: string, texts: Record<string, string>): string {
    const isLike = idForm.test(text);
    if (text.length < minLength && !isLike) return text;
    const id = createId(text);
    if (this.#shared.has(id)) return id;
    const isNew = !this.#once.has(id);
    if (!isLike && (isNew || this.#characters + text.length > limits.sharedCharacters)) {
      if (this.#once.size < limits.hashes) this.#once.add(id);
      return text;
    }
    this.#shared.add(id);
    this.#characters += text.length;
    texts[id] = text;
    return id;
  }
}

/** Reads the lines of a journal in their order, with ids replaced by their texts. */
export class TextReader {
  readonly #texts = new Map<string, string>();

  /**
   * The object of a line. Throws SyntaxError for what is not JSON, and MissingTextError where the line with a text is
   * missing.
   */
  parse(line: string): object {
    const data = Object(JSON.parse(line)) as { texts?: Record<string, string> };
    for (const [id, text] of Object.entries(data.texts ?? {})) this.#texts.set(id, text);
    if (!line.includes(`"${prefix}`)) return data;
    const { texts, ...others } = data;
    const json = texts ? JSON.stringify(others) : line;
    return JSON.parse(json, (_key, value) => (typeof value === "string" ? this.#find(value) : value));
  }

  #find(value: string): string {
    if (!idForm.test(value)) return value;
    const text = this.#texts.get(value);
    if (text === undefined) throw new MissingTextError();
    return text;
  }
}

/** A line refers to a text of an earlier line, which is missing. */
export class MissingTextError extends Error {}

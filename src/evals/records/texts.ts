import { createHash } from "node:crypto";
import { markWholes, parseExactJson, unmarkWholes, writeExactJson } from "../base/types/json.ts";

// A text that repeats in a journal, such as the same long result of a call in every trial, is shared. Its first
// occurrence stays where it is. The second one is stored in the `texts` of its line under an id, and the id replaces it
// there and in all later lines. So a reader only has to keep texts that do repeat.

/** Shorter texts are not shared. */
const minLength = 2_000;

/** A reader keeps the shared texts, and a writer the hashes of possible repetitions: both are limited. */
const limits = { sharedCharacters: 32_000_000, hashes: 100_000 } as const;

const prefix = "@text:";
const idForm = /^@text:[0-9a-f]{32}$/;
const createId = (text: string) => prefix + createHash("sha256").update(text).digest("hex").slice(0, 32);

/** Writes trials as JSON, with repeated texts replaced by their ids. Use one writer per journal. */
export class TextWriter {
  readonly #once = new Set<string>();
  readonly #shared = new Set<string>();
  #characters = 0;

  /** Returns the JSON of an object. Texts that become shared with this line are added to it as `texts`. */
  stringify(line: object): string {
    const text = writeExactJson(line);
    if (text.length < minLength && !text.includes(`"${prefix}`)) return text;
    const texts: Record<string, string> = {};
    const shared = unmarkWholes(
      JSON.stringify(line, (_key, value) => (typeof value === "string" ? this.#share(value, texts) : value)),
    );
    return Object.keys(texts).length === 0 ? shared : `${shared.slice(0, -1)},"texts":${JSON.stringify(texts)}}`;
  }

  /** Returns the text, or its id if shared. A text that looks like an id is always shared, so it is not read as one. */
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

/** Reads the lines of a journal in order, and replaces ids by their texts. */
export class TextReader {
  readonly #texts = new Map<string, string>();

  /** Parses a line. Throws SyntaxError if it is not JSON, and MissingTextError if the line with a text is missing. */
  parse(line: string): object {
    const data = Object(parseExactJson(line)) as { texts?: Record<string, string> };
    for (const [id, text] of Object.entries(data.texts ?? {})) this.#texts.set(id, text);
    if (!line.includes(`"${prefix}`)) return data;
    const { texts, ...others } = data;
    const json = texts ? JSON.stringify(others) : markWholes(line);
    return JSON.parse(json, (_key, value) => (typeof value === "string" ? this.#find(value) : value));
  }

  #find(value: string): string {
    if (!idForm.test(value)) return value;
    const text = this.#texts.get(value);
    if (text === undefined) throw new MissingTextError();
    return text;
  }
}

/** A line refers to a text whose line is missing. */
export class MissingTextError extends Error {}

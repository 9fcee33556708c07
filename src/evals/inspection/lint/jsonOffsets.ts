import type { Path } from "../../jsonSchema/paths.ts";

/** Deeper than anything that is meant to be read: what stands deeper is told by what is around it. */
const mostSteps = 30;

/**
 * Where in a text of valid JSON a value begins, or the nearest value around it when there is none at the path. Only the
 * containers that lead to it are looked into, each once: most of a long list is skipped, not read.
 */
export class JsonOffsets {
  readonly #text: string;
  readonly #known = new Map<number, ReadonlyMap<string, number>>();
  readonly #solid = /\S/g;

  constructor(text: string) {
    this.#text = text;
  }

  of(path: Path): number {
    let at = this.#space(0);
    for (const step of path.slice(0, mostSteps)) {
      const next = this.#members(at).get(String(step));
      if (next === undefined) break;
      at = next;
    }
    return at;
  }

  /** The keys of an object or the indices of a list, and where their values begin. */
  #members(start: number): ReadonlyMap<string, number> {
    const known = this.#known.get(start);
    if (known) return known;
    const members = new Map<string, number>();
    this.#known.set(start, members);
    const open = this.#text[start];
    if (open !== "{" && open !== "[") return members;
    let at = this.#space(start + 1);
    for (let index = 0; this.#text[at] !== "}" && this.#text[at] !== "]"; index++) {
      const end = open === "{" ? this.#string(at) : at;
      const key = open === "{" ? (JSON.parse(this.#text.slice(at, end)) as string) : String(index);
      const value = open === "{" ? this.#space(this.#space(end) + 1) : at;
      members.set(key, value);
      at = this.#space(this.#skip(value));
      if (this.#text[at] !== ",") break;
      at = this.#space(at + 1);
    }
    return members;
  }

  /** Behind the value that begins here. */
  #skip(start: number): number {
    const first = this.#text[start];
    if (first === '"') return this.#string(start);
    const marks = first === "{" || first === "[" ? /["{}[\]]/g : /[\s,}\]]/g;
    marks.lastIndex = start;
    for (let depth = 0, found = marks.exec(this.#text); found; found = marks.exec(this.#text)) {
      const [mark] = found;
      if (first !== "{" && first !== "[") return found.index;
      if (mark === '"') marks.lastIndex = this.#string(found.index);
      else depth += mark === "{" || mark === "[" ? 1 : -1;
      if (depth === 0) return marks.lastIndex;
    }
    return this.#text.length;
  }

  /** Behind the string that begins here. */
  #string(start: number): number {
    for (let end = this.#text.indexOf('"', start + 1); end !== -1; end = this.#text.indexOf('"', end + 1)) {
      let slash = end;
      while (this.#text[slash - 1] === "\\") slash--;
      if ((end - slash) % 2 === 0) return end + 1;
    }
    return this.#text.length;
  }

  #space(at: number): number {
    this.#solid.lastIndex = at;
    return this.#solid.exec(this.#text)?.index ?? this.#text.length;
  }
}

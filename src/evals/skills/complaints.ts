import type { Place, Problem } from "../errors.ts";

/** `field` and what is said of it: given how often it was met. */
type Counted = { say: (times: number) => { message: string; hint: string }; place: Place; times: number };

/** Collects what is wrong with a package's eval files. What is wrong in many entries alike is said once, with a count. */
export class Complaints {
  readonly errors: Problem[] = [];
  readonly #counted = new Map<string, Counted>();

  error(message: string, hint: string, place: Place): void {
    this.errors.push({ severity: "error", message, hint, place });
  }

  /** `key` tells what is alike; the place of the first is kept. */
  count(key: string, place: Place, say: Counted["say"]): void {
    const known = this.#counted.get(key);
    if (known) known.times++;
    else this.#counted.set(key, { say, place, times: 1 });
  }

  /** In the order of their places. */
  get warnings(): Problem[] {
    const counted = [...this.#counted.values()].sort(
      ({ place: a }, { place: b }) => (a.line ?? 0) - (b.line ?? 0) || (a.column ?? 0) - (b.column ?? 0),
    );
    return counted.map(({ say, place, times }) => ({ severity: "warning", ...say(times), place }));
  }
}

/** `1 entry`, `2 entries`. */
export function entries(times: number): string {
  return times === 1 ? "1 entry" : `${times} entries`;
}

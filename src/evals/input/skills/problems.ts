import type { Place, Problem } from "../../base/types/errors.ts";

type Advice = { message: string; hint: string };
/** A warning that is reported once for all its occurrences, with their number. */
type Repeated = { describe(times: number): Advice; place: Place; times: number };

/** Collects the problems of an eval file. A problem that many entries share is reported once, with a count. */
export class ProblemCollector {
  readonly errors: Problem[] = [];
  readonly #repeated = new Map<string, Repeated>();

  error(message: string, hint: string, place: Place): void {
    this.errors.push({ severity: "error", message, hint, place });
  }

  /** Adds a warning. Warnings with the same `key` become one, at the place of the first. */
  warn(key: string, place: Place, describe: Repeated["describe"]): void {
    const known = this.#repeated.get(key);
    if (known) known.times++;
    else this.#repeated.set(key, { describe, place, times: 1 });
  }

  warnIgnoredField(field: string, place: Place, hint: string): void {
    this.warn(`field ${field}`, place, (times) => ({
      message: `"${field}" in ${countEntries(times)} is unknown and ignored.`,
      hint,
    }));
  }

  /** The warnings, sorted by place. */
  get warnings(): Problem[] {
    const sorted = [...this.#repeated.values()].sort(
      ({ place: a }, { place: b }) => (a.line ?? 0) - (b.line ?? 0) || (a.column ?? 0) - (b.column ?? 0),
    );
    return sorted.map(({ describe, place, times }) => ({ severity: "warning", ...describe(times), place }));
  }
}

export function countEntries(times: number): string {
  return times === 1 ? "1 entry" : `${times} entries`;
}

import type { Location, Problem } from "../../base/types/errors.ts";

type Advice = { message: string; hint: string };
/** A warning that is reported once for all its occurrences, with their number. */
type Repeated = { describe(times: number): Advice; location: Location; times: number };

/** Collects the problems of an eval file. A problem that many entries share is reported once, with a count. */
export class ProblemCollector {
  readonly errors: Problem[] = [];
  readonly #repeated = new Map<string, Repeated>();

  error(message: string, hint: string, location: Location): void {
    this.errors.push({ severity: "error", message, hint, location });
  }

  /** Adds a warning. Warnings with the same `key` become one, at the place of the first. */
  warn(key: string, location: Location, describe: Repeated["describe"]): void {
    const known = this.#repeated.get(key);
    if (known) known.times++;
    else this.#repeated.set(key, { describe, location, times: 1 });
  }

  warnIgnoredField(field: string, location: Location, hint: string): void {
    this.warn(`field ${field}`, location, (times) => ({
      message: `"${field}" in ${countEntries(times)} is unknown and ignored.`,
      hint,
    }));
  }

  /** The warnings, sorted by place. */
  get warnings(): Problem[] {
    const sorted = [...this.#repeated.values()].sort(
      ({ location: a }, { location: b }) => (a.line ?? 0) - (b.line ?? 0) || (a.column ?? 0) - (b.column ?? 0),
    );
    return sorted.map(({ describe, location, times }) => ({ severity: "warning", ...describe(times), location }));
  }
}

export function countEntries(times: number): string {
  return times === 1 ? "1 entry" : `${times} entries`;
}

import type { Case, ExecutionPolicy, Suite } from "../types/suite.ts";
import { hashCase, hashSuite } from "./build.ts";

/** Values from the command line that replace those of the suite files. */
export type Overrides = {
  trials?: number | undefined;
  passRate?: number | undefined;
  maxTurns?: number | undefined;
  execute?: ExecutionPolicy | undefined;
  /**
   * Keeps the cases whose id matches one of these: a part of the id or, with `*` or `?`, a pattern for the whole id.
   */
  cases?: readonly string[] | undefined;
};

/** The suite with the overrides applied and new hashes. When no case is left, the caller has to drop the suite. */
export function applyOverrides(
  suite: Suite,
  { trials, passRate, maxTurns, execute, cases: filters }: Overrides,
): Suite {
  const cases = suite.cases
    .filter(({ id }) => !filters || filters.some((filter) => matchesFilter(id, filter)))
    .map((one): Case => {
      const changed = {
        ...one,
        trials: trials ?? one.trials,
        passRate: passRate ?? one.passRate,
        maxTurns: maxTurns ?? one.maxTurns,
      };
      return { ...changed, hash: hashCase(changed) };
    });
  const changed = { ...suite, execute: execute ?? suite.execute, cases };
  return { ...changed, hash: hashSuite(changed) };
}

function matchesFilter(id: string, filter: string): boolean {
  return /[*?]/.test(filter) ? matchesGlob(id, filter) : id.includes(filter);
}

/** `*` is any text, `?` any character. It backtracks to the last `*` only, so it takes at most id x pattern steps. */
function matchesGlob(id: string, pattern: string): boolean {
  let [at, p] = [0, 0];
  let star: { p: number; at: number } | undefined;
  while (at < id.length) {
    if (pattern[p] === "*") star = { p: p++, at };
    else if (pattern[p] === "?" || pattern[p] === id[at]) [at, p] = [at + 1, p + 1];
    else if (star) {
      star.at++;
      [at, p] = [star.at, star.p + 1];
    } else return false;
  }
  return /^\**$/.test(pattern.slice(p));
}

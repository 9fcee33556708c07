import type { Case, ExecutionPolicy, Suite } from "../types/suite.ts";
import { caseHash, suiteHash } from "./hash.ts";

/** What the command line sets over what the files say. */
export type Overrides = {
  trials?: number | undefined;
  passRate?: number | undefined;
  maxTurns?: number | undefined;
  execute?: ExecutionPolicy | undefined;
  /** Keeps the cases whose id any of these matches: a part of the id, or, with `*` or `?`, a pattern of the whole id. */
  cases?: readonly string[] | undefined;
};

/** The suite with the overrides in force and hashed anew. No case may be left: then the caller drops the suite. */
export function override(suite: Suite, { trials, passRate, maxTurns, execute, cases: filters }: Overrides): Suite {
  const cases = suite.cases
    .filter(({ id }) => !filters || filters.some((filter) => matchesFilter(id, filter)))
    .map((one): Case => {
      const changed = {
        ...one,
        trials: trials ?? one.trials,
        passRate: passRate ?? one.passRate,
        maxTurns: maxTurns ?? one.maxTurns,
      };
      return { ...changed, hash: caseHash(changed) };
    });
  const changed = { ...suite, execute: execute ?? suite.execute, cases };
  return { ...changed, hash: suiteHash(changed) };
}

function matchesFilter(id: string, filter: string): boolean {
  return /[*?]/.test(filter) ? matchesGlob(id, filter) : id.includes(filter);
}

/** `*` is any text, `?` any character. Greedy with one step back to the last `*`, so never slower than id x pattern. */
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

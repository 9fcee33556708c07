import { sumOf } from "../collections.ts";
import { hypergeometric } from "./distributions.ts";

/** Graded trials of one case in one arm, and how many of them passed. Broken trials are not counted. */
export type Counts = { passed: number; trials: number };

export const noTrials: Counts = Object.freeze({ passed: 0, trials: 0 });

/** One case in both arms: base is the accepted wording, head the one under test. The arms may differ in trials. */
export type CaseCounts = { base: Counts; head: Counts };

/** Cases with at least one trial in each arm: only these can be compared. */
export function comparable(cases: readonly CaseCounts[]): CaseCounts[] {
  return cases.filter(({ base, head }) => base.trials > 0 && head.trials > 0);
}

/** The counts of several samples together. */
export function pool(all: readonly Counts[]): Counts {
  return { passed: sumOf(all, ({ passed }) => passed), trials: sumOf(all, ({ trials }) => trials) };
}

/** The arms exchanged, so that a test of a fall becomes one of a rise. */
export function swapArms<C extends CaseCounts>(one: C): C {
  return { ...one, base: one.head, head: one.base };
}

/** The mean of head rate - base rate over cases tried in both arms; undefined without such a case. */
export function meanChange(cases: readonly CaseCounts[]): number | undefined {
  const both = comparable(cases);
  if (both.length === 0) return undefined;
  return sumOf(both, ({ base, head }) => rate(head) - rate(base)) / both.length;
}

/** Passes per trial, for counts with at least one trial. */
export function rate({ passed, trials }: Counts): number {
  return passed / trials;
}

/**
 * The head passes of one case if nothing had changed, given the passes of both arms together: they are then a random
 * draw of the head's trials from all trials (the conditional argument of Fisher's exact test).
 * `masses[j]` is the chance of the j-th fewest attainable head passes, and `observed` the j that was seen. A case with
 * a single attainable value (all passed, all failed, an arm without trials) can show nothing, and has one mass of 1.
 */
export type HeadNull = { masses: Float64Array; observed: number };

/** Computes the `HeadNull` of a case. Throws RangeError for impossible counts, which is a bug in the caller. */
export function headNull({ base, head }: CaseCounts): HeadNull {
  for (const { passed, trials } of [base, head]) {
    const sound = Number.isSafeInteger(passed) && Number.isSafeInteger(trials) && passed >= 0 && passed <= trials;
    if (!sound) throw new RangeError(`${passed} passed of ${trials} trials: need integers, 0 <= passed <= trials`);
  }
  const { least, masses } = hypergeometric(base.trials + head.trials, base.passed + head.passed, head.trials);
  return { masses, observed: head.passed - least };
}

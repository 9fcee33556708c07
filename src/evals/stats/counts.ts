import { hypergeometric } from "./distributions.ts";

/** Graded trials of one case in one arm, and how many of them passed. Broken trials are not counted. */
export type Counts = { passed: number; trials: number };

/** One case in both arms: base is how things stood, head is how they stand. The arms may differ in trials. */
export type CaseCounts = { base: Counts; head: Counts };

/** Cases with at least one trial in each arm: only these can be compared. */
export function comparable(cases: readonly CaseCounts[]): CaseCounts[] {
  return cases.filter(({ base, head }) => base.trials > 0 && head.trials > 0);
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

/** See `HeadNull`. Throws RangeError for what cannot be counts, which is a defect of the caller. */
export function headNull({ base, head }: CaseCounts): HeadNull {
  for (const { passed, trials } of [base, head]) {
    const sound = Number.isSafeInteger(passed) && Number.isSafeInteger(trials) && passed >= 0 && passed <= trials;
    if (!sound) throw new RangeError(`${passed} passed of ${trials} trials: need integers, 0 <= passed <= trials`);
  }
  const { least, masses } = hypergeometric(base.trials + head.trials, base.passed + head.passed, head.trials);
  return { masses, observed: head.passed - least };
}

/** Running sums: `lowerTails(pmf)[j]` = P(Y <= the j-th value). The last one is 1 exactly. */
export function lowerTails(masses: Float64Array): Float64Array {
  let sum = 0;
  const tails = masses.map((mass) => {
    sum += mass;
    return Math.min(1, sum);
  });
  return tails.fill(1, -1);
}

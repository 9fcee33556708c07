/** The trials per case and arm at which a check may look. */
export const ladder = [3, 5, 8, 12, 18, 25, 35, 50, 70, 100, 140, 200] as const;

/** The maximum cap of a check: suspects may go to twice the cap, and the ladder ends at 200. */
export const mostTrials = 140;
export const defaultTrials = 40;
export const defaultMargin = 0.1;

/** Suspects may run ahead to this many trials, however low the cap is. */
const leastRunAhead = 70;

/**
 * The level that the tests of single cases share, over cases and rungs. Fisher's p is discrete, so what they err in is
 * less: at most .0097 for every pass rate, 1 to 200 cases and 7 to 9 rungs (exact recursion over the passes of both
 * arms).
 */
const caseError = 0.035;
/** The same for a single look, whose error is at most this level. */
export const caseErrorOnce = 0.01;

/** The share of the cases' level that may name a case as risen. */
const riseError = 0.01;

/** a(J): P(any look j of J: Z_j > Phi^-1(1 - a K_j/T)) = .04 for Brownian Z, by 400,000 simulated paths. J = 1..10. */
const suiteLevels = [0.04, 0.0309, 0.0266, 0.0239, 0.0223, 0.0217, 0.0208, 0.0203, 0.0199, 0.0198];
/** Pocock's constant for J looks at one-sided 5 % (Pocock, Biometrika 64, 1977). J = 1..10. */
const pocock = [1.645, 1.848, 1.977, 2.065, 2.135, 2.189, 2.238, 2.276, 2.323, 2.361];
/** Added to Pocock's constant: keeps NO REGRESSION at a true drop of the margin <= 5 % with few trials (simulated). */
const surplus = 0.115;
/** The same for one or two cases, where normal theory is at its edge. */
const surplusOfFewCases = 0.3;

/**
 * The looks and levels for `cases` cases and a cap of `trials` per arm. `families`: the number of suite-model pairs of
 * the run; the levels that can make a run red are divided by it, so that a run errs in at most 5 %, under any
 * dependence (Bonferroni; the fixed share of Holm's first step). Throws RangeError for a cap that is not a whole number
 * in 1..140, or no cases.
 */
export function planLooks(cases: number, trials: number = defaultTrials, families = 1) {
  if (!Number.isInteger(trials) || trials < 1 || trials > mostTrials)
    throw new RangeError(`${trials} trials: need a whole number from 1 to ${mostTrials}`);
  if (cases < 1) throw new RangeError("a check needs at least one case");
  const looks = [...ladder.filter((rung) => rung < trials), trials];
  const ahead = Math.max(2 * trials, leastRunAhead);
  const rungs = [...looks, ...ladder.filter((rung) => rung > trials && rung <= ahead)];
  const least = Math.min(5, trials);
  const tests = rungs.filter((rung) => rung >= least).length;
  const { suiteLevel, z } = boundaries(looks.filter((look) => look >= least).length);
  const caseLevel = caseError / tests / cases / families;
  return { looks, rungs, least, suiteLevel: suiteLevel / families, z, caseLevel, riseLevel: riseError / cases };
}

/**
 * The looks of one check and its levels. `looks`: trials per case and arm at which the suite is judged; `rungs`: these,
 * and those to which suspects may run ahead; `least`: nothing is decided with fewer trials. `suiteLevel`: a; a look at
 * K trials tests at a K/T. `z`: half-width of the interval in standard errors. `caseLevel`: of one case at one rung.
 * `riseLevel`: of one case that rose, which is named beside those that fell.
 */
export type LookPlan = ReturnType<typeof planLooks>;

/** a and z for a suite that is judged at `looks` looks (more than ten are treated as ten). */
export function boundaries(looks: number): { suiteLevel: number; z: number } {
  const j = Math.min(suiteLevels.length, looks) - 1;
  return { suiteLevel: suiteLevels[j] ?? 0, z: (pocock[j] ?? 0) + surplus };
}

/** The half-width of an interval over so many cases, in standard errors. */
export function widen(z: number, cases: number): number {
  return cases <= 2 ? z + surplusOfFewCases : z;
}

/** A case whose p is at most this looks worse, and runs ahead. It affects only which trials are asked. */
export function suspicionAt(trials: number): number {
  return trials <= 8 ? 0.5 : trials <= 18 ? 0.35 : 0.2;
}

/** Pairs of one case that differ in a rate: `down` in favor of base, `up` of head, among `pairs` pairs. */
export type Differences = { down: number; up: number; pairs: number };

/** The mean drop over cases (base - head; positive is worse) and its standard error. */
export type MeanDrop = { drop: number; standardError: number };

/**
 * D = 1/n sum (down_i - up_i) / k_i and SE = 1/n sqrt(sum (down_i + up_i + 1/2) / ((k_i + 1) k_i)). The half keeps the
 * error of a suite in which nothing differs above 0. Undefined when a case has no pair: then nothing can be bounded.
 * D +- z SE covers the true mean drop at whatever look a check stops (>= 94 %, simulated).
 */
export function meanDrop(cases: readonly Differences[]): MeanDrop | undefined {
  let drop = 0;
  let variance = 0;
  for (const { down, up, pairs } of cases) {
    if (pairs === 0) return undefined;
    drop += (down - up) / pairs;
    variance += (down + up + 0.5) / ((pairs + 1) * pairs);
  }
  const n = cases.length;
  return n === 0 ? undefined : { drop: drop / n, standardError: Math.sqrt(variance) / n };
}

/** Whether the mean drop is significantly below the margin: (margin - D) / SE > z. */
export function isWithinMargin(mean: MeanDrop | undefined, margin: number, z: number): boolean {
  return mean !== undefined && (margin - mean.drop) / mean.standardError > z;
}

import type { Counts } from "../../base/stats/counts.ts";
import { lnGamma } from "../../base/stats/stdlib.ts";

/** The trials per case and arm at which a check may look. */
export const ladder = [3, 5, 8, 12, 18, 25, 35, 50, 70, 100, 140, 200] as const;

/** The maximum cap of a check: suspects may go to twice the cap, and the ladder ends at 200. */
export const mostTrials = 140;
export const defaultTrials = 25;
export const defaultMargin = 0.1;

/** Suspects may run ahead to this many trials, however low the cap is. */
const leastRunAhead = 50;

/** Share of the one-sided 5 % that the tests of single cases may spend. The other 4 % are the suite's. */
export const caseError = 0.01;

/** a(J): P(any look j of J: Z_j > Phi^-1(1 - a K_j/T)) = .04 for Brownian Z, by simulation of 400,000 paths. J = 1..10. */
const suiteLevels = [0.04, 0.0309, 0.0266, 0.0239, 0.0223, 0.0217, 0.0208, 0.0203, 0.0199, 0.0198];
/** Pocock's constant for J looks at one-sided 5 % (Pocock, Biometrika 64, 1977). J = 1..10. */
const pocock = [1.645, 1.848, 1.977, 2.065, 2.135, 2.189, 2.238, 2.276, 2.323, 2.361];
/** Added to Pocock's constant: keeps NO REGRESSION at a true drop of the margin <= 5 % with few trials (simulated). */
const surplus = 0.115;
/** The same for one or two cases, where normal theory is at its edge. */
const surplusOfFewCases = 0.3;

/**
 * The looks and levels for `cases` cases and a cap of `trials` per arm. `families`: the number of suite-model pairs of
 * the run; the levels that can make a run red are divided by it, so that a run errs in at most 5 %, under any dependence
 * (Bonferroni; the fixed share of Holm's first step). `requests`: the most different requests of one case, where repeats
 * are worth nothing. Throws RangeError for a cap that is not a whole number in 1..140, or no cases.
 */
export function planLooks(
  cases: number,
  trials: number = defaultTrials,
  { families = 1, requests = Number.POSITIVE_INFINITY }: { families?: number; requests?: number } = {},
) {
  if (!Number.isInteger(trials) || trials < 1 || trials > mostTrials)
    throw new RangeError(`${trials} trials: need a whole number from 1 to ${mostTrials}`);
  if (cases < 1) throw new RangeError("a check needs at least one case");
  const last = Math.min(trials, requests);
  const looks = [...ladder.filter((rung) => rung < last), last];
  const ahead = Math.min(requests, Math.max(2 * trials, leastRunAhead));
  const rungs = [...looks, ...ladder.filter((rung) => rung > last && rung <= ahead)];
  const least = Math.min(5, last);
  const tests = rungs.filter((rung) => rung >= least).length;
  const { suiteLevel, z } = boundaries(looks.filter((look) => look >= least).length, cases);
  const caseLevel = caseError / tests / cases / families;
  return { looks, rungs, least, suiteLevel: suiteLevel / families, z, caseLevel, riseLevel: caseError / cases };
}

/**
 * The looks of one check and its levels.
 * `looks`: trials per case and arm at which the suite is judged; `rungs`: these, and those to which suspects may run
 * ahead; `least`: nothing is decided with fewer trials. `suiteLevel`: a; a look at K trials tests at a K/T.
 * `z`: half-width of the interval in standard errors. `caseLevel`: of one case at one rung. `riseLevel`: of one case that
 * rose, by which REGRESSED becomes CHANGED.
 */
export type LookPlan = ReturnType<typeof planLooks>;

/** a and z for a suite of `cases` cases that is judged at `looks` looks (more than ten are treated as ten). */
export function boundaries(looks: number, cases: number): { suiteLevel: number; z: number } {
  const j = Math.min(suiteLevels.length, Math.max(1, looks)) - 1;
  const few = cases <= 2 ? surplusOfFewCases : 0;
  return { suiteLevel: suiteLevels[j] ?? 0, z: (pocock[j] ?? 0) + surplus + few };
}

/**
 * Did one case drop? P(head passes <= observed) given the passes of both arms together: the lower tail of the
 * hypergeometric, sum over y of C(k_h, y) C(k_b, s - y) / C(k_b + k_h, s), s = x_b + x_h. 1 when nothing can be shown.
 * Exact under any adaptive allocation: for a fixed endless record the p at a given size is super-uniform, whether or not
 * that size is ever reached. Conservative when trials of both arms share their orders.
 * Source: Fisher's exact test, one-sided.
 */
export function caseP(base: Counts, head: Counts): number {
  const passed = base.passed + head.passed;
  const least = Math.max(0, passed - base.trials);
  if (head.passed >= Math.min(head.trials, passed)) return 1;
  const total = lnChoose(base.trials + head.trials, passed);
  let term = Math.exp(lnChoose(head.trials, head.passed) + lnChoose(base.trials, base.passed) - total);
  let p = term;
  for (let y = head.passed; y > least; y--) {
    term *= (y * (base.trials - passed + y)) / ((head.trials - y + 1) * (passed - y + 1));
    p += term;
  }
  return Math.min(1, p);
}

/** Pairs of one case whose answers differ: `down` passed in base only, `up` in head only, among `pairs` pairs. */
export type Differences = { down: number; up: number; pairs: number };

/**
 * Did the suite drop? P(Bin(down + up, 1/2) >= down), over the pairs of all cases whose answers differ; 1 when none went
 * down. Under the null a differing pair goes either way with chance 1/2 whatever its order did to both, so the test is
 * exact under order effects and drift in time. Source: the exact sign test (McNemar 1947).
 */
export function suiteP(down: number, up: number): number {
  if (down === 0) return 1;
  const differing = down + up;
  let term = Math.exp(lnChoose(differing, down) - differing * Math.LN2);
  let p = term;
  for (let x = down; x < differing && term > p * 1e-18; x++) {
    term *= (differing - x) / (x + 1);
    p += term;
  }
  return Math.min(1, p);
}

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

const logFactorials = new Float64Array(1024);
for (let n = 2; n < logFactorials.length; n++) logFactorials[n] = (logFactorials[n - 1] ?? 0) + Math.log(n);

/** ln n!, n a whole number >= 0. */
export function lnFactorial(n: number): number {
  return n < logFactorials.length ? (logFactorials[n] ?? 0) : lnGamma(n + 1);
}

/** ln C(n, k), 0 <= k <= n. */
export function lnChoose(n: number, k: number): number {
  return lnFactorial(n) - lnFactorial(k) - lnFactorial(n - k);
}

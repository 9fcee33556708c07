import { type CaseCounts, comparable, type HeadNull, headNull, lowerTails, rate } from "./counts.ts";
import { type Summand, tailOfSum } from "./distributions.ts";
import { studentTCdf } from "./stdlib.ts";

/**
 * Whether a p-value is at most `alpha`. An exact p-value that equals alpha (3 of 3 against 0 of 3 is 1/20) may come out
 * a rounding error above it, so a relative error of 1e-9 is allowed. Every decision uses this function.
 */
export function isSignificant(p: number, alpha: number): boolean {
  return p <= alpha * (1 + 1e-9);
}

/**
 * `p`: the exact one-sided p-value. `score`: the observed statistic. `informative`: how many cases could have shown a
 * drop at all; with none of them p is 1 and has no meaning.
 */
export type GlobalTest = { p: number; score: number; informative: number };

/**
 * The exact test of "no case dropped from base to head", against "at least one did".
 *
 * Given its total passes, a case's head passes Y are hypergeometric if nothing changed. With the mid-p value
 * m(y) = P(Y < y) + P(Y = y)/2, a case scores a(y) = round(16 min(14, -ln m(y))^1.5), less its least score; the
 * statistic is the sum over cases, and p = P0(sum >= observed) by convolution. The power 1.5 lies between Fisher's
 * combination (1), good when all cases drop a little, and the minimum p (infinity), good when one case breaks.
 * Valid for any pass rates and unequal trials: it is conditional on each case's total (Fisher's argument, stratified).
 * With the totals kept, a larger drop never raises p. One head failure more changes a total, and with it what could
 * have happened: together with other cases that can raise p, as in any exact conditional test of several tables.
 */
export function globalTest(cases: readonly CaseCounts[]): GlobalTest {
  const nulls = cases.map(headNull).filter(({ masses }) => masses.length > 1);
  const summands: Summand[] = nulls.map((one) => ({ scores: scoresOf(one), masses: one.masses }));
  const score = nulls.reduce((sum, one, i) => sum + (summands[i]?.scores[one.observed] ?? 0), 0);
  return { p: tailOfSum(summands, score), score, informative: nulls.length };
}

/** The score of every attainable number of head passes: 0 for the most, larger for fewer. */
function scoresOf({ masses }: HeadNull): number[] {
  let below = 0;
  const raw = Array.from(masses, (mass) => {
    const midP = below + mass / 2;
    below += mass;
    // Many masses can add up to a rounding error more than 1, and its power would not be a number.
    return Math.round(16 * Math.max(0, Math.min(14, -Math.log(midP))) ** 1.5);
  });
  const least = Math.min(...raw);
  return raw.map((score) => score - least);
}

/** `p`: the exact p-value of one case alone. `adjusted`: the same, adjusted for the number of cases. */
export type CaseP = { p: number; adjusted: number };

/**
 * Which cases dropped: exact p-values per case, in the order given, with a step-down adjustment for all of them.
 *
 * p_i = P(Y_i <= observed) is the lower tail of the hypergeometric. Sorted ascending,
 * adj_(j) = max over l <= j of 1 - prod over i >= l of (1 - F_i(p_(l))), where F_i(x) is the largest attainable p-value
 * of case i that is <= x, or 0. Calling dropped every case with adj <= alpha errs on any case at all with chance
 * <= alpha. Step-down minP (Westfall and Young 1993) with the product of independent exact distributions instead
 * of resampling; it beats Holm because most cases cannot attain small p-values (Tarone 1990).
 */
export function stepDown(cases: readonly CaseCounts[]): CaseP[] {
  const tests = cases.map((one, index) => {
    const { masses, observed } = headNull(one);
    const attainable = lowerTails(masses);
    return { index, attainable, p: attainable[observed] ?? 1 };
  });
  const ascending = tests.toSorted((a, b) => a.p - b.p);
  const result: CaseP[] = cases.map(() => ({ p: 1, adjusted: 1 }));
  let adjusted = 0;
  for (const [l, { index, p }] of ascending.entries()) {
    const logNone = ascending.slice(l).reduce((sum, other) => sum + Math.log1p(-chanceAtMost(p, other.attainable)), 0);
    adjusted = Math.max(adjusted, p, -Math.expm1(logNone));
    result[index] = { p, adjusted };
  }
  return result;
}

/** P0(a case's p-value <= x) = its largest attainable p-value <= x. Equal values may differ by rounding: see 1e-12. */
function chanceAtMost(x: number, attainable: Float64Array): number {
  const above = attainable.findIndex((p) => p > x * (1 + 1e-12));
  return above < 0 ? 1 : (attainable[above - 1] ?? 0);
}

/** `p`: the exact p-value. `midP`: counts the observed outcome half, less conservative, for screening only. */
export type Cmh = { p: number; midP: number };

/**
 * The exact Cochran-Mantel-Haenszel test that head dropped, with one common effect over all cases: the lower tail of
 * the sum of head passes, given each case's totals. p = P0(S <= s), midP = P0(S < s) + P0(S = s)/2.
 * Strong when all cases move together, weak when one breaks. Without informative cases p = 1 and midP = 1/2.
 * Source: Agresti, Categorical Data Analysis, 3rd edition (exact inference for stratified 2 x 2 tables).
 */
export function cochranMantelHaenszel(cases: readonly CaseCounts[]): Cmh {
  const nulls = cases.map(headNull);
  const summands: Summand[] = nulls.map(({ masses }) => ({
    masses,
    scores: Array.from(masses, (_, j) => masses.length - 1 - j),
  }));
  const missing = nulls.reduce((sum, { masses, observed }) => sum + masses.length - 1 - observed, 0);
  const p = tailOfSum(summands, missing);
  return { p, midP: (p + tailOfSum(summands, missing + 1)) / 2 };
}

/** A case that passed all of its base trials is caught when at most `headPasses` head trials pass; `p` is its p-value. */
export type SmallestBreak = { kind: "catchable"; headPasses: number; p: number } | { kind: "none" };

/**
 * The smallest break of a single case, from always passing, that the exact test can call at `alpha` with this many
 * trials: the largest j with P(Y <= j | all base trials and j head trials passed) <= alpha. With `none`, even a total
 * break of one case would go unseen. The other cases are taken to pass always: ones that vary make it harder.
 */
export function smallestBreak(baseTrials: number, headTrials: number, alpha: number): SmallestBreak {
  const base = { passed: baseTrials, trials: baseTrials };
  for (let headPasses = headTrials - 1; headPasses >= 0; headPasses--) {
    // Base passed everything, so the observed head passes are the fewest attainable and their tail is one mass.
    const p = headNull({ base, head: { passed: headPasses, trials: headTrials } }).masses[0] ?? 1;
    if (isSignificant(p, alpha)) return { kind: "catchable", headPasses, p };
  }
  return { kind: "none" };
}

/** `p` is one-sided, small when head dropped. Undefined needs a reason that can be printed. */
export type PairedT =
  | { kind: "tested"; t: number; degreesOfFreedom: number; p: number }
  | { kind: "undefined"; why: string };

/**
 * The paired t test over cases of base rate - head rate: t = mean / (sd / sqrt(n)), n - 1 degrees of freedom.
 * A weak second opinion that does not assume independent trials within a case: each case counts as one observation.
 * Source: Student, Biometrika 6 (1908); for evals Miller, arXiv 2411.00640.
 */
export function pairedT(cases: readonly CaseCounts[]): PairedT {
  const drops = comparable(cases).map(({ base, head }) => rate(base) - rate(head));
  const n = drops.length;
  if (n < 2) return { kind: "undefined", why: "fewer than two cases have trials in both arms" };
  const mean = drops.reduce((sum, drop) => sum + drop, 0) / n;
  const variance = drops.reduce((sum, drop) => sum + (drop - mean) ** 2, 0) / (n - 1);
  // Equal drops such as .3 - .1 and .2 differ by rounding; their spread is none.
  if (variance < 1e-24) return { kind: "undefined", why: "all cases moved by the same amount" };
  const t = mean / Math.sqrt(variance / n);
  return { kind: "tested", t, degreesOfFreedom: n - 1, p: studentTCdf(-t, n - 1) };
}

/**
 * Holm's step-down adjustment, in the order given: adj_(j) = max over l <= j of min(1, (m - l + 1) p_(l)).
 * Rejecting every adj <= alpha errs on any true hypothesis with chance <= alpha, however the tests depend on each other.
 * Source: Holm, A simple sequentially rejective multiple test procedure, Scand. J. Statist. 6 (1979).
 */
export function holm(ps: readonly number[]): number[] {
  const ascending = ps.map((p, index) => ({ p, index })).toSorted((a, b) => a.p - b.p);
  const adjusted = ps.map(() => 1);
  let largest = 0;
  for (const [j, { p, index }] of ascending.entries()) {
    largest = Math.max(largest, Math.min(1, (ps.length - j) * p));
    adjusted[index] = largest;
  }
  return adjusted;
}

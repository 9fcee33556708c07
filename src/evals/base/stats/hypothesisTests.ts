import { sumOf } from "../collections.ts";
import { type CaseCounts, type Counts, type HeadNull, headNull } from "./counts.ts";
import { type IntegerPmf, lnChoose, type Summand, tailOfSum } from "./distributions.ts";

/** Whether p is at most `alpha`, within 1e-9: an exact p that equals alpha may come out a rounding error above it. */
export function isSignificant(p: number, alpha: number): boolean {
  return p <= alpha * (1 + 1e-9);
}

/** The largest value with P(Y <= value) <= level, which is significant; below all values if there is none. */
export function findLowest({ least, masses }: IntegerPmf, level: number): number {
  let p = 0;
  let found = least - 1;
  for (const mass of masses) {
    p += mass;
    if (!isSignificant(p, level)) break;
    found++;
  }
  return found;
}

/**
 * Did a rate drop? P(head passes <= observed) given the passes of both arms together: the lower tail of the
 * hypergeometric, sum over y of C(k_h, y) C(k_b, s - y) / C(k_b + k_h, s), s = x_b + x_h. 1 when nothing can be shown.
 * Exact under any adaptive allocation: for a fixed endless record the p at a given size is super-uniform, whether or
 * not that size is ever reached. Conservative when trials of both arms share their orders. Source: Fisher's exact test,
 * one-sided.
 */
export function fisherP(base: Counts, head: Counts): number {
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

/** `p`: exact and one-sided. `score`: the statistic. `informative`: the cases that could have shown a drop. */
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

/**
 * The p of the exact Cochran-Mantel-Haenszel test that head dropped, with one common effect over all cases: the lower
 * tail of the sum of head passes, given each case's totals, P0(S <= s). 1 without informative cases.
 * Strong when all cases move together, weak when one breaks.
 * Source: Agresti, Categorical Data Analysis, 3rd edition (exact inference for stratified 2 x 2 tables).
 */
export function cochranMantelHaenszel(cases: readonly CaseCounts[]): number {
  const nulls = cases.map(headNull);
  const summands: Summand[] = nulls.map(({ masses }) => ({
    masses,
    scores: Array.from(masses, (_, j) => masses.length - 1 - j),
  }));
  const missing = sumOf(nulls, ({ masses, observed }) => masses.length - 1 - observed);
  return tailOfSum(summands, missing);
}

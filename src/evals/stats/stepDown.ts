import { type CaseCounts, headNull, lowerTails } from "./counts.ts";

/** `p`: the exact p-value of one case by itself. `adjusted`: the same, corrected for there being many cases. */
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

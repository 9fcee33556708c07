import { type CaseCounts, headNull } from "./counts.ts";
import { type Summand, tailOfSum } from "./tailOfSum.ts";

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

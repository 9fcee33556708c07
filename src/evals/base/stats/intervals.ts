import { sumOf } from "../collections.ts";
import type { Counts } from "./counts.ts";
import { normalQuantile } from "./stdlib.ts";

/** Lower and upper end. */
export type Interval = readonly [number, number];

/** Of a two-sided interval of 95%: a report has one for each case. */
export const z95 = normalQuantile(0.975);

/**
 * The Wilson score interval of a pass rate, for display: the p with |c/n - p| <= z sqrt(p(1-p)/n). Undefined without
 * trials. For what to expect of new queries, give it the suite's mean rate with n = the number of *cases* (`passed` may
 * then be a fraction): trials of one case are not new queries.
 * Source: Wilson, JASA 22 (1927); Brown, Cai and DasGupta, Statistical Science 16 (2001).
 */
export function wilson({ passed, trials }: Counts, confidence = 0.95): Interval | undefined {
  if (trials <= 0) return undefined;
  const z2 = (confidence === 0.95 ? z95 : normalQuantile((1 + confidence) / 2)) ** 2;
  const center = (passed + z2 / 2) / (trials + z2);
  const half = Math.sqrt(z2 * ((passed * (trials - passed)) / trials + z2 / 4)) / (trials + z2);
  return [passed <= 0 ? 0 : Math.max(0, center - half), passed >= trials ? 1 : Math.min(1, center + half)];
}

/** Agreement beyond chance: 1 is perfect, 0 what chance alone brings. No interval where the standard error is 0. */
export type Kappa = { kappa: number; standardError: number; interval?: Interval };

/**
 * Cohen's kappa of two raters, from a square table: `table[i][j]` items were put into category i by the first rater and j
 * by the second. kappa = (po - pe) / (1 - pe), with the large-sample standard error that does not suppose kappa to be 0.
 * That error is 0 where every item is on the diagonal, or all are in one row or column: the sample does not show how much
 * kappa varies, so there is no interval. Undefined without items, and where both raters used a single category, the same
 * one (pe = 1).
 * Source: Cohen, Educational and Psychological Measurement 20 (1960); Fleiss, Cohen and Everitt, Psychological Bulletin
 * 72 (1969).
 */
export function kappa(table: readonly (readonly number[])[]): Kappa | undefined {
  const sum = (values: readonly number[]) => sumOf(values, (value) => value);
  const n = sum(table.map(sum));
  if (n === 0) return undefined;
  const rows = table.map((row) => sum(row) / n);
  const columns = table.map((_, j) => sum(table.map((row) => row[j] ?? 0)) / n);
  const row = (i: number) => rows[i] ?? 0;
  const column = (i: number) => columns[i] ?? 0;
  const observed = sum(table.map((cells, i) => cells[i] ?? 0)) / n;
  const expected = sum(rows.map((share, i) => share * column(i)));
  if (expected >= 1) return undefined;

  const cells = table.flatMap((counts, i) => counts.map((items, j) => ({ p: items / n, i, j })));
  const squares = cells.map(({ p, i, j }) =>
    i === j
      ? p * (1 - expected - (row(i) + column(i)) * (1 - observed)) ** 2
      : p * (1 - observed) ** 2 * (column(i) + row(j)) ** 2,
  );
  const square = sum(squares);
  const spread = square - (observed * expected - 2 * expected + observed) ** 2;
  const value = (observed - expected) / (1 - expected);
  // Rounding leaves a little of a spread of zero: without disagreement, or where a rater knows one category.
  if (spread <= 1e-12 * square) return { kappa: value, standardError: 0 };
  const standardError = Math.sqrt(spread / n) / (1 - expected) ** 2;
  const half = z95 * standardError;
  return { kappa: value, standardError, interval: [Math.max(-1, value - half), Math.min(1, value + half)] };
}

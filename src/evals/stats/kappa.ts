import { normalQuantile } from "./distributions.ts";
import type { Interval } from "./wilson.ts";

/** Agreement beyond chance: 1 is perfect, 0 what chance alone brings. No interval where the standard error is 0. */
export type Kappa = { kappa: number; standardError: number; interval?: Interval };

/**
 * Cohen's kappa of two raters, from a square table: `table[i][j]` items were put into category i by the first rater and j
 * by the second. kappa = (po - pe) / (1 - pe), with the large-sample standard error that does not suppose kappa to be 0.
 * With every item on the diagonal that error is 0, which only says that the sample shows no disagreement: then there is
 * no interval. Undefined without items, and where both raters know one and the same category only (pe = 1).
 * Source: Cohen, Educational and Psychological Measurement 20 (1960); Fleiss, Cohen and Everitt, Psychological Bulletin
 * 72 (1969).
 */
export function kappa(table: readonly (readonly number[])[], confidence = 0.95): Kappa | undefined {
  const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);
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
  const spread = sum(squares) - (observed * expected - 2 * expected + observed) ** 2;
  const value = (observed - expected) / (1 - expected);
  if (observed === 1 || spread <= 0) return { kappa: value, standardError: 0 };
  const standardError = Math.sqrt(spread / n) / (1 - expected) ** 2;
  const half = normalQuantile((1 + confidence) / 2) * standardError;
  return { kappa: value, standardError, interval: [Math.max(-1, value - half), Math.min(1, value + half)] };
}

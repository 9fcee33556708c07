import { sumOf } from "../collections.ts";
import { type CaseCounts, type Counts, comparable, meanChange, rate, swapArms } from "./counts.ts";
import { normalQuantile } from "./distributions.ts";

/** Lower and upper end. */
export type Interval = readonly [number, number];

/** Of a two-sided interval of 95%: a report has one for each case. */
const z95 = normalQuantile(0.975);

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
 * Cohen's kappa of two raters, from a square table: `table[i][j]` items were put into category i by the first rater and
 * j by the second. kappa = (po - pe) / (1 - pe), with the large-sample standard error that does not suppose kappa to be
 * 0. That error is 0 where every item is on the diagonal, or all are in one row or column: the sample does not show how
 * much kappa varies, so there is no interval. Undefined without items, and where both raters used a single category,
 * the same one (pe = 1). Source: Cohen, Educational and Psychological Measurement 20 (1960); Fleiss, Cohen and Everitt,
 * Psychological Bulletin 72 (1969).
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

/**
 * U(z): the most that the mean drop over cases may be, where the arms are not paired: the largest root d >= D of d - D
 * = z sqrt(sum V_i(d) / n^2 + extra), V_i the variance of case i's rate difference under p_base - p_head = d, with the
 * constrained maximum-likelihood rates and the factor N/(N-1). `extra`: variance of the mean from elsewhere. Undefined
 * when no case was tried in both arms. A score bound: unlike Wald's it keeps its width when all pass. Source: Miettinen
 * and Nurminen, Statistics in Medicine 4 (1985), strata weighted equally; Farrington and Manning 1990.
 */
export function upperDrop(cases: readonly CaseCounts[], z: number, extra = 0): number | undefined {
  const compared = comparable(cases);
  const n = compared.length;
  const change = meanChange(compared);
  if (change === undefined) return undefined;
  const drop = -change;
  const isShort = (d: number) => {
    const variance = sumOf(compared, (one) => dropVariance(one, d));
    return d - drop < z * Math.sqrt(variance / (n * n) + extra);
  };
  return lastTurn(isShort, drop, 1);
}

/** The net change of the suite, head - base, with its two-sided 95% interval, for display. */
export function netChange(cases: readonly CaseCounts[]): { change: number; interval: Interval } | undefined {
  const [fall, rise] = [upperDrop(cases, z95), upperDrop(cases.map(swapArms), z95)];
  const change = meanChange(cases);
  if (fall === undefined || rise === undefined || change === undefined) return undefined;
  return { change, interval: [-fall, rise] };
}

function dropVariance({ base, head }: CaseCounts, drop: number): number {
  const p = constrainedBaseRate(base, head, drop);
  const q = p - drop;
  const total = base.trials + head.trials;
  return (((p * (1 - p)) / base.trials + (q * (1 - q)) / head.trials) * total) / (total - 1);
}

/** The maximum-likelihood base rate p under p_base - p_head = drop. Source: Farrington and Manning (1990), appendix. */
export function constrainedBaseRate(base: Counts, head: Counts, drop: number): number {
  const theta = head.trials / base.trials;
  const [p, q] = [rate(base), rate(head)];
  const a = 1 + theta;
  const b = -(1 + theta + p + theta * q + drop * (theta + 2));
  const c = drop * drop + drop * (2 * p + theta + 1) + p + theta * q;
  const d = -p * drop * (1 + drop);
  const v = (b / (3 * a)) ** 3 - (b * c) / (6 * a * a) + d / (2 * a);
  const u = (v < 0 ? -1 : 1) * Math.sqrt(Math.max(0, (b / (3 * a)) ** 2 - c / (3 * a)));
  const cosine = u === 0 ? 1 : Math.min(1, Math.max(-1, v / u ** 3));
  const root = 2 * u * Math.cos((Math.PI + Math.acos(cosine)) / 3) - b / (3 * a);
  return Math.min(1, 1 + drop, Math.max(0, drop, root));
}

/**
 * The largest x in `low`..`high` at which `holds` turns from true to false; `low` counts as holding. With one or two
 * trials in a case it may turn more than once: a grid finds the last interval with a turn, bisection the place to
 * 1e-15.
 */
function lastTurn(holds: (x: number) => boolean, low: number, high: number): number {
  const step = (high - low) / 100;
  let inside = high - step;
  while (inside > low && !holds(inside)) inside -= step;
  inside = Math.max(low, inside);
  let outside = inside + step;
  for (let halvings = 0; halvings < 48; halvings++) {
    const middle = (inside + outside) / 2;
    if (holds(middle)) inside = middle;
    else outside = middle;
  }
  return outside;
}

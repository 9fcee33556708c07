import { sumOf } from "../../base/collections.ts";
import { fisherP } from "../../base/stats/hypothesisTests.ts";
import { countRate, type Grades, rates } from "./grades.ts";

/** The answers of one case in order of asking, by grade (0, 1 or 2), as many in both arms. */
export type Sequence = { base: readonly number[]; head: readonly number[] };

/**
 * `score`: how far consecutive answers of an arm agree beyond chance and beyond what both arms share, about standard
 * normal. `correlation`: their lag-1 autocorrelation.
 */
export type Dependence = { score: number; correlation: number };

/** With a larger score, consecutive answers are not independent. */
const foundAt = 2.5;
/** With a larger score that is not found, further answers should be seen first. */
const doubtfulAt = 0.8;

export const isDependent = ({ score }: Dependence): boolean => score > foundAt;
export const isDoubtful = ({ score }: Dependence): boolean => score > doubtfulAt && score <= foundAt;

/**
 * Tests whether consecutive answers of a case and arm are independent: the circular lag-1 products of the grades less
 * their mean, summed over cases, against their moments under permutation. What both arms share (drift, moods, orders) shows
 * in the products across arms as well and does no harm, so it is subtracted.
 */
export function measureDependence(cases: readonly Sequence[]): Dependence {
  const moments = cases.filter(({ base }) => base.length >= 3).map(measureProducts);
  const sum = (key: keyof ReturnType<typeof measureProducts>) => sumOf(moments, (one) => one[key]);
  const [within, variance, spread] = [sum("within"), sum("variance"), sum("spread")];
  const w = standardise(within, variance, sum("skew") / variance);
  const c = sum("acrossVariance") > 0 ? sum("across") / Math.sqrt(sum("acrossVariance")) : 0;
  // The difference of two scores has twice the variance, and 2.33 is where it errs as often as the plain score.
  const score = c <= 1 ? w - Math.max(0, c) : ((w - c) / Math.SQRT2) * (foundAt / 2.33);
  return { score, correlation: spread > 0 ? within / spread : 0 };
}

/** The centered lag-1 products of one case, within and across arms, and their moments. */
function measureProducts({ base, head }: Sequence) {
  const k = base.length;
  const [b, h] = [center(base), center(head)];
  const power = (values: readonly number[], exponent: number) => sumOf(values, (value) => value ** exponent);
  const lagged = (xs: readonly number[], ys: readonly number[]) =>
    xs.reduce((sum, x, t) => sum + x * (ys[(t + 1) % k] ?? 0), 0);
  const joint = b.reduce((sum, x, t) => sum + x * (h[t] ?? 0), 0);
  const [b2, h2] = [power(b, 2), power(h, 2)];
  return {
    within: lagged(b, b) + lagged(h, h) + (b2 + h2) / (k - 1),
    variance: lagVariance(b2, power(b, 4), k) + lagVariance(h2, power(h, 4), k) + (2 * joint * joint) / (k - 1),
    skew: (power(b, 3) ** 2 + power(h, 3) ** 2) / k,
    across: lagged(b, h) + lagged(h, b) + (2 * joint) / (k - 1),
    acrossVariance: (2 * (b2 * h2 + joint * joint)) / (k - 1),
    spread: b2 + h2,
  };
}

function center(values: readonly number[]): number[] {
  const mean = sumOf(values, (value) => value) / values.length;
  return values.map((value) => value - mean);
}

/** The variance of a circular lag-1 sum over the permutations of k centered values, from their power sums. */
function lagVariance(squares: number, fourths: number, k: number): number {
  if (squares < 1e-9) return 0;
  const pairs = (squares ** 2 - fourths) / (k - 1);
  const others = (squares ** 2 - 2 * fourths) / ((k - 1) * (k - 2));
  return Math.max(0, pairs + others - (squares / (k - 1)) ** 2);
}

/**
 * The normal score of a centered sum that moves in steps of about `step`. Few failures are few coincidences, which are a
 * Poisson count rather than normal: the score is then that of its square root. Without variance, the score is 0.
 */
function standardise(sum: number, variance: number, step: number): number {
  if (variance === 0) return 0;
  if (step * step < 1e-4 * variance) return sum / Math.sqrt(variance);
  const count = variance / step / step;
  return 2 * (Math.sqrt(Math.max(0, count + sum / step - 1 / 8)) - Math.sqrt(count + 1 / 8));
}

/** How many consecutive answers count as one: 3, or as many as the correlation asks for. */
export function chooseBlock(correlation: number): number {
  const r = Math.max(0, Math.min(0.9, correlation));
  return Math.max(3, Math.ceil((1 + r) / (1 - r)));
}

/** The smaller Fisher p of both rates when so many answers count as one; what base loses is rounded against the claim. */
export function blockP(base: Grades, head: Grades, block: number): number {
  const ps = rates.map((rate) => {
    const [then, now] = [countRate(base, rate), countRate(head, rate)];
    const trials = Math.floor(then.trials / block);
    const passed = Math.min(trials, Math.ceil(now.passed / block));
    return fisherP({ passed: Math.floor(then.passed / block), trials }, { passed, trials });
  });
  return Math.min(...ps);
}

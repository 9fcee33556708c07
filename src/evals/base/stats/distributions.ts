import erfcInverseOf from "@stdlib/math-base-special-erfcinv";
import lnGammaOf from "@stdlib/math-base-special-gammaln";
import normalCdfOf from "@stdlib/stats-base-dists-normal-cdf";
import { sumOf } from "../collections.ts";

// The build bundles this module with what it imports: as dependencies these would be some 240 packages.

/** The standard normal distribution function. Relative error below 1e-13, far tails included. */
export const normalCdf = (x: number): number => normalCdfOf(x, 0, 1);

/** ln Gamma(x), x > 0. */
export const lnGamma: (x: number) => number = lnGammaOf;

/**
 * The z that a standard normal variable stays below with probability `p`, 0 < p < 1. Relative error below 1e-13 down to
 * p = 1e-300. (The library's own normal quantile loses its digits below 1e-12.)
 */
export const normalQuantile = (p: number): number => -Math.SQRT2 * erfcInverseOf(2 * p) + 0;

/** A probability mass function over the integers `least`, `least` + 1, ... Its masses add up to 1. */
export type IntegerPmf = { least: number; masses: Float64Array };

/**
 * Successes among `draws` items drawn without replacement from `population` items of which `successes` are successes:
 * P(Y = y) = C(successes, y) C(population - successes, draws - y) / C(population, draws), for every attainable y.
 *
 * The masses follow from their ratios, P(y+1)/P(y) = (K-y)(n-y) / ((y+1)(N-K-n+y+1)), going out from the mode and
 * divided by their sum at the end. No logarithms and no cancellation, so even masses of 1e-300 keep their digits.
 */
export function hypergeometric(population: number, successes: number, draws: number): IntegerPmf {
  const least = Math.max(0, draws + successes - population);
  const most = Math.min(draws, successes);
  const masses = new Float64Array(most - least + 1);
  const ratio = (y: number) => ((successes - y) * (draws - y)) / ((y + 1) * (population - successes - draws + y + 1));
  const peak = Math.floor(((draws + 1) * (successes + 1)) / (population + 2));
  const mode = Math.min(most, Math.max(least, peak));

  masses[mode - least] = 1;
  let sum = 1;
  for (let y = mode, mass = 1; y < most; y++) {
    mass *= ratio(y);
    masses[y + 1 - least] = mass;
    sum += mass;
  }
  for (let y = mode, mass = 1; y > least; y--) {
    mass /= ratio(y - 1);
    masses[y - 1 - least] = mass;
    sum += mass;
  }
  return { least, masses: masses.map((mass) => mass / sum) };
}

/** P(Y <= value). */
export function lowerTail({ least, masses }: IntegerPmf, value: number): number {
  return sumOf(masses.subarray(0, Math.max(0, value - least + 1)), (mass) => mass);
}

/** The binomial law of n fair coins: P(X = x) for x = 0..n, and P(X >= x) for x = 0..n + 1. */
export function halfBinomial(n: number): { masses: Float64Array; tails: Float64Array } {
  const [masses, tails] = [new Float64Array(n + 1), new Float64Array(n + 2)];
  const middle = Math.floor(n / 2);
  let mass = Math.exp(lnChoose(n, middle) - n * Math.LN2);
  for (let x = middle; x >= 0; mass *= x / (n - x + 1), x--) masses[x] = masses[n - x] = mass;
  for (let x = n; x >= 0; x--) tails[x] = Math.min(1, (tails[x + 1] ?? 0) + (masses[x] ?? 0));
  tails[0] = 1;
  return { masses, tails };
}

/** One independent summand: `scores[j]`, an integer >= 0, with chance `masses[j]`. */
export type Summand = { scores: readonly number[]; masses: Float64Array };

/** Mass that is too small to follow. It counts as having reached the threshold, so the tail is never understated. */
const negligible = 1e-40;

/**
 * P(sum of the summands >= threshold), exactly but for rounding: the distribution of the sum is built by convolution
 * over the integers. Scores are never negative, so what has reached the threshold stays there; only the part below it
 * is kept, and of that only the window that holds more than 1e-40 on either side. No cancellation: small tails keep
 * their digits, down to about 1e-37 where the bound on the trimmed mass takes over. With no summands the sum is 0.
 */
export function tailOfSum(summands: readonly Summand[], threshold: number): number {
  if (threshold <= 0) return 1;
  let below: { from: number; masses: Float64Array } = { from: 0, masses: Float64Array.of(1) };
  let reached = 0;
  for (const summand of summands) {
    const { from, masses } = below;
    const next = new Float64Array(Math.min(masses.length + Math.max(...summand.scores), threshold - from));
    for (const [j, score] of summand.scores.entries()) {
      const mass = summand.masses[j] ?? 0;
      const staying = Math.max(0, Math.min(masses.length, next.length - score));
      for (let t = 0; t < staying; t++) next[t + score] = (next[t + score] ?? 0) + mass * (masses[t] ?? 0);
      for (let t = staying; t < masses.length; t++) reached += mass * (masses[t] ?? 0);
    }
    const window = trim(next);
    reached += window.trimmed;
    below = { from: from + window.start, masses: window.masses };
  }
  return Math.min(1, reached);
}

/** Cuts off what lies before and after all but a negligible mass. */
function trim(masses: Float64Array): { start: number; masses: Float64Array; trimmed: number } {
  const low = negligibleRun(masses, 0, 1);
  const high = negligibleRun(masses, masses.length - 1, -1);
  const end = Math.max(low.length, masses.length - high.length);
  return { start: low.length, masses: masses.subarray(low.length, end), trimmed: low.mass + high.mass };
}

/** The longest run from `start` on, going by `step`, that holds at most a negligible mass. */
function negligibleRun(masses: Float64Array, start: number, step: 1 | -1): { length: number; mass: number } {
  let mass = 0;
  for (let length = 0; length < masses.length; length++) {
    const more = mass + (masses[start + step * length] ?? 0);
    if (more > negligible) return { length, mass };
    mass = more;
  }
  return { length: masses.length, mass };
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

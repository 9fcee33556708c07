import jStat from "jstat";

/** A probability mass function over the integers `least`, `least` + 1, ... Its masses add up to 1. */
export type IntegerPmf = { least: number; masses: Float64Array };

/**
 * Successes among `draws` items drawn without replacement from `population` items of which `successes` are successes:
 * P(Y = y) = C(successes, y) C(population - successes, draws - y) / C(population, draws), for every attainable y.
 *
 * The masses follow from their ratios, P(y+1)/P(y) = (K-y)(n-y) / ((y+1)(N-K-n+y+1)), going out from the mode and
 * divided by their sum at the end. No logarithm and no cancellation is met, so even masses of 1e-300 keep their digits.
 * (jstat's own hypergeometric loses everything below 1e-10.)
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

/** The standard normal distribution function. Error below 1e-15, so the far lower tail has no digits. */
export function normalCdf(x: number): number {
  return jStat.normal.cdf(x, 0, 1);
}

/** The z that a standard normal variable stays below with probability `p`, 0 < p < 1. Error below 1e-13. */
export function normalQuantile(p: number): number {
  return jStat.normal.inv(p, 0, 1);
}

/** The p-quantile of the beta distribution with shapes a, b > 0. Error below 1e-7 for p within [.0005, .9995]. */
export function betaQuantile(p: number, a: number, b: number): number {
  return jStat.beta.inv(p, a, b);
}

/** Student's t distribution function. Error below 1e-7. */
export function studentTCdf(t: number, degreesOfFreedom: number): number {
  return jStat.studentt.cdf(t, degreesOfFreedom);
}

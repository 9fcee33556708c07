import erfcInverseOf from "@stdlib/math-base-special-erfcinv";
import lnGammaOf from "@stdlib/math-base-special-gammaln";
import normalCdfOf from "@stdlib/stats-base-dists-normal-cdf";

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

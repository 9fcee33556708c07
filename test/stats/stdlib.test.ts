import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { betaQuantile, lnGamma, normalCdf, normalQuantile } from "../../src/evals/stats/stdlib.ts";
import { choose } from "./support.ts";

const relative = (value: number, exact: number) => Math.abs(value / exact - 1);

describe("the normal distribution", () => {
  // Values of mpmath with 30 digits.
  test.each([
    [1.96, 0.9750021048517795],
    [-5, 2.866515718791939e-7],
    [-10, 7.619853024160527e-24],
    [-20, 2.753624118606234e-89],
  ])("the chance of at most %f", (x, exact) => {
    expect(relative(normalCdf(x), exact)).toBeLessThan(1e-13);
  });

  test("far out it lies between the bounds of Mills' ratio", () => {
    for (let x = 6; x < 37; x += 0.37) {
      const density = Math.exp((-x * x) / 2) / Math.sqrt(2 * Math.PI);
      expect(normalCdf(-x)).toBeLessThan((density / x) * (1 + 1e-12));
      expect(normalCdf(-x)).toBeGreaterThan((density * x) / (x * x + 1));
    }
  });

  test("the quantile inverts it, however small the tail, and is symmetric", () => {
    for (const p of [1e-300, 1e-200, 1e-50, 1e-15, 1e-6, 0.0223, 0.2, 0.5, 0.7, 0.95, 0.9999])
      expect(relative(normalCdf(normalQuantile(p)), p)).toBeLessThan(2e-10);
    expect(normalQuantile(0.975)).toBeCloseTo(1.959963984540054, 14);
    expect(normalQuantile(0.025)).toBeCloseTo(-1.959963984540054, 14);
    expect(normalQuantile(0.5)).toBe(0);
  });
});

/** P(X >= passed) of the binomial with chance q, which is the beta distribution function at q (Abramowitz and Stegun 26.5.7). */
function binomialTail(passed: number, trials: number, q: number): number {
  let sum = 0;
  for (let x = trials; x >= passed; x--) sum += Number(choose(trials, x)) * q ** x * (1 - q) ** (trials - x);
  return sum;
}

test("the beta quantile inverts the binomial tail, also for tails of 1e-12", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 60 }),
      fc.integer({ min: 1, max: 60 }),
      fc.constantFrom(1e-12, 1e-6, 0.0005, 0.025, 0.05, 0.5, 0.95),
      (a, b, p) => {
        expect(relative(binomialTail(a, a + b - 1, betaQuantile(p, a, b)), p)).toBeLessThan(1e-10);
      },
    ),
  );
});

test("the beta quantile where one shape is large: 1 - (1 - q)^b = p has a closed form", () => {
  for (const p of [0.025, 0.5, 0.975, 1 - 1e-12])
    expect(relative(betaQuantile(p, 1, 1e5), -Math.expm1(Math.log1p(-p) / 1e5))).toBeLessThan(1e-10);
});

describe("lnGamma", () => {
  test("known values", () => {
    expect(lnGamma(0.5)).toBeCloseTo(0.5 * Math.log(Math.PI), 13);
    expect(lnGamma(10)).toBeCloseTo(Math.log(362880), 13);
    expect(lnGamma(100.5)).toBeCloseTo(361.4355404677776, 10);
  });

  test("Gamma(x + 1) = x Gamma(x)", () => {
    fc.assert(
      fc.property(fc.double({ min: 0.01, max: 1000, noNaN: true }), (x) => {
        const [next, here] = [lnGamma(x + 1), lnGamma(x)];
        expect(Math.abs(next - here - Math.log(x))).toBeLessThan(2e-13 * Math.max(1, Math.abs(next)));
      }),
    );
  });
});

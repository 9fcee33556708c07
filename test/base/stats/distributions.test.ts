import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { lnGamma, normalCdf, normalQuantile } from "../../../src/evals/base/stats/distributions.ts";

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

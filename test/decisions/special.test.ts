import normal from "@stdlib/stats-base-dists-normal";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  drawBeta,
  drawNormal,
  lnChoose,
  lnFactorial,
  lnGamma,
  lnKT,
  normalCdf,
  normalQuantile,
} from "../../src/evals/decisions/special.ts";
import { seededRandom } from "../../src/evals/stats/random.ts";

describe("lnGamma", () => {
  test("known values", () => {
    expect(lnGamma(0.5)).toBeCloseTo(0.5 * Math.log(Math.PI), 13);
    expect(lnGamma(1)).toBeCloseTo(0, 13);
    expect(lnGamma(2)).toBeCloseTo(0, 13);
    expect(lnGamma(10)).toBeCloseTo(Math.log(362880), 13);
    expect(lnGamma(100.5)).toBeCloseTo(361.4355404677776, 10);
  });

  test("Gamma(x + 1) = x Gamma(x), to 1e-13", () => {
    fc.assert(
      fc.property(fc.double({ min: 0.01, max: 1000, noNaN: true }), (x) => {
        const [next, here] = [lnGamma(x + 1), lnGamma(x)];
        expect(Math.abs(next - here - Math.log(x))).toBeLessThan(1e-13 * Math.max(1, Math.abs(next)));
      }),
    );
  });

  test("Legendre's duplication formula, to 1e-13", () => {
    fc.assert(
      fc.property(fc.double({ min: 0.1, max: 400, noNaN: true }), (x) => {
        const left = lnGamma(x) + lnGamma(x + 0.5);
        const right = (1 - 2 * x) * Math.LN2 + 0.5 * Math.log(Math.PI) + lnGamma(2 * x);
        expect(Math.abs(left - right)).toBeLessThan(2e-13 * Math.max(1, Math.abs(right)));
      }),
    );
  });

  test("factorials and binomials", () => {
    expect(lnFactorial(0)).toBe(0);
    expect(lnFactorial(2000)).toBeCloseTo(lnGamma(2001), 9);
    expect(Math.exp(lnChoose(50, 25))).toBeCloseTo(126410606437752, -3);
  });
});

test("lnKT: golden values, and the chances of all sequences of n add up to 1", () => {
  expect(lnKT(20, 0)).toBeCloseTo(-2.07648042915, 11);
  expect(lnKT(3, 2)).toBeCloseTo(-4.44656515581, 11);
  expect(lnKT(0, 0)).toBe(0);
  const total = Array.from({ length: 13 }, (_, x) => Math.exp(lnChoose(12, x) + lnKT(x, 12 - x)));
  expect(total.reduce((a, b) => a + b)).toBeCloseTo(1, 12);
});

test("the quantile inverts the distribution function, however small the tail", () => {
  for (const p of [1e-300, 1e-200, 1e-50, 1e-15, 1e-6, 0.2])
    expect(normalCdf(normalQuantile(p)) / p).toBeCloseTo(1, 11);
});

describe("the normal distribution agrees with an independent library", () => {
  test("distribution function, relative error 1e-13 into the far tail", () => {
    for (let x = -36; x <= 8; x += 0.0937) {
      const oracle = normal.cdf(x, 0, 1);
      expect(Math.abs(normalCdf(x) - oracle)).toBeLessThan(2e-13 * oracle);
    }
  });

  test("quantile, error 1e-13", () => {
    for (const p of [0.0005, 0.0223, 0.025, 0.05, 0.3, 0.5, 0.7, 0.95, 0.975, 0.9999])
      expect(Math.abs(normalQuantile(p) - normal.quantile(p, 0, 1))).toBeLessThan(
        1e-13 * Math.max(1, Math.abs(normalQuantile(p))),
      );
  });
});

test("draws have the moments of their distributions", () => {
  const random = seededRandom(5);
  const mean = (values: number[]) => values.reduce((a, b) => a + b, 0) / values.length;
  for (const [a, b] of [
    [0.5, 0.5],
    [0.5, 20.5],
    [3, 2],
    [40, 10],
  ] as const) {
    const draws = Array.from({ length: 20_000 }, () => drawBeta(a, b, random));
    const variance = (a * b) / ((a + b) ** 2 * (a + b + 1));
    expect(Math.abs(mean(draws) - a / (a + b))).toBeLessThan(4 * Math.sqrt(variance / draws.length));
    expect(mean(draws.map((x) => (x - a / (a + b)) ** 2)) / variance).toBeCloseTo(1, 1);
  }
  const normals = Array.from({ length: 20_000 }, () => drawNormal(random));
  expect(Math.abs(mean(normals))).toBeLessThan(0.03);
  expect(mean(normals.map((x) => x * x))).toBeCloseTo(1, 1);
});

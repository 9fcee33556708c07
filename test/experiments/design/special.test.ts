import { expect, test } from "vitest";
import { seededRandom } from "../../../src/evals/base/stats/random.ts";
import { lnGamma } from "../../../src/evals/base/stats/stdlib.ts";
import { drawBeta, drawNormal, lnChoose, lnFactorial, lnKT } from "../../../src/evals/experiments/design/special.ts";

test("factorials and binomials", () => {
  expect(lnFactorial(0)).toBe(0);
  expect(lnFactorial(2000)).toBeCloseTo(lnGamma(2001), 9);
  expect(Math.exp(lnChoose(50, 25))).toBeCloseTo(126410606437752, -3);
});

test("lnKT: golden values, and the chances of all sequences of n add up to 1", () => {
  expect(lnKT(20, 0)).toBeCloseTo(-2.07648042915, 11);
  expect(lnKT(3, 2)).toBeCloseTo(-4.44656515581, 11);
  expect(lnKT(0, 0)).toBe(0);
  const total = Array.from({ length: 13 }, (_, x) => Math.exp(lnChoose(12, x) + lnKT(x, 12 - x)));
  expect(total.reduce((a, b) => a + b)).toBeCloseTo(1, 12);
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

import beta from "@stdlib/stats-base-dists-beta";
import hypergeometricOracle from "@stdlib/stats-base-dists-hypergeometric";
import normal from "@stdlib/stats-base-dists-normal";
import t from "@stdlib/stats-base-dists-t";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  betaQuantile,
  hypergeometric,
  normalCdf,
  normalQuantile,
  studentTCdf,
} from "../../src/evals/stats/distributions.ts";
import { choose, quotient } from "./support.ts";

const probabilities = [0.0005, 0.001, 0.01, 0.025, 0.05, 0.2, 0.5, 0.7, 0.95, 0.975, 0.99, 0.9995];

describe("distributions agree with an independent library", () => {
  test("hypergeometric", () => {
    fc.assert(
      fc.property(fc.nat(60), fc.nat(60), fc.nat(120), (base, head, passes) => {
        const population = base + head;
        const successes = Math.min(passes, population);
        const { least, masses } = hypergeometric(population, successes, head);
        for (const [j, mass] of masses.entries()) {
          const oracle = hypergeometricOracle.pmf(least + j, population, successes, head);
          expect(Math.abs(mass - oracle)).toBeLessThan(1e-11 * oracle);
        }
      }),
    );
  });

  test("normal quantile and distribution function", () => {
    for (const p of probabilities) expect(normalQuantile(p)).toBeCloseTo(normal.quantile(p, 0, 1), 12);
    for (let x = -6; x <= 6; x += 0.37) expect(normalCdf(x)).toBeCloseTo(normal.cdf(x, 0, 1), 14);
  });

  test("beta quantile, to the 1e-7 that is promised", () => {
    for (const p of probabilities)
      for (const a of [1, 2, 5, 20, 101])
        for (const b of [1, 2, 5, 20, 101])
          expect(Math.abs(betaQuantile(p, a, b) - beta.quantile(p, a, b))).toBeLessThan(1e-7);
  });

  test("Student's t, to the 1e-7 that is promised", () => {
    for (const df of [1, 2, 4, 9, 30, 499])
      for (let x = -8; x <= 8; x += 0.37) expect(Math.abs(studentTCdf(x, df) - t.cdf(x, df))).toBeLessThan(1e-7);
  });
});

describe("hypergeometric", () => {
  test("equals the quotient of big integers, down to masses of 1e-180", () => {
    const { least, masses } = hypergeometric(600, 300, 300);
    expect(least).toBe(0);
    for (const [y, mass] of masses.entries()) {
      const exact = quotient(choose(300, y) * choose(300, 300 - y), choose(600, 300));
      expect(Math.abs(mass - exact)).toBeLessThan(1e-12 * exact);
    }
    expect(masses[0]).toBeLessThan(1e-170);
  });

  test("covers exactly the attainable values", () => {
    expect(hypergeometric(10, 7, 5)).toMatchObject({ least: 2, masses: { length: 4 } });
    expect(hypergeometric(10, 0, 5)).toEqual({ least: 0, masses: Float64Array.of(1) });
    expect(hypergeometric(10, 10, 5)).toEqual({ least: 5, masses: Float64Array.of(1) });
    expect(hypergeometric(0, 0, 0)).toEqual({ least: 0, masses: Float64Array.of(1) });
  });
});

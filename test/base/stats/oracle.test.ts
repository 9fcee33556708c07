import hypergeometricOracle from "@stdlib/stats-base-dists-hypergeometric";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { hypergeometric } from "../../../src/evals/base/stats/distributions.ts";
import { choose, quotient } from "./support.ts";

describe("hypergeometric", () => {
  test("agrees with an independent library", () => {
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

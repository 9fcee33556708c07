import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { wilson } from "../../../src/evals/base/stats/intervals.ts";
import { anyCounts } from "./support.ts";

describe("Wilson", () => {
  test("known values", () => {
    expect(wilson({ passed: 8, trials: 10 })).toEqual([expect.closeTo(0.4901624, 6), expect.closeTo(0.9433178, 6)]);
    expect(wilson({ passed: 10, trials: 10 })).toEqual([expect.closeTo(0.7224672, 6), 1]);
    expect(wilson({ passed: 0, trials: 10 })).toEqual([0, expect.closeTo(0.2775328, 6)]);
    expect(wilson({ passed: 0, trials: 0 })).toBeUndefined();
  });

  test("lies within [0, 1] and holds the rate; its ends are where the score test just accepts", () => {
    fc.assert(
      fc.property(anyCounts(1, 200), fc.constantFrom(0.8, 0.95, 0.99), (counts, confidence) => {
        const [low, high] = wilson(counts, confidence) ?? [1, 0];
        const rate = counts.passed / counts.trials;
        expect(0 <= low && low <= rate && rate <= high && high <= 1 && low < high).toBe(true);
        const standardised = (p: number) => Math.abs(rate - p) / Math.sqrt((p * (1 - p)) / counts.trials);
        if (low > 0 && high < 1) expect(standardised(low)).toBeCloseTo(standardised(high), 6);
      }),
    );
  });

  test("takes a mean rate over cases", () => {
    const [z2, n, rate] = [1.959964 ** 2, 10, 0.75];
    const half = Math.sqrt((rate * (1 - rate)) / n + z2 / (4 * n * n)) * Math.sqrt(z2);
    const ends = [-half, half].map((side) => expect.closeTo((rate + z2 / (2 * n) + side) / (1 + z2 / n), 6));
    expect(wilson({ passed: 7.5, trials: 10 })).toEqual(ends);
  });
});

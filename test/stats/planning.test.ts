import { describe, expect, test } from "vitest";
import { globalTest, holm, isSignificant, pairedT, smallestBreak } from "../../src/evals/stats/hypothesisTests.ts";
import { trialsToSettle } from "../../src/evals/stats/meanDrop.ts";
import { example, paired } from "./support.ts";

describe("the smallest break that can be caught", () => {
  test("5 against 5, 20 against 5, 3 against 3, 2 against 2", () => {
    expect(smallestBreak(5, 5, 0.05)).toEqual({ kind: "catchable", headPasses: 1, p: expect.closeTo(1 / 42, 12) });
    expect(smallestBreak(20, 5, 0.05)).toEqual({ kind: "catchable", headPasses: 3, p: expect.closeTo(1 / 30, 12) });
    expect(smallestBreak(3, 3, 0.05)).toEqual({ kind: "catchable", headPasses: 0, p: expect.closeTo(1 / 20, 12) });
    expect(smallestBreak(2, 2, 0.05)).toEqual({ kind: "none" });
    expect(smallestBreak(0, 5, 0.05)).toEqual({ kind: "none" });
    expect(smallestBreak(5, 0, 0.05)).toEqual({ kind: "none" });
  });

  test("is where the global test turns, beside cases that always pass", () => {
    for (const trials of [3, 5, 10, 20]) {
      const found = smallestBreak(trials, trials, 0.05);
      if (found.kind === "none") throw new Error(`nothing catchable at ${trials}`);
      const p = (j: number) => globalTest(paired(trials, [trials, trials], [trials, j])).p;
      expect(p(found.headPasses)).toBeCloseTo(found.p, 12);
      expect(isSignificant(p(found.headPasses), 0.05)).toBe(true);
      expect(isSignificant(p(found.headPasses + 1), 0.05)).toBe(false);
    }
  });
});

describe("significance", () => {
  test("forgives rounding and nothing more", () => {
    expect(isSignificant(0.1 + 0.2, 0.3)).toBe(true);
    expect(isSignificant(0.05, 0.05)).toBe(true);
    expect(isSignificant(0.050001, 0.05)).toBe(false);
  });
});

describe("trials to settle", () => {
  test("follows the formula: D = .08 leaves a gap of .02 to the margin of .10", () => {
    const smoothed = [10, 6, 9, 8, 5, 5, 10, 10, 0, 1].map((x) => (x + 0.5) / 11);
    const variance = smoothed.reduce((sum, r) => sum + r * (1 - r), 0) / 25;
    expect(trialsToSettle(example, 0.1)).toBe(Math.ceil((2.485 ** 2 * variance) / 0.02 ** 2));
  });

  test("without a drop only the margin is left to settle, beyond the margin only the drop", () => {
    const variance = (2 * (5.5 / 11) * (5.5 / 11)) / 1;
    expect(trialsToSettle(paired(10, [5, 5]), 0.1)).toBe(Math.ceil((2.485 ** 2 * variance) / 0.1 ** 2));
    const improved = paired(10, [4, 6]);
    const dropped = paired(10, [6, 4]);
    const both = 2 * (4.5 / 11) * (6.5 / 11);
    expect(trialsToSettle(improved, 0.1)).toBe(Math.ceil((2.485 ** 2 * both) / 0.3 ** 2));
    expect(trialsToSettle(dropped, 0.1)).toBe(Math.ceil((2.485 ** 2 * both) / 0.2 ** 2));
  });

  test("nothing to compare", () => {
    expect(trialsToSettle([], 0.1)).toBeUndefined();
  });
});

describe("the paired t test", () => {
  test("known value: drops .4, .1, 0, 0, -.1", () => {
    const result = pairedT(example);
    // mean .08, sd .19235384, t = .08 / (sd / sqrt 5)
    expect(result).toEqual({
      kind: "tested",
      t: expect.closeTo(0.929981, 6),
      degreesOfFreedom: 4,
      p: expect.closeTo(0.20248, 4),
    });
  });

  test("the swapped arms have the complement", () => {
    const swapped = pairedT(example.map(({ base, head }) => ({ base: head, head: base })));
    expect(swapped).toMatchObject({ p: expect.closeTo(1 - 0.20248, 4) });
  });

  test("says why there is no answer", () => {
    expect(pairedT(paired(10, [5, 4]))).toEqual({
      kind: "undefined",
      why: "fewer than two cases have trials in both arms",
    });
    expect(pairedT(paired(10, [3, 1], [4, 2], [10, 8]))).toEqual({
      kind: "undefined",
      why: "all cases moved by the same amount",
    });
  });
});

describe("Holm", () => {
  test("the example of three, in the order given", () => {
    expect(holm([0.03, 0.01, 0.04])).toEqual([0.06, 0.03, 0.06]);
    expect(holm([0.5, 0.6])).toEqual([1, 1]);
    expect(holm([0.02])).toEqual([0.02]);
    expect(holm([])).toEqual([]);
  });
});

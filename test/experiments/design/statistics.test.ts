import { describe, expect, test } from "vitest";
import {
  boundaries,
  isWithinMargin,
  ladder,
  meanDrop,
  mostTrials,
  planLooks,
  widen,
} from "../../../src/evals/experiments/design/statistics.ts";

describe("meanDrop", () => {
  test("golden: ten cases", () => {
    const pairs = [
      [0, 0],
      [1, 0],
      [2, 1],
      [0, 1],
      [0, 0],
      [3, 0],
      [0, 0],
      [1, 1],
      [0, 0],
      [0, 2],
    ] as const;
    const mean = meanDrop(pairs.map(([down, up]) => ({ down, up, pairs: 5 })));
    expect(mean?.drop).toBeCloseTo(0.04, 13);
    expect(mean?.standardError).toBeCloseTo(0.0752772652709, 13);
    expect((mean?.drop ?? 0) + 2.25 * (mean?.standardError ?? 0)).toBeCloseTo(0.20937384686, 12);
  });

  test("golden: a suite of eight in which nothing differs is cleared at 8 pairs, not at 5", () => {
    const quiet = (pairs: number) => meanDrop(Array.from({ length: 8 }, () => ({ down: 0, up: 0, pairs })));
    expect(quiet(8)?.standardError).toBeCloseTo(0.0294627825494, 13);
    expect(2.25 * (quiet(8)?.standardError ?? 0)).toBeCloseTo(0.0662912607362, 13);
    expect(2.25 * (quiet(5)?.standardError ?? 0)).toBeCloseTo(0.1027, 4);
    expect(isWithinMargin(quiet(5), 0.1, 2.25)).toBe(false);
    expect(isWithinMargin(quiet(8), 0.1, 2.25)).toBe(true);
  });

  test("golden: unequal pairs", () => {
    const mean = meanDrop([
      { down: 3, up: 1, pairs: 12 },
      { down: 0, up: 0, pairs: 11 },
      { down: 2, up: 0, pairs: 9 },
    ]);
    expect(mean?.drop).toBeCloseTo(0.12962962963, 11);
    expect(mean?.standardError).toBeCloseTo(0.0819293804388, 13);
  });

  test("a case without pairs leaves nothing to bound", () => {
    expect(meanDrop([{ down: 0, up: 0, pairs: 0 }])).toBeUndefined();
    expect(meanDrop([])).toBeUndefined();
    expect(isWithinMargin(undefined, 0.1, 2.25)).toBe(false);
  });
});

describe("planLooks", () => {
  test("golden constants by cap", () => {
    const golden = [
      [5, 0.04, 1.76],
      [8, 0.0309, 1.963],
      [12, 0.0266, 2.092],
      [25, 0.0223, 2.25],
      [40, 0.0208, 2.353],
    ] as const;
    for (const [trials, a, z] of golden) {
      const plan = planLooks(10, trials);
      expect(plan.suiteLevel).toBe(a);
      expect(plan.z).toBeCloseTo(z, 12);
    }
    expect(planLooks(10, 25).caseLevel).toBeCloseTo(0.0004375, 15);
    expect(planLooks(10).caseLevel).toBeCloseTo(0.035 / 90, 15);
  });

  test("the looks and rungs of the examples", () => {
    expect(planLooks(10).looks).toEqual([3, 5, 8, 12, 18, 25, 35, 40]);
    expect(planLooks(10).rungs).toEqual([3, 5, 8, 12, 18, 25, 35, 40, 50, 70]);
    expect(planLooks(10, 5).looks).toEqual([3, 5]);
    expect(planLooks(10, 5).rungs.at(-1)).toBe(70);
    expect(planLooks(10, 3)).toMatchObject({ looks: [3], least: 3 });
  });

  test("families divide what can make a run red, and nothing else", () => {
    const [one, many] = [planLooks(10), planLooks(10, 40, 36)];
    expect(many.suiteLevel).toBeCloseTo(one.suiteLevel / 36, 15);
    expect(many.caseLevel).toBeCloseTo(one.caseLevel / 36, 15);
    expect(many.z).toBe(one.z);
  });

  test("levels fall and z grows with the looks; one or two cases need more", () => {
    for (let looks = 2; looks <= 10; looks++) {
      expect(boundaries(looks).suiteLevel).toBeLessThan(boundaries(looks - 1).suiteLevel);
      expect(boundaries(looks).z).toBeGreaterThan(boundaries(looks - 1).z);
    }
    expect([1, 2, 3].map((cases) => widen(2, cases))).toEqual([2.3, 2.3, 2]);
    expect(boundaries(12)).toEqual(boundaries(10));
  });

  test("refuses caps that the ladder cannot serve", () => {
    for (const trials of [0, 1.5, mostTrials + 1]) expect(() => planLooks(10, trials)).toThrow(RangeError);
    expect(() => planLooks(0)).toThrow(RangeError);
    expect(planLooks(10, mostTrials).rungs.at(-1)).toBe(ladder.at(-1));
  });
});

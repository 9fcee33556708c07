import hypergeometric from "@stdlib/stats-base-dists-hypergeometric";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { lnGamma } from "../../../src/evals/base/stats/stdlib.ts";
import { furtherPairs } from "../../../src/evals/experiments/design/advice.ts";
import {
  boundaries,
  caseP,
  isWithinMargin,
  ladder,
  lnChoose,
  lnFactorial,
  meanDrop,
  mostTrials,
  planLooks,
  suiteP,
} from "../../../src/evals/experiments/design/statistics.ts";

const counts = (passed: number, trials: number) => ({ passed, trials });

describe("caseP, Fisher's exact test", () => {
  test("golden values", () => {
    expect(caseP(counts(5, 5), counts(1, 5))).toBeCloseTo(0.0238095238095, 13);
    expect(caseP(counts(12, 12), counts(3, 12))).toBeCloseTo(0.000168259523489, 15);
    expect(caseP(counts(17, 18), counts(6, 18))).toBeCloseTo(0.000148312940304, 15);
    expect(caseP(counts(0, 5), counts(0, 5))).toBe(1);
  });

  const anyCounts = fc.nat(200).chain((trials) => fc.nat(trials).map((passed) => counts(passed, trials)));

  test("agrees with an independent library", () => {
    fc.assert(
      fc.property(anyCounts, anyCounts, (base, head) => {
        const oracle = hypergeometric.cdf(
          head.passed,
          base.trials + head.trials,
          base.passed + head.passed,
          head.trials,
        );
        expect(Math.abs(caseP(base, head) - oracle)).toBeLessThan(1e-10 * oracle);
      }),
    );
  });

  test("is super-uniform: P(p <= level) <= level at any rate", () => {
    for (const k of [3, 5, 12])
      for (const rate of [0.1, 0.5, 0.9])
        for (const level of [0.001, 0.01, 0.05, 0.2]) {
          const pmf = Array.from({ length: k + 1 }, (_, x) => binomial(k, x, rate));
          let chance = 0;
          for (let b = 0; b <= k; b++)
            for (let h = 0; h <= k; h++)
              if (caseP(counts(b, k), counts(h, k)) <= level) chance += (pmf[b] ?? 0) * (pmf[h] ?? 0);
          expect(chance).toBeLessThanOrEqual(level);
        }
  });

  test("a head pass less never raises p, and arms without trials show nothing", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 60 }), fc.nat(60), fc.nat(59), (k, b, h) => {
        fc.pre(b <= k && h < k);
        expect(caseP(counts(b, k), counts(h, k))).toBeLessThanOrEqual(caseP(counts(b, k), counts(h + 1, k)) + 1e-12);
      }),
    );
    expect(caseP(counts(0, 0), counts(3, 5))).toBe(1);
    expect(caseP(counts(3, 5), counts(0, 0))).toBe(1);
  });
});

describe("suiteP, the sign test", () => {
  test("golden values", () => {
    expect(suiteP(9, 1)).toBeCloseTo(0.0107421875, 15);
    expect(suiteP(37, 20)).toBeCloseTo(0.0165719838938, 13);
    expect(suiteP(0, 3)).toBe(1);
    expect(suiteP(0, 0)).toBe(1);
  });

  test("both directions together cover everything once, and the middle twice", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 400 }), fc.integer({ min: 1, max: 400 }), (down, up) => {
        expect(suiteP(down, up) + suiteP(up + 1, down - 1)).toBeCloseTo(1, 10);
      }),
    );
  });

  test("does not lose the tail of a large suite", () => {
    expect(suiteP(3000, 2000)).toBeGreaterThan(0);
    expect(suiteP(3000, 2000)).toBeLessThan(1e-44);
    expect(suiteP(20_000, 20_000)).toBeCloseTo(0.5, 2);
  });
});

function binomial(n: number, x: number, p: number): number {
  let mass = (1 - p) ** n;
  for (let i = 0; i < x; i++) mass *= ((n - i) / (i + 1)) * (p / (1 - p));
  return mass;
}

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
    expect(planLooks(10, 25).caseLevel).toBeCloseTo(0.01 / 70, 15);
  });

  test("the looks and rungs of the examples", () => {
    expect(planLooks(10).looks).toEqual([3, 5, 8, 12, 18, 25]);
    expect(planLooks(10).rungs).toEqual([3, 5, 8, 12, 18, 25, 35, 50]);
    expect(planLooks(10, 5).looks).toEqual([3, 5]);
    expect(planLooks(10, 5).rungs.at(-1)).toBe(50);
    expect(planLooks(10, 40).looks).toEqual([3, 5, 8, 12, 18, 25, 35, 40]);
    expect(planLooks(10, 40).rungs.at(-1)).toBe(70);
    expect(planLooks(10, 3)).toMatchObject({ looks: [3], least: 3 });
    expect(planLooks(10, 25, { requests: 6 })).toMatchObject({ looks: [3, 5, 6], rungs: [3, 5, 6] });
  });

  test("families divide what can make a run red, and nothing else", () => {
    const [one, many] = [planLooks(10), planLooks(10, 25, { families: 36 })];
    expect(many.suiteLevel).toBeCloseTo(one.suiteLevel / 36, 15);
    expect(many.caseLevel).toBeCloseTo(one.caseLevel / 36, 15);
    expect(many.z).toBe(one.z);
  });

  test("levels fall and z grows with the looks; one or two cases need more", () => {
    for (let looks = 2; looks <= 10; looks++) {
      expect(boundaries(looks, 5).suiteLevel).toBeLessThan(boundaries(looks - 1, 5).suiteLevel);
      expect(boundaries(looks, 5).z).toBeGreaterThan(boundaries(looks - 1, 5).z);
    }
    expect(boundaries(5, 2).z).toBeCloseTo(boundaries(5, 3).z + 0.3, 12);
    expect(boundaries(12, 5)).toEqual(boundaries(10, 5));
  });

  test("refuses caps that the ladder cannot serve", () => {
    for (const trials of [0, 1.5, mostTrials + 1]) expect(() => planLooks(10, trials)).toThrow(RangeError);
    expect(() => planLooks(0)).toThrow(RangeError);
    expect(planLooks(10, mostTrials).rungs.at(-1)).toBe(ladder.at(-1));
  });
});

test("advice: golden values", () => {
  const advise = (drop: number, standardError: number) => furtherPairs({ drop, standardError }, 25, 0.1, 2.25, 0.5);
  expect(advise(0.04, 0.05)).toBe(27);
  expect(advise(0, 0.045)).toBe(1);
  expect(advise(0.09, 0.03)).toBe(1);
  expect(advise(0.05, 0.04)).toBe(16);
  expect(furtherPairs({ drop: 0.05, standardError: 20 }, 25, 0.1, 2.25, 0.95)).toBeUndefined();
});

test("factorials and binomials", () => {
  expect(lnFactorial(0)).toBe(0);
  expect(lnFactorial(2000)).toBeCloseTo(lnGamma(2001), 9);
  expect(Math.exp(lnChoose(50, 25))).toBeCloseTo(126410606437752, -3);
});

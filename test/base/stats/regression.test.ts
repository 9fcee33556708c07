import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { CaseCounts } from "../../../src/evals/base/stats/counts.ts";
import { cochranMantelHaenszel, globalTest } from "../../../src/evals/base/stats/hypothesisTests.ts";
import { seededRandom, shuffle } from "../../../src/evals/base/stats/random.ts";
import { anyCases, chanceOf, example, paired, reshuffles, times } from "./support.ts";

const rounding = 1 + 1e-9;
const missing = (cases: readonly CaseCounts[]) => -cases.reduce((sum, { head }) => sum + head.passed, 0);
const swap = (cases: readonly CaseCounts[]) => cases.map(({ base, head }) => ({ base: head, head: base }));
const small = anyCases(3, 4);

describe("the global test", () => {
  test("golden value", () => {
    const { p, score, informative } = globalTest(example);
    expect(p).toBeCloseTo(0.06307128468234702, 12);
    expect([score, informative]).toEqual([150, 4]);
  });

  test("is the exact tail of its statistic, by enumeration of every outcome", () => {
    fc.assert(
      fc.property(small, (cases) => {
        const { p, score } = globalTest(cases);
        const exact = chanceOf(reshuffles(cases), (other) => globalTest(other).score >= score);
        expect(p).toBeCloseTo(exact, 12);
      }),
      { numRuns: 60 },
    );
  });

  test("rejects at most alpha of all outcomes when nothing changed, for every attainable alpha", () => {
    fc.assert(
      fc.property(small, (cases) => {
        const outcomes = reshuffles(cases);
        for (const alpha of outcomes.map((one) => globalTest(one.cases).p))
          expect(chanceOf(outcomes, (other) => globalTest(other).p <= alpha)).toBeLessThan(alpha * rounding);
      }),
      { numRuns: 20 },
    );
  });

  test("does not depend on the order of the cases", () => {
    fc.assert(
      fc.property(anyCases(12, 20), fc.nat(), (cases, seed) => {
        const shuffled = shuffle(cases, seededRandom(seed));
        expect(globalTest(shuffled).p).toBeCloseTo(globalTest(cases).p, 12);
        expect(globalTest(shuffled).score).toBe(globalTest(cases).score);
      }),
    );
  });

  test("one case: a head failure more never raises p", () => {
    fc.assert(
      fc.property(anyCases(1, 10), (cases) => {
        const worse = cases.map(({ base, head }) => ({ base, head: { ...head, passed: head.passed - 1 } }));
        fc.pre(worse.every(({ head }) => head.passed >= 0));
        expect(globalTest(worse).p).toBeLessThanOrEqual(globalTest(cases).p * rounding);
      }),
    );
  });

  test("many cases: with the totals kept, a drop more in one case never raises p", () => {
    fc.assert(
      fc.property(anyCases(6, 10), fc.nat(5), (cases, at) => {
        const moved = cases.map(({ base, head }, i) =>
          i === at % cases.length
            ? { base: { ...base, passed: base.passed + 1 }, head: { ...head, passed: head.passed - 1 } }
            : { base, head },
        );
        fc.pre(moved.every(({ base, head }) => base.passed <= base.trials && head.passed >= 0));
        expect(globalTest(moved).p).toBeLessThanOrEqual(globalTest(cases).p * rounding);
      }),
    );
  });

  test("cases that always pass or always fail, or have no trials in an arm, change nothing", () => {
    const idle: CaseCounts[] = [
      ...paired(20, [20, 20], [0, 0]),
      { base: { passed: 3, trials: 4 }, head: { passed: 0, trials: 0 } },
      { base: { passed: 0, trials: 0 }, head: { passed: 0, trials: 0 } },
    ];
    expect(globalTest([...example, ...idle])).toEqual(globalTest(example));
    expect(globalTest(idle)).toEqual({ p: 1, score: 0, informative: 0 });
    expect(globalTest([])).toEqual({ p: 1, score: 0, informative: 0 });
  });

  test("a total break of everything has a p near 0, and a total repair has 1", () => {
    const broken = times(50, { base: { passed: 20, trials: 20 }, head: { passed: 0, trials: 20 } });
    expect(globalTest(broken).p).toBeLessThan(1e-36);
    expect(globalTest(broken).p).toBeGreaterThanOrEqual(0);
    expect(globalTest(swap(broken)).p).toBe(1);
  });

  test("500 cases of 20 trials are compared", () => {
    const random = seededRandom(7);
    const passes = (rate: number) => Array.from({ length: 20 }, random.next).filter((x) => x < rate).length;
    const cases = paired(
      20,
      ...Array.from({ length: 500 }, (_, i) => [passes((i % 20) / 20), passes((i % 20) / 20)] as const),
    );
    const { p } = globalTest(cases);
    expect(p).toBeGreaterThan(0.01);
  });

  test("counts that cannot be are refused", () => {
    const cases = [{ base: { passed: 3, trials: 2 }, head: { passed: 1, trials: 2 } }];
    expect(() => globalTest(cases)).toThrow(
      new RangeError("3 passed of 2 trials: need integers, 0 <= passed <= trials"),
    );
  });
});

describe("the exact Cochran-Mantel-Haenszel test", () => {
  test("golden value", () => {
    expect(cochranMantelHaenszel(example)).toBeCloseTo(0.19496891642150993, 12);
  });

  test("p is the exact tail of the total of head passes, by enumeration", () => {
    fc.assert(
      fc.property(small, (cases) => {
        const outcomes = reshuffles(cases);
        const exact = chanceOf(outcomes, (other) => missing(other) >= missing(cases));
        expect(cochranMantelHaenszel(cases)).toBeCloseTo(exact, 12);
      }),
    );
  });

  test("a head pass more never lowers p", () => {
    fc.assert(
      fc.property(anyCases(6, 10), fc.nat(5), (cases, at) => {
        const better = cases.map(({ base, head }, i) =>
          i === at % cases.length ? { base, head: { ...head, passed: head.passed + 1 } } : { base, head },
        );
        fc.pre(better.every(({ head }) => head.passed <= head.trials));
        expect(cochranMantelHaenszel(better)).toBeGreaterThanOrEqual(cochranMantelHaenszel(cases) / rounding);
      }),
    );
  });

  test("nothing to compare is no evidence", () => {
    expect(cochranMantelHaenszel([])).toBe(1);
    expect(cochranMantelHaenszel(paired(5, [5, 5], [0, 0]))).toBe(1);
  });
});

describe("the global test with many trials", () => {
  test("gives an improved or an unchanged case no score, whatever the number of trials", () => {
    for (const trials of [30, 100, 400, 1000]) {
      const better = { base: { passed: Math.round(trials / 2), trials }, head: { passed: trials, trials } };
      const same = {
        base: { passed: Math.round(trials / 2), trials },
        head: { passed: Math.round(trials / 2), trials },
      };
      expect(globalTest([better]).p).toBeCloseTo(1, 9);
      expect(globalTest([same]).p).toBeGreaterThan(0.4);
      expect(Number.isFinite(globalTest([better, same]).score)).toBe(true);
    }
  });
});

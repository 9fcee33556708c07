import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { CaseCounts, Counts } from "../../../src/evals/base/stats/counts.ts";
import { normalQuantile } from "../../../src/evals/base/stats/distributions.ts";
import { constrainedBaseRate, netChange, upperDrop } from "../../../src/evals/base/stats/intervals.ts";
import { anyCases, anyCounts, example, paired } from "./support.ts";

const upper = (cases: readonly CaseCounts[], z = 1.6448536) => upperDrop(cases, z) ?? Number.NaN;
const drop = (cases: readonly CaseCounts[]) =>
  cases.reduce((sum, { base, head }) => sum + base.passed / base.trials - head.passed / head.trials, 0) / cases.length;
const grown = (cases: readonly CaseCounts[], factor: number) => {
  const grow = ({ passed, trials }: Counts) => ({ passed: passed * factor, trials: trials * factor });
  return cases.map(({ base, head }) => ({ base: grow(base), head: grow(head) }));
};
const flawless = (n: number, trials: number) =>
  paired(trials, ...Array.from({ length: n }, () => [trials, trials] as const));

describe("the no-regression bound", () => {
  test("golden values", () => {
    expect(upper(example)).toBeCloseTo(0.20313197275383577, 11);
    expect(upper(flawless(10, 5))).toBeCloseTo(0.05671339585660462, 11);
    expect(upper(flawless(5, 5))).toBeCloseTo(0.10733922003691987, 11);
  });

  test("trials per case and arm at which an all-pass suite shows a drop below 10 points", () => {
    const needed = (n: number) => {
      let trials = 1;
      while (upper(flawless(n, trials), 1.96) >= 0.1) trials++;
      return trials;
    };
    expect([3, 5, 8, 10, 15].map(needed)).toEqual([13, 8, 5, 4, 3]);
  });

  test("the constrained rate has the largest likelihood of all on the line", () => {
    const logLikelihood = (base: Counts, head: Counts, p: number, q: number) => {
      const term = (n: number, chance: number) => (n === 0 ? 0 : n * Math.log(Math.max(0, chance)));
      const arm = ({ passed, trials }: Counts, r: number) => term(passed, r) + term(trials - passed, 1 - r);
      return arm(base, p) + arm(head, q);
    };
    fc.assert(
      fc.property(anyCounts(1, 20), anyCounts(1, 20), fc.integer({ min: -99, max: 99 }), (base, head, percent) => {
        const drop = percent / 100;
        const [low, high] = [Math.max(0, drop), Math.min(1, 1 + drop)];
        const found = constrainedBaseRate(base, head, drop);
        expect(found).toBeGreaterThanOrEqual(low);
        expect(found).toBeLessThanOrEqual(high);
        // A found rate within rounding of the border may have likelihood 0 where the border has not: step inside.
        const inside = Math.min(high - 1e-9, Math.max(low + 1e-9, found));
        const best = logLikelihood(base, head, inside, inside - drop);
        for (let i = 1; i < 200; i++) {
          const p = low + ((high - low) * i) / 200;
          expect(logLikelihood(base, head, p, p - drop)).toBeLessThanOrEqual(best + 1e-5);
        }
      }),
    );
  });

  test("lies between the drop and 1, and is wider at a larger z", () => {
    fc.assert(
      fc.property(anyCases(6, 10), (cases) => {
        const bound = upper(cases, 1.645);
        expect(bound).toBeGreaterThanOrEqual(drop(cases) - 1e-12);
        expect(bound).toBeLessThanOrEqual(1);
        expect(upper(cases, 1.96)).toBeGreaterThanOrEqual(bound);
      }),
    );
  });

  test("falls when the same rates come from more trials", () => {
    fc.assert(
      fc.property(anyCases(6, 10), fc.integer({ min: 2, max: 4 }), (cases, factor) => {
        fc.pre(upper(cases) < 1);
        expect(upper(grown(cases, factor))).toBeLessThan(upper(cases));
      }),
    );
  });

  const statistic = (cases: readonly CaseCounts[], drop: number) => {
    const variance = ({ base, head }: CaseCounts) => {
      const p = constrainedBaseRate(base, head, drop);
      const arms = (p * (1 - p)) / base.trials + ((p - drop) * (1 - p + drop)) / head.trials;
      return arms / (1 - 1 / (base.trials + head.trials));
    };
    const observed = cases.reduce(
      (sum, { base, head }) => sum + base.passed / base.trials - head.passed / head.trials,
      0,
    );
    return (drop * cases.length - observed) / Math.sqrt(cases.reduce((sum, one) => sum + variance(one), 0));
  };

  test("is where the score statistic equals z, and excludes every larger drop", () => {
    fc.assert(
      fc.property(anyCases(4, 8), (cases) => {
        const bound = upper(cases, 1.645);
        fc.pre(bound < 0.99);
        const straddles = statistic(cases, bound - 1e-9) <= 1.645 && statistic(cases, bound + 1e-9) >= 1.645;
        expect(straddles).toBe(true);
        for (let i = 1; i < 25; i++) expect(statistic(cases, bound + ((1 - bound) * i) / 25)).toBeGreaterThan(1.645);
      }),
    );
  });

  test("is the largest root where there are several", () => {
    const cases = [
      { base: { passed: 0, trials: 1 }, head: { passed: 0, trials: 1 } },
      { base: { passed: 1, trials: 5 }, head: { passed: 8, trials: 8 } },
    ];
    expect(statistic(cases, 0.04)).toBeGreaterThan(1.96);
    expect(statistic(cases, 0.2)).toBeLessThan(1.96);
    expect(upper(cases, 1.96)).toBeCloseTo(0.26825, 4);
  });

  test("cases without trials in an arm drop out", () => {
    const untried = { base: { passed: 5, trials: 5 }, head: { passed: 0, trials: 0 } };
    expect(upperDrop([...example, untried], 1.645)).toBe(upperDrop(example, 1.645));
    expect(upperDrop([untried], 1.645)).toBeUndefined();
    expect(upperDrop([], 1.645)).toBeUndefined();
  });

  test("total break, total repair, all fail", () => {
    expect(upper(paired(5, [5, 0]), 1.645)).toBe(1);
    // By symmetry p = (1+d)/2 and q = (1-d)/2, so V = (1-d^2)/9, and the root has a closed form.
    const c = 1.645 ** 2 / 9;
    expect(upper(paired(5, [0, 5]), 1.645)).toBeCloseTo((c - 1) / (c + 1), 12);
    expect(upper(paired(5, [0, 0]))).toBeCloseTo(upper(paired(5, [5, 5])), 12);
  });
});

describe("the net change", () => {
  test("is the bound at the two-sided z, seen from both sides", () => {
    const z = normalQuantile(0.975);
    const change = netChange(example);
    const end = -upper(example, z);
    expect(change).toEqual({ change: expect.closeTo(-0.08, 14), interval: [end, expect.any(Number)] });
    const swapped = netChange(example.map(({ base, head }) => ({ base: head, head: base })));
    expect(swapped?.interval.map((one) => -one)).toEqual(change?.interval.toReversed());
  });

  test("no cases", () => {
    expect(netChange([])).toBeUndefined();
  });
});

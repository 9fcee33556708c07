import hypergeometric from "@stdlib/stats-base-dists-hypergeometric";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { lnChoose } from "../../../src/evals/base/stats/distributions.ts";
import { fisherP } from "../../../src/evals/base/stats/hypothesisTests.ts";
import { seededRandom } from "../../../src/evals/base/stats/random.ts";
import {
  blockP,
  caseP,
  chooseBlock,
  type Grades,
  isDependent,
  type Kinds,
  lnAgreement,
  measureDependence,
  type Sequence,
  suiteP,
} from "../../../src/evals/experiments/design/grades.ts";

const counts = (passed: number, trials: number) => ({ passed, trials });

/** The chance of a p of at most any value is at most that value, over all outcomes. */
function expectExact(outcomes: readonly { mass: number; p: number }[]): void {
  for (const { p } of outcomes) {
    const chance = outcomes.reduce((sum, one) => (one.p <= p * (1 + 1e-9) ? sum + one.mass : sum), 0);
    expect(chance).toBeLessThanOrEqual(p * (1 + 1e-8));
  }
}

describe("fisherP, Fisher's exact test", () => {
  const anyCounts = fc.nat(200).chain((trials) => fc.nat(trials).map((passed) => counts(passed, trials)));

  test("agrees with an independent library", () => {
    fc.assert(
      fc.property(anyCounts, anyCounts, (base, head) => {
        const all = counts(base.passed + head.passed, base.trials + head.trials);
        const oracle = hypergeometric.cdf(head.passed, all.trials, all.passed, head.trials);
        expect(Math.abs(fisherP(base, head) - oracle)).toBeLessThan(1e-10 * oracle);
      }),
    );
  });

  test("a head pass less never raises p, and arms without trials show nothing", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 60 }), fc.nat(60), fc.nat(59), (k, b, h) => {
        fc.pre(b <= k && h < k);
        expect(fisherP(counts(b, k), counts(h, k))).toBeLessThanOrEqual(
          fisherP(counts(b, k), counts(h + 1, k)) + 1e-12,
        );
      }),
    );
    expect(fisherP(counts(0, 0), counts(3, 5))).toBe(1);
    expect(fisherP(counts(3, 5), counts(0, 0))).toBe(1);
  });
});

describe("caseP, the smaller of two Fisher tests", () => {
  test.each<[Grades, Grades, number, string]>([
    [[0, 0, 5], [4, 0, 1], 0.0238095238095, "pass"],
    [[0, 0, 12], [9, 0, 3], 0.000168259523489, "pass"],
    [[5, 0, 0], [5, 0, 0], 1, "pass"],
    [[1, 3, 8], [4, 4, 4], 0.11900866666, "pass"],
    [[0, 2, 10], [8, 1, 3], 0.000903794011884, "selection"],
    [[2, 6, 4], [9, 2, 1], 0.00613906889987, "selection"],
  ])("golden: %j -> %j", (base, head, p, rate) => {
    expect(caseP(base, head)).toEqual({ p: expect.closeTo(p, 12), rate });
  });

  test("is exact: P(p <= its value) given how often each grade came never exceeds it", () => {
    const k = 8;
    for (const [t0, t1, t2] of [
      [4, 4, 8],
      [2, 6, 8],
      [6, 7, 3],
    ] as const) {
      const tables = Array.from({ length: k + 1 }, (_, x) => x).flatMap((x) =>
        Array.from({ length: k + 1 - x }, (_, y) => [k - x - y, y, x] as const),
      );
      const outcomes = tables
        .filter(([z, y, x]) => z <= t0 && y <= t1 && x <= t2)
        .map(([z, y, x]) => ({
          mass: Math.exp(lnChoose(t0, z) + lnChoose(t1, y) + lnChoose(t2, x) - lnChoose(2 * k, k)),
          p: caseP([t0 - z, t1 - y, t2 - x], [z, y, x]).p,
        }));
      expectExact(outcomes);
    }
  });
});

describe("suiteP, the smaller of two sign tests", () => {
  test.each<[Kinds, Kinds, number, string]>([
    [[9, 0, 0], [1, 0, 0], 0.0107421875, "pass"],
    [[0, 37, 0], [0, 20, 0], 0.0165719838938, "pass"],
    [[0, 0, 0], [3, 0, 0], 1, "pass"],
    [[5, 3, 2], [1, 1, 2], 0.0919189453125, "pass"],
    [[2, 1, 12], [1, 2, 1], 0.00209045410156, "selection"],
    [[4, 9, 3], [2, 1, 6], 0.0139816701412, "pass"],
  ])("golden: down %j, up %j", (down, up, p, rate) => {
    expect(suiteP(down, up)).toEqual({ p: expect.closeTo(p, 12), rate });
  });

  test("is exact: P(p <= its value) when every pair is a fair coin", () => {
    for (const [a, b, c] of [
      [3, 2, 4],
      [0, 5, 5],
      [6, 1, 3],
    ] as const) {
      const outcomes: { mass: number; p: number }[] = [];
      for (let i = 0; i <= a; i++)
        for (let j = 0; j <= b; j++)
          for (let l = 0; l <= c; l++) {
            const ways = Math.exp(lnChoose(a, i) + lnChoose(b, j) + lnChoose(c, l));
            outcomes.push({ mass: ways / 2 ** (a + b + c), p: suiteP([i, j, l], [a - i, b - j, c - l]).p });
          }
      expectExact(outcomes);
    }
  });

  test("does not lose the tail of a large suite", () => {
    const plain = (down: number, up: number) => suiteP([down, 0, 0], [up, 0, 0]).p;
    expect(plain(3000, 2000)).toBeGreaterThan(0);
    expect(plain(3000, 2000)).toBeLessThan(1e-44);
    expect(plain(20_000, 20_000)).toBeCloseTo(0.5, 2);
  });
});

describe("lnAgreement", () => {
  const alike = (...requests: [0 | 1 | 2, number][]) =>
    lnAgreement(requests.map(([grade, trials]) => ({ grade, trials })));

  test("golden: two requests asked three times, three requests asked twice", () => {
    expect(alike([2, 3], [0, 3])).toBeCloseTo(Math.log(2 / 20), 12);
    expect(alike([2, 2], [2, 2], [0, 2])).toBeCloseTo(Math.log(3 / 15), 12);
  });

  test("shows nothing when all grades are equal, or nothing was repeated", () => {
    expect(alike([2, 2], [2, 1])).toBe(0);
    expect(alike([2, 1], [0, 1], [1, 1])).toBe(0);
    expect(alike()).toBe(0);
  });
});

const grades = (text: string) => [...text].map(Number);

test("golden: two cases", () => {
  const { score } = measureDependence([
    { base: grades("222000222000"), head: grades("000222222000") },
    { base: grades("222222222211"), head: grades("202212222222") },
  ]);
  expect(score).toBeCloseTo(2.89862334702, 10);
});

test("shows nothing without answers that vary, or with fewer than three", () => {
  expect(measureDependence([])).toEqual({ score: 0, correlation: 0 });
  expect(measureDependence([{ base: grades("20"), head: grades("02") }])).toEqual({ score: 0, correlation: 0 });
  expect(measureDependence([{ base: grades("22222"), head: grades("00000") }])).toEqual({ score: 0, correlation: 0 });
});

describe("the share of suites of ten cases in which it is found", () => {
  /** `repeats`: the chance that an answer repeats the one before; `shared`: a rate that both arms have in a trial. */
  const share = ({ repeats = 0, shared = false }: { repeats?: number; shared?: boolean }) => {
    const random = seededRandom(5);
    const suites = Array.from({ length: 400 }, () => {
      const cases = Array.from({ length: 10 }, (): Sequence => {
        const [base, head]: [number[], number[]] = [[], []];
        let rate = 0.7;
        for (let t = 0; t < 18; t++) {
          if (shared && t % 3 === 0) rate = random.next() < 0.5 ? 0.9 : 0.5;
          for (const arm of [base, head])
            arm.push(t > 0 && random.next() < repeats ? (arm[t - 1] ?? 0) : random.next() < rate ? 2 : 0);
        }
        return { base, head };
      });
      return isDependent(measureDependence(cases));
    });
    return suites.filter(Boolean).length / suites.length;
  };

  test("is below 2 % where answers are independent, or depend on what both arms share", () => {
    expect(share({})).toBeLessThan(0.02);
    expect(share({ shared: true })).toBeLessThan(0.05);
  });

  test("is nearly all where half of the answers repeat", () => expect(share({ repeats: 0.5 })).toBeGreaterThan(0.95));
});

test("blocks: as long as the correlation asks for, at least 3, and rounded against the claim", () => {
  expect([-0.2, 0, 0.4, 0.6, 0.9, 1].map(chooseBlock)).toEqual([3, 3, 3, 4, 20, 20]);
  // 23 trials of a case count as 23 / 3 = 7; 10 failures of 70 leave 20 of 23 passes.
  expect(blockP([0, 0, 70], [70, 0, 0], 3)).toBeLessThan(1e-12);
  expect(blockP([0, 0, 8], [8, 0, 0], 4)).toBeCloseTo(1 / 6, 12);
  expect(blockP([0, 0, 8], [7, 0, 1], 4)).toBeCloseTo(0.5, 12);
});

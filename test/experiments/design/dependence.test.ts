import { describe, expect, test } from "vitest";
import { seededRandom } from "../../../src/evals/base/stats/random.ts";
import {
  blockP,
  chooseBlock,
  isDependent,
  measureDependence,
  type Sequence,
} from "../../../src/evals/experiments/design/dependence.ts";

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

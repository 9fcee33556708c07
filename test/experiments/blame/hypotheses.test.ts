import { describe, expect, test } from "vitest";
import { seededRandom } from "../../../src/evals/base/stats/random.ts";
import {
  Belief,
  chooseMask,
  listHypotheses,
  measureInformation,
  rankSets,
  shareEvidence,
} from "../../../src/evals/experiments/blame/hypotheses.ts";

const maskOf = (digits: string) => [...digits].map((digit) => digit === "1");
const known = { old: { passed: 20, trials: 20 }, new: { passed: 0, trials: 5 } };
const trials = [
  ["100", false],
  ["010", true],
  ["011", true],
  ["101", false],
  ["111", true],
] as const;

function goldenBelief(): Belief {
  const belief = new Belief(listHypotheses(3), known);
  for (const [digits, isPass] of trials) belief.observe(maskOf(digits), isPass);
  return belief;
}

describe("golden: three descriptions, five trials", () => {
  const belief = goldenBelief();
  const chance = (kind: string, ...members: number[]) =>
    belief.chances[
      belief.hypotheses.findIndex((one) => one.kind === kind && one.members.join() === members.map((m) => m - 1).join())
    ];

  test("the chances of all hypotheses", () => {
    const golden = [
      [chance("none"), 0.0537052636856],
      [chance("single", 1), 0.877836946425],
      [chance("single", 2), 0.00170387606061],
      [chance("single", 3), 0.0143125589091],
      [chance("or", 1, 2), 0.00615142947009],
      [chance("and", 1, 2), 0.000621750927885],
      [chance("add", 1, 2), 0.00549784008889],
      [chance("or", 1, 3), 0.0176154571189],
      [chance("and", 1, 3), 0.00386867244017],
      [chance("add", 1, 3), 0.0174931275556],
      [chance("or", 2, 3), 0.00052426955711],
      [chance("and", 2, 3), 0.000252304724359],
      [chance("add", 2, 3), 0.000416503037037],
    ] as const;
    for (const [actual, value] of golden) expect((actual ?? 0) / value).toBeCloseTo(1, 9);
  });

  test("what the next trial is expected to tell", () => {
    const golden = {
      "000": 0.0163495244783,
      "100": 0.0487323229007,
      "010": 0.0286900607815,
      "110": 0.0463444854207,
      "001": 0.0648319113695,
      "011": 0.0740339241522,
      "111": 0.0293547777901,
    };
    for (const [digits, information] of Object.entries(golden))
      expect(measureInformation(belief, belief.chances, maskOf(digits)) / information).toBeCloseTo(1, 7);
  });
});

test("priors add up to 1, with and without pairs", () => {
  for (const changed of [1, 2, 8, 20])
    expect(listHypotheses(changed).reduce((sum, { prior }) => sum + prior, 0)).toBeCloseTo(1, 12);
  expect(listHypotheses(1).map(({ kind }) => kind)).toEqual(["none", "single"]);
});

test("the order of trials does not matter", () => {
  const turned = new Belief(listHypotheses(3), known);
  for (const [digits, isPass] of trials.toReversed()) turned.observe(maskOf(digits), isPass);
  for (const [h, chance] of goldenBelief().chances.entries()) expect(turned.chances[h]).toBeCloseTo(chance, 12);
});

test("sets: the relations of a pair count together", () => {
  const belief = goldenBelief();
  const sets = rankSets(belief.hypotheses, belief.chances);
  expect(sets).toHaveLength(7);
  expect(sets[0]).toMatchObject({ members: [0], likeliest: { kind: "single" } });
  expect(sets.reduce((sum, { chance }) => sum + chance, 0)).toBeCloseTo(1, 12);
});

test("evidence of other cases helps, and is not counted twice", () => {
  const informed = goldenBelief();
  const blank = new Belief(listHypotheses(3), known);
  const helped = shareEvidence(blank, [informed]);
  expect(helped[1]).toBeGreaterThan(blank.chances[1] ?? 0);
  expect(helped[1]).toBeLessThan(informed.chances[1] ?? 0);
  expect(shareEvidence(informed, [])).toBe(informed.chances);
  const with_ = shareEvidence(informed, [blank]);
  for (const [h, chance] of informed.chances.entries()) expect(with_[h]).toBeCloseTo(chance, 12);
});

test("the next mask is as informative as any that could be served", () => {
  const belief = new Belief(listHypotheses(8), known);
  const mask = chooseMask(belief, belief.chances, 8, seededRandom(1));
  const chosen = measureInformation(belief, belief.chances, mask);
  const best = Math.max(
    ...Array.from({ length: 256 }, (_, n) => {
      const candidate = Array.from({ length: 8 }, (_, i) => Boolean((n >> i) & 1));
      return measureInformation(belief, belief.chances, candidate);
    }),
  );
  expect(chosen).toBeGreaterThan(0.9 * best);
});

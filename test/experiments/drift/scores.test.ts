import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { lnChoose } from "../../../src/evals/base/stats/distributions.ts";
import {
  type CaseHistory,
  caseScore,
  lnKT,
  returnScore,
  suiteScore,
  weightOf,
  weightOfNone,
} from "../../../src/evals/experiments/drift/scores.ts";

type Pairs = string | readonly (readonly [passed: number, trials: number])[];
const readPairs = (pairs: Pairs) => {
  const read = typeof pairs === "string" ? pairs.split(" ").map((pair) => pair.split("/").map(Number)) : pairs;
  return read.map(([passed = 0, trials = 0]) => ({ passed, trials }));
};

/** Passes of trials: `bank` and `nights` as text (`3/3 0/10`) or as pairs. */
const history = (bank: Pairs, nights: Pairs): CaseHistory => ({ bank: readPairs(bank), nights: readPairs(nights) });

const score = (one: CaseHistory, rho = 0) => caseScore(one, one.nights.length, rho).value;

test("weights add up to 1 after any number of nights", () => {
  for (const nights of [0, 1, 2, 30, 90]) {
    const changed = Array.from({ length: nights }, (_, v) => weightOf(v + 1)).reduce((a, b) => a + b, 0);
    expect(changed + weightOfNone(nights)).toBeCloseTo(1, 12);
  }
});

describe("golden values of a case's score", () => {
  test("one night after a bank", () => {
    expect(score(history("20/20", "0/5"))).toBeCloseTo(10626.8, 1);
    expect(score(history("20/20", "0/10"))).toBeCloseTo(6009003.8, 1);
    expect(score(history("5/5", "0/5"))).toBeCloseTo(51.2, 1);
  });

  test("a break on night 30", () => {
    const nights = [...Array.from({ length: 29 }, () => [3, 3] as const), [0, 3] as const];
    const { value, likeliest } = caseScore(history("20/20", nights), 30, 0);
    expect(value).toBeCloseTo(2003.0504088, 6);
    expect(likeliest).toBe(30);
  });

  test("with correlated trials of one night", () => {
    expect(score(history("20/20", "0/5"), 0.02)).toBeCloseTo(1651.17932927, 7);
    expect(score(history("20/20", "3/3 0/10 1/3"), 0.02)).toBeCloseTo(19378.4804175, 6);
    expect(score(history("19/20", "3/3 3/3 2/3"), 0.02)).toBeCloseTo(0.86990708636, 10);
    expect(score(history("20/20", "0/5"), 0.1)).toBeCloseTo(42.6831433307, 9);
    expect(score(history("4/4 4/4 4/4 4/4 4/4", "0/5"), 0.1)).toBeCloseTo(441.388945367, 8);
  });
});

test("golden: four cases and three nights", () => {
  const cases = [
    history("20/20", "3/3 0/10 1/3"),
    history("19/20", "3/3 3/3 2/3"),
    history("10/20", "2/3 1/3 2/3"),
    history("5/5", "1/3 3/3 3/3"),
  ];
  const scores = cases.map((one) => score(one));
  const golden = [827809.925592, 0.868329953749, 0.846554074074, 0.955757555526];
  for (const [i, value] of golden.entries()) expect((scores[i] ?? 0) / value).toBeCloseTo(1, 11);
  const suite = suiteScore(cases, 3, { rho: 0, trials: 3, bankNights: 1 });
  expect(suite.value).toBeCloseTo(1.6250733821, 9);
  const mean = scores.reduce((a, b) => a + b, 0) / 4;
  expect(mean / 2 + suite.value / 2).toBeCloseTo(103477.387066, 4);
  expect(caseScore(cases[0] ?? history([], []), 3, 0).likeliest).toBe(2);
});

describe("the score of a case", () => {
  test("is 1 without nights, and without a bank on the first night", () => {
    expect(score(history("20/20", []))).toBe(1);
    expect(score(history([], [[0, 3]]))).toBeCloseTo(1, 12);
  });

  test("is unchanged by nights on which the case was not asked", () => {
    const asked = history("18/20", "3/3 1/3");
    const later = { ...asked, nights: [...asked.nights, undefined, undefined] };
    expect(caseScore(later, 4, 0.02).value).toBeCloseTo(caseScore(asked, 2, 0.02).value, 12);
  });

  test("has mean 1 over the passes of a night, for rates drawn from the prior: a martingale", () => {
    const bank = [[7, 9]] as const;
    const before = history(bank, [[2, 3]]);
    const here = score(before);
    // The predictive chance of x passes of 3 under "one rate throughout", given 9 of 12 so far.
    let mean = 0;
    for (let x = 0; x <= 3; x++) mean += betaBinomial(3, x, 9.5, 3.5) * score(history(bank, `2/3 ${x}/3`));
    expect(mean).toBeCloseTo(here, 12);
  });
});

function betaBinomial(n: number, x: number, a: number, b: number): number {
  const choose = [1, 3, 3, 1][x] ?? 0;
  let mass = choose;
  for (let i = 0; i < x; i++) mass *= a + i;
  for (let i = 0; i < n - x; i++) mass *= b + i;
  for (let i = 0; i < n; i++) mass /= a + b + i;
  return mass;
}

test("a suite's score sees a small shift of all cases that no case shows, in both directions", () => {
  const week = (passed: number) => Array.from({ length: 7 }, () => [passed, 3] as const);
  const many = (passed: number) => Array.from({ length: 40 }, () => history("14/20", week(passed)));
  const down = suiteScore(many(1), 7, { rho: 0.02, trials: 3, bankNights: 1 });
  const up = suiteScore(many(3), 7, { rho: 0.02, trials: 3, bankNights: 1 });
  expect([down.direction, up.direction]).toEqual(["down", "up"]);
  expect(down.value).toBeGreaterThan(1);
  expect(suiteScore(many(2), 7, { rho: 0.02, trials: 3, bankNights: 1 }).value).toBeLessThan(1);
});

test("later nights distinguish a blip from a lasting change", () => {
  const blip = history("20/20", "3/3 0/10 3/3 3/3");
  const lasting = history("20/20", "3/3 0/10 0/3 0/3");
  expect(returnScore([blip], 2, 2, 4, 0)).toBeGreaterThan(Math.log(20));
  expect(returnScore([lasting], 2, 2, 4, 0)).toBeLessThan(-Math.log(20));
  expect(returnScore([blip], 2, 2, 2, 0)).toBe(0);
});

test("scores are positive and finite, whatever the nights", () => {
  const anyNight = fc.nat(10).chain((trials) => fc.nat(trials).map((passed) => [passed, trials] as const));
  fc.assert(
    fc.property(
      fc.array(anyNight, { maxLength: 3 }),
      fc.array(anyNight, { maxLength: 12 }),
      fc.double({ min: 0, max: 1, noNaN: true }),
      (bank, nights, rho) => {
        const one = history(bank, nights);
        expect(score(one, rho)).toBeGreaterThan(0);
        expect(Number.isFinite(score(one, rho))).toBe(true);
        expect(
          suiteScore([one], nights.length, { rho, trials: 3, bankNights: Math.max(1, bank.length) }).value,
        ).toBeGreaterThan(0);
      },
    ),
  );
});

test("lnKT: golden values, and the chances of all sequences of n add up to 1", () => {
  expect(lnKT(20, 0)).toBeCloseTo(-2.07648042915, 11);
  expect(lnKT(3, 2)).toBeCloseTo(-4.44656515581, 11);
  expect(lnKT(0, 0)).toBe(0);
  const total = Array.from({ length: 13 }, (_, x) => Math.exp(lnChoose(12, x) + lnKT(x, 12 - x)));
  expect(total.reduce((a, b) => a + b)).toBeCloseTo(1, 12);
});

import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  countPasses,
  nextStep,
  type Observation,
  simulate,
  TrialRecord,
} from "../../../src/evals/asking/trials/design.ts";
import { deriveSeed, seededRandom } from "../../../src/evals/base/stats/random.ts";
import { type CheckSetup, check } from "../../../src/evals/experiments/check/design.ts";
import { placebo } from "../../../src/evals/experiments/check/placebo.ts";
import type { CheckVerdict } from "../../../src/evals/experiments/design/observe.ts";
import { forecastCalls } from "../../../src/evals/experiments/run/forecast.ts";
import { expectRecordable, idsOf, suites } from "../design/support.ts";

type Rates = { base: readonly number[]; head: readonly number[] };

/** The fixed record of the golden runs: case i, arm 1 or 2, trial t, all counted from 1. */
function goldenNumber(i: number, arm: number, t: number): number {
  let x = (Math.imul(i, 73856093) ^ Math.imul(arm, 19349663) ^ Math.imul(t, 83492791)) >>> 0;
  for (let round = 0; round < 2; round++) x = Math.imul(x ^ (x >>> 16), 0x45d9f3b) >>> 0;
  return ((x ^ (x >>> 16)) >>> 0) / 2 ** 32;
}

/**
 * Every pair has its own order, as in the golden values. By default half of the failures select the right tool.
 * `right`: the rate of those that select it.
 */
function playGolden(
  { base, head }: Rates,
  options: Partial<CheckSetup> = {},
  right = (rate: number, _arm: string) => rate + (1 - rate) / 2,
): { verdict: CheckVerdict; calls: number } {
  const ids = idsOf(base);
  return simulate(check({ cases: ids, seed: 1, pairsPerOrder: 1, ...options }), (id, arm, trial) => {
    const i = ids.indexOf(id);
    const rate = (arm === "head" ? head[i] : base[i]) ?? 0;
    const drawn = goldenNumber(i + 1, arm === "head" ? 2 : 1, trial);
    return drawn < rate ? "pass" : drawn < right(rate, arm) ? "selected" : "fail";
  });
}

const M_MIX10 = suites.M_MIX10;

describe("golden runs on a fixed record", () => {
  const near = (value: number) => expect.closeTo(value, 11);
  const none = M_MIX10.map(() => 0);

  test("nothing changed", () => {
    const { verdict, calls } = playGolden({ base: M_MIX10, head: M_MIX10 });
    expect(verdict).toMatchObject({
      ...{ kind: "no-regression", trials: 25, canFall: { pass: 9, selection: 10 } },
      net: { change: near(0.0133333333333), standardError: near(0.0293972367896) },
      selection: { change: near(-0.012), standardError: near(0.0271746488195) },
    });
    expect(calls).toBe(500);
  });

  test("one case .95 -> .3", () => {
    const { verdict, calls } = playGolden({ base: M_MIX10, head: M_MIX10.with(2, 0.3) });
    expect(verdict).toMatchObject({ kind: "regressed", by: "cases", rate: "pass", trials: 5, tested: 5 });
    expect(verdict).toMatchObject({ suite: { p: near(0.10302734375) }, flagged: [{ case: "case 3" }] });
    expect(calls).toBe(206);
  });

  test("all cases -20 points", () => {
    const all = M_MIX10.map((rate) => Math.max(0, rate - 0.2));
    const { verdict, calls } = playGolden({ base: M_MIX10, head: all });
    expect(verdict).toMatchObject({ kind: "regressed", by: "suite", rate: "selection", trials: 8 });
    expect(verdict.suite).toMatchObject({ p: near(0.0000776730012149), level: near((0.0208 * 8) / 40) });
    expect(calls).toBe(160);
  });

  test("nothing passes, and the right tool is selected half as often", () => {
    const right = (_: number, arm: string) => (arm === "head" ? 0.5 : 1);
    const { verdict, calls } = playGolden({ base: none, head: none }, {}, right);
    expect(verdict).toMatchObject({ kind: "regressed", by: "suite", rate: "selection", trials: 5, net: null });
    expect(verdict.suite.p).toBeCloseTo(1.49011611938e-8, 17);
    expect(calls).toBe(100);
  });

  test.each([
    ["every pair in an order of its own", 1, 5, 40],
    ["orders shared by ten pairs, not before eleven of them are in use", 10, 8, 30],
  ])("ten cases that always pass, with %s", (_, pairsPerOrder, trials, reach) => {
    const always = M_MIX10.map(() => 1);
    const { verdict } = playGolden({ base: always, head: always }, { pairsPerOrder });
    expect(verdict).toMatchObject({ kind: "no-regression", trials, reach });
  });

  test("nothing can fall", () => {
    const { verdict, calls } = playGolden({ base: none, head: none }, {}, () => 0);
    expect(verdict).toMatchObject({ kind: "inconclusive", because: "nothing-can-fall", trials: 8 });
    expect(calls).toBe(160);
  });
});

/** A model whose trials are drawn by case, arm and number, so that asking in another order draws the same. */
function sampled(rates: Rates, seed: number, missing = 0) {
  const ids = idsOf(rates.base);
  return (id: string, arm: string, trial: number): Observation => {
    const random = seededRandom(deriveSeed(seed, id, arm, trial));
    if (random.next() < missing) return "missing";
    const rate = (arm === "head" ? rates.head : rates.base)[ids.indexOf(id)] ?? 0;
    return random.next() < rate ? "pass" : "fail";
  };
}

describe("the verdict", () => {
  const cases = idsOf(suites.M_GOOD8);
  const anyRates = fc.array(fc.constantFrom(0, 0.3, 0.6, 0.9, 1), { minLength: 1, maxLength: 12 });

  test("fits its schema, holds together, and stays within the cap, whatever happens", () => {
    fc.assert(
      fc.property(
        anyRates,
        anyRates,
        fc.nat(1000),
        fc.constantFrom(1, 3, 5, 12, 40),
        fc.constantFrom(0, 0.1),
        (a, b, seed, trials, missing) => {
          const base = a.slice(0, Math.min(a.length, b.length));
          const head = b.slice(0, base.length);
          const design = check({ cases: idsOf(base), seed, trials, withReach: false });
          const { verdict, calls } = simulate(design, sampled({ base, head }, seed, missing));
          expectRecordable(verdict);
          expect(verdict.calls.base + verdict.calls.head).toBe(calls);
          expect(calls - verdict.calls.missing).toBeLessThanOrEqual(design.cap);
          // NO REGRESSION can be read off the interval.
          if (verdict.kind === "no-regression") expect(verdict.net?.interval[0]).toBeGreaterThan(-verdict.margin);
          if (verdict.kind === "no-regression")
            expect(verdict.missing?.head ?? 0).toBeLessThanOrEqual(0.05 * verdict.trials * base.length);
          if (verdict.kind === "regressed" && verdict.by === "cases") expect(verdict.flagged.length).toBeGreaterThan(0);
        },
      ),
      { numRuns: 150 },
    );
  });

  test("only a drop of the suite ends the run with `onlySuite`, and is red however many cases fell", () => {
    const base = [0.95, 0.9, 0.99, 1, 0.95, 0.9, 0.98, 1, 0.95, 0.97];
    const play = (head: readonly number[], onlySuite: boolean) =>
      simulate(check({ cases: idsOf(base), seed: 1, onlySuite }), sampled({ base, head }, 1)).verdict;
    const three = base.map((rate, i) => (i < 3 ? 0 : rate));
    expect(play(three, true)).toMatchObject({ kind: "regressed", by: "suite", suite: { hasFallen: true } });
    expect(play(base.with(0, 0.3), false)).toMatchObject({
      kind: "regressed",
      by: "cases",
      suite: { hasFallen: false },
    });
    const swapped = play([0.4, ...base.slice(1)].with(1, 1), true);
    expect(swapped).toMatchObject({ kind: "regressed", flagged: [{ case: "case 1" }] });
  });

  test("names a case that gained what another lost", () => {
    const base = [1, 0.2, 0.95, 0.99, 0.9, 0.9, 0.5, 0.5, 0.99, 1];
    const head = base.with(0, 0.3).with(1, 1);
    const { verdict } = simulate(check({ cases: idsOf(base), seed: 1 }), sampled({ base, head }, 4));
    expect(verdict).toMatchObject({ kind: "regressed", flagged: [{ case: "case 1" }], rose: [{ case: "case 2" }] });
  });

  test("a fall shown by answers that repeat counts in blocks, or not at all", () => {
    const base = suites.MIX10;
    const play = (head: readonly number[]) => {
      const answer = sampled({ base, head }, 36);
      const three = (id: string, arm: string, trial: number) => answer(id, arm, Math.ceil(trial / 3));
      return simulate(check({ cases: idsOf(base), seed: 1 }), three).verdict;
    };
    expect(play(base)).toMatchObject({
      kind: "inconclusive",
      because: "answers-repeat",
      dependence: { score: expect.any(Number) },
    });
    expect(play(base.with(9, 0))).toMatchObject({ kind: "regressed", by: "cases", flagged: [{ case: "case 10" }] });
  });

  test("failures of head that are missing never give NO REGRESSION, not even when asking again brings passes in the end", () => {
    const base = suites.M_GOOD8;
    const head = base.map((rate) => rate - 0.3);
    let drawn = 0;
    const { verdict } = simulate(check({ cases: idsOf(base), seed: 3 }), (id, arm) => {
      const random = seededRandom(drawn++);
      const isPass = random.next() < ((arm === "head" ? head : base)[cases.indexOf(id)] ?? 0);
      return isPass ? "pass" : arm === "head" ? "missing" : "fail";
    });
    expect(verdict.kind).toBe("inconclusive");
    expect(verdict.missing?.recovered.head).toBeGreaterThan(20);
    expect(verdict.missing?.head).toBeLessThan(20);
  });
});

test("one answer that is missing at first does not keep a quiet suite from NO REGRESSION", () => {
  let asked = 0;
  const { verdict } = simulate(check({ cases: idsOf(suites.M_GOOD8), seed: 3 }), () =>
    asked++ === 0 ? "missing" : "pass",
  );
  expect(verdict).toMatchObject({ kind: "no-regression", missing: { recovered: { base: 1 } } });
});

describe("what is asked", () => {
  test("pairs, in a random order of arms that the seed decides", () => {
    const step = nextStep(check({ cases: idsOf(suites.M_MIX10), seed: 4 }), new TrialRecord());
    if (step.kind === "decided") throw new Error("nothing was asked");
    expect(step.requests).toHaveLength(30);
    const firsts = step.requests.map(({ arms }) => arms[0]);
    expect(firsts.filter((arm) => arm === "head").length).toBeGreaterThan(5);
    expect(firsts.filter((arm) => arm === "base").length).toBeGreaterThan(5);
    expect(nextStep(check({ cases: idsOf(suites.M_MIX10), seed: 4 }), new TrialRecord())).toEqual(step);
  });

  test("cases that share tool orders order by order, others trial by trial", () => {
    const ask = (pairsPerOrder: number) => {
      const step = nextStep(check({ cases: idsOf(suites.M_MIX10), seed: 4, pairsPerOrder }), new TrialRecord());
      return step.kind === "ask" ? step.requests : [];
    };
    expect(ask(10).map(({ order }) => order)).toEqual([0, 1, 2, 3, 4].flatMap((order) => Array(6).fill(order)));
    expect(ask(1).map(({ trial }) => trial)).toEqual([1, 2, 3].flatMap((trial) => Array(10).fill(trial)));
    expect(new Set(ask(1).map(({ order }) => order)).size).toBe(30);
  });

  test("a missing answer is asked three times in all, a copy four times, and both are paid for", () => {
    const record = new TrialRecord();
    for (let attempt = 1; attempt <= 2; attempt++) record.add("c", "base", 1, "missing");
    expect(record.answers("c", "base")[0]).toBeUndefined();
    record.add("c", "base", 1, "missing");
    expect(record.answers("c", "base")[0]).toBe("missing");
    for (let attempt = 1; attempt <= 3; attempt++) record.add("c", "base", 2, "copy");
    record.add("c", "base", 2, "pass");
    expect(record.answers("c", "base")[1]).toBe("pass");
    for (let attempt = 1; attempt <= 4; attempt++) record.add("c", "base", 3, "copy");
    expect(record.answers("c", "base")[2]).toBe("missing");
    expect(record.paid("c", "base")).toEqual({ calls: 11, copies: 7, missing: 3 });
  });
});

describe("requests that repeat", () => {
  const orders = (id: string, arm: string, trial: number, m: number, phi = 0): Observation => {
    const order = (trial - 1) % m;
    const isDrawnAnew = arm === "head" && seededRandom(deriveSeed(7, id, order, "anew")).next() < phi;
    return seededRandom(deriveSeed(8, id, order, isDrawnAnew ? 1 : 0)).next() < 0.6 ? "pass" : "fail";
  };
  const cases = idsOf(suites.M_GOOD8);

  test("a deterministic model, asked everything: exact, and never an interval of chance", () => {
    const same = check({ cases, seed: 1, requests: () => 2, alwaysAlike: true });
    expect(simulate(same, (id, arm, trial) => orders(id, arm, trial, 2)).verdict).toMatchObject({
      kind: "no-regression",
      method: "exhausted",
      trials: 2,
    });
    expect(simulate(same, () => "pass").verdict).not.toHaveProperty("repeats");
    const flipped = simulate(same, (id, arm) => (id === "case 1" && arm === "head" ? "fail" : "pass")).verdict;
    expect(flipped).toMatchObject({ kind: "changed", flips: [{ case: "case 1", down: 2, up: 0, pairs: 2 }] });
    const broken = simulate(same, (_, arm) => (arm === "head" ? "fail" : "pass")).verdict;
    expect(broken).toMatchObject({ kind: "regressed", by: "suite", method: "exhausted" });
    const six = check({ cases, seed: 1, requests: () => 6, alwaysAlike: true, trials: 25 });
    const dead = simulate(six, (id, arm) => (id === "case 1" && arm === "head" ? "fail" : "pass")).verdict;
    expect(dead).toMatchObject({
      kind: "regressed",
      by: "cases",
      flagged: [{ case: "case 1", head: { passed: 0, trials: 6 } }],
    });
  });

  test("equal requests that always agree show that the model is deterministic, and one that does not that it samples", () => {
    const alike = simulate(check({ cases, seed: 1, requests: () => 2 }), (id, arm, trial) => orders(id, arm, trial, 2));
    expect(alike.verdict).toMatchObject({ kind: "no-regression", method: "exhausted", trials: 2 });
    expect(alike.verdict.repeats).toBe(alike.calls - 4 * cases.length);
    let seed = 0;
    const sampling = simulate(check({ cases, seed: 1, requests: () => 2 }), () =>
      seededRandom(seed++).next() < 0.7 ? "pass" : "fail",
    );
    expect(sampling.verdict.method).toBe("pairs");
    expect(sampling.verdict).not.toHaveProperty("repeats");
    expect(sampling.verdict.trials).toBeGreaterThan(2);
  });

  test("answers with equal grades but another text show that the model samples", () => {
    let n = 0;
    const design = check({ cases, seed: 1, requests: () => 2 });
    const { verdict } = simulate(design, (id, arm, trial) => [orders(id, arm, trial, 2), `${n++}`] as const);
    expect(verdict.method).toBe("pairs");
  });

  test("with one order a model is never taken for deterministic, and a case that fell is red", () => {
    const one = check({ cases, seed: 1, requests: () => 1 });
    const { verdict } = simulate(one, (id, arm) => (id === "case 1" && arm === "head" ? "fail" : "pass"));
    expect(verdict).toMatchObject({ kind: "regressed", method: "pairs", flagged: [{ case: "case 1" }] });
  });

  test("repeated requests that all come back as copies are not asked further", () => {
    const design = check({ cases, seed: 1, requests: () => 2 });
    const { verdict, record } = simulate(design, (_, __, trial) => (trial > 2 ? "copy" : "pass"));
    expect(verdict).toMatchObject({ kind: "inconclusive", because: "copies" });
    expect(record.answers("case 1", "base")).toHaveLength(3);
  });

  test("a finished record says what was decided while it was made, however many different requests there are", () => {
    for (let seed = 0; seed < 60; seed++) {
      const rates = [1, 1, 0.9, 1, 0.95];
      const ids = idsOf(rates);
      const design = check({ cases: ids, seed, requests: () => (seed % 2 ? 6 : 24) });
      const random = seededRandom(seed);
      const record = new TrialRecord();
      const play = design.play(record);
      let step = play.next();
      for (; !step.done; step = play.next())
        for (const { case: id, trial, arms } of step.value.requests)
          for (const arm of arms) {
            const passed = random.next() < (rates[ids.indexOf(id)] ?? 0);
            record.add(id, arm, trial, passed ? "pass" : "fail", passed ? "right()" : "");
          }
      expect(nextStep(design, record)).toEqual({ kind: "decided", verdict: step.value });
    }
  });

  test("a verdict counts all answers of the cases that it names", () => {
    const anyRate = fc.constantFrom(0, 0.3, 0.9, 1);
    fc.assert(
      fc.property(
        fc.array(fc.tuple(anyRate, anyRate), { minLength: 1, maxLength: 5 }),
        fc.nat(1000),
        fc.constantFrom(3, 6, 12, 25),
        fc.constantFrom(2, 6, 24),
        (rates, seed, trials, requests) => {
          const [base, head] = [rates.map(([rate]) => rate), rates.map(([, rate]) => rate)];
          const ids = idsOf(base);
          const design = check({ cases: ids, seed, trials, requests: () => requests, withReach: false });
          const { verdict, record } = simulate(design, sampled({ base, head }, seed));
          if (verdict.method === "exhausted") return;
          for (const named of [...verdict.flagged, ...verdict.rose, ...verdict.suspects])
            for (const arm of ["base", "head"] as const)
              expect(named[arm]).toEqual(countPasses(record, named.case, arm));
        },
      ),
    );
  });
});

test("the forecast of calls: about what unchanged runs cost, the same every time", () => {
  const cases = idsOf(suites.M_MIX10);
  const bank = new Map(cases.map((id, i) => [id, { passed: Math.round(20 * (M_MIX10[i] ?? 0)), trials: 20 }]));
  const forecast = forecastCalls({ cases, seed: 2 }, bank);
  expect(forecast).toEqual(forecastCalls({ cases, seed: 2 }, bank));
  expect(forecast.typical).toBeGreaterThan(180);
  expect(forecast.typical).toBeLessThan(500);
  expect(forecast.high).toBeLessThanOrEqual(forecast.most);
  expect(forecast.most).toBe(1400);
});

test("a check reads the answers of 3,000 cases a few times in all, not again at each look", () => {
  const base = Array.from({ length: 3000 }, (_, i) => (i % 2 ? 0.97 : 0.3 + (0.6 * i) / 3000));
  const cases = idsOf(base);
  const index = new Map(cases.map((id, i) => [id, i]));
  const random = seededRandom(9);
  const record = new CountingRecord();
  const play = check({ cases, seed: 9 }).play(record);
  let [looks, trials] = [0, 0];
  let step = play.next();
  for (; !step.done; step = play.next()) {
    looks++;
    for (const { case: id, trial, arms } of step.value.requests)
      for (const arm of arms) {
        trials++;
        record.add(id, arm, trial, random.next() < (base[index.get(id) ?? 0] ?? 0) ? "pass" : "fail");
      }
  }
  expect(looks).toBeGreaterThan(10);
  // Once a request, and a few times a case.
  expect(record.reads).toBeLessThanOrEqual(2 * trials + 5 * cases.length);
});

/** Counts how often the answers to a case in an arm are read. */
class CountingRecord extends TrialRecord {
  reads = 0;
  override answers(id: string, arm: string) {
    this.reads++;
    return super.answers(id, arm);
  }
}

test.each([
  ["a model that samples, and no edit moves", {}, () => 0.7, { kind: "no-regression" }],
  [
    "a model that samples, and an edit moves one case",
    {},
    (arm: string, i: number) => (arm === "head" && i === 2 ? 0 : 1),
    { ...{ kind: "changed", flagged: [{ case: "case 3", head: { passed: 0, trials: 20 } }], rose: [] } },
  ],
  [
    "a deterministic model",
    { alwaysAlike: true, requests: () => 1 },
    (arm: string, i: number) => (arm === "base" && i === 0 ? 0 : 1),
    { ...{ kind: "changed", flips: [{ case: "case 1", down: 0, up: 1 }], net: null, calls: { base: 8, head: 8 } } },
  ],
] as const)(
  "a placebo asks every case equally often: %s",
  (_, options, rateOf: (arm: string, i: number) => number, expected) => {
    const ids = idsOf(suites.M_GOOD8);
    const random = seededRandom(3);
    const { verdict, calls } = simulate(placebo({ cases: ids, seed: 1, ...options }), (id, arm) =>
      random.next() < rateOf(arm, ids.indexOf(id)) ? "pass" : "fail",
    );
    expectRecordable(verdict);
    expect(verdict).toMatchObject({ method: "placebo", ...expected });
    expect(calls).toBe("alwaysAlike" in options ? 16 : 320);
  },
);

test.each([
  [1, "no-regression"],
  [3, "changed"],
] as const)("a placebo that moves %i of 8 cases a little, 20 -> 15 of 20, is %s", (moved, kind) => {
  const ids = idsOf(suites.M_GOOD8);
  const { verdict } = simulate(placebo({ cases: ids, seed: 1 }), (id, arm, trial) =>
    arm === "head" && ids.indexOf(id) < moved && trial % 4 === 0 ? "fail" : "pass",
  );
  expect(verdict).toMatchObject({ kind, flagged: ids.slice(0, moved).map((id) => ({ case: id })) });
});

describe("cases with several wordings", () => {
  const ids = idsOf(suites.M_GOOD8);
  const play = (wordings: number, head: (i: number, trial: number) => number, seed = 1) => {
    const random = seededRandom(deriveSeed(seed, "wordings"));
    const design = check({ cases: ids, seed, wordings: () => wordings });
    return simulate(design, (id, arm, trial) => {
      const rate = arm === "head" ? head(ids.indexOf(id), trial) : 1;
      return random.next() < rate ? "pass" : "fail";
    }).verdict;
  };

  test.each([2, 3, 4, 6])("are not named where one of %i fell", (wordings) => {
    const verdict = play(wordings, (i, trial) => (i === 0 && trial % wordings === 1 ? 0 : 1));
    expectRecordable(verdict);
    expect(verdict).toMatchObject({ kind: "no-regression", suspects: [{ case: "case 1", inSome: true }] });
    const moved = verdict.suspects[0]?.wordings?.map(({ head }) => head.passed === 0);
    expect(moved).toEqual(Array.from({ length: wordings }, (_, at) => at === 0));
  });

  test.each([1, 2, 3, 4, 6])("are named where all of %i fell", (wordings) => {
    const verdict = play(wordings, (i) => (i === 0 ? 0.3 : 1));
    expect(verdict).toMatchObject({ kind: "regressed", by: "cases", flagged: [{ case: "case 1" }] });
    expect(verdict.flagged[0]?.wordings?.length).toBe(wordings === 1 ? undefined : wordings);
  });

  test("make the suite red by wordings, not by the trials of a few of them", () => {
    expect(play(3, (i, trial) => (i < 3 && trial % 3 === 0 ? 0 : 1)).kind).not.toBe("regressed");
    expect(play(3, () => 0.6).kind).toBe("regressed");
  });
});

test.each([
  ["more than 5 % of one list", 0.3, true],
  ["a few of both lists", 0.02, false],
])("answers after an error: %s", (_, share, isCounted) => {
  const random = seededRandom(7);
  const { verdict } = simulate(check({ cases: idsOf(suites.M_GOOD8), seed: 1 }), (_id, arm) => [
    "pass",
    undefined,
    random.next() < (isCounted && arm === "base" ? 0 : share),
  ]);
  expectRecordable(verdict);
  expect(verdict.resent?.isCounted).toBe(isCounted);
  expect(verdict.kind).toBe(isCounted ? "inconclusive" : "no-regression");
});

test.each<[base: string, head: string, p: number, trials: number]>([
  ["11000", "11110", 0.262, 5],
  ["11100", "11111", 0.222, 8],
  // After 8 trials, p is .141.
  ["10000", "11110", 0.103, 8],
  // After 8 trials, p is .059, and after 12 it is .077.
  ["00000111", "11111011", 0.004, 18],
])("after red, a case that may have risen is asked further: %s -> %s, p = %d", (base, head, _, trials) => {
  let asked = 0;
  const cases = ["falls", "rises", "varies"];
  const { verdict } = simulate(check({ cases, seed: 1, pairsPerOrder: 1 }), (id, arm, trial) => {
    if (id === "falls") return arm === "head" ? "fail" : "pass";
    if (id === "varies") return trial % 2 === 0 ? "pass" : "fail";
    asked = Math.max(asked, trial);
    return (arm === "head" ? head : base)[trial - 1] === "0" ? "fail" : "pass";
  });
  expect(verdict).toMatchObject({ kind: "regressed", flagged: [{ case: "falls" }] });
  expect(asked).toBe(trials);
});

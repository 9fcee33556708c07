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
import { type CheckSetup, check, forecastCalls } from "../../../src/evals/experiments/check/design.ts";
import { countAlike, probeCells } from "../../../src/evals/experiments/check/probe.ts";
import type { CheckVerdict } from "../../../src/evals/experiments/design/observe.ts";
import { expectRecordable, idsOf, suites } from "../design/support.ts";

type Rates = { base: readonly number[]; head: readonly number[] };

/** The fixed record of the golden runs: case i, arm 1 or 2, trial t, all counted from 1. */
function goldenNumber(i: number, arm: number, t: number): number {
  let x = (Math.imul(i, 73856093) ^ Math.imul(arm, 19349663) ^ Math.imul(t, 83492791)) >>> 0;
  for (let round = 0; round < 2; round++) x = Math.imul(x ^ (x >>> 16), 0x45d9f3b) >>> 0;
  return ((x ^ (x >>> 16)) >>> 0) / 2 ** 32;
}

function playGolden(
  { base, head }: Rates,
  options: Partial<CheckSetup> = {},
): { verdict: CheckVerdict; calls: number } {
  const ids = idsOf(base);
  return simulate(check({ cases: ids, seed: 1, ...options }), (id, arm, trial) => {
    const i = ids.indexOf(id);
    const rate = arm === "head" ? head[i] : base[i];
    return goldenNumber(i + 1, arm === "head" ? 2 : 1, trial) < (rate ?? 0) ? "pass" : "fail";
  });
}

const M_MIX10 = suites.M_MIX10;

describe("golden runs on a fixed record", () => {
  const figures = ({ verdict, calls }: ReturnType<typeof playGolden>) => ({
    kind: verdict.kind,
    trials: verdict.trials,
    look: verdict.look,
    drop: -(verdict.net?.change ?? Number.NaN),
    standardError: verdict.net?.standardError,
    p: verdict.suite.p,
    calls,
  });
  const near = (value: number) => expect.closeTo(value, 11);

  test("nothing changed", () => {
    expect(figures(playGolden({ base: M_MIX10, head: M_MIX10 }))).toEqual({
      kind: "no-regression",
      trials: 12,
      look: 4,
      drop: near(0),
      standardError: near(0.0416025147169),
      p: near(0.584094047546),
      calls: 240,
    });
  });

  test("one case .95 -> .3", () => {
    const played = playGolden({ base: M_MIX10, head: M_MIX10.with(2, 0.3) });
    expect(figures(played)).toEqual({
      kind: "regressed",
      trials: 3,
      look: 1,
      drop: near(0.133333333333),
      standardError: near(0.0957427107756),
      p: near(0.109375),
      calls: 134,
    });
    expect(played.verdict).toMatchObject({
      by: "cases",
      flagged: [{ case: "case 3" }],
      calls: { base: 67, head: 67, ahead: 74 },
    });
  });

  test("all cases -20 and -11 points", () => {
    const all = (by: number) => M_MIX10.map((rate) => Math.max(0, rate - by));
    const twenty = playGolden({ base: M_MIX10, head: all(0.2) });
    expect(twenty.verdict).toMatchObject({ by: "suite", suite: { level: near((0.0223 * 8) / 25) } });
    expect(figures(twenty)).toMatchObject({ kind: "regressed", trials: 8, drop: near(0.225), calls: 160 });
    expect(figures(playGolden({ base: M_MIX10, head: all(0.11) }))).toMatchObject({
      kind: "regressed",
      trials: 8,
      drop: near(0.1625),
      standardError: near(0.057735026919),
      p: near(0.00221252441406),
      calls: 180,
    });
  });

  test("a cap of 5 leaves it open, with advice", () => {
    const played = playGolden({ base: M_MIX10, head: M_MIX10 }, { trials: 5 });
    expect(figures(played)).toMatchObject({ kind: "inconclusive", trials: 5, calls: 106 });
    expect(played.verdict).toMatchObject({ because: "cap", advice: { likely: 5, atLeast: false } });
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
        fc.constantFrom(1, 3, 5, 12, 25),
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

  test("depth holds NO REGRESSION back, and nothing else", () => {
    const base = Array.from({ length: 50 }, () => 1);
    const shallow = simulate(check({ cases: idsOf(base), seed: 1 }), sampled({ base, head: base }, 1)).verdict;
    const deep = simulate(check({ cases: idsOf(base), seed: 1, depth: 12 }), sampled({ base, head: base }, 1)).verdict;
    expect([shallow.trials, deep.trials]).toEqual([5, 12]);
    const broken = simulate(
      check({ cases: idsOf(base), seed: 1, depth: 12 }),
      sampled({ base, head: base.with(0, 0) }, 1),
    ).verdict;
    expect(broken).toMatchObject({ kind: "regressed", trials: 3 });
  });

  test("head's failures that are missing never give NO REGRESSION", () => {
    const base = suites.M_GOOD8;
    const answer = sampled({ base, head: base.map((rate) => rate - 0.3) }, 3);
    const { verdict } = simulate(check({ cases: idsOf(base), seed: 3, trials: 12 }), (id, arm, trial) => {
      const observed = answer(id, arm, trial);
      return arm === "head" && observed === "fail" ? "missing" : observed;
    });
    expect(verdict.kind).toBe("inconclusive");
    expect(verdict.missing?.worst).toBeLessThan(verdict.missing?.best ?? 0);
    expect(verdict.missing?.base).toBe(0);
  });

  test("nor do they when asking again brings passes in the end", () => {
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

  test("a quiet suite with more than 5 % missing is INCONCLUSIVE for that reason", () => {
    const base = Array.from({ length: 30 }, () => 1);
    const { verdict } = simulate(check({ cases: idsOf(base), seed: 3 }), (id) =>
      id === "case 1" || id === "case 2" ? "missing" : "pass",
    );
    expect(verdict).toMatchObject({ kind: "inconclusive" });
    expect(verdict.missing).toMatchObject({ base: expect.any(Number), head: expect.any(Number) });
  });
});

describe("what is asked", () => {
  test("pairs, in a random order of arms that the seed decides", () => {
    const step = nextStep(check({ cases: idsOf(suites.M_MIX10), seed: 4 }), new TrialRecord());
    if (step.kind === "decided") throw new Error("nothing was asked");
    expect(step.requests).toHaveLength(30);
    const firsts = step.requests.map(({ arms }) => arms[0]);
    expect(firsts.filter((arm) => arm === "head").length).toBeGreaterThan(5);
    expect(firsts.filter((arm) => arm === "base").length).toBeGreaterThan(5);
    expect(step.requests.slice(0, 10).every(({ trial }) => trial === 1)).toBe(true);
    expect(nextStep(check({ cases: idsOf(suites.M_MIX10), seed: 4 }), new TrialRecord())).toEqual(step);
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

  test("copies are dropped, and the pair is asked again", () => {
    const base = [1, 1, 1, 1, 1, 1, 1, 1, 1, 1];
    let turn = 0;
    const { verdict, calls } = simulate(check({ cases: idsOf(base), seed: 4 }), () =>
      turn++ % 5 === 0 ? "copy" : "pass",
    );
    expect(verdict.kind).toBe("no-regression");
    expect(verdict.calls.copies).toBeGreaterThan(0);
    expect(calls - verdict.calls.copies).toBe(2 * verdict.trials * base.length);
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

  test("a probe finds out, with at most six repeats, whether the model is deterministic", () => {
    const probed = simulate(check({ cases, seed: 1, requests: () => 2 }), (id, arm, trial) =>
      orders(id, arm, trial, 2),
    );
    expect(probed.verdict).toMatchObject({ kind: "no-regression", method: "exhausted", repeats: 6, trials: 2 });
    expect(probed.calls).toBe(cases.length * 4 + 6);
    let seed = 0;
    const sampling = simulate(check({ cases, seed: 1, requests: () => 2 }), () =>
      seededRandom(seed++).next() < 0.7 ? "pass" : "fail",
    );
    expect(sampling.verdict.method).toBe("pairs");
    expect(sampling.verdict).not.toHaveProperty("repeats");
    expect(sampling.verdict.trials).toBeGreaterThan(2);
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

  test("a verdict counts all answers of the cases that it names, except for repeated requests, which it lists", () => {
    const anyRate = fc.constantFrom(0, 0.3, 0.9, 1);
    fc.assert(
      fc.property(
        fc.array(fc.tuple(anyRate, anyRate), { minLength: 1, maxLength: 5 }),
        fc.nat(1000),
        fc.constantFrom(3, 6, 12, 25),
        fc.constantFrom(2, 6, 24),
        fc.boolean(),
        (rates, seed, trials, requests, isAlike) => {
          const [base, head] = [rates.map(([rate]) => rate), rates.map(([, rate]) => rate)];
          const ids = idsOf(base);
          const answer = sampled({ base, head }, seed);
          const { verdict, record } = simulate(
            check({ cases: ids, seed, trials, requests: () => requests, withReach: false }),
            (id, arm, trial) => answer(id, arm, isAlike ? ((trial - 1) % requests) + 1 : trial),
          );
          const { flagged, rose, suspects, flips, repeated = [] } = verdict;
          for (const named of [...flagged, ...rose, ...suspects]) {
            const again = repeated.find((one) => one.case === named.case) ?? { passed: 0, trials: 0 };
            const all = countPasses(record, named.case, "base");
            expect(named.base).toEqual({ passed: all.passed - again.passed, trials: all.trials - again.trials });
            expect(named.head).toEqual(countPasses(record, named.case, "head"));
          }
          for (const { case: id, pairs } of flips) expect(pairs).toBe(countPasses(record, id, "head").trials);
        },
      ),
    );
  });

  test("repeated requests are no trials that ran ahead", () => {
    const three = idsOf([1, 1, 1]);
    const { verdict } = simulate(check({ cases: three, seed: 1, requests: () => 6 }), (id, arm) =>
      arm === "head" && id === "case 1" ? "fail" : "pass",
    );
    expect(verdict).toMatchObject({
      kind: "regressed",
      flagged: [{ case: "case 1", base: { passed: 6, trials: 6 }, head: { passed: 0, trials: 6 } }],
      repeated: three.map((id) => ({ case: id, after: 6, passed: 2, trials: 2 })),
      calls: { base: 24, head: 18, ahead: 0 },
    });
  });

  test("repeats are of cases that vary, and compare tool and arguments", () => {
    const record = new TrialRecord();
    for (const trial of [1, 2]) {
      record.add("steady", "base", trial, "pass", "a()");
      record.add("varies", "base", trial, "pass", `a(${trial})`);
    }
    const known = ["steady", "varies"].map((id) => ({ id, requests: 2 }));
    const cells = probeCells(record, known, 2);
    expect(cells).toEqual([
      { id: "varies", first: 1, repeat: 3 },
      { id: "varies", first: 2, repeat: 4 },
    ]);
    record.add("varies", "base", 3, "pass", "a(1)");
    expect(countAlike(record, cells)).toBe(1);
    record.add("varies", "base", 4, "pass", "a(7)");
    expect(countAlike(record, cells)).toBe(0);
    expect(countAlike(record, [])).toBe(0);
  });
});

test("the forecast of calls: about what unchanged runs cost, the same every time", () => {
  const cases = idsOf(suites.M_MIX10);
  const bank = new Map(cases.map((id, i) => [id, { passed: Math.round(20 * (M_MIX10[i] ?? 0)), trials: 20 }]));
  const forecast = forecastCalls({ cases, seed: 2 }, bank);
  expect(forecast).toEqual(forecastCalls({ cases, seed: 2 }, bank));
  expect(forecast.typical).toBeGreaterThan(180);
  expect(forecast.typical).toBeLessThan(400);
  expect(forecast.high).toBeLessThanOrEqual(forecast.most);
  expect(forecast.most).toBe(1000);
});

test("a check reads the answers of 3,000 cases a few times in all, not again at each look", () => {
  const base = Array.from({ length: 3000 }, (_, i) => (i % 2 ? 0.97 : 0.3 + (0.6 * i) / 3000));
  const cases = idsOf(base);
  const index = new Map(cases.map((id, i) => [id, i]));
  const random = seededRandom(9);
  const record = new CountingRecord();
  const play = check({ cases, seed: 9 }).play(record);
  let looks = 0;
  let step = play.next();
  for (; !step.done; step = play.next()) {
    looks++;
    for (const { case: id, trial, arms } of step.value.requests)
      for (const arm of arms)
        record.add(id, arm, trial, random.next() < (base[index.get(id) ?? 0] ?? 0) ? "pass" : "fail");
  }
  expect(looks).toBeGreaterThan(10);
  expect(record.reads).toBeLessThanOrEqual(5 * cases.length);
});

/** Counts how often the answers to a case in an arm are read. */
class CountingRecord extends TrialRecord {
  reads = 0;
  override answers(id: string, arm: string) {
    this.reads++;
    return super.answers(id, arm);
  }
}

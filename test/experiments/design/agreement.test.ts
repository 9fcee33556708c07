import * as fc from "fast-check";
import { expect, test } from "vitest";
import { nextStep, type Observation, simulate, TrialRecord } from "../../../src/evals/asking/trials/design.ts";
import { deriveSeed, seededRandom } from "../../../src/evals/base/stats/random.ts";
import { check } from "../../../src/evals/experiments/check/design.ts";
import { furtherPairs } from "../../../src/evals/experiments/design/advice.ts";
import { boundaries, caseP, ladder, meanDrop, suiteP } from "../../../src/evals/experiments/design/statistics.ts";
import * as reference from "../../fixtures/method/regression-reference.mjs";
import { idsOf, suites, truths } from "./support.ts";

/** A record that is fixed before anybody asks: what trial t of case i in this arm brings. */
type Recorded = (i: number, arm: string, t: number) => 0 | 1 | 2;

type Plan = { suite: keyof typeof suites; truth: keyof typeof truths; trials: number; missing: number; number: number };

const caps = [1, 3, 5, 8, 12, 25, 25, 25, 40];
const names = Object.keys(suites) as (keyof typeof suites)[];
const kinds = Object.keys(truths) as (keyof typeof truths)[];

/** 2,000 runs over suites, truths, caps and shares of missing answers. */
const plans: Plan[] = Array.from({ length: 2000 }, (_, number) => {
  const random = seededRandom(deriveSeed(17, "agreement", number));
  const pick = <T>(from: readonly T[]) => from[random.below(from.length)] as T;
  const suite = number % 40 === 0 ? "mixed200" : pick(names.filter((name) => name !== "mixed200"));
  return { suite, truth: pick(kinds), trials: pick(caps), missing: pick([0, 0, 0, 0.03, 0.1]), number };
});

function recorded({ suite, truth, missing, number }: Plan): Recorded {
  const rates = { base: suites[suite], head: truths[truth](suites[suite]) };
  return (i, arm, t) => {
    const random = seededRandom(deriveSeed(18, number, i, arm, t));
    const isMissing = random.next() < missing;
    const passes = random.next() < (rates[arm as "base" | "head"][i] ?? 0);
    return isMissing ? 2 : passes ? 1 : 0;
  };
}

const observations: readonly Observation[] = ["fail", "pass", "missing"];

test("agrees with the reference on 2,000 recorded runs: verdict, named cases, look, figures, calls", () => {
  const seen: Record<string, number> = {};
  for (const plan of plans) {
    const ids = idsOf(suites[plan.suite]);
    const answers = recorded(plan);
    const expected = reference.run(ids.length, answers, { T: plan.trials });
    const design = check({ cases: ids, seed: plan.number, trials: plan.trials, withReach: false });
    const index = new Map(ids.map((id, i) => [id, i]));
    const { verdict } = simulate(design, (id, arm, trial) => {
      const answer = answers(index.get(id) ?? 0, arm, trial - 1);
      return observations[answer] ?? "missing";
    });
    const { calls } = verdict;
    const actual = {
      kind: verdict.kind,
      by: verdict.by ?? undefined,
      trials: verdict.trials,
      look: verdict.look,
      // A trial that stays missing is asked three times; the reference counts it once.
      calls: calls.base + calls.head - (2 * calls.missing) / 3,
      fell: verdict.flagged.map((one) => index.get(one.case)).toSorted(),
    };
    expect(actual, JSON.stringify(plan)).toEqual({
      kind: expected.kind,
      by: expected.kind === "changed" ? undefined : expected.by === "case" ? "cases" : expected.by,
      trials: expected.K,
      look: expected.look,
      calls: expected.calls,
      fell: (expected.cases ?? []).toSorted(),
    });
    expect(-(verdict.net?.change ?? Number.NaN)).toBeCloseTo(expected.D, 12);
    expect(verdict.net?.standardError).toBeCloseTo(expected.se, 12);
    expect(verdict.suite.p).toBeCloseTo(expected.suiteP, 10);
    // The reference reports missing answers only at a clear look, the product also at the cap.
    if (expected.because === "missing") expect(verdict).toMatchObject({ because: "missing" });
    if (expected.more && verdict.kind === "inconclusive" && verdict.because === "cap")
      expect(verdict.advice?.likely).toBe(expected.more);
    seen[actual.kind] = (seen[actual.kind] ?? 0) + 1;
  }
  // The runs reach every verdict.
  expect(Object.values(seen).every((count) => count >= 5)).toBe(true);
  expect(Object.keys(seen).sort()).toEqual(["changed", "inconclusive", "no-regression", "regressed"]);
});

test("a run resumed from the record at every step asks and decides the same", () => {
  for (const plan of plans.slice(0, 60).filter(({ suite }) => suite !== "mixed200")) {
    const ids = idsOf(suites[plan.suite]);
    const answers = recorded(plan);
    const design = check({ cases: ids, seed: plan.number, trials: plan.trials });
    const answer = (id: string, arm: string, trial: number) => observations[answers(ids.indexOf(id), arm, trial - 1)];
    const played = simulate(design, (id, arm, trial) => answer(id, arm, trial) ?? "missing");
    const record = new TrialRecord();
    for (;;) {
      const step = nextStep(design, record);
      if (step.kind === "decided") {
        expect(step.verdict).toEqual(played.verdict);
        break;
      }
      // The run is cut after half of what was asked for.
      for (const request of step.requests.slice(0, Math.ceil(step.requests.length / 2)))
        for (const arm of request.arms)
          record.add(request.case, arm, request.trial, answer(request.case, arm, request.trial) ?? "missing");
    }
  }
});

test("the statistics agree with the reference on any counts", () => {
  const anyCounts = fc
    .integer({ min: 1, max: 200 })
    .chain((trials) => fc.record({ passed: fc.nat(trials), trials: fc.constant(trials) }));
  fc.assert(
    fc.property(anyCounts, anyCounts, (base, head) => {
      const expected = reference.caseP(base.passed, base.trials, head.passed, head.trials);
      expect(Math.abs(caseP(base, head) - expected)).toBeLessThan(1e-10 * expected);
    }),
  );
  fc.assert(
    fc.property(fc.nat(300), fc.nat(300), (down, up) => {
      const expected = reference.signP(down, up);
      expect(Math.abs(suiteP(down, up) - expected)).toBeLessThan(1e-9 * expected);
    }),
  );
  const anyPairs = fc
    .integer({ min: 1, max: 50 })
    .chain((k) => fc.record({ down: fc.nat(Math.floor(k / 2)), up: fc.nat(Math.floor(k / 2)), k: fc.constant(k) }));
  fc.assert(
    fc.property(fc.array(anyPairs, { minLength: 1, maxLength: 20 }), (pairs) => {
      const expected = reference.drop(pairs);
      const mean = meanDrop(pairs.map(({ down, up, k }) => ({ down, up, pairs: k })));
      expect(mean?.drop).toBeCloseTo(expected.D, 12);
      expect(mean?.standardError).toBeCloseTo(expected.se, 12);
    }),
  );
  fc.assert(
    fc.property(
      fc.double({ min: -0.2, max: 0.3, noNaN: true }),
      fc.double({ min: 0.01, max: 0.2, noNaN: true }),
      fc.integer({ min: 3, max: 100 }),
      (drop, standardError, k) => {
        const expected = reference.advice(drop, standardError, k, 0.1, 2.25);
        expect(furtherPairs({ drop, standardError }, k, 0.1, 2.25, 0.5) ?? 20_000).toBe(expected);
      },
    ),
  );
  expect(ladder).toEqual(reference.LADDER);
  for (let looks = 1; looks <= 12; looks++)
    for (const cases of [1, 2, 3, 100]) {
      const { a, z } = reference.constants(looks, cases);
      expect(boundaries(looks, cases)).toEqual({ suiteLevel: a, z });
    }
});

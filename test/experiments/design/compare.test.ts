import { describe, expect, test } from "vitest";
import { type Observation, TrialRecord } from "../../../src/evals/asking/trials/design.ts";
import { deriveSeed, seededRandom } from "../../../src/evals/base/stats/random.ts";
import { compareRecords, furtherPairs } from "../../../src/evals/experiments/design/compare.ts";
import { expectRecordable, idsOf, suites } from "./support.ts";

type Draw = (i: number, arm: string, trial: number) => Observation;

function recordOf(cases: readonly string[], trials: { base: number; head: number }, draw: Draw): TrialRecord {
  const record = new TrialRecord();
  for (const [i, id] of cases.entries())
    for (const arm of ["base", "head"] as const)
      for (let trial = 1; trial <= trials[arm]; trial++)
        for (let attempt = 0; record.answers(id, arm)[trial - 1] === undefined && attempt < 3; attempt++)
          record.add(id, arm, trial, draw(i, arm, trial));
  return record;
}

const sampled =
  (base: readonly number[], head: readonly number[], seed: number): Draw =>
  (i, arm, trial) => {
    const random = seededRandom(deriveSeed(seed, i, arm, trial));
    return random.next() < ((arm === "head" ? head : base)[i] ?? 0) ? "pass" : "fail";
  };

describe.each([true, false])("two records, same orders: %s", (samePairs) => {
  const cases = idsOf(suites.M_GOOD8);
  const base = suites.M_GOOD8;
  const compare = (draw: Draw, trials = { base: 20, head: 20 }) =>
    compareRecords({ cases, record: recordOf(cases, trials, draw), samePairs, seed: 1 });

  test("unchanged, one case broken, all down, and too few trials", () => {
    const unchanged = compare(sampled(base, base, 2));
    expect(unchanged).toMatchObject({ kind: "no-regression", method: samePairs ? "records" : "unpaired-records" });
    expectRecordable(unchanged);
    expect(compare(sampled(base, base.with(0, 0.2), 2))).toMatchObject({
      kind: "regressed",
      by: "cases",
      flagged: [{ case: "case 1" }],
    });
    expect(
      compare(
        sampled(
          base,
          base.map((rate) => rate - 0.25),
          2,
        ),
      ).kind,
    ).toBe("regressed");
    expect(compare(sampled(base, base, 2), { base: 3, head: 3 })).toMatchObject({
      kind: "inconclusive",
      because: "cap",
    });
  });

  test("head's failures that are missing never give NO REGRESSION", () => {
    const draw = sampled(
      base,
      base.map((rate) => rate - 0.3),
      5,
    );
    const verdict = compare((i, arm, trial) => {
      const observed = draw(i, arm, trial);
      return arm === "head" && observed === "fail" ? "missing" : observed;
    });
    expect(verdict.kind).not.toBe("no-regression");
    expect(verdict.missing?.head).toBeGreaterThan(0);
  });

  test("false alarms stay under 5 % and so do false all-clears at a true drop of the margin", () => {
    const flaky = suites.M_FLAKY8;
    const ids = idsOf(flaky);
    const verdicts = (head: readonly number[]) =>
      Array.from({ length: 200 }, (_, n) => {
        const record = recordOf(ids, { base: 10, head: samePairs ? 10 : 14 }, sampled(flaky, head, 100 + n));
        return compareRecords({ cases: ids, record, samePairs, seed: n }).kind;
      });
    expect(verdicts(flaky).filter((kind) => kind === "regressed").length).toBeLessThanOrEqual(14);
    const dropped = verdicts(flaky.map((rate) => rate - 0.1));
    expect(dropped.filter((kind) => kind === "no-regression").length).toBeLessThanOrEqual(17);
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

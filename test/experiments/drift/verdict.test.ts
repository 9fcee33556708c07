import { expect, test } from "vitest";
import type { CaseSummary } from "../../../src/evals/base/types/run.ts";
import { DriftWatch } from "../../../src/evals/experiments/drift/verdict.ts";

test("cases without trials, or without a baseline, are in no difference between nights", () => {
  const ids = Array.from({ length: 30 }, (_, at) => `case ${at + 1}`);
  const every = (passes: string) => Object.fromEntries(ids.map((id) => [id, passes]));
  const { "case 30": _, ...bank } = every("20/20");
  const plan = {
    ...{ file: "nights.jsonl", baseline: { run: "accepted", acceptedAt: "2026-03-01T08:00:00.000Z" } },
    ...{ nightly: false, trials: 3, margin: 0.1, families: 1, bank },
    nights: [{ night: "before", cases: { ...every("3/3"), "case 2": "0/0" } }],
  };
  const cases = ids.map((id, at) => {
    const counts = at === 0 ? { trials: 0, passed: 0, broken: 3 } : { trials: 3, passed: at === 9 ? 1 : 3, broken: 0 };
    return { id, planned: 3, notGradable: 0, ...counts } as CaseSummary;
  });
  const { changes } = new DriftWatch(plan, "tonight", ids).summary(cases);
  expect(changes).toMatchObject({
    ...{ cases: [{ case: "case 10", before: { passed: 3, trials: 3 }, after: { passed: 1, trials: 3 } }], same: 27 },
    mean: { before: 1, after: expect.closeTo(1 - 2 / 3 / 28, 12) },
  });
});

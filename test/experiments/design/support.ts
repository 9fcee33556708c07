import { expect } from "vitest";
import { type Design, nextStep, type Observation, TrialRecord } from "../../../src/evals/asking/trials/design.ts";
import { comparedSchema } from "../../../src/evals/base/types/check.ts";
import { summarizeCheck } from "../../../src/evals/experiments/check/verdict.ts";
import type { CheckVerdict } from "../../../src/evals/experiments/design/observe.ts";

/** Expects that the summary of a verdict fits the schema of records, with nothing left over. */
export function expectRecordable(verdict: CheckVerdict): void {
  const summary = summarizeCheck(verdict, { grew: [], changes: [], notes: [], failOn: [] });
  expect(comparedSchema.parse(summary)).toEqual(summary);
}

/** Suites of known pass rates. */
export const suites = {
  ...{ MIX5: [1, 0.95, 0.9, 0.5, 0], M_MIX10: [1, 1, 0.95, 0.99, 0.9, 0.9, 0.5, 0.5, 0, 0.99] },
  ...{ M_GOOD8: [1, 1, 1, 0.99, 0.99, 0.95, 0.95, 0.9], M_FLAKY8: [0.5, 0.6, 0.7, 0.8, 0.3, 0.95, 0.5, 0.4] },
  ...{ MIX10: [0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1], ONE: [0.95], THREE: [0.9, 0.9, 0.9] },
  ...{ DEAD5: [0, 0, 0, 0, 0], mixed50: Array.from({ length: 50 }, (_, i) => (i % 2 ? 0.97 : 0.3 + (0.6 * i) / 50)) },
  mixed200: Array.from({ length: 200 }, (_, i) => (i % 2 ? 0.97 : 0.3 + (0.6 * i) / 200)),
} satisfies Record<string, readonly number[]>;

const shifted = (by: number) => (rates: readonly number[]) => rates.map((rate) => Math.min(1, Math.max(0, rate + by)));

/** What may have happened to the suite between base and head. */
export const truths = {
  null: (rates: readonly number[]) => rates,
  one: (rates: readonly number[]) =>
    rates.with(
      Math.max(
        0,
        rates.findIndex((rate) => rate >= 0.95 && rate < 1),
      ),
      0.3,
    ),
  dead: (rates: readonly number[]) => rates.with(rates.indexOf(Math.max(...rates)), 0),
  "all -20": shifted(-0.2),
  "all -11": shifted(-0.11),
  "up and down": (rates: readonly number[]) =>
    rates.map((rate, i) => (i % 3 === 0 ? Math.max(0, rate - 0.5) : i % 3 === 1 ? Math.min(1, rate + 0.5) : rate)),
} satisfies Record<string, (rates: readonly number[]) => readonly number[]>;

export const idsOf = (rates: readonly number[]) => rates.map((_, index) => `case ${index + 1}`);

/** Plays a design that starts anew from the record after the first half of each step, until it decides. */
export function decideResumed<V>(
  design: Design<V>,
  answer: (id: string, arm: string, trial: number) => Observation,
): V {
  const record = new TrialRecord();
  for (;;) {
    const step = nextStep(design, record);
    if (step.kind === "decided") return step.verdict;
    for (const { case: id, trial, arms } of step.requests.slice(0, Math.ceil(step.requests.length / 2)))
      for (const arm of arms) record.add(id, arm, trial, answer(id, arm, trial));
  }
}

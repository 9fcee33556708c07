import { exitCodes } from "../errors.ts";
import type { RunManifest, RunSummary } from "../types/run.ts";
import { addCost, type Trial } from "../types/trial.ts";
import type { Check } from "./check.ts";
import { SuiteTally } from "./suiteTally.ts";

type Totals = RunSummary["totals"];

/** Trials in, a summary out. A run's summary is always made by feeding every trial of its record to one of these. */
export type Summariser = {
  add(trial: Trial): void;
  summary(): RunSummary;
  /** The regression check of a suite on a model, if one is to be made. */
  check(suite: string, model: string): Check | undefined;
};

const key = (suite: string, model: string) => JSON.stringify([suite, model]);

/**
 * Makes the summariser of a run. The gate: a case is ok when it was graded at all, no trial was left ungraded, and its
 * rate is at least its pass rate. Broken trials are in no rate. The run is ok when every case is ok, nothing broke or is
 * missing, and no check says otherwise. Exit code 1 when a graded case missed its rate or a suite regressed, else 3 when
 * the run or a check is incomplete, else 0.
 */
export function summariser(manifest: RunManifest, dir: string): Summariser {
  const tallies = new Map<string, SuiteTally>();
  for (const suite of manifest.suites)
    for (const model of manifest.models) tallies.set(key(suite.name, model.id), new SuiteTally(manifest, suite, model));
  return {
    add: (trial) => tallies.get(key(trial.cell.suite, trial.cell.model))?.add(trial),
    check: (suite, model) => tallies.get(key(suite, model))?.check,
    summary() {
      const suites = [...tallies.values()].map((tally) => tally.summary());
      const ok = suites.length > 0 && suites.every((suite) => suite.ok);
      const exitCode = suites.some(hasFailed) ? exitCodes.failed : ok ? exitCodes.passed : exitCodes.incomplete;
      return { run: manifest.id, dir, suites, totals: addTotals(suites.map((suite) => suite.totals)), ok, exitCode };
    },
  };
}

function hasFailed({ cases, verdict }: RunSummary["suites"][number]): boolean {
  return verdict?.exitCode === exitCodes.failed || cases.some((one) => one.rate !== null && one.rate < one.passRate);
}

function addTotals(all: readonly Totals[]): Totals {
  const zero: Totals = {
    trials: 0,
    passed: 0,
    broken: 0,
    missing: 0,
    calls: 0,
    executed: 0,
    toolErrors: 0,
    inputTokens: 0,
    outputTokens: 0,
    costUsd: 0,
  };
  return all.reduce(
    (sum, one) => ({
      trials: sum.trials + one.trials,
      passed: sum.passed + one.passed,
      broken: sum.broken + one.broken,
      missing: sum.missing + one.missing,
      calls: sum.calls + one.calls,
      executed: sum.executed + one.executed,
      toolErrors: sum.toolErrors + one.toolErrors,
      inputTokens: sum.inputTokens + one.inputTokens,
      outputTokens: sum.outputTokens + one.outputTokens,
      costUsd: addCost(sum.costUsd, one.costUsd),
    }),
    zero,
  );
}

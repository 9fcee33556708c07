import { exitCodes } from "../errors.ts";
import type { RunManifest, RunSummary } from "../types/run.ts";
import { skillEntryName } from "../types/skill.ts";
import { addCost, type Trial } from "../types/trial.ts";
import type { Check } from "./check.ts";
import { SkillTally } from "./skillTally.ts";
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
  const skills = skillTallies(manifest);
  return {
    add(trial) {
      tallies.get(key(trial.cell.suite, trial.cell.model))?.add(trial);
      skills.add(trial);
    },
    check: (suite, model) => tallies.get(key(suite, model))?.check,
    summary() {
      const suites = [...tallies.values()].map((tally) => tally.summary());
      const ok = suites.length > 0 && suites.every((suite) => suite.ok);
      const exitCode = suites.some(hasFailed) ? exitCodes.failed : ok ? exitCodes.passed : exitCodes.incomplete;
      const totals = addTotals(suites.map((suite) => suite.totals));
      const triggered = skills.summary();
      return {
        run: manifest.id,
        dir,
        suites,
        totals,
        ...(triggered.length > 0 && { skills: triggered }),
        ...(manifest.judge && { judge: judgeOf(manifest.judge) }),
        ok,
        exitCode,
      };
    },
  };
}

function judgeOf({ model, figure }: NonNullable<RunManifest["judge"]>): NonNullable<RunSummary["judge"]> {
  return { model, ...(figure !== undefined && { figure }) };
}

/** One tally of triggering for each model, over all suites: a skill's false positives come from the cases of others. */
function skillTallies(manifest: RunManifest) {
  const tallies = new Map(manifest.models.map(({ id }) => [id, new SkillTally()]));
  const prefix = skillEntryName("");
  const offered = (hash: string) =>
    (manifest.toolsets[hash] ?? []).flatMap(({ name, origin }) =>
      origin === "skill" ? [name.slice(prefix.length)] : [],
    );
  const lists = new Map<string, readonly string[]>();
  const cases = new Map(
    manifest.suites.flatMap(({ name, cases }) =>
      cases.flatMap(({ id, skills, toolset }) => {
        if (!skills) return [];
        lists.set(toolset, lists.get(toolset) ?? offered(toolset));
        return [[key(name, id), { about: skills, offered: lists.get(toolset) ?? [] }] as const];
      }),
    ),
  );
  return {
    add(trial: Trial) {
      const one = trial.cell.arm === "head" ? cases.get(key(trial.cell.suite, trial.cell.case)) : undefined;
      if (one) tallies.get(trial.cell.model)?.add(trial, one.about, one.offered);
    },
    summary: () => [...tallies].flatMap(([model, tally]) => tally.summary(model) ?? []),
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

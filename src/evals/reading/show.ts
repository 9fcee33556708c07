import { resolve } from "node:path";
import { orderTools } from "../asking/trials/plan.ts";
import { didYouMean } from "../base/text/nearest.ts";
import { type ExitCode, exitCodes, printProblem, usageError } from "../base/types/errors.ts";
import type { Io } from "../base/types/io.ts";
import { isModelNamed } from "../base/types/model.ts";
import type { RunManifest } from "../base/types/run.ts";
import type { Trial } from "../base/types/trial.ts";
import { matchesFilter } from "../experiments/workspace/suites.ts";
import { findRecord } from "../records/find.ts";
import { readTrials } from "../records/record.ts";
import { safeJson } from "../reports/escape.ts";
import { some } from "../reports/format.ts";
import { renderTerminal } from "../reports/terminal.ts";
import { type ShownTrial, showDocument } from "./showReport.ts";

export type ShowOptions = {
  case?: string | undefined;
  run: string;
  trial?: number | undefined;
  failed: boolean;
  suite?: string | undefined;
  model?: string | undefined;
  arm?: string | undefined;
  most: number;
  out: string;
  json: boolean;
};

/** `evals show`: prints what a model did in the trials of a run. Throws a usage error if no case is selected. */
export async function show(options: ShowOptions, io: Io): Promise<ExitCode> {
  const { dir, manifest } = await findRecord("run", options.run, resolve(io.cwd, options.out), printProblem(io));
  const cases = selectCases(manifest, options);
  const isWanted = selectTrials(cases, options);
  const shown: ShownTrial[] = [];
  for await (const trial of readTrials(dir, manifest.id)) {
    const about = isWanted(trial);
    if (!about) continue;
    if (options.json) io.out(safeJson(trial));
    else shown.push({ trial, case: about.case, tools: listShownTools(manifest, trial) });
  }
  if (!options.json) io.out(renderTerminal(showDocument(shown, { run: manifest.id, most: options.most }), io));
  return exitCodes.passed;
}

type SelectedCase = { suite: string; case: RunManifest["suites"][number]["cases"][number] };

function selectCases(manifest: RunManifest, { case: pattern, suite, model }: ShowOptions): SelectedCase[] {
  const all = manifest.suites.flatMap(({ name, cases }) =>
    cases.map((one): SelectedCase => ({ suite: name, case: one })),
  );
  refuseUnknown(
    "suite",
    suite,
    manifest.suites.map(({ name }) => name),
  );
  const models = manifest.models.map(({ id }) => id);
  if (model !== undefined && !models.some((id) => isModelNamed(model, id))) refuseUnknown("model", model, models);
  const isNamed =
    pattern === undefined || all.some((one) => one.case.id === pattern)
      ? ({ case: one }: SelectedCase) => pattern === undefined || one.id === pattern
      : ({ case: one }: SelectedCase) => matchesFilter(one.id, pattern);
  const found = all.filter((one) => (suite === undefined || one.suite === suite) && isNamed(one));
  if (found.length === 0 && pattern !== undefined)
    refuseUnknown("case", pattern, [...new Set(all.map((one) => one.case.id))]);
  return found;
}

function refuseUnknown(what: string, name: string | undefined, known: readonly string[]): void {
  if (name === undefined || known.includes(name)) return;
  throw usageError(`The run has no ${what} "${name}".`, didYouMean(name, known, `The run has: ${some(known, 20)}.`));
}

/** Returns what finds the case of a trial to show: without a case or number, only of trials that did not pass. */
function selectTrials(
  cases: readonly SelectedCase[],
  options: ShowOptions,
): (trial: Trial) => SelectedCase | undefined {
  const byKey = new Map(cases.map((one) => [JSON.stringify([one.suite, one.case.id]), one]));
  const { arm = "head", model, trial: number } = options;
  const isFailed = options.failed || (options.case === undefined && number === undefined);
  return ({ cell, verdict }) => {
    const isMeant =
      cell.arm === arm &&
      (number === undefined || cell.trial === number) &&
      (model === undefined || isModelNamed(model, cell.model)) &&
      !(isFailed && verdict?.grade === "pass");
    return isMeant ? byKey.get(JSON.stringify([cell.suite, cell.case])) : undefined;
  };
}

/** The names of the tools, in the order in which the trial showed them. */
function listShownTools({ toolsets }: RunManifest, { toolset, orderSeed }: Trial): string[] {
  return orderTools(toolsets[toolset] ?? [], orderSeed).map(({ name }) => name);
}

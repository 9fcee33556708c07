import { resolve } from "node:path";
import { safeJson } from "../reports/escape.ts";
import { historyDocument } from "../reports/history.ts";
import { renderTerminal } from "../reports/terminal.ts";
import { listRecords, readTrials } from "../runs/record.ts";
import { type ExitCode, exitCodes, usageError } from "../types/errors.ts";
import type { Io } from "../types/io.ts";
import { isModelNamed } from "../types/model.ts";
import type { RunManifest } from "../types/run.ts";
import { type History, makeHistories, type PastRun } from "../verdicts/history.ts";
import { summariser } from "../verdicts/summary.ts";

export type HistoryOptions = {
  suite?: readonly string[] | undefined;
  model?: readonly string[] | undefined;
  last: number;
  out: string;
  json: boolean;
};

/** `evals history`: prints how every suite did on every model, run by run. Throws a usage error where there is no run. */
export async function history(options: HistoryOptions, io: Io): Promise<ExitCode> {
  const histories = await readHistories(resolve(io.cwd, options.out), options);
  if (histories.length === 0)
    throw usageError(
      `There is no finished run${options.suite || options.model ? " of this suite and model" : ""} under ${options.out}.`,
      "Make one with `evals run`, or name the folder with --out.",
    );
  io.out(options.json ? safeJson({ histories }, 2) : renderTerminal(historyDocument(histories), io));
  return exitCodes.passed;
}

/** The histories of the selected suites and models in the newest `last` finished runs under a folder. */
export async function readHistories(
  out: string,
  { suite, model, last }: Pick<HistoryOptions, "suite" | "model" | "last">,
): Promise<History[]> {
  const isSuite = (name: string) => suite?.includes(name) ?? true;
  const isModel = (id: string) => model?.some((named) => isModelNamed(named, id)) ?? true;
  const isWanted = ({ suites, models, finishedAt }: RunManifest) =>
    finishedAt !== undefined && suites.some(({ name }) => isSuite(name)) && models.some(({ id }) => isModel(id));
  const runs: PastRun[] = [];
  for await (const { dir, manifest } of listRecords("run", out)) {
    if (!isWanted(manifest)) continue;
    const results = summariser(manifest, dir);
    for await (const trial of readTrials(dir, manifest.id)) results.add(trial);
    const suites = results.summary().suites.filter((one) => isSuite(one.name) && isModel(one.model));
    if (suites.length > 0) runs.unshift({ manifest, suites });
    if (runs.length >= last) break;
  }
  return makeHistories(runs);
}

import { resolve } from "node:path";
import { type ExitCode, exitCodes, printProblem, usageError } from "../base/types/errors.ts";
import type { Io } from "../base/types/io.ts";
import { isModelNamed } from "../base/types/model.ts";
import type { RunManifest } from "../base/types/run.ts";
import { readResults } from "../experiments/pipeline/record.ts";
import { type History, makeHistories, type PastRun } from "../experiments/run/report/trend.ts";
import { listRecords, readOrWarn, type Warn } from "../records/find.ts";
import { safeJson } from "../reports/escape.ts";
import { renderMarkdown } from "../reports/markdown.ts";
import { renderTerminal } from "../reports/terminal.ts";
import { historyDocument } from "./historyReport.ts";

export type HistoryOptions = {
  suite?: readonly string[] | undefined;
  model?: readonly string[] | undefined;
  last: number;
  as?: "terminal" | "markdown" | "json" | undefined;
  out: string;
  json: boolean;
};

/** `evals history`: prints the results of every suite on every model, run by run. Throws if there is no run. */
export async function history(options: HistoryOptions, io: Io): Promise<ExitCode> {
  const histories = await readHistories(resolve(io.cwd, options.out), options, printProblem(io));
  if (histories.length === 0)
    throw usageError(
      `There is no finished run${options.suite || options.model ? " of this suite and model" : ""} under ${options.out} that can be read.`,
      "Make one with `evals run`, or name the folder with --out.",
    );
  const form = options.json ? "json" : (options.as ?? "terminal");
  if (form === "json") io.out(safeJson({ histories }, 2));
  else io.out((form === "markdown" ? renderMarkdown : renderTerminal)(historyDocument(histories), io));
  return exitCodes.passed;
}

async function readHistories(
  out: string,
  { suite, model, last }: Pick<HistoryOptions, "suite" | "model" | "last">,
  warn?: Warn,
): Promise<History[]> {
  const isSuite = (name: string) => suite?.includes(name) ?? true;
  const isModel = (id: string) => model?.some((named) => isModelNamed(named, id)) ?? true;
  const isWanted = ({ suites, models, finishedAt }: RunManifest) =>
    finishedAt !== undefined && suites.some(({ name }) => isSuite(name)) && models.some(({ id }) => isModel(id));
  const runs: PastRun[] = [];
  for await (const { dir, manifest } of listRecords("run", out, warn)) {
    if (!isWanted(manifest)) continue;
    const results = await readOrWarn(readResults(dir, manifest), warn);
    const suites = results?.summary().suites.filter((one) => isSuite(one.name) && isModel(one.model)) ?? [];
    if (suites.length > 0) runs.unshift({ manifest, suites });
    if (runs.length >= last) break;
  }
  return makeHistories(runs);
}

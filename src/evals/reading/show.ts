import { resolve } from "node:path";
import { listShown } from "../asking/trials/plan.ts";
import { didYouMean } from "../base/text/nearest.ts";
import { type ExitCode, exitCodes, printProblem, usageError } from "../base/types/errors.ts";
import type { Io } from "../base/types/io.ts";
import { isModelNamed } from "../base/types/model.ts";
import { experimentCommands, type RunManifest } from "../base/types/run.ts";
import type { Trial } from "../base/types/trial.ts";
import { readResults } from "../experiments/pipeline/record.ts";
import { report } from "../experiments/reporting/report.ts";
import type { FormName } from "../experiments/run/report/forms.ts";
import { type History, type HistoryEntry, makeHistories, type PastRun } from "../experiments/run/report/runs.ts";
import { matchesFilter } from "../experiments/workspace/suites.ts";
import { findRecord, findRun, listRecords, readOrWarn } from "../records/find.ts";
import { journalPath, readTrials } from "../records/record.ts";
import {
  type Block,
  heading,
  makeColumns,
  type TableCell,
  type TableRow,
  type Tone,
  table,
  text,
} from "../reports/document.ts";
import { count, percent, points, range, some } from "../reports/format.ts";
import { renderMarkdown } from "../reports/markdown.ts";
import { printResult } from "../reports/result.ts";
import { Transcripts } from "./showReport.ts";

export type ShowOptions = {
  /** A record, or a case of `run`. */
  target?: string | undefined;
  history: boolean;
  run: string;
  failed: boolean;
  trial?: number | undefined;
  arm?: string | undefined;
  suite?: readonly string[] | undefined;
  model?: readonly string[] | undefined;
  limit: number;
  format: FormName | "csv";
  json: boolean;
  otlp?: string | undefined;
  out: string;
};

/** `evals show`: prints a report, transcripts or the trend. Throws a usage error for a target that names nothing. */
export async function show(options: ShowOptions, io: Io): Promise<ExitCode> {
  const { target, history, failed, trial, arm, out } = options;
  const format = options.json ? "json" : options.format;
  const isRecord = target !== undefined && (await namesRecord(target, resolve(io.cwd, out)));
  const name = isRecord ? undefined : target;
  const run = isRecord ? target : options.run;
  const hasTranscripts = name !== undefined || failed || trial !== undefined || arm !== undefined;
  if (history && (target !== undefined || hasTranscripts))
    throw usageError("--history is about all runs.", "Leave out the record or case, --failed, --trial and --arm.");
  if (!history && !hasTranscripts) return await report({ ...options, run, format }, io);
  if (format !== "terminal" && format !== "json" && format !== "markdown")
    throw usageError(
      `--format ${format} is a form of a report, not of ${history ? "the history" : "transcripts"}.`,
      "Use terminal, json or markdown.",
    );
  return history
    ? await showHistory({ ...options, format }, io)
    : await showTrials({ ...options, case: name, run, format }, io);
}

/** Whether a target is a record and not a case: `latest`, a command, the folder of a record, or its id. */
async function namesRecord(target: string, out: string): Promise<boolean> {
  if (["latest", "run", ...experimentCommands].includes(target) || /^\d{4}-\d\d-\d\dT/.test(target)) return true;
  return (await findRun(target, out).catch(() => undefined)) !== undefined;
}

type TrialOptions = Pick<ShowOptions, "trial" | "failed" | "suite" | "model" | "arm" | "limit" | "out" | "run"> & {
  case: string | undefined;
  format: "terminal" | "json" | "markdown";
};

async function showTrials(options: TrialOptions, io: Io): Promise<ExitCode> {
  const { dir, manifest } = await findRecord("run", options.run, resolve(io.cwd, options.out), printProblem(io));
  const cases = selectCases(manifest, options);
  const isWanted = selectTrials(cases, options);
  const isJson = options.format === "json";
  const transcripts = new Transcripts(options.limit);
  const trials: Trial[] = [];
  let characters = 0;
  for await (const trial of readTrials(dir, manifest.id)) {
    const about = isWanted(trial);
    if (!about) continue;
    const tools = listShown(manifest.toolsets[trial.toolset] ?? [], trial.orderSeed);
    transcripts.add({ trial, case: about.case, tools });
    if (!isJson) continue;
    trials.push(trial);
    characters += JSON.stringify(trial).length;
    if (characters > maxJsonCharacters)
      throw usageError(
        "The selected trials have more than 64 Mi characters of JSON.",
        `Select fewer by case, --suite, --model, --trial or --arm, or read ${journalPath(dir)}, which has one trial per line.`,
      );
  }
  const blocks = transcripts.document(manifest.id);
  if (options.format === "markdown") io.out(renderMarkdown(blocks));
  else printResult({ run: manifest.id, trials }, blocks, isJson, io);
  return exitCodes.passed;
}

/** An object of more would take gigabytes of memory. */
const maxJsonCharacters = 64 * 1024 * 1024;

type SelectedCase = { suite: string; case: RunManifest["suites"][number]["cases"][number] };

function selectCases(manifest: RunManifest, options: TrialOptions): SelectedCase[] {
  const { case: pattern, suite, model } = options;
  const all = manifest.suites.flatMap(({ name, cases }) =>
    cases.map((one): SelectedCase => ({ suite: name, case: one })),
  );
  const suites = manifest.suites.map(({ name }) => name);
  const models = manifest.models.map(({ id }) => id);
  for (const one of suite ?? []) if (!suites.includes(one)) throw unknownName("suite", one, suites);
  for (const one of model ?? [])
    if (!models.some((id) => isModelNamed(one, id))) throw unknownName("model", one, models);
  const isId = all.some((one) => one.case.id === pattern);
  const isNamed = (id: string) => pattern === undefined || (isId ? id === pattern : matchesFilter(id, pattern));
  const found = all.filter((one) => (suite?.includes(one.suite) ?? true) && isNamed(one.case.id));
  if (found.length === 0 && pattern !== undefined)
    throw unknownName("case", pattern, [...new Set(all.map((one) => one.case.id))]);
  return found;
}

function unknownName(what: string, name: string, known: readonly string[]) {
  return usageError(`The run has no ${what} "${name}".`, didYouMean(name, known, `The run has: ${some(known, 20)}.`));
}

/** Returns what finds the case of a trial to show: without a case or number, only of trials that did not pass. */
function selectTrials(cases: readonly SelectedCase[], options: TrialOptions) {
  const byKey = new Map(cases.map((one) => [JSON.stringify([one.suite, one.case.id]), one]));
  const { arm = "head", model, trial: number } = options;
  const isFailed = options.failed || (options.case === undefined && number === undefined);
  return ({ cell, verdict }: Trial): SelectedCase | undefined => {
    const isMeant =
      cell.arm === arm &&
      (number === undefined || cell.trial === number) &&
      (model?.some((one) => isModelNamed(one, cell.model)) ?? true) &&
      !(isFailed && verdict?.grade === "pass");
    return isMeant ? byKey.get(JSON.stringify([cell.suite, cell.case])) : undefined;
  };
}

/** `limit`: the number of the newest runs of each suite and model. */
type HistoryOptions = Pick<ShowOptions, "suite" | "model" | "limit" | "out"> & Pick<TrialOptions, "format">;

async function showHistory(options: HistoryOptions, io: Io): Promise<ExitCode> {
  const { suite, model, format, out } = options;
  const histories = await readHistories(options, io);
  if (histories.length === 0)
    throw usageError(
      `There is no finished run${suite || model ? " of this suite and model" : ""} under ${out} that can be read.`,
      "Make one with `evals run`, or name the folder with --out.",
    );
  const blocks = historyDocument(histories);
  if (format === "markdown") io.out(renderMarkdown(blocks));
  else printResult({ histories }, blocks, format === "json", io);
  return exitCodes.passed;
}

async function readHistories({ suite, model, limit, out }: HistoryOptions, io: Io): Promise<History[]> {
  const warn = printProblem(io);
  const isSuite = (name: string) => suite?.includes(name) ?? true;
  const isModel = (id: string) => model?.some((named) => isModelNamed(named, id)) ?? true;
  const isWanted = ({ suites, models, finishedAt }: RunManifest) =>
    finishedAt !== undefined && suites.some(({ name }) => isSuite(name)) && models.some(({ id }) => isModel(id));
  const runs: PastRun[] = [];
  for await (const { dir, manifest } of listRecords("run", resolve(io.cwd, out), warn)) {
    if (!isWanted(manifest)) continue;
    const results = await readOrWarn(readResults(dir, manifest), warn);
    const suites = results?.summary().suites.filter((one) => isSuite(one.name) && isModel(one.model)) ?? [];
    if (suites.length > 0) runs.unshift({ manifest, suites });
    if (runs.length >= limit) break;
  }
  return makeHistories(runs);
}

function historyDocument(histories: readonly History[]): Block[] {
  const [before, last] = histories[0]?.runs.slice(-2) ?? [];
  const fell = histories.filter((one) => (change(one) ?? 0) < 0);
  const title = `${count(histories.length, "history")}: ${some(histories.map(describeTrend), 3)}`;
  return [
    heading(1, title, fell.length > 0 ? "warn" : "good"),
    text(
      "How sure: rates are means over cases with 95% intervals; a difference between two runs is no verdict.",
      before && last
        ? `Next: compare the last two runs with \`evals compare ${before.run} ${last.run}\`.`
        : "Next: run again after a change; every run adds a line.",
    ),
    ...histories.flatMap(historyBlocks),
  ];
}

/** `notes on lexical-2 +20 pp since the run before` */
function describeTrend(history: History): string {
  const by = change(history);
  const name = `${history.suite} on ${history.model}`;
  if (by === undefined) return `${name} ran once`;
  return by === 0 ? `${name} as in the run before` : `${name} ${points(by)} since the run before`;
}

/** The change of the mean rate in the last run; undefined if either run has no rate. */
function change({ runs }: History): number | undefined {
  const [before, last] = runs.slice(-2);
  return before?.rate == null || last?.rate == null ? undefined : last.rate - before.rate;
}

function historyBlocks({ suite, model, runs }: History): Block[] {
  const figures = ["run", "rate (95% CI)", "cases", "verdict"];
  const columns = makeColumns(["figure", ...figures], ["prose", "changed since"]);
  return [heading(2, `${suite} · ${model}`), table("run", columns, runs.toReversed().map(historyRow), { max: 100 })];
}

const tones: Readonly<Record<string, Tone>> = {
  regressed: "bad",
  "not passed": "bad",
  drifted: "bad",
  changed: "warn",
  inconclusive: "warn",
};

function historyRow(entry: HistoryEntry): TableRow {
  const { run, rate, interval, passed, cases, verdict } = entry;
  const tone = tones[verdict];
  const cells: TableCell[] = [
    run,
    rate === null || interval === null
      ? "no graded trial"
      : [`${percent(rate)} (${range(interval)})`, { bar: { rate, interval } }],
    `${passed}/${cases}`,
    tone ? [{ strong: verdict, tone }] : verdict,
    describeChanges(entry),
  ];
  return { cells, ...(tone === "bad" && { tone }) };
}

function describeChanges({ changes = [], suiteChanged }: HistoryEntry): TableCell {
  const tools = changes.length === 0 ? [] : [`tools: ${some(changes, 2)}`];
  return { lines: [...tools, ...(suiteChanged ? ["the suite"] : [])] };
}

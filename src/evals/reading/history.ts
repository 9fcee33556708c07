import { resolve } from "node:path";
import { type ExitCode, exitCodes, printProblem, usageError } from "../base/types/errors.ts";
import type { Io } from "../base/types/io.ts";
import { isModelNamed } from "../base/types/model.ts";
import type { RunManifest } from "../base/types/run.ts";
import { readResults } from "../experiments/pipeline/record.ts";
import { type History, type HistoryEntry, makeHistories, type PastRun } from "../experiments/run/report/trend.ts";
import { listRecords, readOrWarn, type Warn } from "../records/find.ts";
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

type HistoryOptions = {
  suite?: readonly string[] | undefined;
  model?: readonly string[] | undefined;
  /** The number of the newest runs of each suite and model. */
  limit: number;
  format: "terminal" | "markdown" | "json";
  out: string;
};

/** `evals show --history`: prints the results of every suite on every model, run by run. Throws if there is no run. */
export async function showHistory(options: HistoryOptions, io: Io): Promise<ExitCode> {
  const { suite, model, format, out } = options;
  const histories = await readHistories(resolve(io.cwd, out), options, printProblem(io));
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

async function readHistories(
  out: string,
  { suite, model, limit }: Pick<HistoryOptions, "suite" | "model" | "limit">,
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
    if (runs.length >= limit) break;
  }
  return makeHistories(runs);
}
/** The report: the runs of each suite and model, newest first, with changes of the tool list. */
function historyDocument(histories: readonly History[]): Block[] {
  const [before, last] = histories[0]?.runs.slice(-2) ?? [];
  const fell = histories.filter((one) => (change(one) ?? 0) < 0);
  return [
    heading(
      1,
      `${count(histories.length, "history")}: ${some(histories.map(describeTrend), 3)}`,
      fell.length > 0 ? "warn" : "good",
    ),
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

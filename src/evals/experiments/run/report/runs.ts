import * as z from "zod";
import { sumOf } from "../../../base/collections.ts";
import { wilson } from "../../../base/stats/intervals.ts";
import { intervalSchema } from "../../../base/types/check.ts";
import { formatProblem, type Problem } from "../../../base/types/errors.ts";
import type { CaseSummary, ManifestSuite, RunManifest, RunSummary, SuiteSummary } from "../../../base/types/run.ts";
import { type Block, heading, makeColumns, type TableRow, table, text } from "../../../reports/document.ts";
import { count, percent, range, ratio, some } from "../../../reports/format.ts";
import { listChangesByCase } from "../../../servers/changes/changes.ts";
import { curve } from "../../results/figures.ts";
import type { RunEntry, RunsPage } from "./page.ts";
import { headline, statusTone } from "./status.ts";

const number = z.number().int().min(0);

const historyEntrySchema = z.object({
  run: z.string(),
  startedAt: z.string(),
  rate: z.number().nullable().describe("the mean pass rate over the cases with a graded trial"),
  interval: intervalSchema.nullable().describe("95 % Wilson score interval of rate"),
  cases: number,
  passed: number.describe("cases that reached their pass rate"),
  trials: number,
  verdict: z.string().describe("of the check, else of the drift monitor, else whether the suite passed"),
  changes: z.array(z.string()).exactOptional().describe("of the tool list since the run before; absent for the first"),
  suiteChanged: z.literal(true).exactOptional().describe("the suite file differs from that of the run before"),
});
export type HistoryEntry = z.infer<typeof historyEntrySchema>;

const historySchema = z.object({ suite: z.string(), model: z.string(), runs: z.array(historyEntrySchema) });
export type History = z.infer<typeof historySchema>;

/** The output of `evals show --history --json`. */
export const historyOutputSchema = z.object({ histories: z.array(historySchema) });

/** A run with the summaries of its suites. */
export type PastRun = { manifest: RunManifest; suites: readonly SuiteSummary[] };

/** The history of every suite and model in these runs, which are sorted from old to new. */
export function makeHistories(runs: Iterable<PastRun>): History[] {
  const histories = new Map<string, History & { last?: { manifest: RunManifest; suite: ManifestSuite } }>();
  for (const { manifest, suites } of runs) {
    for (const summary of suites) {
      const suite = manifest.suites.find(({ name }) => name === summary.name);
      if (!suite) continue;
      const key = JSON.stringify([summary.name, summary.model]);
      const history = histories.get(key) ?? { suite: summary.name, model: summary.model, runs: [] };
      const { last } = history;
      history.runs.push({
        ...makeEntry(manifest, summary),
        ...(last && { changes: listToolChanges(last, { manifest, suite }) }),
        ...(last && last.suite.hash !== suite.hash && { suiteChanged: true as const }),
      });
      histories.set(key, { ...history, last: { manifest, suite } });
    }
  }
  return [...histories.values()].map(({ suite, model, runs: all }) => ({ suite, model, runs: all }));
}

/** The mean pass rate over graded cases, with its 95% Wilson interval with n = cases. Null without such a case. */
function meanRate(cases: readonly CaseSummary[]): Pick<HistoryEntry, "rate" | "interval"> {
  const rates = cases.flatMap((one) => one.rate ?? []);
  const sum = sumOf(rates, (rate) => rate);
  return {
    rate: rates.length === 0 ? null : sum / rates.length,
    interval: wilson({ passed: sum, trials: rates.length }) ?? null,
  };
}

function makeEntry({ id, startedAt, cache }: RunManifest, suite: SuiteSummary): HistoryEntry {
  const { cases, verdict, drift, totals, ok, kind, failOn } = suite;
  const checked = verdict && verdict.kind !== "unchanged" ? verdict.kind : undefined;
  const passed = kind === "retrieval baseline" && failOn?.length === 0 ? "smoke check" : "passed";
  const plain = cache ? "draft" : ok ? passed : "not passed";
  return {
    run: id,
    startedAt,
    ...meanRate(cases),
    cases: cases.length,
    passed: cases.filter((one) => one.ok).length,
    trials: totals.trials,
    verdict: checked ?? readDrift(drift) ?? plain,
  };
}

/** The verdict of a night, or for another run only whether its model drifted. */
function readDrift(drift: SuiteSummary["drift"]): string | undefined {
  if (!drift || (drift.nightly && drift.uncounted)) return undefined;
  const { kind } = drift.verdict;
  return kind === "drifted" || drift.nightly ? kind.replace("-", " ") : undefined;
}

type Listed = { manifest: RunManifest; suite: ManifestSuite };

function listToolChanges(before: Listed, now: Listed): string[] {
  const toLists = ({ manifest: { toolsets }, suite: { cases } }: Listed) => ({ cases, toolsets });
  const changed = listChangesByCase(toLists(before), toLists(now));
  return [...new Set(changed.flatMap(({ changes }) => changes.map(({ label }) => label)))];
}

/** A record as the list shows it. `summary`: of a run whose journal was read. `verdict`: of another command. */
export function describeRecord(
  manifest: RunManifest,
  { summary, verdict }: { summary?: RunSummary | undefined; verdict?: RunEntry["result"] | undefined },
): RunEntry {
  const { id, experiment, startedAt, finishedAt, models, suites, totals } = manifest;
  const [names, ids] = [suites.map(({ name }) => name), models.map((one) => one.id)];
  return {
    id,
    command: experiment?.command ?? "run",
    startedAt,
    isFinished: finishedAt !== undefined,
    result: verdict ?? describeResult(manifest, summary),
    about: `${some(names, 3)} · ${some(ids, 3)}`,
    trials: summary?.totals.trials ?? totals?.trials ?? null,
    costUsd: summary?.totals.costUsd ?? totals?.costUsd ?? null,
  };
}

function describeResult(
  { experiment, finishedAt, totals }: RunManifest,
  summary: RunSummary | undefined,
): RunEntry["result"] {
  if (finishedAt === undefined) return { text: "not finished", tone: "warn" };
  if (summary) return { text: headline(summary).split(" · ").slice(0, 2).join(" · "), tone: statusTone(summary) };
  if (experiment) return { text: "finished" };
  return { text: totals ? `${ratio({ passed: totals.passed, trials: totals.trials })} trials passed` : "finished" };
}

/** The start page of `evals view`. `unreadable`: why some records could not be read. */
export function runsPage(
  folder: string,
  runs: readonly RunEntry[],
  histories: readonly History[],
  unreadable: readonly Problem[],
): RunsPage {
  const suites = [...new Set(histories.map(({ suite }) => suite))];
  const notes = unreadable.map((problem) => text(...formatProblem(problem).split("\n")));
  const trends = [...notes, ...suites.flatMap((name) => drawTrend(name, histories))];
  return { kind: "runs", title: `${count(runs.length, "record")} in ${folder}`, folder, runs, trends };
}

/** The mean pass rate of a suite over its runs, one line per model, with marks where its tool list changed. */
function drawTrend(suite: string, histories: readonly History[]): Block[] {
  const own = histories.filter((one) => one.suite === suite);
  const series = own.map(({ model, runs }) => ({
    name: model,
    points: runs.flatMap((one) => {
      if (one.rate === null) return [];
      const changes = one.changes ?? [];
      const changed = changes.length > 0 ? `; changed: ${some(changes, 3)}` : "";
      const interval = one.interval ? ` (${range(one.interval)})` : "";
      const text = `${one.run}: ${percent(one.rate)}${interval}, ${count(one.cases, "case")}${changed}`;
      const mark = changes.length > 0 && { mark: "the tool list changed" };
      return [{ x: Date.parse(one.startedAt), rate: one.rate, interval: one.interval, text, ...mark }];
    }),
  }));
  return curve(`${suite}: mean pass rate over its cases, 95% CI`, { x: "time", label: "run", series });
}

/** All cases of two runs side by side, largest drop first. */
export function sideBySide(base: RunSummary, head: RunSummary): Block[] {
  return head.suites.flatMap((suite): Block[] => {
    const other = base.suites.find(({ name, model }) => name === suite.name && model === suite.model);
    if (!other) return [];
    const before = new Map(other.cases.map((one) => [one.id, one]));
    const changes = suite.cases.flatMap((one) => {
      const then = before.get(one.id);
      return then ? [{ one, then, change: (one.rate ?? 0) - (then.rate ?? 0) }] : [];
    });
    const rows = changes
      .sort((a, b) => a.change - b.change)
      .map(({ one, then, change }): TableRow => {
        const cells = [one.id, one.expected, ratio(then), ratio(one)];
        return { cells, ...(change < 0 && { tone: "bad" as const }) };
      });
    return [
      heading(2, `All cases · ${suite.name} · ${suite.model}`),
      text(
        `${count(rows.length, "case")} in both runs, those that fell most first. A difference is no verdict; that is above.`,
      ),
      table("case", makeColumns(["id", "case"], ["name", "expected"], ["figure", "A", "B"]), rows),
    ];
  });
}

import { formatProblem, type Problem } from "../../../base/types/errors.ts";
import type { RunManifest, RunSummary } from "../../../base/types/run.ts";
import { type Block, heading, makeColumns, type TableRow, table, text } from "../../../reports/document.ts";
import { count, percent, range, ratio, some } from "../../../reports/format.ts";
import { curve } from "../../results/figures.ts";
import type { RunEntry, RunsPage } from "./page.ts";
import { headline, statusTone } from "./status.ts";
import type { History } from "./trend.ts";

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
      return [
        {
          x: Date.parse(one.startedAt),
          rate: one.rate,
          interval: one.interval,
          text: `${one.run}: ${percent(one.rate)}${interval}, ${count(one.cases, "case")}${changed}`,
          ...(changes.length > 0 && { mark: "the tool list changed" }),
        },
      ];
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

import type { History, HistoryEntry } from "../experiments/run/report/trend.ts";
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

/** The report of `evals history`: the runs of each suite and model, newest first, with changes of the tool list. */
export function historyDocument(histories: readonly History[]): Block[] {
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

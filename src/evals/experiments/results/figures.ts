import { sumOf } from "../../base/collections.ts";
import type { Counts } from "../../base/stats/counts.ts";
import { wilson } from "../../base/stats/intervals.ts";
import type { SuiteSummary } from "../../base/types/run.ts";
import type { Block, Figure, GridCell } from "../../reports/document.ts";
import { count, integer, ratio } from "../../reports/format.ts";
import { Counter } from "./tally.ts";
import { redFirst } from "./text.ts";

// The charts of reports. Their numbers are also in a table or text of the same report.

const limits = { rows: 60, columns: 10, intervals: 12 } as const;

type Row = Extract<Figure, { type: "intervals" }>["rows"][number];

/** A pass rate with its Wilson interval; undefined without trials. */
export function estimate(counts: Counts) {
  const interval = wilson(counts);
  return interval && { rate: counts.passed / counts.trials, interval };
}

/** A row of an interval plot. `counts`: one per name of the plot, such as two arms. */
export function intervalRow(label: string, counts: readonly Counts[]): Row {
  return { label, estimates: counts.map(estimate), text: counts.map(ratio).join(" → ") };
}

/** An interval plot of the first rows; no block without rows. */
export function intervalPlot(title: string, names: readonly string[], rows: readonly Row[]): Block[] {
  if (rows.length === 0) return [];
  const left = rows.length - limits.intervals;
  const shown = rows.slice(0, limits.intervals);
  const full = left > 0 ? `${title} (the first ${integer(limits.intervals)} of ${integer(rows.length)})` : title;
  return [{ kind: "figure", title: full, figure: { type: "intervals", axis: "Pass rate", names, rows: shown } }];
}

type Curve = Extract<Figure, { type: "curve" }>;

/** A curve of rates; no block if no series has two points. */
export function curve(title: string, figure: Omit<Curve, "type">): Block[] {
  if (!figure.series.some(({ points }) => points.length > 1)) return [];
  return [{ kind: "figure", title, figure: { type: "curve", ...figure } }];
}

/** For each suite with several models, its cases by model; cases that a model failed come first. */
export function caseMatrix(suites: readonly SuiteSummary[]): Block[] {
  const names = [...new Set(suites.map(({ name }) => name))];
  return names.flatMap((name): Block[] => {
    const own = suites.filter((suite) => suite.name === name);
    if (own.length < 2) return [];
    const byModel = own.map(({ cases }) => new Map(cases.map((one) => [one.id, one])));
    const ids = [...new Set(own.flatMap(({ cases }) => redFirst(cases).filter((one) => !one.ok)).map(({ id }) => id))];
    const rest = (own[0]?.cases ?? []).map(({ id }) => id).filter((id) => !ids.includes(id));
    const rows = [...ids, ...rest];
    const shown = rows.slice(0, limits.rows);
    const cells = shown.map((id) =>
      byModel.map((cases): GridCell | undefined => {
        const one = cases.get(id);
        if (!one) return undefined;
        const text = one.trials === 0 ? "none graded" : ratio(one);
        return { text, shade: one.rate ?? 0, tone: one.ok ? "good" : one.rate === null ? "warn" : "bad" };
      }),
    );
    const [columns, left] = [own.map(({ model }) => model), remark(rows.length - shown.length, "case")];
    const figure = { type: "grid", of: "cases", rows: shown, columns, cells, ...left } as const;
    return [{ kind: "figure", title: `Cases by model · ${name} (passed/graded)`, figure }];
  });
}

type Confusion = { expected: string; picked: string; n: number };

/** A grid of what was confused, after a column of the right picks (`right`). No block if every pick was right. */
export function confusionGrid(
  title: string,
  confusions: readonly Confusion[],
  right: readonly Omit<Confusion, "picked">[],
): Block[] {
  const wrong = confusions.filter(({ expected, picked }) => expected !== picked);
  const rank = (key: "expected" | "picked") => {
    const ranking = new Counter();
    for (const one of wrong) ranking.add(one[key], one.n);
    return ranking.ranked().map(([name]) => name);
  };
  const [rows, columns] = [rank("expected"), rank("picked")];
  if (rows.length === 0) return [];
  const [shown, drawn] = [rows.slice(0, limits.rows), columns.slice(0, limits.columns)];
  const largest = Math.max(...wrong.map(({ n }) => n));
  const cells = shown.map((expected): (GridCell | undefined)[] => {
    const passes = sumOf(right, (one) => (one.expected === expected ? one.n : 0));
    const found = drawn.map((picked) => wrong.find((one) => one.expected === expected && one.picked === picked));
    return [
      passes > 0 ? { text: integer(passes), shade: 0.5, tone: "good" } : undefined,
      ...found.map((one) => one && { text: integer(one.n), shade: one.n / largest, tone: "bad" as const }),
    ];
  });
  const left = {
    ...remark(rows.length - shown.length, "row"),
    ...(columns.length > drawn.length && remark(columns.length - drawn.length, "column")),
  };
  const figure = { type: "grid", of: "confusions", rows: shown, columns: ["right", ...drawn], cells, ...left } as const;
  return [{ kind: "figure", title, figure }];
}

const remark = (left: number, noun: string) => (left > 0 ? { remark: `… and ${count(left, `more ${noun}`)}` } : {});

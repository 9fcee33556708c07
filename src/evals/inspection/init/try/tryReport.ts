import { wilson } from "../../../base/stats/intervals.ts";
import type { TryResult } from "../../../base/types/tryout.ts";
import {
  type Block,
  facts,
  heading,
  list,
  makeColumns,
  section,
  type TableCell,
  table,
  text,
} from "../../../reports/document.ts";
import { count, integer, money, rateWithInterval, share, some } from "../../../reports/format.ts";

/** The report of `evals try`: how often the right tool is picked, what is confused with what, and what to do next. */
export function tryDocument(result: TryResult): Block[] {
  const { server, model, note, tools, listTokens, right, quiet, dropped, left, broken, costUsd, suite, run } = result;
  const interval = wilson(right);
  const rate = interval ? rateWithInterval(right, interval) : share(right);
  const about = `${server} · ${count(tools, "tool")}, about ${integer(listTokens)} tokens in every request`;
  return [
    heading(1, `Right tool picked: ${rate} · ${model}${note === undefined ? "" : ` (${note})`}`),
    text(describeCertainty(result), describeNext(result)),
    text(
      about,
      `Queries that need no tool: a tool was called in ${share({ passed: quiet.trials - quiet.passed, trials: quiet.trials })}.`,
    ),
    ...listTools(result),
    ...listMatrix(result),
    ...listWorst(result),
    ...section("Not asked", [
      list(
        "query",
        dropped.map(({ input, why }) => [{ code: input, max: 100 }, `: ${why}`]),
        5,
      ),
      text(left.length > 0 ? `No query was written for ${some(left, 10)}.` : undefined),
    ]),
    facts(
      ["Suite", `${suite} (generated${result.writer ? ` by ${result.writer.model}` : ""}; no tool was executed)`],
      ["Record", run],
      ["Broken", broken > 0 ? `${count(broken, "trial")}: excluded from rates` : undefined],
      ["Cost", costUsd === 0 ? "nothing" : money(costUsd)],
    ),
  ];
}

function describeCertainty({ writer, right, tools }: TryResult): string {
  return writer
    ? `How sure: the range is a 95% interval over ${count(right.trials, "query")}, which ${writer.model} wrote; users may write others.`
    : `How sure: this is what a keyword search finds in the words of the ${count(tools, "tool")} themselves. No language model was asked.`;
}

function describeNext({ writer, suite, worst }: TryResult): string {
  if (!writer) return "Next: set ANTHROPIC_API_KEY or OPENAI_API_KEY and try again, to see what a model picks.";
  return worst.length > 0
    ? "Next: say in both descriptions of a pair below when to call which, then `evals variants` or `evals try` again."
    : `Next: correct the queries in ${suite}, then \`evals run ${suite} --accept\` as the baseline of later changes.`;
}

function listTools({ perTool }: TryResult): Block[] {
  const isPerfect = (row: TryResult["perTool"][number]) => row.right === row.wanted && row.right === row.picked;
  const rows = perTool
    .toSorted((a, b) => Number(isPerfect(a)) - Number(isPerfect(b)))
    .map(({ tool, wanted, picked, right }): TableCell[] => [
      { code: tool },
      describeShare(right, wanted),
      describeShare(right, picked),
    ]);
  const columns = makeColumns(["name", "tool"], ["figure", "recall", "precision"]);
  return section("Each tool: recall of the queries for it, precision of its picks", [
    table("tool", columns, rows, { max: 15 }),
  ]);
}

function describeShare(passed: number, trials: number): string {
  const interval = wilson({ passed, trials });
  return interval ? rateWithInterval({ passed, trials }, interval) : "·";
}

/** A wider matrix would not fit a terminal. */
const maxColumns = 8;

/** The confusion matrix of the confused tools: wanted in rows, picked in columns. */
function listMatrix({ confusions, perTool }: TryResult): Block[] {
  if (confusions.length === 0) return [];
  const named = [...new Set(confusions.flatMap(({ expected, picked }) => [expected, picked]))];
  const shown = named.slice(0, maxColumns);
  const right = new Map(perTool.map((one) => [one.tool, one.right]));
  const counts = new Map(confusions.map(({ expected, picked, n }) => [JSON.stringify([expected, picked]), n]));
  const cell = (row: string, column: string) =>
    row === column ? (right.get(row) ?? 0) : (counts.get(JSON.stringify([row, column])) ?? 0);
  const rows = shown.flatMap((row, at): TableCell[][] => {
    const values = shown.map((column) => cell(row, column));
    if (values.every((n) => n === 0)) return [];
    return [[{ code: `${at + 1} ${row}` }, ...values.map((n) => (n === 0 ? "·" : integer(n)))]];
  });
  const columns = makeColumns(["name", "wanted \\ picked"], ["figure", ...shown.map((_, at) => String(at + 1))]);
  const rest = named.length - shown.length;
  return section("Confusion matrix of what was confused", [
    table("tool", columns, rows),
    text(rest > 0 ? `${count(rest, "more name")} in the JSON form (--json).` : undefined),
  ]);
}

function listWorst({ worst }: TryResult): Block[] {
  const items = worst.map(({ wanted, picked, n, shared }) => {
    const words = shared.length > 0 ? `; both say ${shared.map((word) => `"${word}"`).join(", ")}` : "";
    return `${picked} instead of ${wanted}: ${count(n, "time")}${words}`;
  });
  return section("Worst pairs", [list("pair", items)]);
}

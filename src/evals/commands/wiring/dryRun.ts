import { type Ceiling, ceilingOf } from "../../trials/ceiling.ts";
import type { PlannedCase } from "../../trials/plan.ts";
import type { Model } from "../../types/model.ts";

const integer = (n: number) => Math.round(n).toLocaleString("en-US");
const dollars = (usd: number | "unknown") => (usd === "unknown" ? "unknown (no list price)" : `$${usd.toFixed(2)}`);

function ceilingLines(model: Model, { trials, calls, inputTokens, outputTokens, costUsd }: Ceiling): string[] {
  return [
    `${model.id}${model.note ? ` (${model.note})` : ""}`,
    `  trials         ${integer(trials)}${model.deterministic ? " (one a case: it answers the same every time)" : ""}`,
    `  calls          at most ${integer(calls)}`,
    `  input tokens   at most ${integer(inputTokens)}`,
    `  output tokens  at most ${integer(outputTokens)}`,
    `  cost           at most ${dollars(costUsd)}`,
  ];
}

function suiteLine(cases: readonly PlannedCase[]): string[] {
  const suite = cases[0]?.suite;
  if (!suite) return [];
  const tools = new Set(cases.flatMap(({ toolset }) => toolset.tools.map((tool) => tool.name)));
  return [`${suite.name}: ${cases.length} cases, ${tools.size} tools, execute ${suite.execute} (${suite.file})`];
}

/** The plan of a run as text: what would be asked of each model, and the most that it can use. */
export function describePlan(cases: readonly PlannedCase[], models: readonly Model[], seed: number): string {
  const suites = [...new Set(cases.map(({ suite }) => suite))];
  const lines = suites.flatMap((suite) => suiteLine(cases.filter((planned) => planned.suite === suite)));
  const ceilings = models.flatMap((model) => ceilingLines(model, ceilingOf(cases, model)));
  return [...lines, "", ...ceilings, "", `seed ${seed}; nothing was asked`, ""].join("\n");
}

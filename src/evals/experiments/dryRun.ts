import { count } from "../reports/format.ts";
import { type Ceiling, computeCeiling, countJudgeRequests } from "../trials/ceiling.ts";
import type { PlannedCase } from "../trials/plan.ts";
import type { Model } from "../types/model.ts";
import { designOf } from "../verdicts/check.ts";
import type { PlannedChecks } from "./check.ts";

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
  const ids = new Set(cases.map((planned) => planned.case.id));
  const arms = suite.lift === undefined ? "" : `, each with and without the skill ${suite.lift}`;
  return [
    `${suite.name}: ${count(ids.size, "case")}${arms}, ${count(tools.size, "tool")}, execute ${suite.execute} (${suite.file})`,
  ];
}

/** A check takes the trials that its design asks for; how many is open, but not the most. */
function checkLines({ plans }: PlannedChecks, models: readonly Model[]): string[] {
  return [...plans].flatMap(([suite, all]) =>
    all.map((plan) => {
      const name = `check of ${suite} on ${plan.model}`;
      if (plan.kind === "unchanged") return `${name}: the list is unchanged, nothing to compare`;
      if (plan.kind === "not comparable") return `${name}: not comparable, ${plan.reasons.join("; ")}`;
      const deterministic = models.find(({ id }) => id === plan.model)?.deterministic ?? false;
      return `${name}: ${plan.design}, at most ${integer(designOf(plan, deterministic).cap)} trials, those above among them`;
    }),
  );
}

/** The plan of a run as text: what would be asked of each model, and the most that it can use. */
export function describePlan(
  cases: readonly PlannedCase[],
  models: readonly Model[],
  seed: number,
  checks: PlannedChecks,
  judge?: Model,
): string {
  const suites = [...new Set(cases.map(({ suite }) => suite))];
  const lines = suites.flatMap((suite) => suiteLine(cases.filter((planned) => planned.suite === suite)));
  const ceilings = models.flatMap((model) => ceilingLines(model, computeCeiling(cases, model)));
  const judged = judge
    ? [`judge ${judge.id}: at most ${integer(countJudgeRequests(cases, models))} requests, beside the above`]
    : [];
  return [
    ...lines,
    ...checkLines(checks, models),
    "",
    ...ceilings,
    ...judged,
    "",
    `seed ${seed}; nothing was asked`,
    "",
  ].join("\n");
}

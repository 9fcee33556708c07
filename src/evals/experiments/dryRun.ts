import { count } from "../reports/format.ts";
import { type Ceiling, computeCeiling, countJudgeRequests } from "../trials/ceiling.ts";
import type { PlannedCase } from "../trials/plan.ts";
import type { Model } from "../types/model.ts";
import { selectDesign } from "../verdicts/check.ts";
import type { PlannedChecks } from "./check.ts";

const integer = (n: number) => Math.round(n).toLocaleString("en-US");
const dollars = (usd: number | "unknown") => (usd === "unknown" ? "unknown (no list price)" : `$${usd.toFixed(2)}`);

function renderCeiling(model: Model, { trials, calls, inputTokens, outputTokens, costUsd }: Ceiling): string[] {
  return [
    `${model.id}${model.note ? ` (${model.note})` : ""}`,
    `  trials         ${integer(trials)}${model.deterministic ? " (one per case: the model is deterministic)" : ""}`,
    `  calls          at most ${integer(calls)}`,
    `  input tokens   at most ${integer(inputTokens)}`,
    `  output tokens  at most ${integer(outputTokens)}`,
    `  cost           at most ${dollars(costUsd)}`,
  ];
}

function renderSuite(cases: readonly PlannedCase[]): string[] {
  const suite = cases[0]?.suite;
  if (!suite) return [];
  const tools = new Set(cases.flatMap(({ toolset }) => toolset.tools.map((tool) => tool.name)));
  const ids = new Set(cases.map((planned) => planned.case.id));
  const arms = suite.lift === undefined ? "" : `, each with and without the skill ${suite.lift}`;
  return [
    `${suite.name}: ${count(ids.size, "case")}${arms}, ${count(tools.size, "tool")}, execute ${suite.execute} (${suite.file})`,
  ];
}

/** A check takes the trials that its design asks for; only the maximum is known. */
function renderChecks({ plans }: PlannedChecks, models: readonly Model[]): string[] {
  return [...plans].flatMap(([suite, all]) =>
    all.map((plan) => {
      const name = `check of ${suite} on ${plan.model}`;
      if (plan.kind === "unchanged") return `${name}: the tools are unchanged, nothing to compare`;
      if (plan.kind === "not comparable") return `${name}: not comparable, ${plan.reasons.join("; ")}`;
      const deterministic = models.find(({ id }) => id === plan.model)?.deterministic ?? false;
      return `${name}: ${plan.design}, at most ${integer(selectDesign(plan, deterministic).cap)} trials, including those above`;
    }),
  );
}

/** The plan of a run as text: the trials of each model, and the maximum that it can use. */
export function renderPlan(
  cases: readonly PlannedCase[],
  models: readonly Model[],
  seed: number,
  checks: PlannedChecks,
  judge?: Model,
): string {
  const suites = [...new Set(cases.map(({ suite }) => suite))];
  const lines = suites.flatMap((suite) => renderSuite(cases.filter((planned) => planned.suite === suite)));
  const ceilings = models.flatMap((model) => renderCeiling(model, computeCeiling(cases, model)));
  const judged = judge
    ? [`judge ${judge.id}: at most ${integer(countJudgeRequests(cases, models))} additional requests`]
    : [];
  return [
    ...lines,
    ...renderChecks(checks, models),
    "",
    ...ceilings,
    ...judged,
    "",
    `seed ${seed}; no model was called`,
    "",
  ].join("\n");
}

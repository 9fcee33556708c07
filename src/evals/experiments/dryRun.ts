import { count } from "../reports/format.ts";
import type { PlannedCase } from "../trials/plan.ts";
import type { Model } from "../types/model.ts";
import { asksModel, plannedTrials } from "../types/suite.ts";
import { isCallable } from "../types/tool.ts";
import type { PlannedChecks } from "./check.ts";
import { describeForecast, forecastChecks } from "./forecast.ts";
import { type Ceiling, computeCeiling } from "./price.ts";

const integer = (n: number) => Math.round(n).toLocaleString("en-US");
const dollars = (usd: number | "unknown") => (usd === "unknown" ? "unknown (no list price)" : `$${usd.toFixed(2)}`);

function renderCeiling(
  model: Model,
  { trials, calls, inputTokens, outputTokens, costUsd }: Ceiling,
  isBesideCheck: boolean,
): string[] {
  const remark = isBesideCheck
    ? " (besides those of the check above)"
    : model.deterministic
      ? " (one per case: the model is deterministic)"
      : "";
  return [
    `${model.id}${model.note ? ` (${model.note})` : ""}`,
    `  trials         ${integer(trials)}${remark}`,
    `  calls          at most ${integer(calls)}`,
    `  input tokens   at most ${integer(inputTokens)}`,
    `  output tokens  at most ${integer(outputTokens)}`,
    `  cost           at most ${dollars(costUsd)}`,
  ];
}

function renderSuite(cases: readonly PlannedCase[]): string[] {
  const suite = cases[0]?.suite;
  if (!suite) return [];
  const tools = new Set(cases.flatMap(({ toolset }) => toolset.tools.filter(isCallable).map((tool) => tool.name)));
  const ids = new Set(cases.map((planned) => planned.case.id));
  const further = [...new Set(cases.flatMap(({ exposure }) => exposure ?? []))];
  const arms = [
    suite.lift === undefined ? "" : `, each with and without the skill ${suite.lift}`,
    further.length === 0 ? "" : `, each also with exposure ${further.join(" and ")}`,
  ].join("");
  return [
    `${suite.name}: ${count(ids.size, "case")}${arms}, ${count(tools.size, "tool")}, execute ${suite.execute} (${suite.file})`,
  ];
}

/** A check takes the trials that its design asks for: what it typically takes is simulated. */
function renderChecks(
  checks: PlannedChecks,
  cases: readonly PlannedCase[],
  models: readonly Model[],
  seed: number,
): string[] {
  const settled = [...checks.plans].flatMap(([suite, all]) =>
    all.flatMap((plan) => {
      const name = `Check of ${suite} on ${plan.model}`;
      if (plan.kind === "unchanged") return [`${name}: the tools are those of the baseline, nothing to compare.`];
      return plan.kind === "not comparable" ? [`${name}: not comparable. ${plan.reasons.join(" ")}`] : [];
    }),
  );
  return [...settled, ...forecastChecks(checks, cases, models, seed).map(describeForecast)];
}

/** Whether the trials of a case are those of a check. */
function isChecked({ plans }: PlannedChecks, { suite, case: one }: PlannedCase, model: Model): boolean {
  const plan = plans.get(suite.name)?.find((each) => each.model === model.id);
  return plan?.kind === "compare" && plan.cases.some(({ id }) => id === one.id);
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
  const ceilings = models.flatMap((model) => {
    const rest = cases.filter((planned) => !isChecked(checks, planned, model));
    return renderCeiling(model, computeCeiling(rest, model), rest.length < cases.length);
  });
  const judged = judge
    ? [`judge ${judge.id}: at most ${integer(countJudgeRequests(cases, models))} additional requests`]
    : [];
  return [
    ...lines,
    ...renderChecks(checks, cases, models, seed),
    "",
    ...ceilings,
    ...judged,
    "",
    `seed ${seed}; no model was called`,
    "",
  ].join("\n");
}

/** The maximum number of requests to a judge: one for each trial with sentences or values to grade. */
function countJudgeRequests(cases: readonly PlannedCase[], models: readonly Model[]): number {
  const judged = cases.filter((planned) => needsJudge(planned.case));
  return judged.reduce(
    (sum, planned) =>
      sum +
      models.reduce(
        (all, model) => all + (asksModel(planned.suite, model) ? plannedTrials(planned.case, model) : 0),
        0,
      ),
    0,
  );
}

function needsJudge({ expectedBehavior, expect }: PlannedCase["case"]): boolean {
  return expectedBehavior.length > 0 || JSON.stringify(expect ?? null).includes('"judge":');
}

import { count, some } from "../reports/format.ts";
import type { PlannedCase } from "../trials/plan.ts";
import { wrap } from "../types/columns.ts";
import type { Model } from "../types/model.ts";
import { asksModel, plannedTrials } from "../types/suite.ts";
import { isCallable } from "../types/tool.ts";
import { addCost, type Cost } from "../types/trial.ts";
import type { PlannedChecks } from "./check.ts";
import { describeNight, forecastNights } from "./drift.ts";
import { describeForecast, forecastChecks } from "./forecast.ts";
import { type Ceiling, computeCeiling, computeTypicalCost, judgeCosts } from "./price.ts";

const integer = (n: number) => Math.round(n).toLocaleString("en-US");
const dollars = (usd: Cost) =>
  usd === "unknown" ? "unknown (no list price)" : usd > 0 && usd < 0.01 ? "less than $0.01" : `$${usd.toFixed(2)}`;

function renderCeiling(
  model: Model,
  { trials, calls, inputTokens, outputTokens, costUsd }: Ceiling,
  typicalUsd: Cost,
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
    `  cost           ${describeCost(typicalUsd, costUsd)}`,
  ];
}

/** `typically $0.02, at most $0.50`; once, where both are the same. */
const describeCost = (typical: Cost, most: Cost) =>
  most === "unknown"
    ? dollars(most)
    : typical === most
      ? `at most ${dollars(most)}`
      : `typically ${dollars(typical)}, at most ${dollars(most)}`;

/** More ids than this are counted only. */
const mostIds = 100;

function renderSuite(cases: readonly PlannedCase[]): string[] {
  const suite = cases[0]?.suite;
  if (!suite) return [];
  const offered = cases.flatMap(({ toolset }) => toolset.tools);
  const countNames = (tools: typeof offered) => new Set(tools.map(({ name }) => name)).size;
  const skills = countNames(offered.filter(({ origin }) => origin === "skill"));
  const listed = [
    count(countNames(offered.filter(isCallable)), "tool"),
    ...(skills > 0 ? [count(skills, "skill")] : []),
  ].join(", ");
  const ids = new Set(cases.map((planned) => planned.case.id));
  const further = [...new Set(cases.flatMap(({ exposure }) => exposure ?? []))];
  const surfaces = [...new Set(cases.flatMap(({ source, arm }) => (source ? [arm] : [])))];
  const arms = [
    suite.lift === undefined ? "" : `, each with and without the skill ${suite.lift}`,
    further.length === 0 ? "" : `, each also with exposure ${further.join(" and ")}`,
    surfaces.length === 0 ? "" : `, also on ${surfaces.join(" and ")}`,
  ].join("");
  return [
    `${suite.name}: ${count(ids.size, "case")}${arms}, ${listed}, execute ${suite.execute} (${suite.file})`,
    ...wrap(some([...ids], mostIds), 96).map((line) => `  ${line}`),
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
  return [
    ...settled,
    ...forecastChecks(checks, cases, models, seed).map(describeForecast),
    ...forecastNights(checks.plans, cases, models).map(describeNight),
  ];
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
    return renderCeiling(
      model,
      computeCeiling(rest, model),
      computeTypicalCost(rest, model),
      rest.length < cases.length,
    );
  });
  const judged = judge ? renderJudge(judge, cases, models) : [];
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

/** What a judge is asked in addition: one request for each trial with sentences or values to grade. */
function renderJudge(judge: Model, cases: readonly PlannedCase[], models: readonly Model[]): string[] {
  const judged = cases.filter((planned) => needsJudge(planned.case));
  let requests = 0;
  let [typical, most]: [Cost, Cost] = [0, 0];
  for (const planned of judged)
    for (const model of models.filter((one) => asksModel(planned.suite, one))) {
      const trials = plannedTrials(planned.case, model);
      const each = judgeCosts(planned, model, judge);
      requests += trials;
      typical = addCost(typical, each.typical === "unknown" ? "unknown" : trials * each.typical);
      most = addCost(most, each.most === "unknown" ? "unknown" : trials * each.most);
    }
  if (requests === 0) return [`judge ${judge.id}: no case needs it`];
  return [
    `judge ${judge.id}`,
    `  calls          at most ${integer(requests)} additional`,
    `  cost           ${describeCost(typical, most)}, in addition`,
  ];
}

function needsJudge({ expectedBehavior, expect }: PlannedCase["case"]): boolean {
  return expectedBehavior.length > 0 || JSON.stringify(expect ?? null).includes('"judge":');
}

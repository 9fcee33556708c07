import type { PlannedCase } from "../../asking/trials/plan.ts";
import { sumOf } from "../../base/collections.ts";
import { printableLines, wrap } from "../../base/text/display.ts";
import { exitCodes } from "../../base/types/errors.ts";
import { describePolicy } from "../../base/types/flagValues.ts";
import type { Model } from "../../base/types/model.ts";
import type { DryRun } from "../../base/types/run.ts";
import { asksModel, plannedTrials, type Suite } from "../../base/types/suite.ts";
import { isCallable } from "../../base/types/tool.ts";
import { addCost, type Cost, multiplyCost } from "../../base/types/trial.ts";
import { count, integer, some } from "../../reports/format.ts";
import type { PlannedChecks } from "../pipeline/manifest.ts";
import { chooseTier, computeCeiling, estimateJudgeCost, type GetTier } from "../pipeline/price.ts";
import { modelLabel } from "../results/text.ts";
import { listExecuted } from "../workspace/problems.ts";
import { describeDetectable, describeForecasts, type Forecasts, forecastPlans } from "./forecast.ts";

const dollars = (usd: Cost) =>
  usd === "unknown" ? "unknown (no list price)" : usd > 0 && usd < 0.01 ? "less than $0.01" : `$${usd.toFixed(2)}`;

type ModelPlan = DryRun["models"][number];

function renderModel(plan: ModelPlan, remark: string): string[] {
  const { model, note, trials, batched, calls, inputTokens, outputTokens, typicalUsd, costUsd } = plan;
  return [
    modelLabel({ model, note }),
    `  trials         ${integer(trials)}${remark}`,
    ...(batched > 0 ? [`  in batches     ${integer(batched)} (at the price of batches)`] : []),
    `  calls          at most ${integer(calls)}`,
    `  input tokens   at most ${integer(inputTokens)}`,
    `  output tokens  at most ${integer(outputTokens)}`,
    `  cost           ${describeCost(typicalUsd, costUsd)}`,
  ];
}

/** Formats costs as `typically $0.02, at most $0.50`, or as `at most $0.50` if both are equal. */
const describeCost = (typical: Cost, most: Cost) =>
  most === "unknown"
    ? dollars(most)
    : typical === most
      ? `at most ${dollars(most)}`
      : `typically ${dollars(typical)}, at most ${dollars(most)}`;

const maxIds = 100;

type SuitePlan = DryRun["suites"][number];

function planSuite(suite: Suite, all: readonly PlannedCase[], models: readonly Model[]): SuitePlan {
  const cases = all.filter((planned) => planned.suite === suite);
  const offered = cases.flatMap(({ toolset }) => toolset.tools);
  const countNames = (tools: typeof offered) => new Set(tools.map(({ name }) => name)).size;
  const arms = [...new Set(cases.map(({ arm }) => arm))].filter((arm) => arm !== "head");
  return {
    suite: suite.name,
    file: suite.file,
    cases: [...new Set(cases.map((planned) => planned.case.id))],
    tools: countNames(offered.filter(isCallable)),
    skills: countNames(offered.filter(({ origin }) => origin === "skill")),
    execute: suite.execute,
    executed: listExecuted(cases, models),
    ...(arms.length > 0 && { arms }),
  };
}

function renderSuite({ suite, file, cases, tools, skills, execute, executed, arms = [] }: SuitePlan): string[] {
  const listed = [count(tools, "tool"), ...(skills > 0 ? [count(skills, "skill")] : [])].join(", ");
  const others = arms.length === 0 ? "" : `, also in the ${arms.length === 1 ? "arm" : "arms"} ${arms.join(" and ")}`;
  return [
    `${suite}: ${count(cases.length, "case")}${others}, ${listed}, execute ${describePolicy(execute)} (${file})`,
    ...wrap(`executed: ${executed.length > 0 ? some(executed, maxIds) : "none"}`, 96).map((line) => `  ${line}`),
    ...wrap(some(cases, maxIds), 96).map((line) => `  ${line}`),
  ];
}

/** The checks that need no trial: nothing has changed, or nothing can be compared. */
const listSettled = ({ plans }: PlannedChecks): SettledCheck[] =>
  [...plans].flatMap(([suite, all]) =>
    all.flatMap((plan): SettledCheck[] => {
      const { kind, model } = plan;
      if (kind === "compare") return [];
      return [kind === "unchanged" ? { suite, model, kind } : { suite, model, kind, reasons: plan.reasons }];
    }),
  );
type SettledCheck = Exclude<DryRun["checks"][number], { kind: "compare" }>;

function describeSettled(check: SettledCheck): string {
  const what =
    check.kind === "unchanged"
      ? "the tools are those of the baseline, nothing to compare."
      : `not comparable. ${check.reasons.join(" ")}`;
  return `Check of ${check.suite} on ${check.model}: ${what}`;
}

/** The typical and maximum number of trials of a case. `isPlanned`: exactly as many as its suite says. */
type Expected = { typical: number; most: number; isPlanned: boolean };

/** Estimates the trials of a case. A check or a night asks as many as it needs; other cases are asked as planned. */
function expectTrials(
  { suite, case: one }: PlannedCase,
  model: Model,
  { plans }: PlannedChecks,
  { checks, nights }: Forecasts,
): Expected {
  const isOwn = (forecast: { suite: string; model: string }) =>
    forecast.suite === suite.name && forecast.model === model.id;
  const plan = plans.get(suite.name)?.find((each) => each.model === model.id);
  const night = nights.find(isOwn);
  if (plan?.kind === "unchanged" && night) {
    const share = (trials: number) => trials / Math.max(1, suite.cases.length);
    return { typical: share(night.trials), most: share(night.most), isPlanned: false };
  }
  const check = plan?.kind === "compare" && plan.cases.some(({ id }) => id === one.id) ? checks.find(isOwn) : undefined;
  if (plan?.kind === "compare" && check) {
    const share = (trials: number) => trials / plan.cases.length;
    return { typical: share(check.typical), most: share(check.most), isPlanned: false };
  }
  const trials = plannedTrials(one, model);
  return { typical: trials, most: trials, isPlanned: true };
}

type Costs = { typical: Cost; most: Cost };
const addCosts = (a: Costs, b: Costs): Costs => ({
  typical: addCost(a.typical, b.typical),
  most: addCost(a.most, b.most),
});
const free: Costs = { typical: 0, most: 0 };

/** Counts and prices what a run will ask: trials of each model, typical and maximum costs of models and judge. */
export function planRun(
  cases: readonly PlannedCase[],
  models: readonly Model[],
  seed: number,
  checks: PlannedChecks,
  { judge, getTier = chooseTier(false) }: { judge?: Model | undefined; getTier?: GetTier } = {},
): DryRun {
  const suites = [...new Set(cases.map(({ suite }) => suite))];
  const forecasts = forecastPlans(checks, cases, models, { seed, getTier });
  const asked = models.flatMap((model) =>
    cases
      .filter(({ suite }) => asksModel(suite, model))
      .map((planned) => ({ planned, model, trials: expectTrials(planned, model, checks, forecasts) })),
  );
  const byModels = asked.map(({ planned, model, trials }): Costs => {
    const planCosts = computeCeiling([planned], model, getTier);
    const scale = (expected: number, cost: Cost) => multiplyCost(expected / Math.max(1, planCosts.trials), cost);
    return { typical: scale(trials.typical, planCosts.typicalUsd), most: scale(trials.most, planCosts.costUsd) };
  });
  const judging = judge && priceJudge(judge, asked);
  const judgeCosts = judging ? { typical: judging.typicalUsd, most: judging.costUsd } : free;
  const total = [...byModels, judgeCosts].reduce(addCosts, free);
  return {
    suites: suites.map((suite) => planSuite(suite, cases, models)),
    checks: [...listSettled(checks), ...forecasts.checks],
    nights: forecasts.nights,
    models: models.map((model) => {
      const planned = asked.filter((one) => one.model === model && one.trials.isPlanned).map((one) => one.planned);
      return { ...computeCeiling(planned, model, getTier), model: model.id, note: model.note ?? null };
    }),
    judge: judging ?? null,
    typicalUsd: total.typical,
    costUsd: total.most,
    seed,
    exitCode: exitCodes.passed,
  };
}

/** The plan of a run on these models as text. */
export function renderPlan(plan: DryRun, models: readonly Model[]): string {
  const { suites, nights, judge, seed } = plan;
  const compared = plan.checks.filter((check) => check.kind === "compare");
  const forecasts = { checks: compared, nights };
  const isBesideOthers = ({ id }: Model) => [...compared, ...nights].some(({ model }) => model === id);
  const describeTrials = (model: Model) =>
    isBesideOthers(model)
      ? " (besides those of the checks and nights above)"
      : model.deterministic
        ? " (one per case: the model is deterministic)"
        : "";
  const isSum = models.length > 1 || judge !== null || models.some(isBesideOthers);
  return printableLines(
    ...suites.flatMap(renderSuite),
    ...plan.checks.flatMap((check) => (check.kind === "compare" ? [] : [describeSettled(check)])),
    ...describeForecasts(forecasts, models),
    ...compared.flatMap((forecast) => describeDetectable(forecast) ?? []),
    "",
    ...models.flatMap((model, at) => renderModel(plan.models[at] as ModelPlan, describeTrials(model))),
    ...(judge ? renderJudge(judge) : []),
    ...(isSum ? ["total", `  cost           ${describeCost(plan.typicalUsd, plan.costUsd)}`] : []),
    "",
    `seed ${seed}; no model was called`,
  );
}

type JudgePlan = NonNullable<DryRun["judge"]>;

/** Prices the judge: one additional request for each trial, in every arm, with sentences or values to grade. */
function priceJudge(judge: Model, asked: readonly { planned: PlannedCase; model: Model; trials: Expected }[]) {
  const isJudged = ({ case: { expectedBehavior, expect, turns } }: PlannedCase) =>
    expectedBehavior.length > 0 || /"\$?judge":/.test(JSON.stringify([expect, turns]));
  const judged = asked.filter(({ planned }) => isJudged(planned));
  const costs = judged.map(({ planned, model, trials }): Costs => {
    const each = estimateJudgeCost(planned, model, judge);
    return { typical: multiplyCost(trials.typical, each.typical), most: multiplyCost(trials.most, each.most) };
  });
  const { typical, most } = costs.reduce(addCosts, free);
  const calls = Math.round(sumOf(judged, ({ trials }) => trials.most));
  return { model: judge.id, calls, typicalUsd: typical, costUsd: most };
}

function renderJudge({ model, calls, typicalUsd, costUsd }: JudgePlan): string[] {
  if (calls === 0) return [`judge ${model}: no case needs it`];
  return [
    `judge ${model}`,
    `  calls          at most ${integer(calls)} additional`,
    `  cost           ${describeCost(typicalUsd, costUsd)}, in addition`,
  ];
}

import type { PlannedCase } from "../../asking/trials/plan.ts";
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
import { type Ceiling, chooseTier, computeCeiling, estimateJudgeCost, type GetTier } from "../pipeline/price.ts";
import { listExecuted } from "../workspace/problems.ts";
import { describeDetectable, describeForecasts, type Forecasts, forecastPlans } from "./forecast.ts";

const dollars = (usd: Cost) =>
  usd === "unknown" ? "unknown (no list price)" : usd > 0 && usd < 0.01 ? "less than $0.01" : `$${usd.toFixed(2)}`;

/** The maximum that a plan uses on one model, apart from its checks and nights, which decide on their trials themselves. */
type ModelPlan = Ceiling & { model: Model; isBesideOthers: boolean };

function renderModel({ model, isBesideOthers, typicalUsd, ...ceiling }: ModelPlan): string[] {
  const { trials, batched, calls, inputTokens, outputTokens, costUsd } = ceiling;
  const remark = isBesideOthers
    ? " (besides those of the checks and nights above)"
    : model.deterministic
      ? " (one per case: the model is deterministic)"
      : "";
  return [
    `${model.id}${model.note ? ` (${model.note})` : ""}`,
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

function planSuite(suite: Suite, cases: readonly PlannedCase[], models: readonly Model[]): SuitePlan {
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
  const isOwn = (forecast: { suite: string; model: Model }) =>
    forecast.suite === suite.name && forecast.model === model;
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

/** What `run --dry-run` prints: the trials of each model, and typical and maximum costs of models and judge. */
export type RunPlan = ReturnType<typeof planRun>;

/** Counts and prices what a run will ask. */
export function planRun(
  cases: readonly PlannedCase[],
  models: readonly Model[],
  seed: number,
  checks: PlannedChecks,
  { judge, getTier = chooseTier(false) }: { judge?: Model | undefined; getTier?: GetTier } = {},
) {
  const suites = [...new Set(cases.map(({ suite }) => suite))];
  const forecasts = forecastPlans(checks, cases, models, { seed, getTier });
  const asked = models.flatMap((model) =>
    cases
      .filter(({ suite }) => asksModel(suite, model))
      .map((planned) => ({ planned, model, trials: expectTrials(planned, model, checks, forecasts) })),
  );
  const modelPlans = models.map((model): ModelPlan => {
    const own = asked.filter((one) => one.model === model);
    const rest = own.filter(({ trials }) => trials.isPlanned).map(({ planned }) => planned);
    return {
      model,
      ...computeCeiling(rest, model, getTier),
      isBesideOthers: rest.length < own.length,
    };
  });
  const byModels = asked.map(({ planned, model, trials }): Costs => {
    const planCosts = computeCeiling([planned], model, getTier);
    const scale = (expected: number, cost: Cost) => multiplyCost(expected / Math.max(1, planCosts.trials), cost);
    return { typical: scale(trials.typical, planCosts.typicalUsd), most: scale(trials.most, planCosts.costUsd) };
  });
  const judging = judge && priceJudge(judge, asked);
  return {
    suites: suites.map((suite) =>
      planSuite(
        suite,
        cases.filter((planned) => planned.suite === suite),
        models,
      ),
    ),
    settled: listSettled(checks),
    ...forecasts,
    models: modelPlans,
    judging,
    total: addCosts(byModels.reduce(addCosts, free), judging?.costs ?? free),
    isSum: models.length > 1 || judging !== undefined || asked.some(({ trials }) => !trials.isPlanned),
    seed,
  };
}

/** The plan of a run as text. */
export function renderPlan({ suites, settled, checks, nights, models, judging, total, isSum, seed }: RunPlan): string {
  return printableLines(
    ...suites.flatMap(renderSuite),
    ...settled.map(describeSettled),
    ...describeForecasts({ checks, nights }),
    ...checks.flatMap((forecast) => describeDetectable(forecast) ?? []),
    "",
    ...models.flatMap(renderModel),
    ...(judging ? renderJudge(judging) : []),
    ...(isSum ? ["total", `  cost           ${describeCost(total.typical, total.most)}`] : []),
    "",
    `seed ${seed}; no model was called`,
  );
}

/** The plan of a run as the object that `run --dry-run --json` prints. */
export function planJson({ suites, settled, checks, nights, models, judging, total, seed }: RunPlan): DryRun {
  return {
    suites,
    checks: [
      ...settled,
      ...checks.map(({ model, ...forecast }) => ({ kind: "compare" as const, ...forecast, model: model.id })),
    ],
    nights: nights.map(({ model, ...forecast }) => ({ ...forecast, model: model.id })),
    models: models.map(({ model, isBesideOthers: _, ...plan }) => ({
      ...plan,
      model: model.id,
      note: model.note ?? null,
    })),
    judge: judging
      ? {
          model: judging.judge.id,
          calls: Math.round(judging.requests),
          typicalUsd: judging.costs.typical,
          costUsd: judging.costs.most,
        }
      : null,
    typicalUsd: total.typical,
    costUsd: total.most,
    seed,
    exitCode: exitCodes.passed,
  };
}

type Judging = { judge: Model; requests: number; costs: Costs };

/** Prices the judge: one additional request for each trial, in every arm, with sentences or values to grade. */
function priceJudge(judge: Model, asked: readonly { planned: PlannedCase; model: Model; trials: Expected }[]): Judging {
  const isJudged = ({ case: { expectedBehavior, expect, turns } }: PlannedCase) =>
    expectedBehavior.length > 0 || /"\$?judge":/.test(JSON.stringify([expect, turns]));
  return asked
    .filter(({ planned }) => isJudged(planned))
    .reduce<Judging>(
      ({ requests, costs }, { planned, model, trials }) => {
        const each = estimateJudgeCost(planned, model, judge);
        const own = { typical: multiplyCost(trials.typical, each.typical), most: multiplyCost(trials.most, each.most) };
        return { judge, requests: requests + trials.most, costs: addCosts(costs, own) };
      },
      { judge, requests: 0, costs: free },
    );
}

function renderJudge({ judge, requests, costs }: Judging): string[] {
  if (requests === 0) return [`judge ${judge.id}: no case needs it`];
  return [
    `judge ${judge.id}`,
    `  calls          at most ${integer(requests)} additional`,
    `  cost           ${describeCost(costs.typical, costs.most)}, in addition`,
  ];
}

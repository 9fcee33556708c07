import { count, integer, some } from "../reports/format.ts";
import type { PlannedCase } from "../trials/plan.ts";
import { wrap } from "../types/columns.ts";
import type { Model } from "../types/model.ts";
import { asksModel, plannedTrials } from "../types/suite.ts";
import { isCallable } from "../types/tool.ts";
import { addCost, type Cost, multiplyCost } from "../types/trial.ts";
import type { PlannedChecks } from "./check.ts";
import { describeForecasts, type Forecasts, forecastPlans } from "./forecast.ts";
import {
  type Ceiling,
  chooseTier,
  computeCeiling,
  estimateJudgeCost,
  estimatePlanCost,
  estimateTrialCost,
  type GetTier,
} from "./price.ts";

const dollars = (usd: Cost) =>
  usd === "unknown" ? "unknown (no list price)" : usd > 0 && usd < 0.01 ? "less than $0.01" : `$${usd.toFixed(2)}`;

function renderCeiling(
  model: Model,
  { trials, batched, calls, inputTokens, outputTokens, costUsd }: Ceiling,
  typicalUsd: Cost,
  isBesideOthers: boolean,
): string[] {
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
    ...wrap(some([...ids], maxIds), 96).map((line) => `  ${line}`),
  ];
}

function renderChecks({ plans }: PlannedChecks, forecasts: Forecasts): string[] {
  const settled = [...plans].flatMap(([suite, all]) =>
    all.flatMap((plan) => {
      const name = `Check of ${suite} on ${plan.model}`;
      if (plan.kind === "unchanged") return [`${name}: the tools are those of the baseline, nothing to compare.`];
      return plan.kind === "not comparable" ? [`${name}: not comparable. ${plan.reasons.join(" ")}`] : [];
    }),
  );
  return [...settled, ...describeForecasts(forecasts)];
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

/** Renders the plan of a run: the trials of each model, and typical and maximum costs of models and judge. */
export function renderPlan(
  cases: readonly PlannedCase[],
  models: readonly Model[],
  seed: number,
  checks: PlannedChecks,
  { judge, getTier = chooseTier(false) }: { judge?: Model | undefined; getTier?: GetTier } = {},
): string {
  const suites = [...new Set(cases.map(({ suite }) => suite))];
  const lines = suites.flatMap((suite) => renderSuite(cases.filter((planned) => planned.suite === suite)));
  const forecasts = forecastPlans(checks, cases, models, { seed, getTier });
  const asked = models.flatMap((model) =>
    cases
      .filter(({ suite }) => asksModel(suite, model))
      .map((planned) => ({ planned, model, trials: expectTrials(planned, model, checks, forecasts) })),
  );
  const ceilings = models.flatMap((model) => {
    const own = asked.filter((one) => one.model === model);
    const rest = own.filter(({ trials }) => trials.isPlanned).map(({ planned }) => planned);
    const [ceiling, typical] = [computeCeiling(rest, model, getTier), estimatePlanCost(rest, model, getTier)];
    return renderCeiling(model, ceiling, typical, rest.length < own.length);
  });
  const byModels = asked.map(({ planned, model, trials }): Costs => {
    const most = computeCeiling([planned], model, getTier);
    return {
      typical: multiplyCost(trials.typical, estimateTrialCost(planned, model, getTier)),
      most: multiplyCost(trials.most / Math.max(1, most.trials), most.costUsd),
    };
  });
  const judging = judge ? priceJudge(judge, asked) : undefined;
  const total = addCosts(byModels.reduce(addCosts, free), judging?.costs ?? free);
  const isSum = models.length > 1 || judging !== undefined || asked.some(({ trials }) => !trials.isPlanned);
  return [
    ...lines,
    ...renderChecks(checks, forecasts),
    "",
    ...ceilings,
    ...(judge && judging ? renderJudge(judge, judging) : []),
    ...(isSum ? ["total", `  cost           ${describeCost(total.typical, total.most)}`] : []),
    "",
    `seed ${seed}; no model was called`,
    "",
  ].join("\n");
}

type Judging = { requests: number; costs: Costs };

/** Prices the judge: one additional request for each trial, in every arm, with sentences or values to grade. */
function priceJudge(judge: Model, asked: readonly { planned: PlannedCase; model: Model; trials: Expected }[]): Judging {
  return asked
    .filter(({ planned }) => needsJudge(planned.case))
    .reduce<Judging>(
      ({ requests, costs }, { planned, model, trials }) => {
        const each = estimateJudgeCost(planned, model, judge);
        const own = { typical: multiplyCost(trials.typical, each.typical), most: multiplyCost(trials.most, each.most) };
        return { requests: requests + trials.most, costs: addCosts(costs, own) };
      },
      { requests: 0, costs: free },
    );
}

function renderJudge(judge: Model, { requests, costs }: Judging): string[] {
  if (requests === 0) return [`judge ${judge.id}: no case needs it`];
  return [
    `judge ${judge.id}`,
    `  calls          at most ${integer(requests)} additional`,
    `  cost           ${describeCost(costs.typical, costs.most)}, in addition`,
  ];
}

function needsJudge({ expectedBehavior, expect }: PlannedCase["case"]): boolean {
  return expectedBehavior.length > 0 || JSON.stringify(expect ?? null).includes('"judge":');
}

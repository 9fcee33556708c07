import { type Forecast, forecastCalls } from "../decisions/forecast.ts";
import { count, integer, money } from "../reports/format.ts";
import type { PlannedCase } from "../trials/plan.ts";
import type { ComparePlan } from "../types/check.ts";
import type { Model } from "../types/model.ts";
import { addCost, type Cost, multiplyCost } from "../types/trial.ts";
import { setUpCheck } from "../verdicts/check.ts";
import type { PlannedChecks } from "./check.ts";
import { estimateTrialCost, type GetTier } from "./price.ts";

/** The expected trials of a check if nothing changed, with costs estimated from the sizes of requests. */
type CheckForecast = Forecast & { suite: string; model: Model; typicalUsd: Cost; highUsd: Cost };

/** Forecasts all checks that will compare two lists. */
export function forecastChecks(
  { plans }: PlannedChecks,
  cases: readonly PlannedCase[],
  models: readonly Model[],
  asked: { seed: number; getTier: GetTier },
): CheckForecast[] {
  return [...plans].flatMap(([suite, all]) =>
    all.flatMap((plan) => {
      const model = models.find(({ id }) => id === plan.model);
      if (plan.kind !== "compare" || plan.cases.length === 0 || !model) return [];
      const own = cases.filter((planned) => planned.suite.name === suite);
      return [forecastCheck(suite, plan, own, model, asked)];
    }),
  );
}

function forecastCheck(
  suite: string,
  plan: ComparePlan,
  cases: readonly PlannedCase[],
  model: Model,
  { seed, getTier }: { seed: number; getTier: GetTier },
): CheckForecast {
  const setup = setUpCheck(plan, { seed, isDeterministic: model.deterministic });
  const forecast = forecastCalls(setup, new Map(plan.cases.map(({ id, bank }) => [id, bank])));
  const compared = new Set(setup.cases);
  const all = cases.filter((planned) => compared.has(planned.case.id));
  const each = all.map((planned) => estimateTrialCost(planned, model, getTier)).reduce(addCost, 0);
  const price = (calls: number) => multiplyCost(calls / Math.max(1, all.length), each);
  return { suite, model, ...forecast, typicalUsd: price(forecast.typical), highUsd: price(forecast.high) };
}

/** Describes the expected size and cost of a check in one line. */
export function describeForecast({ suite, model, typical, high, most, typicalUsd, highUsd }: CheckForecast): string {
  const about = (cost: Cost) => (model.kind === "language model" ? `, about ${money(cost)}` : "");
  return `Check of ${suite} on ${model.id}: typically ${count(typical, "trial")}${about(typicalUsd)}; 9 times in 10 at most ${integer(high)}${about(highUsd)}; never more than ${integer(most)}.`;
}

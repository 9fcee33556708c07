import type { PlannedCase } from "../../asking/trials/plan.ts";
import type { ComparePlan } from "../../base/types/check.ts";
import type { DriftPlan } from "../../base/types/drift.ts";
import type { Model } from "../../base/types/model.ts";
import { addCost, type Cost, multiplyCost } from "../../base/types/trial.ts";
import { count, integer, money, percent, size } from "../../reports/format.ts";
import { forecastCalls, forecastPower } from "../check/forecast.ts";
import { setUpCheck } from "../check/verdict.ts";
import { mostTrialsOfNight } from "../drift/design.ts";
import type { PlannedChecks } from "../pipeline/manifest.ts";
import { estimateTrialCost, type GetTier } from "../pipeline/price.ts";

type CheckForecast = ReturnType<typeof forecastCheck>;
type NightForecast = ReturnType<typeof forecastNight>;

/** Forecasts of checks and nights, whose number of trials is decided only while they run. */
export type Forecasts = { checks: CheckForecast[]; nights: NightForecast[] };

/** Forecasts all checks that will compare two lists, and all nights. */
export function forecastPlans(
  { plans }: PlannedChecks,
  cases: readonly PlannedCase[],
  models: readonly Model[],
  asked: { seed: number; getTier: GetTier },
): Forecasts {
  const forecasts: Forecasts = { checks: [], nights: [] };
  for (const [suite, all] of plans) {
    const own = cases.filter((planned) => planned.suite.name === suite);
    for (const plan of all) {
      const model = models.find(({ id }) => id === plan.model);
      if (model && plan.kind === "compare" && plan.cases.length > 0)
        forecasts.checks.push(forecastCheck(suite, plan, own, model, asked));
      if (model && plan.kind === "unchanged" && plan.drift?.nightly)
        forecasts.nights.push(forecastNight(suite, plan.drift, own, model, asked.getTier));
    }
  }
  return forecasts;
}

/** The expected trials of a check if nothing changed, with costs estimated from the sizes of requests. */
function forecastCheck(
  suite: string,
  plan: ComparePlan,
  cases: readonly PlannedCase[],
  model: Model,
  { seed, getTier }: { seed: number; getTier: GetTier },
) {
  const setup = setUpCheck(plan, { seed, isDeterministic: model.deterministic });
  const bank = new Map(plan.cases.map(({ id, bank }) => [id, bank]));
  const forecast = forecastCalls(setup, bank);
  const compared = new Set(setup.cases);
  const all = cases.filter((planned) => compared.has(planned.case.id));
  const each = all.map((planned) => estimateTrialCost(planned, model, getTier, forecast.cached)).reduce(addCost, 0);
  const price = (calls: number) => multiplyCost(calls / Math.max(1, all.length), each);
  const find = (drop: number) => ({ drop, found: forecastPower(setup, bank, drop) });
  const detect = model.deterministic || plan.isPlacebo ? [] : [0.1, 0.2].map(find);
  return { suite, model, ...forecast, typicalUsd: price(forecast.typical), highUsd: price(forecast.high), detect };
}

/** The expected size of a night of one suite on one model. `most` includes follow-ups. The cost is an estimate. */
function forecastNight(
  suite: string,
  { trials }: DriftPlan,
  cases: readonly PlannedCase[],
  model: Model,
  getTier: GetTier,
) {
  const each = cases.map((planned) => estimateTrialCost(planned, model, getTier)).reduce(addCost, 0);
  const most = cases.length * Math.max(trials, mostTrialsOfNight);
  return { suite, model, trials: cases.length * trials, most, costUsd: multiplyCost(trials, each) };
}

/** Describes the expected size and cost of each check and night in one line. */
export function describeForecasts({ checks, nights }: Forecasts): string[] {
  return [...checks.map(describeCheck), ...nights.map(describeNight)];
}

/** How often the check would find a drop, in one line; undefined for a deterministic model. */
export function describeDetectable({ suite, model, detect }: CheckForecast): string | undefined {
  const found = detect.map((one) => `of ${size(one.drop)} in ${percent(one.found)} of checks`);
  if (found.length === 0) return undefined;
  return `A drop of every case of ${suite} on ${model.id} is found: ${found.join(", ")}.`;
}

function describeCheck({ suite, model, typical, high, most, cached, typicalUsd, highUsd }: CheckForecast): string {
  const kept = cached > 0 ? ` (with ${percent(cached)} of the tool lists from prompt caches)` : "";
  return `Check of ${suite} on ${model.id}: typically ${count(typical, "trial")}${aboutCost(model, typicalUsd)}${kept}; 9 times in 10 at most ${integer(high)}${aboutCost(model, highUsd)}; never more than ${integer(most)}.`;
}

function describeNight({ suite, model, trials, most, costUsd }: NightForecast): string {
  return `Night of ${suite} on ${model.id}: ${count(trials, "trial")}${aboutCost(model, costUsd)}, plus follow-ups for cases that look different; never more than ${integer(most)}.`;
}

const aboutCost = (model: Model, cost: Cost) =>
  model.kind === "language model" && cost !== "unknown" ? `, about ${money(cost)}` : "";

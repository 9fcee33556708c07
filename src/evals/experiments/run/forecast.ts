import type { PlannedCase } from "../../asking/trials/plan.ts";
import { cochranMantelHaenszel, isSignificant } from "../../base/stats/hypothesisTests.ts";
import { deriveSeed, seededRandom } from "../../base/stats/random.ts";
import type { ComparePlan } from "../../base/types/check.ts";
import type { DriftPlan } from "../../base/types/drift.ts";
import type { Model } from "../../base/types/model.ts";
import type { DetectableDrop } from "../../base/types/run.ts";
import { addCost, type Cost, multiplyCost } from "../../base/types/trial.ts";
import { count, integer, money, size } from "../../reports/format.ts";
import { forecastCalls } from "../check/design.ts";
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
  const forecast = forecastCalls(setup, new Map(plan.cases.map(({ id, bank }) => [id, bank])));
  const compared = new Set(setup.cases);
  const all = cases.filter((planned) => compared.has(planned.case.id));
  const each = all.map((planned) => estimateTrialCost(planned, model, getTier)).reduce(addCost, 0);
  const price = (calls: number) => multiplyCost(calls / Math.max(1, all.length), each);
  const detect = model.deterministic ? [] : findNeededTrials(plan.cases, seed);
  return { suite, model, ...forecast, typicalUsd: price(forecast.typical), highUsd: price(forecast.high), detect };
}

const trialCounts = [3, 5, 8, 10, 12, 15, 20, 25, 30, 40, 50];
const powerPlays = 200;

/**
 * The trials per case and tool list that show a drop of every case 8 times in 10, by the one-sided exact
 * Cochran-Mantel-Haenszel test at 5 %; null if 50 do not. By simulation from the pass rates of the baseline, each
 * shrunk a little, so that a case that always passed is not assumed to be unable to fail.
 */
function findNeededTrials(cases: ComparePlan["cases"], seed: number): DetectableDrop[] {
  const rates = cases.map(({ bank: { passed, trials } }) => (passed + 0.5) / (trials + 1));
  return [0.1, 0.2].map((drop) => {
    const random = seededRandom(deriveSeed(seed, "detect", drop));
    const draw = (rate: number, trials: number) => ({
      passed: Array.from({ length: trials }, () => random.next() < rate).filter(Boolean).length,
      trials,
    });
    const isShown = (trials: number) => {
      const drawn = rates.map((rate) => ({ base: draw(rate, trials), head: draw(Math.max(0, rate - drop), trials) }));
      return isSignificant(cochranMantelHaenszel(drawn), 0.05);
    };
    const isEnough = (trials: number) => {
      const shown = Array.from({ length: powerPlays }, () => isShown(trials)).filter(Boolean).length;
      return shown >= 0.8 * powerPlays;
    };
    return { drop, trials: trialCounts.find(isEnough) ?? null };
  });
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

/** The trials that a drop needs, in one line; undefined for a deterministic model. */
export function describeDetectable({ suite, model, detect }: CheckForecast): string | undefined {
  const needed = detect.map(
    ({ drop, trials }) => `${size(drop)}: ${trials === null ? "more than -n 50" : `-n ${trials}`}`,
  );
  if (needed.length === 0) return undefined;
  return `To detect a drop of every case of ${suite} on ${model.id} 8 times in 10, of ${needed.join("; of ")}.`;
}

function describeCheck({ suite, model, typical, high, most, typicalUsd, highUsd }: CheckForecast): string {
  return `Check of ${suite} on ${model.id}: typically ${count(typical, "trial")}${aboutCost(model, typicalUsd)}; 9 times in 10 at most ${integer(high)}${aboutCost(model, highUsd)}; never more than ${integer(most)}.`;
}

function describeNight({ suite, model, trials, most, costUsd }: NightForecast): string {
  return `Night of ${suite} on ${model.id}: ${count(trials, "trial")}${aboutCost(model, costUsd)}, plus follow-ups for cases that look different; never more than ${integer(most)}.`;
}

const aboutCost = (model: Model, cost: Cost) =>
  model.kind === "language model" && cost !== "unknown" ? `, about ${money(cost)}` : "";

import { simulate } from "../../asking/trials/design.ts";
import type { PlannedCase } from "../../asking/trials/plan.ts";
import { sumOf } from "../../base/collections.ts";
import { type Counts, noTrials } from "../../base/stats/counts.ts";
import { deriveSeed, drawBeta, seededRandom } from "../../base/stats/random.ts";
import type { ComparePlan } from "../../base/types/check.ts";
import type { DriftPlan } from "../../base/types/drift.ts";
import type { Model } from "../../base/types/model.ts";
import type { DryRun } from "../../base/types/run.ts";
import { addCost, type Cost, multiplyCost } from "../../base/types/trial.ts";
import { count, integer, money, percent, size } from "../../reports/format.ts";
import type { CheckSetup } from "../check/design.ts";
import { createDesign, setUpCheck } from "../check/verdict.ts";
import { mostTrialsOfNight } from "../drift/design.ts";
import type { PlannedChecks } from "../pipeline/manifest.ts";
import { estimateTrialCost, type GetTier } from "../pipeline/price.ts";

/**
 * Requests of both arms: the median and 90th percentile if nothing changed, and the maximum. `cached`: the share of
 * them that a prompt cache can serve, because others had the same tools in the same order before.
 */
type Forecast = { typical: number; high: number; most: number; cached: number };

/** Total trials to simulate: large suites need fewer simulations, because their requests vary less. */
const simulatedTrials = 15_000;

/** What is known of the cases: passes by case. A case that is not in it may have any rate. */
type Bank = ReadonlyMap<string, Counts>;

/** What a check costs if nothing changed, by simulation from what is known of the cases, seeded by the setup. */
export function forecastCalls(setup: CheckSetup, bank: Bank): Forecast {
  const plays = setup.alwaysAlike ? 1 : countPlays(setup, 50);
  const played = simulateChecks(setup, bank, plays, 0);
  const calls = played.map((one) => one.calls).toSorted((a, b) => a - b);
  const at = (share: number) => calls[Math.min(plays - 1, Math.floor(share * plays))] ?? 0;
  const cached = setup.pairsPerOrder === 1 ? 0 : sumOf(played, (one) => one.repeated) / sumOf(calls, (all) => all);
  return { typical: at(0.5), high: at(0.9), most: createDesign(setup).cap, cached };
}

/** The share of checks that find a drop of every case by so much, by the same simulation. */
function forecastPower(setup: CheckSetup, bank: Bank, drop: number): number {
  const played = simulateChecks(setup, bank, countPlays(setup, 100), drop);
  return played.filter(({ kind }) => kind === "regressed").length / played.length;
}

const countPlays = ({ cases }: CheckSetup, most: number) =>
  Math.max(3, Math.min(most, Math.floor(simulatedTrials / (cases.length * 20))));

function simulateChecks(setup: CheckSetup, bank: Bank, plays: number, drop: number) {
  const design = createDesign({ ...setup, withReach: false });
  return Array.from({ length: plays }, (_, play) => {
    const random = seededRandom(deriveSeed(setup.seed, "forecast", play));
    const rates = new Map(
      setup.cases.map((id) => {
        const { passed, trials } = bank.get(id) ?? noTrials;
        return [id, drawBeta(passed + 0.5, trials - passed + 0.5, random)];
      }),
    );
    const prompts = new Set<string>();
    let repeated = 0;
    const { verdict, calls } = simulate(design, (id, arm, _, order) => {
      if (prompts.has(`${arm} ${order}`)) repeated++;
      prompts.add(`${arm} ${order}`);
      return random.next() < (rates.get(id) ?? 0) - (arm === "head" ? drop : 0) ? "pass" : "fail";
    });
    return { kind: verdict.kind, calls, repeated };
  });
}

type CheckForecast = Extract<DryRun["checks"][number], { kind: "compare" }>;
type NightForecast = DryRun["nights"][number];

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
): CheckForecast {
  const setup = setUpCheck(plan, { seed, isDeterministic: model.deterministic });
  const bank = new Map(plan.cases.map(({ id, bank }) => [id, bank]));
  const forecast = forecastCalls(setup, bank);
  const compared = new Set(setup.cases);
  const all = cases.filter((planned) => compared.has(planned.case.id));
  const each = all.map((planned) => estimateTrialCost(planned, model, getTier, forecast.cached)).reduce(addCost, 0);
  const price = (calls: number) => multiplyCost(calls / Math.max(1, all.length), each);
  const find = (drop: number) => ({ drop, found: forecastPower(setup, bank, drop) });
  const detect = model.deterministic || plan.isPlacebo ? [] : [0.1, 0.2].map(find);
  const costs = { typicalUsd: price(forecast.typical), highUsd: price(forecast.high) };
  return { kind: "compare", suite, model: model.id, ...forecast, ...costs, detect };
}

/** The expected size of a night of one suite on one model. `most` includes follow-ups. The cost is an estimate. */
function forecastNight(
  suite: string,
  { trials }: DriftPlan,
  cases: readonly PlannedCase[],
  model: Model,
  getTier: GetTier,
): NightForecast {
  const each = cases.map((planned) => estimateTrialCost(planned, model, getTier)).reduce(addCost, 0);
  const most = cases.length * Math.max(trials, mostTrialsOfNight);
  return { suite, model: model.id, trials: cases.length * trials, most, costUsd: multiplyCost(trials, each) };
}

/** Describes the expected size of each check and night on these models in a line, with the cost on language models. */
export function describeForecasts({ checks, nights }: Forecasts, models: readonly Model[]): string[] {
  const describe = <F extends { model: string }>(all: readonly F[], write: (forecast: F, model: Model) => string) =>
    all.flatMap((one) => {
      const model = models.find(({ id }) => id === one.model);
      return model ? [write(one, model)] : [];
    });
  return [...describe(checks, describeCheck), ...describe(nights, describeNight)];
}

function describeCheck(check: CheckForecast, model: Model): string {
  const { suite, typical, high, most, cached, typicalUsd, highUsd } = check;
  const kept = cached > 0 ? ` (with ${percent(cached)} of the tool lists from prompt caches)` : "";
  return `Check of ${suite} on ${model.id}: typically ${count(typical, "trial")}${aboutCost(model, typicalUsd)}${kept}; 9 times in 10 at most ${integer(high)}${aboutCost(model, highUsd)}; never more than ${integer(most)}.`;
}

function describeNight({ suite, trials, most, costUsd }: NightForecast, model: Model): string {
  return `Night of ${suite} on ${model.id}: ${count(trials, "trial")}${aboutCost(model, costUsd)}, plus follow-ups for cases that look different; never more than ${integer(most)}.`;
}

const aboutCost = (model: Model, cost: Cost) =>
  model.kind === "language model" && cost !== "unknown" ? `, about ${money(cost)}` : "";

/** How often the check would find a drop, in one line; undefined for a deterministic model. */
export function describeDetectable({ suite, model, detect }: CheckForecast): string | undefined {
  const found = detect.map((one) => `of ${size(one.drop)} in ${percent(one.found)} of checks`);
  if (found.length === 0) return undefined;
  return `A drop of every case of ${suite} on ${model} is found: ${found.join(", ")}.`;
}

import { mostTrialsOfNight, nightlyTrials } from "../decisions/drift.ts";
import { count, integer, money } from "../reports/format.ts";
import { nightsFile, readNights, writeNight } from "../runs/nights.ts";
import type { PlannedCase } from "../trials/plan.ts";
import type { PlanEnd } from "../trials/runPlan.ts";
import type { Baseline } from "../types/baseline.ts";
import type { CheckPlan } from "../types/check.ts";
import type { DriftPlan } from "../types/drift.ts";
import type { Model } from "../types/model.ts";
import type { RunManifest, RunSummary } from "../types/run.ts";
import { addCost, type Cost } from "../types/trial.ts";
import type { DriftWatch } from "../verdicts/drift.ts";
import { ArmCases, type Ask, pursueDesign } from "./pipeline.ts";
import { type By, typicalCost } from "./price.ts";

export type DriftRunOptions = {
  nightly?: boolean | undefined;
  /** Within a night, as `evals calibrate` measures it. */
  correlation?: number | undefined;
  /** Of every case in a nightly run. */
  trials?: number | undefined;
  margin: number;
};

/**
 * Plans the night of one suite on one model whose tools are those of the baseline: reads the nights since the baseline. The
 * number of monitors of the run is set later. Throws EvalsError when the nights cannot be read.
 */
export async function planDrift(
  { baseline, file, suite, same }: { baseline: Baseline; file: string; suite: string; same: readonly string[] },
  cases: readonly PlannedCase[],
  model: Model,
  { nightly = false, correlation, trials, margin }: DriftRunOptions,
): Promise<DriftPlan> {
  const isSame = new Set(same);
  const bank = baseline.cases.filter(({ id }) => isSame.has(id));
  // A case that the baseline does not have as it is now is another case, also to its nights before it was changed.
  const changed = cases.map((planned) => planned.case).filter(({ id }) => !isSame.has(id));
  const renamed = Object.fromEntries(changed.map(({ id, hash }) => [id, `${id}#${hash.slice(0, 8)}`]));
  const nights = nightsFile(file);
  return {
    file: nights,
    baseline: {
      run: baseline.run,
      acceptedAt: baseline.acceptedAt,
      ...(baseline.suite !== suite && { suite: baseline.suite }),
      ...(baseline.model.id !== model.id && { model: baseline.model.id }),
    },
    nightly,
    trials: nightly ? (trials ?? nightlyTrials) : Math.max(1, ...cases.map((planned) => planned.case.trials)),
    margin,
    families: 1,
    ...(correlation !== undefined && { correlation }),
    bank: Object.fromEntries(bank.map(({ id, passed, trials }) => [id, `${passed}/${trials}`])),
    ...(changed.length > 0 && { renamed }),
    nights: await readNights(nights, {
      suite: baseline.suite,
      model: baseline.model.id,
      alias: model.id,
      baseline: baseline.run,
    }),
  };
}

/** What a nightly run asks of one suite on one model; the most with follow-ups. The cost is estimated at list price. */
export type NightForecast = { suite: string; model: Model; trials: number; most: number; costUsd: Cost };

/** What the nightly runs of these plans ask. */
export function forecastNights(
  plans: ReadonlyMap<string, readonly CheckPlan[]>,
  cases: readonly PlannedCase[],
  models: readonly Model[],
  by: By,
): NightForecast[] {
  return [...plans].flatMap(([suite, all]) => {
    const own = cases.filter((planned) => planned.suite.name === suite);
    return all.flatMap((plan): NightForecast[] => {
      const model = models.find(({ id }) => id === plan.model);
      if (plan.kind !== "unchanged" || !plan.drift?.nightly || !model) return [];
      const { trials } = plan.drift;
      const each = own.map((planned) => typicalCost(planned, model, by)).reduce(addCost, 0);
      const costUsd = each === "unknown" ? each : each * trials;
      return [
        { suite, model, trials: own.length * trials, most: own.length * Math.max(trials, mostTrialsOfNight), costUsd },
      ];
    });
  });
}

/** One line on what a night will take, for before it starts. */
export function describeNight({ suite, model, trials, most, costUsd }: NightForecast): string {
  const cost = model.kind === "language model" ? `, about ${money(costUsd)}` : "";
  return `Night of ${suite} on ${model.id}: ${count(trials, "trial")}${cost}, and more of cases that look different; never more than ${integer(most)}.`;
}

/** Runs the trials that a nightly run asks for, and its follow-ups. */
export async function pursueDrift(
  watch: DriftWatch,
  cases: readonly PlannedCase[],
  model: Model,
  { seed }: RunManifest,
  ask: Ask,
): Promise<PlanEnd> {
  if (!watch.design) return "complete";
  const armCases = new ArmCases(cases, new Map([["head", ({ toolset }) => toolset]]), seed);
  return (await pursueDesign(watch.design, watch.record, { cases: armCases, model }, ask)).end;
}

/** Adds the night of a finished run to the files of the nights. */
export async function recordNights({ suites }: RunSummary, manifest: RunManifest): Promise<void> {
  for (const { name, model, drift } of suites) {
    const plan = manifest.suites
      .find((suite) => suite.name === name)
      ?.checks?.find((check) => check.model === model && check.kind === "unchanged");
    if (!drift?.tonight || plan?.kind !== "unchanged" || !plan.drift) continue;
    const { file, baseline } = plan.drift;
    const of = { suite: baseline.suite ?? name, model: baseline.model ?? model, alias: model, baseline: baseline.run };
    await writeNight(file, of, drift.tonight);
  }
}

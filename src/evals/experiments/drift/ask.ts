import type { PlannedCase } from "../../asking/trials/plan.ts";
import type { PlanEnd } from "../../asking/trials/runPlan.ts";
import type { Baseline } from "../../base/types/check.ts";
import type { DriftPlan } from "../../base/types/drift.ts";
import type { Model } from "../../base/types/model.ts";
import type { RunManifest, RunSummary } from "../../base/types/run.ts";
import { nightsFile, readNights, writeNight } from "../../records/baseline.ts";
import { ArmCases, type Ask, runDesign } from "../pipeline/pipeline.ts";
import { nightlyTrials } from "./design.ts";
import type { DriftWatch } from "./verdict.ts";

export type DriftRunOptions = {
  nightly?: boolean | undefined;
  /** The intraclass correlation of the trials of a case within a night. */
  correlation?: number | undefined;
  trials?: number | undefined;
  margin: number;
};

/**
 * Plans the night of one suite on one model whose tools are those of the baseline. `families`: the monitors of the run.
 * Throws EvalsError if the nights since the baseline cannot be read.
 */
export async function planDrift(
  { baseline, file, suite, same }: { baseline: Baseline; file: string; suite: string; same: readonly string[] },
  cases: readonly PlannedCase[],
  model: Model,
  { nightly = false, correlation, trials, margin }: DriftRunOptions,
): Promise<DriftPlan> {
  const isSame = new Set(same);
  const bank = baseline.cases.filter(({ id }) => isSame.has(id));
  // A case that changed since the baseline counts as a new case, so that its nights from before the change are ignored.
  const changed = cases.map((planned) => planned.case).filter(({ id }) => !isSame.has(id));
  const renamed = Object.fromEntries(changed.map(({ id, hash }) => [id, `${id}#${hash.slice(0, 8)}`]));
  const nights = nightsFile(file);
  const key = { suite: baseline.suite, model: baseline.model.id, alias: model.id, baseline: baseline.run };
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
    nights: await readNights(nights, key),
  };
}

/** Runs the trials of a night, and its follow-ups. */
export async function runDrift(
  watch: DriftWatch,
  cases: readonly PlannedCase[],
  model: Model,
  { seed }: RunManifest,
  ask: Ask,
): Promise<PlanEnd> {
  if (!watch.design) return "complete";
  const armCases = new ArmCases(cases, new Map([["head", ({ toolset }) => toolset]]), seed);
  return (await runDesign(watch.design, watch.record, { cases: armCases, model }, ask)).end;
}

/** Adds the nights of a finished run to their files. */
export async function recordNights({ suites }: RunSummary, manifest: RunManifest): Promise<void> {
  for (const { name, model, drift } of suites) {
    const plan = manifest.suites.find((suite) => suite.name === name)?.checks?.find((check) => check.model === model);
    if (!drift?.tonight || plan?.kind !== "unchanged" || !plan.drift) continue;
    const { file, baseline } = plan.drift;
    const of = { suite: baseline.suite ?? name, model: baseline.model ?? model, alias: model, baseline: baseline.run };
    await writeNight(file, of, drift.tonight);
  }
}

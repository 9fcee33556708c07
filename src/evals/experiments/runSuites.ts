import { type PlannedCase, type PlannedCell, planCells } from "../trials/plan.ts";
import type { PlanEnd } from "../trials/runPlan.ts";
import { assignShards, parseShard, type Shard } from "../trials/shards.ts";
import { type ExitCode, exitCodes } from "../types/errors.ts";
import type { Io } from "../types/io.ts";
import type { Model } from "../types/model.ts";
import type { PartialRun, RunManifest, RunSummary } from "../types/run.ts";
import type { Summariser } from "../verdicts/summary.ts";
import { addExposureArms, addLiftArms } from "../workspace/cases.ts";
import { listFurtherExposures, verifySearches } from "../workspace/exposures.ts";
import type { Workspace } from "../workspace/workspace.ts";
import { planChecks, pursueCheck } from "./check.ts";
import { describeNight, forecastNights, pursueDrift } from "./drift.ts";
import { renderPlan } from "./dryRun.ts";
import { randomSeed } from "./experiment.ts";
import { describeForecast, forecastChecks } from "./forecast.ts";
import { createManifest, indexToolsets } from "./manifest.ts";
import { type Ask, conduct } from "./pipeline.ts";
import { askedBy } from "./price.ts";
import type { QueueOfRun } from "./queued.ts";
import type { OpenRecord } from "./record.ts";
import { pickRecorded, type Resumed } from "./recordedOptions.ts";
import { reportRun, reportShard } from "./runEnd.ts";
import { type RunOptions, refuseContradictions } from "./runOptions.ts";

/** One seed for all runs with the cache: in another order of the tools, a request is another one. */
const cacheSeed = 0;

/** What is left to do when the workspace is closed: a report needs nothing of it, and may need as much memory. */
export type Rest = () => ExitCode | Promise<ExitCode>;

/**
 * Plans the cases and checks; then prints the plan (dry run), or runs what is not on the record. Resolves with its
 * report.
 */
export async function runSuites(
  workspace: Workspace,
  options: RunOptions,
  resumed: Resumed | undefined,
  io: Io,
  {
    partial,
    queue,
    onSummary,
  }: { partial?: PartialRun | undefined; queue?: QueueOfRun | undefined; onSummary?(summary: RunSummary): void } = {},
): Promise<Rest> {
  const { suites, models, cases, context, judge } = workspace;
  const shard = options.shard === undefined ? undefined : parseShard(options.shard);
  if (options.otlp !== undefined) (await import("./otlp.ts")).parseCollector(options.otlp, io);
  const seed = resumed?.manifest.seed ?? options.seed ?? (options.cache ? cacheSeed : randomSeed());
  const further = listFurtherExposures(options);
  const { surfaceCases } = workspace;
  const compared = { exposures: further.length, surfaces: surfaceCases.length };
  refuseContradictions(options, resumed !== undefined, compared);
  const isCompared = compared.exposures + compared.surfaces > 0;
  const check = isCompared || options.cache ? "off" : options.check;
  const checks = await planChecks({ ...options, check }, suites, models, cases, io);
  const planned = interleave(addExposureArms(addLiftArms(cases), further), surfaceCases);
  const batches = options.batch ? await import("./batches.ts") : undefined;
  const batchNote = batches?.checkBatches(planned, models, options);
  if (batchNote) io.err(`${batchNote}\n`);
  const by = askedBy(options.batch);
  if (options.dryRun) {
    io.out(renderPlan(planned, models, seed, checks, { judge, by }));
    return reportNone;
  }
  // Where workers ask, they have the keys, and verify it.
  if (!queue) await verifySearches(models, io.signal);
  const flags = pickRecorded(options);
  const { failOn } = options;
  const manifest = createManifest({
    ...workspace,
    otherToolsets: indexToolsets(planned),
    surfaceCases,
    seed,
    checks,
    flags,
    failOn,
    partial,
    cache: options.cache,
  });
  const forecasts = forecastChecks(checks, cases, models, { seed, by });
  const nights = forecastNights(checks.plans, cases, models, by);
  // Other models cost nothing, and answer at once.
  const isCostly = ({ model }: { model: Model }) => !resumed && model.kind === "language model";
  const costly = [...forecasts.filter(isCostly).map(describeForecast), ...nights.filter(isCostly).map(describeNight)];
  for (const line of costly) io.err(`${line}\n`);
  const typical = [...forecasts.map((one) => one.typical), ...nights.map((one) => one.trials)];
  const conducting = conduct(
    {
      manifest,
      resumed,
      retryBroken: options.retryBroken,
      ...(batches && {
        openAsker: (record: OpenRecord) => batches.openBatchAsker(record, workspace, options, io),
      }),
      ...(queue && { openAsker: (record: OpenRecord) => queue.openAsker(workspace, options, record, io) }),
      cap: ({ results }) => typical.reduce((sum, trials) => sum + trials, results.summary().totals.trials),
      pursue: async (ask, { manifest, results }) => {
        const share = takeShare(manifest, shard);
        // The checks go first, because they take the trials of both arms interleaved.
        const checked = await pursueChecks(workspace, manifest, results, ask, share);
        const isOver = (end: PlanEnd) => end === "cancelled" || end === "budget";
        // Where a model was stopped, the others go on.
        const end = isOver(checked) ? checked : await pursueNights(workspace, manifest, results, ask, share);
        // What a check covers has all the trials that it needs.
        const covers = ({ suite, case: one }: PlannedCase, model: Model) =>
          results.check(suite.name, model.id)?.covers(one.id) ||
          results.drift(suite.name, model.id)?.design !== undefined;
        const rest = planCells(planned, models, manifest.seed, covers);
        return { end: isOver(end) ? end : await ask(share.select(rest), "last") };
      },
    },
    context,
    queue ? { ...options, concurrency: queue.concurrency } : options,
    io,
  );
  if (shard) return reportShard.bind(undefined, await conducting, options, io);
  // Reports are loaded during the first trials.
  const [conducted, reporting] = await Promise.all([conducting, import("./report.ts")]);
  onSummary?.(conducted.summary);
  // A function made here would keep the workspace.
  return reportRun.bind(undefined, conducted, reporting, options, io);
}

const reportNone: Rest = () => exitCodes.passed;

/** What this run asks of its plan: everything, or the part of its shard. */
type Share = {
  select(cells: Iterable<PlannedCell>): Iterable<PlannedCell>;
  hasDesign(suite: string, model: string): boolean;
};

function takeShare(manifest: RunManifest, shard: Shard | undefined): Share {
  if (!shard) return { select: (cells) => cells, hasDesign: () => true };
  const { cell, design } = assignShards(manifest, shard.count);
  return {
    *select(cells) {
      for (const planned of cells) if (cell(planned.cell) === shard.index) yield planned;
    },
    hasDesign: (suite, model) => design(suite, model) === shard.index,
  };
}

/** Each case followed by itself on further surfaces. */
function interleave(cases: readonly PlannedCase[], surfaces: readonly PlannedCase[]): readonly PlannedCase[] {
  if (surfaces.length === 0) return cases;
  const key = ({ suite, case: one }: PlannedCase) => JSON.stringify([suite.name, one.id]);
  const byCase = new Map<string, PlannedCase[]>();
  for (const one of surfaces) byCase.set(key(one), [...(byCase.get(key(one)) ?? []), one]);
  return cases.flatMap((planned) => [planned, ...(planned.arm === "head" ? (byCase.get(key(planned)) ?? []) : [])]);
}

async function pursueChecks(
  { cases, models }: Workspace,
  manifest: RunManifest,
  results: Summariser,
  ask: Ask,
  share: Share,
): Promise<PlanEnd> {
  for (const suite of manifest.suites) {
    for (const plan of suite.checks ?? []) {
      const check = results.check(suite.name, plan.model);
      const model = models.find(({ id }) => id === plan.model);
      if (!check || !model || plan.kind !== "compare" || !share.hasDesign(suite.name, plan.model)) continue;
      const own = cases.filter((planned) => planned.suite.name === suite.name);
      const end = await pursueCheck(check, plan, own, model, manifest, ask);
      if (end === "cancelled" || end === "budget") return end;
    }
  }
  return "complete";
}

/** Runs what nightly runs ask for, suite after suite. */
async function pursueNights(
  { cases, models }: Workspace,
  manifest: RunManifest,
  results: Summariser,
  ask: Ask,
  share: Share,
): Promise<PlanEnd> {
  for (const suite of manifest.suites) {
    for (const model of models) {
      const watch = share.hasDesign(suite.name, model.id) ? results.drift(suite.name, model.id) : undefined;
      const own = cases.filter((planned) => planned.suite.name === suite.name);
      const end = watch ? await pursueDrift(watch, own, model, manifest, ask) : "complete";
      if (end === "cancelled" || end === "budget") return end;
    }
  }
  return "complete";
}

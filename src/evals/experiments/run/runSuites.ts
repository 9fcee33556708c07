import {
  assignShards,
  type PlannedCase,
  type PlannedCell,
  parseShard,
  planCells,
  type Shard,
} from "../../asking/trials/plan.ts";
import type { PlanEnd } from "../../asking/trials/runPlan.ts";
import { printableLines, shellWord } from "../../base/text/display.ts";
import { type ExitCode, exitCodes, printProblem } from "../../base/types/errors.ts";
import type { Io } from "../../base/types/io.ts";
import type { Model } from "../../base/types/model.ts";
import type { PartialRun, RunManifest, ShardReport } from "../../base/types/run.ts";
import { count } from "../../reports/format.ts";
import { printJson } from "../../reports/result.ts";
import { planChecks, recordPlacebos, runCheck } from "../check/ask.ts";
import { planDrift, recordNights, runDrift } from "../drift/ask.ts";
import { createManifest, indexToolsets } from "../pipeline/manifest.ts";
import { type AskOptions, type RecordedRun, runOnRecord } from "../pipeline/pipeline.ts";
import { chooseTier } from "../pipeline/price.ts";
import type { OpenRecord } from "../pipeline/record.ts";
import { pickRecorded, type Resumed } from "../pipeline/recordedOptions.ts";
import type { RunQueue } from "../queue/asker.ts";
import { exportTraces, parseCollector } from "../reporting/otlp.ts";
import {
  printForm,
  printRun,
  refuseMissingReporters,
  writeGithubFiles,
  writeReport,
  writeReports,
} from "../reporting/report.ts";
import { interleaveArms } from "../workspace/arms.ts";
import { listFurtherExposures, verifySearches, warnOfSmallWindows } from "../workspace/exposures.ts";
import { chooseSeed, findKeyedModel } from "../workspace/models.ts";
import type { Workspace } from "../workspace/workspace.ts";
import { planRun, renderPlan } from "./dryRun.ts";
import { describeForecasts, forecastPlans } from "./forecast.ts";
import { type RunOptions, refuseContradictions } from "./runOptions.ts";

/** Reports the run. Called after the workspace is closed, because reports may need as much memory. */
export type FinalReport = () => ExitCode | Promise<ExitCode>;

/** Plans the cases and checks, then prints the plan (dry run), or runs what is not on the record. */
export async function runSuites(
  workspace: Workspace,
  options: RunOptions,
  resumed: Resumed | undefined,
  io: Io,
  { partial, queue }: { partial?: PartialRun | undefined; queue?: RunQueue | undefined } = {},
): Promise<FinalReport> {
  const { suites, models, cases, context, judge } = workspace;
  const shard = options.shard === undefined ? undefined : parseShard(options.shard);
  await refuseMissingReporters(options.reporter, io.cwd);
  if (options.otlp !== undefined) parseCollector(options.otlp, io);
  const seed = resumed?.manifest.seed ?? chooseSeed(models, options);
  const further = listFurtherExposures(options);
  const compared = { exposures: further.length, inArms: workspace.armCases.length };
  refuseContradictions(options, resumed !== undefined, compared);
  const isCompared = compared.exposures + compared.inArms > 0;
  const check = isCompared || options.cache ? "off" : options.check;
  const checks = await planChecks(
    {
      ...options,
      check,
      planNight: (accepted, own, model, margin) => planDrift(accepted, own, model, { ...options, margin }),
    },
    suites,
    models,
    cases,
    io,
  );
  const planned = interleaveArms(cases, further, workspace.armCases);
  const batches = options.batch ? await import("../pipeline/batches.ts") : undefined;
  const batchNote = batches?.checkBatches(planned, models, options);
  if (batchNote) io.err(printableLines(batchNote));
  const getTier = chooseTier(options.batch);
  if (options.dryRun) {
    const plan = planRun(planned, models, seed, checks, { judge, getTier });
    if (options.json) printJson(plan, [], io);
    else io.out(renderPlan(plan, models));
    return reportNone;
  }
  // With a queue, the workers have the keys and the servers, and verify this.
  if (!queue) {
    await verifySearches(models, io.signal);
    await warnOfSmallWindows(models, planned, io);
  }
  const { failOn, distractors, cache } = options;
  const asked = { seed, checks, partial, failOn, distractors, cache, flags: pickRecorded(options) };
  const manifest = createManifest({ ...workspace, ...asked, otherToolsets: indexToolsets(planned) });
  const forecasts = forecastPlans(checks, cases, models, { seed, getTier });
  // Announce only language models: others are free and answer at once.
  const costly = resumed ? [] : models.filter(({ kind }) => kind === "language model");
  for (const line of describeForecasts(forecasts, costly)) io.err(printableLines(line));
  const typical = [...forecasts.checks.map((one) => one.typical), ...forecasts.nights.map((one) => one.trials)];
  const finished = await runOnRecord(
    {
      manifest,
      resumed,
      retryBroken: options.retryBroken,
      ...(batches && { openAsker: (record: OpenRecord) => batches.openBatchAsker(record, workspace, options, io) }),
      ...(queue && { openAsker: (record: OpenRecord) => queue.openAsker(workspace, record) }),
      cap: ({ results }) => typical.reduce((sum, trials) => sum + trials, results.summary().totals.trials),
      run: async (ask, { manifest, results }) => {
        const share = createShardFilter(manifest, shard);
        // Checks run first, because they interleave the trials of both arms.
        const checked = await runEach(workspace, manifest, share, ({ name, checks }, model, own) => {
          const plan = checks?.find((one) => one.model === model.id);
          const check = results.check(name, model.id);
          return check && plan?.kind === "compare" ? runCheck(check, plan, own, model, manifest, ask) : undefined;
        });
        if (checked !== "complete") return { end: checked };
        const nights = await runEach(workspace, manifest, share, ({ name }, model, own) => {
          const watch = results.drift(name, model.id);
          return watch && runDrift(watch, own, model, manifest, ask);
        });
        if (nights !== "complete") return { end: nights };
        // Cases that a check covers have all the trials they need.
        const covers = ({ suite, case: one }: PlannedCase, model: Model) =>
          results.check(suite.name, model.id)?.covers(one.id) ||
          results.drift(suite.name, model.id)?.design !== undefined;
        const rest = planCells(planned, models, manifest.seed, covers);
        return { end: await ask(share.select(rest), "last") };
      },
    },
    context,
    queue ? { ...options, concurrency: queue.concurrency } : options,
    io,
  );
  // Bound, because a closure would keep the workspace in memory.
  if (shard) return reportShard.bind(undefined, finished, options, io);
  return reportRun.bind(undefined, finished, options, io, options.blame ? options : undefined);
}

const reportNone: FinalReport = () => exitCodes.passed;

type ShardFilter = ReturnType<typeof createShardFilter>;

/** Selects what this run asks of its plan: everything, or the part of its shard. */
function createShardFilter(manifest: RunManifest, shard: Shard | undefined) {
  if (!shard) return { select: (cells: Iterable<PlannedCell>) => cells, ownsDesign: () => true };
  const { cell, design } = assignShards(manifest, shard.count);
  return {
    *select(cells: Iterable<PlannedCell>) {
      for (const planned of cells) if (cell(planned.cell) === shard.index) yield planned;
    },
    ownsDesign: (suite: string, model: string) => design(suite, model) === shard.index,
  };
}

/** Calls `run` for each suite and model of this shard until the run is over. A stopped model does not end it. */
async function runEach(
  { cases, models }: Workspace,
  { suites }: RunManifest,
  share: ShardFilter,
  run: (
    suite: RunManifest["suites"][number],
    model: Model,
    own: readonly PlannedCase[],
  ) => Promise<PlanEnd> | undefined,
): Promise<PlanEnd> {
  for (const suite of suites) {
    const own = cases.filter((planned) => planned.suite.name === suite.name);
    for (const model of models.filter(({ id }) => share.ownsDesign(suite.name, id))) {
      const end = await run(suite, model, own);
      if (end === "cancelled" || end === "budget") return end;
    }
  }
  return "complete";
}

/** Writes and prints the reports of a run, and says how to resume. `blame`: the limits to explain a regression in. */
export async function reportRun(
  { dir, manifest, summary, trials, end, why }: RecordedRun<{ end: PlanEnd }>,
  options: Pick<RunOptions, "out" | "baselines" | "json" | "accept" | "reporter" | "otlp">,
  io: Io,
  blame?: AskOptions,
): Promise<ExitCode> {
  const { accept } = options;
  const input = {
    summary,
    manifest,
    followUp: { model: findKeyedModel(io.env), ...(end === "complete" && { accept, blame: blame !== undefined }) },
  };
  await writeReports(dir, { ...input, trials }, io);
  if (end === "complete") {
    await recordNights(summary, manifest);
    await recordPlacebos(summary, manifest);
  }
  if (!options.json) printRun(input, false, io);
  const blaming = blame && end === "complete" ? await import("../blame/ask.ts") : undefined;
  const blamed = blame && (await blaming?.blameRun(dir, blame, io));
  const blameText = blamed && blaming?.blameMarkdown(blamed);
  if (blameText !== undefined) await writeReport(dir, "blame.md", blameText, io);
  if (options.json) {
    const blames = blamed && blaming?.describeBlames(blamed);
    printRun({ ...input, summary: { ...summary, ...(blames && { blame: blames }) } }, true, io);
  } else if (blamed && blaming) {
    io.out("\n");
    blaming.printBlame(blamed, false, io);
  }
  if (options.reporter?.includes("github")) await writeGithubFiles(dir, input, blameText, io);
  for (const form of options.reporter ?? []) await printForm(form, { ...input, dir }, options.json, io);
  if (options.otlp !== undefined) {
    const problem = await exportTraces(dir, manifest.id, options.otlp, io);
    if (problem) printProblem(io)(problem);
  }
  if (accept && end === "complete") {
    const { acceptRun } = await import("../baseline/accept.ts");
    await acceptRun(dir, options, io);
  }
  if (end !== "complete") {
    const { missing } = summary.totals;
    const record = options.out === "reports" ? manifest.id : shellWord(dir);
    const lost = missing > 0 ? `: ${count(missing, "trial")} ${missing === 1 ? "is" : "are"} missing` : "";
    io.err(printableLines(`${why}${lost}. Resume with: \`evals run --resume ${record}\``));
  }
  return end === "cancelled" ? io.signalExitCode() : (summary.exitCode as ExitCode);
}

/** Reports a shard. Nothing is decided before the shards are merged. */
function reportShard(
  { dir, manifest, summary, end, why }: RecordedRun<{ end: PlanEnd }>,
  { shard, json }: RunOptions,
  io: Io,
): ExitCode {
  const { broken } = summary.totals;
  const recorded = summary.totals.trials - summary.totals.missing;
  const exitCode = end === "complete" ? exitCodes.passed : exitCodes.incomplete;
  const facts: ShardReport = { run: manifest.id, dir, shard: shard ?? "", trials: recorded, broken, exitCode };
  if (json) printJson(facts, [], io);
  else
    io.out(
      printableLines(
        `Shard ${shard}: ${count(recorded, "trial")} recorded, ${broken} broken. Nothing is decided yet.`,
        `Record: ${dir}`,
        "Next: when all shards are complete, `evals merge <their folders>`.",
      ),
    );
  if (end === "complete") return exitCode;
  io.err(printableLines(`${why}. Resume with: \`evals run --resume ${shellWord(dir)}\``));
  return end === "cancelled" ? io.signalExitCode() : exitCode;
}

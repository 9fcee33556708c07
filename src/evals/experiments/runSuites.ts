import { blameJson } from "../reports/blame.ts";
import { asciiJson } from "../reports/escape.ts";
import { count } from "../reports/format.ts";
import { type PlannedCase, type PlannedCell, planCells } from "../trials/plan.ts";
import type { PlanEnd } from "../trials/runPlan.ts";
import { dealShards, parseShard, type Shard } from "../trials/shards.ts";
import type { Gate } from "../types/check.ts";
import { type ExitCode, exitCodes, formatProblem, usageError } from "../types/errors.ts";
import type { Io } from "../types/io.ts";
import type { Model } from "../types/model.ts";
import type { RunManifest } from "../types/run.ts";
import type { Summariser } from "../verdicts/summary.ts";
import { addExposureArms, addLiftArms } from "../workspace/cases.ts";
import { type ExposureOptions, listFurtherExposures, verifySearches } from "../workspace/exposures.ts";
import type { RequestOptions } from "../workspace/models.ts";
import type { SuiteOptions } from "../workspace/suites.ts";
import type { Workspace } from "../workspace/workspace.ts";
import { type CheckOptions, planChecks, pursueCheck } from "./check.ts";
import { describeNight, forecastNights, pursueDrift, recordNights } from "./drift.ts";
import { renderPlan } from "./dryRun.ts";
import { randomSeed } from "./experiment.ts";
import { describeForecast, forecastChecks } from "./forecast.ts";
import { createManifest, indexToolsets } from "./manifest.ts";
import { type Ask, type AskOptions, type Conducted, conduct } from "./pipeline.ts";
import { pickRecorded, type Resumed } from "./recordedOptions.ts";

export type RunOptions = SuiteOptions &
  RequestOptions &
  ExposureOptions &
  AskOptions &
  CheckOptions & {
    model: readonly string[];
    host: Workspace["host"];
    seed?: number | undefined;
    /** The part of the plan that is asked, as `1/3`. */
    shard?: string | undefined;
    failOn?: Gate[] | undefined;
    explain?: boolean;
    blame: boolean;
    dryRun: boolean;
    resume?: string | undefined;
    retryBroken: boolean;
    json: boolean;
    /** Makes the run the baseline, whatever its outcome. */
    accept?: boolean | undefined;
    surfaces?: boolean | undefined;
    /** Forms that are printed after the report: names of reports, or `custom:<file>`. */
    reporter?: readonly string[] | undefined;
    /** The collector that gets each trial as a trace. */
    otlp?: string | undefined;
  };

/** Plans the cases and checks; then prints the plan (dry run), or runs what is not on the record and reports it. */
export async function runSuites(
  workspace: Workspace,
  options: RunOptions,
  resumed: Resumed | undefined,
  io: Io,
): Promise<ExitCode> {
  const { suites, models, cases, context, judge } = workspace;
  const shard = options.shard === undefined ? undefined : parseShard(options.shard);
  if (shard) refuseWithShard(options, resumed);
  if (options.otlp !== undefined) (await import("./otlp.ts")).parseCollector(options.otlp);
  const seed = resumed?.manifest.seed ?? options.seed ?? randomSeed();
  const further = listFurtherExposures(options);
  const { surfaceCases } = workspace;
  if (options.surfaces) refuseOddSurfaces(further.length, surfaceCases);
  const isCompared = further.length + surfaceCases.length > 0;
  const checks = await planChecks(isCompared ? withoutCheck(options) : options, suites, models, cases, io);
  const planned = interleave(addExposureArms(addLiftArms(cases), further), surfaceCases);
  if (options.dryRun) {
    io.out(renderPlan(planned, models, seed, checks, judge));
    return exitCodes.passed;
  }
  await verifySearches(models, io.signal);
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
  });
  const forecasts = forecastChecks(checks, cases, models, seed);
  const nights = forecastNights(checks.plans, cases, models);
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
    options,
    io,
  );
  if (shard) return finishShard(await conducting, options, io);
  // Reports are loaded during the first trials.
  const [conducted, reporting] = await Promise.all([conducting, import("./report.ts")]);
  return await finish(conducted, reporting, options, io);
}

/** What this run asks of its plan: everything, or the part of its shard. */
type Share = {
  select(cells: Iterable<PlannedCell>): Iterable<PlannedCell>;
  hasDesign(suite: string, model: string): boolean;
};

function takeShare(manifest: RunManifest, shard: Shard | undefined): Share {
  if (!shard) return { select: (cells) => cells, hasDesign: () => true };
  const { cell, design } = dealShards(manifest, shard.count);
  return {
    *select(cells) {
      for (const planned of cells) if (cell(planned.cell) === shard.index) yield planned;
    },
    hasDesign: (suite, model) => design(suite, model) === shard.index,
  };
}

/** Throws a usage error for options that make no sense for a part of a run. */
function refuseWithShard({ seed, accept, blame, shard }: RunOptions, resumed: Resumed | undefined): void {
  if (seed === undefined && !resumed)
    throw usageError(
      "--shard needs --seed: all shards of a run must have the same plan.",
      "Give all of them the same --seed, for example the number of the CI run.",
    );
  const whole = accept ? "--accept" : blame ? "--blame" : undefined;
  if (whole)
    throw usageError(
      `${whole} needs a whole run, and --shard ${shard} asks a part of it.`,
      accept ? "Give --accept to `evals merge`." : "Run `evals blame` on the merged run.",
    );
}

/** What a shard reports: nothing is decided before the shards are merged. */
function finishShard(
  { dir, manifest, summary, end, why }: Conducted<{ end: PlanEnd }>,
  { shard, json }: RunOptions,
  io: Io,
): ExitCode {
  const broken = summary.suites.reduce((sum, { totals }) => sum + totals.broken, 0);
  const recorded = summary.totals.trials - summary.totals.missing;
  const exitCode = end === "complete" ? exitCodes.passed : exitCodes.incomplete;
  const facts = { run: manifest.id, dir, shard, trials: recorded, broken, exitCode };
  if (json) io.out(`${asciiJson(facts)}\n`);
  else
    io.out(
      `Shard ${shard}: ${count(recorded, "trial")} recorded, ${broken} broken. Nothing is decided yet.\n` +
        `Record: ${dir}\nNext: when all shards are complete, evals merge <their folders>\n`,
    );
  if (end === "complete") return exitCode;
  io.err(`${why}. Resume with: evals run --resume ${dir}\n`);
  return end === "cancelled" ? io.signalExitCode() : exitCode;
}

/** Each case followed by itself on further surfaces. */
function interleave(cases: readonly PlannedCase[], surfaces: readonly PlannedCase[]): readonly PlannedCase[] {
  if (surfaces.length === 0) return cases;
  const key = ({ suite, case: one }: PlannedCase) => JSON.stringify([suite.name, one.id]);
  const byCase = new Map<string, PlannedCase[]>();
  for (const one of surfaces) byCase.set(key(one), [...(byCase.get(key(one)) ?? []), one]);
  return cases.flatMap((planned) => [planned, ...(planned.arm === "head" ? (byCase.get(key(planned)) ?? []) : [])]);
}

function refuseOddSurfaces(further: number, surfaces: readonly PlannedCase[]): void {
  if (further > 0)
    throw usageError("A run compares several surfaces or several exposures, not both.", "Name one exposure.");
  if (surfaces.length === 0)
    throw usageError(
      "No suite has `surfaces`.",
      "List other servers of the same cases under `surfaces`, or omit --surfaces.",
    );
}

/** Exposures are compared with each other. Throws a usage error where a check is asked for too. */
function withoutCheck(options: RunOptions): RunOptions {
  if (options.check === undefined || options.check === "off") return { ...options, check: "off" };
  throw usageError(
    "A run of several exposures or surfaces compares them with each other, not with a baseline.",
    "Omit --check, or compare nothing else.",
  );
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

/** Writes the reports, prints the one asked for, explains a regression if asked to, and says how to resume. */
async function finish(
  { dir, manifest, summary, end, why }: Conducted<{ end: PlanEnd }>,
  { printForm, printReport, writeGithubFiles, writeReport, writeReports }: typeof import("./report.ts"),
  options: RunOptions,
  io: Io,
): Promise<ExitCode> {
  await writeReports(dir, { summary, manifest }, io);
  if (end === "complete") await recordNights(summary, manifest);
  const explain = options.explain ?? false;
  if (!options.json) printReport("terminal", { summary, manifest, explain }, io);
  let blameText: string | undefined;
  if (options.blame && end === "complete") {
    const { blameMarkdown, blameRun, printBlame } = await import("./blame.ts");
    const blamed = await blameRun(dir, options, io);
    blameText = blamed && blameMarkdown(blamed);
    if (blameText !== undefined) await writeReport(dir, "blame.md", blameText, io);
    if (options.json)
      printReport(
        "json",
        { summary: { ...summary, ...(blamed && { blame: blamed.blames.map(blameJson) }) }, manifest },
        io,
      );
    else if (blamed) {
      io.out("\n");
      printBlame(blamed, false, io);
    }
  } else if (options.json) printReport("json", { summary, manifest }, io);
  if (options.reporter?.includes("github")) await writeGithubFiles(dir, { summary, manifest }, blameText, io);
  for (const form of options.reporter ?? []) await printForm(form, { summary, manifest, dir }, options.json, io);
  if (options.otlp !== undefined) {
    const { exportTraces } = await import("./otlp.ts");
    const problem = await exportTraces({ dir, run: manifest.id }, options.otlp, io);
    if (problem) io.err(`${formatProblem(problem)}\n`);
  }
  if (options.accept && end === "complete") {
    const { acceptRun } = await import("./baseline.ts");
    // Standard output holds the one JSON object.
    await acceptRun(dir, options, options.json ? { ...io, out: io.err } : io);
  }
  if (end !== "complete") {
    const { missing } = summary.totals;
    const record = options.out === "reports" ? manifest.id : dir;
    const lost = missing > 0 ? `: ${missing} trials are missing` : "";
    io.err(`${why}${lost}. Resume with: evals run --resume ${record}\n`);
  }
  return end === "cancelled" ? io.signalExitCode() : (summary.exitCode as ExitCode);
}

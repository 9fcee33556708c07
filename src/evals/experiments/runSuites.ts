import { blameJson } from "../reports/blame.ts";
import { type PlannedCase, planCells } from "../trials/plan.ts";
import type { PlanEnd } from "../trials/runPlan.ts";
import type { Gate } from "../types/check.ts";
import { type ExitCode, exitCodes, usageError } from "../types/errors.ts";
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
    failOn?: Gate[] | undefined;
    explain?: boolean;
    blame: boolean;
    dryRun: boolean;
    resume?: string | undefined;
    retryBroken: boolean;
    json: boolean;
    /** Makes the run the baseline, whatever its outcome. */
    accept?: boolean | undefined;
    /** Forms that are printed after the report. */
    reporter?: readonly ("json" | "markdown" | "junit" | "github")[] | undefined;
  };

/** Plans the cases and checks; then prints the plan (dry run), or runs what is not on the record and reports it. */
export async function runSuites(
  workspace: Workspace,
  options: RunOptions,
  resumed: Resumed | undefined,
  io: Io,
): Promise<ExitCode> {
  const { suites, models, cases, context, judge } = workspace;
  const seed = resumed?.manifest.seed ?? options.seed ?? randomSeed();
  const further = listFurtherExposures(options);
  const checks = await planChecks(further.length > 0 ? withoutCheck(options) : options, suites, models, cases, io);
  const planned = addExposureArms(addLiftArms(cases), further);
  if (options.dryRun) {
    io.out(renderPlan(planned, models, seed, checks, judge));
    return exitCodes.passed;
  }
  await verifySearches(models, io.signal);
  const flags = pickRecorded(options);
  const { failOn } = options;
  const manifest = createManifest({ ...workspace, otherToolsets: indexToolsets(planned), seed, checks, flags, failOn });
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
        // The checks go first, because they take the trials of both arms interleaved.
        const checked = await pursueChecks(workspace, manifest, results, ask);
        const isOver = (end: PlanEnd) => end === "cancelled" || end === "budget";
        // Where a model was stopped, the others go on.
        const end = isOver(checked) ? checked : await pursueNights(workspace, manifest, results, ask);
        // What a check covers has all the trials that it needs.
        const covers = ({ suite, case: one }: PlannedCase, model: Model) =>
          results.check(suite.name, model.id)?.covers(one.id) ||
          results.drift(suite.name, model.id)?.design !== undefined;
        const rest = planCells(planned, models, manifest.seed, covers);
        return { end: isOver(end) ? end : await ask(rest, "last") };
      },
    },
    context,
    options,
    io,
  );
  // Reports are loaded during the first trials.
  const [conducted, reporting] = await Promise.all([conducting, import("./report.ts")]);
  return await finish(conducted, reporting, options, io);
}

/** Exposures are compared with each other. Throws a usage error where a check is asked for too. */
function withoutCheck(options: RunOptions): RunOptions {
  if (options.check === undefined || options.check === "off") return { ...options, check: "off" };
  throw usageError(
    "A run of several exposures compares them with each other, not with a baseline.",
    "Omit --check, or name one exposure.",
  );
}

async function pursueChecks(
  { cases, models }: Workspace,
  manifest: RunManifest,
  results: Summariser,
  ask: Ask,
): Promise<PlanEnd> {
  for (const suite of manifest.suites) {
    for (const plan of suite.checks ?? []) {
      const check = results.check(suite.name, plan.model);
      const model = models.find(({ id }) => id === plan.model);
      if (!check || !model || plan.kind !== "compare") continue;
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
): Promise<PlanEnd> {
  for (const suite of manifest.suites) {
    for (const model of models) {
      const watch = results.drift(suite.name, model.id);
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
  { printReport, writeReport, writeReports }: typeof import("./report.ts"),
  options: RunOptions,
  io: Io,
): Promise<ExitCode> {
  await writeReports(dir, { summary, manifest }, io);
  if (end === "complete") await recordNights(summary, manifest);
  const explain = options.explain ?? false;
  if (!options.json) printReport("terminal", { summary, manifest, explain }, io);
  if (options.blame && end === "complete") {
    const { blameMarkdown, blameRun, printBlame } = await import("./blame.ts");
    const blamed = await blameRun(dir, options, io);
    if (blamed) await writeReport(dir, "blame.md", blameMarkdown(blamed), io);
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
  if (!options.json) for (const form of options.reporter ?? []) printReport(form, { summary, manifest }, io);
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

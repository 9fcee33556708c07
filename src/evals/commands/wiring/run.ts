import { resolve } from "node:path";
import { type ExitCode, exitCodes, formatProblem, type Problem } from "../../errors.ts";
import { openJournal } from "../../runs/journal.ts";
import { finishRun, journalOf } from "../../runs/record.ts";
import { planCells } from "../../trials/plan.ts";
import { type PlanEnd, runPlan } from "../../trials/runPlan.ts";
import type { Model } from "../../types/model.ts";
import type { RunSummary } from "../../types/run.ts";
import type { Io } from "../io.ts";
import type { RunFlags } from "../run.ts";
import { describePlan } from "./dryRun.ts";
import { manifestOf } from "./manifest.ts";
import { openModels } from "./models.ts";
import { type OpenRun, resumeRun, startRun } from "./openRun.ts";
import { type Prepared, prepare } from "./prepare.ts";
import { progressLine } from "./progress.ts";
import { printReport, writeReports } from "./reports.ts";
import { recordedFlags, resumedFlags } from "./resume.ts";
import { selectSuites } from "./select.ts";

/** `evals run`: loads, connects, checks, plans; then prints the plan, or runs what is not on the record and reports. */
export async function run(given: RunFlags, io: Io): Promise<ExitCode> {
  const resumed = given.resume === undefined ? undefined : await resumedFlags(given.resume, given, io);
  const flags = resumed?.flags ?? given;
  const [selection, models] = await Promise.all([selectSuites(flags, io), openModels(flags, io)]);
  const prepared = await prepare(selection.suites, flags.host, io);
  try {
    warn([...selection.warnings, ...prepared.warnings], io);
    const seed = resumed?.manifest.seed ?? flags.seed ?? Math.floor(Math.random() * 2 ** 31);
    if (flags.dryRun) {
      io.out(describePlan(prepared.cases, models, seed));
      return exitCodes.passed;
    }
    const manifest = await manifestOf({
      ...prepared,
      models,
      seed,
      host: flags.host,
      flags: recordedFlags(flags),
      cwd: io.cwd,
    });
    const open = resumed
      ? await resumeRun(resumed, manifest, given.retryBroken)
      : await startRun(resolve(io.cwd, flags.out), manifest);
    const end = await ask(open, prepared, models, seed, flags, io);
    return await finish(open, end, flags, io);
  } finally {
    await prepared.close();
  }
}

function warn(problems: readonly Problem[], io: Io): void {
  for (const problem of problems) io.err(`${formatProblem(problem)}\n`);
}

async function ask(
  open: OpenRun,
  prepared: Prepared,
  models: readonly Model[],
  seed: number,
  flags: RunFlags,
  io: Io,
): Promise<PlanEnd> {
  const { trials, missing } = open.results.summary().totals;
  const progress = progressLine(io, trials, trials - missing);
  const journal = await openJournal(journalOf(open.dir));
  try {
    const options = {
      concurrency: flags.concurrency,
      done: open.done,
      spentUsd: open.spentUsd,
      ...(flags.budget !== undefined && { budgetUsd: flags.budget }),
      record: journal.append,
      onRecorded: (trial: Parameters<typeof progress.add>[0]) => {
        open.results.add(trial);
        progress.add(trial);
      },
    };
    return await runPlan(planCells(prepared.cases, models, seed), prepared.context, options, io.signal);
  } finally {
    await journal.close();
    progress.end();
  }
}

/** Writes the reports of what is on the record, prints the one that was asked for, and says how to go on if it is cut short. */
async function finish(open: OpenRun, end: PlanEnd, flags: RunFlags, io: Io): Promise<ExitCode> {
  const summary: RunSummary = open.results.summary();
  const manifest = await finishRun(open.dir, open.manifest, summary, end === "complete" ? new Date() : undefined);
  await writeReports(open.dir, { summary, manifest });
  printReport(flags.json ? "json" : "terminal", { summary, manifest }, io);
  if (summary.totals.missing > 0) {
    const why = end === "budget" ? `The budget of $${flags.budget} is spent` : "The run was stopped";
    io.err(`${why}: ${summary.totals.missing} trials are missing. Go on with: evals run --resume ${manifest.id}\n`);
  }
  return end === "cancelled" ? io.signalExitCode() : exitCodeOf(summary);
}

const exitCodeOf = ({ exitCode }: RunSummary) => exitCode as ExitCode;

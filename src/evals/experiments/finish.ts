import type { ExitCode } from "../errors.ts";
import type { Io } from "../io.ts";
import { finishRun } from "../runs/record.ts";
import type { PlanEnd } from "../trials/runPlan.ts";
import { blameRun, printBlame } from "./blame.ts";
import type { OpenRun } from "./openRun.ts";
import { printReport, writeReports } from "./reports.ts";
import type { RunOptions } from "./run.ts";

/**
 * Writes the reports of what is on the record, prints the one asked for, blames if that was asked for, and says how to go
 * on when the run was cut short.
 */
export async function finish(open: OpenRun, end: PlanEnd, flags: RunOptions, io: Io): Promise<ExitCode> {
  const summary = open.results.summary();
  const manifest = await finishRun(open.dir, open.manifest, summary, end === "complete" ? new Date() : undefined);
  await writeReports(open.dir, { summary, manifest });
  if (!flags.json) printReport("terminal", { summary, manifest }, io);
  const blamed = flags.blame && end === "complete" ? await blameRun(open.dir, flags, io) : undefined;
  if (flags.json)
    printReport("json", { summary: { ...summary, ...(blamed && { blame: [...blamed.blames] }) }, manifest }, io);
  else if (blamed) {
    io.out("\n");
    printBlame(blamed, false, io);
  }
  if (summary.totals.missing > 0) {
    const why = end === "budget" ? `The budget of $${flags.budget} is spent` : "The run was stopped";
    io.err(`${why}: ${summary.totals.missing} trials are missing. Go on with: evals run --resume ${manifest.id}\n`);
  }
  return end === "cancelled" ? io.signalExitCode() : (summary.exitCode as ExitCode);
}

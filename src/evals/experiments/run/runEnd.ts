import type { PlanEnd } from "../../asking/trials/runPlan.ts";
import { printableLines } from "../../base/text/display.ts";
import { type ExitCode, exitCodes, printProblem } from "../../base/types/errors.ts";
import type { Io } from "../../base/types/io.ts";
import type { ShardReport } from "../../base/types/run.ts";
import { count } from "../../reports/format.ts";
import { printJson } from "../../reports/result.ts";
import { recordPlacebos } from "../check/ask.ts";
import { recordNights } from "../drift/ask.ts";
import type { RecordedRun } from "../pipeline/pipeline.ts";
import { exportTraces } from "../reporting/otlp.ts";
import { printForm, printRun, writeGithubFiles, writeReport, writeReports } from "../reporting/report.ts";
import type { RunOptions } from "./runOptions.ts";

/** Writes the reports of a run, prints the requested ones, explains a regression on request, and says how to resume. */
export async function reportRun(
  finished: RecordedRun<{ end: PlanEnd }>,
  options: RunOptions,
  io: Io,
): Promise<ExitCode> {
  if (options.shard !== undefined) return reportShard(finished, options, io);
  const { dir, manifest, summary, trials, end, why } = finished;
  const { accept, blame } = options;
  const input = { summary, manifest, followUp: end === "complete" ? { accept, blame } : {} };
  await writeReports(dir, { ...input, trials }, io);
  if (end === "complete") {
    await recordNights(summary, manifest);
    await recordPlacebos(summary, manifest);
  }
  if (!options.json) printRun(input, false, io);
  const blaming = blame && end === "complete" ? await import("../blame/ask.ts") : undefined;
  const blamed = await blaming?.blameRun(dir, options, io);
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
    const problem = await exportTraces({ dir, run: manifest.id }, options.otlp, io);
    if (problem) printProblem(io)(problem);
  }
  if (accept && end === "complete") {
    const { acceptRun } = await import("../baseline/accept.ts");
    await acceptRun(dir, options, io);
  }
  if (end !== "complete") {
    const { missing } = summary.totals;
    const record = options.out === "reports" ? manifest.id : dir;
    const lost = missing > 0 ? `: ${count(missing, "trial")} ${missing === 1 ? "is" : "are"} missing` : "";
    io.err(printableLines(`${why}${lost}. Resume with: evals run --resume ${record}`));
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
  io.err(printableLines(`${why}. Resume with: evals run --resume ${dir}`));
  return end === "cancelled" ? io.signalExitCode() : exitCode;
}

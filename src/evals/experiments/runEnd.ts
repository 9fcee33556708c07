import { asciiJson } from "../reports/escape.ts";
import { count } from "../reports/format.ts";
import type { PlanEnd } from "../trials/runPlan.ts";
import { type ExitCode, exitCodes, formatProblem } from "../types/errors.ts";
import type { Io } from "../types/io.ts";
import { recordNights } from "./drift.ts";
import type { Conducted } from "./pipeline.ts";
import type { RunOptions } from "./runOptions.ts";

/** Writes the reports, prints the one asked for, explains a regression if asked to, and says how to resume. */
export async function reportRun(
  { dir, manifest, summary, trials, end, why }: Conducted<{ end: PlanEnd }>,
  { printForm, printRun, writeGithubFiles, writeReport, writeReports }: typeof import("./report.ts"),
  options: RunOptions,
  io: Io,
): Promise<ExitCode> {
  await writeReports(dir, { summary, manifest, trials }, io);
  if (end === "complete") await recordNights(summary, manifest);
  const explain = options.explain ?? false;
  if (!options.json) printRun("terminal", { summary, manifest, explain }, io);
  let blameText: string | undefined;
  if (options.blame && end === "complete") {
    const { blameMarkdown, blameRun, printBlame } = await import("./blame.ts");
    const { blameJson } = await import("../reports/blame.ts");
    const blamed = await blameRun(dir, options, io);
    blameText = blamed && blameMarkdown(blamed);
    if (blameText !== undefined) await writeReport(dir, "blame.md", blameText, io);
    if (options.json)
      printRun(
        "json",
        { summary: { ...summary, ...(blamed && { blame: blamed.blames.map(blameJson) }) }, manifest },
        io,
      );
    else if (blamed) {
      io.out("\n");
      printBlame(blamed, false, io);
    }
  } else if (options.json) printRun("json", { summary, manifest }, io);
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
    const lost = missing > 0 ? `: ${count(missing, "trial")} ${missing === 1 ? "is" : "are"} missing` : "";
    io.err(`${why}${lost}. Resume with: evals run --resume ${record}\n`);
  }
  return end === "cancelled" ? io.signalExitCode() : (summary.exitCode as ExitCode);
}

/** What a shard reports: nothing is decided before the shards are merged. */
export function reportShard(
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

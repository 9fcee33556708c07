import { resolve } from "node:path";
import type { ReportFlags } from "../commands/report.ts";
import { type ExitCode, exitCodes } from "../errors.ts";
import type { Io } from "../io.ts";
import { findRecord, readTrials } from "../runs/record.ts";
import { summariser } from "../verdicts/summary.ts";
import { printReport } from "./reports.ts";

/** `evals report`: reads the record and prints it in the form that was asked for. */
export async function report(flags: ReportFlags, io: Io): Promise<ExitCode> {
  const { dir, manifest } = await findRecord("run", flags.run ?? "latest", resolve(io.cwd, flags.out));
  const results = summariser(manifest, dir);
  for await (const trial of readTrials(dir)) results.add(trial);
  printReport(flags.as, { summary: results.summary(), manifest }, io);
  return exitCodes.passed;
}

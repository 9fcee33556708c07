import { resolve } from "node:path";
import { type ExitCode, exitCodes } from "../errors.ts";
import type { Io } from "../io.ts";
import type { ReportName } from "../reports/index.ts";
import { findRecord, readTrials } from "../runs/record.ts";
import { summariser } from "../verdicts/summary.ts";
import { printReport } from "./reports.ts";

export type ReportOptions = { run?: string | undefined; as: ReportName; out: string };

/** `evals report`: reads the record and prints it in the form that was asked for. */
export async function report({ run, as, out }: ReportOptions, io: Io): Promise<ExitCode> {
  const { dir, manifest } = await findRecord("run", run ?? "latest", resolve(io.cwd, out));
  const results = summariser(manifest, dir);
  for await (const trial of readTrials(dir)) results.add(trial);
  printReport(as, { summary: results.summary(), manifest }, io);
  return exitCodes.passed;
}

import { join } from "node:path";
import writeFileAtomic from "write-file-atomic";
import type { Io } from "../io.ts";
import { type ReportName, reports } from "../reports/index.ts";
import type { ReportInput } from "../reports/report.ts";
import { writeSkillCreator } from "./skillCreator.ts";

/** Writes every report that has a file of its own into the run's folder, and the workspaces of skill-creator. */
export async function writeReports(dir: string, input: ReportInput): Promise<void> {
  const written = Object.values(reports).flatMap((report) =>
    "file" in report && report.file ? [writeFileAtomic(join(dir, report.file), report.render(input))] : [],
  );
  await Promise.all([...written, writeSkillCreator(dir, input)]);
}

/** Prints one report as data. */
export function printReport(name: ReportName, input: ReportInput, io: Io): void {
  const display = { colour: io.colour, width: io.width, unicode: io.unicode };
  io.out(reports[name].render({ ...input, display }));
}

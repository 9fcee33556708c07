import { type ExitCode, exitCodes, formatProblem, type Problem } from "../base/types/errors.ts";
import type { Severity } from "../base/types/finding.ts";
import type { Io } from "../base/types/io.ts";
import { version } from "../experiments/workspace/version.ts";
import { folderInRepository } from "../input/parsing/folders.ts";
import type { Blocks } from "../reports/document.ts";
import { type FindingList, listVerdicts, severityOrder } from "../reports/findings.ts";
import { githubReport } from "../reports/github.ts";
import { junit } from "../reports/junit.ts";
import { printJson } from "../reports/result.ts";
import { findingSarif } from "../reports/sarif.ts";
import { renderTerminal } from "../reports/terminal.ts";

/**
 * The exit code of lint and probe: failed if a finding has at least the severity `failOn`, otherwise incomplete if
 * something could not be inspected.
 */
export function decideExitCode(counts: Record<Severity, number>, failOn: Severity, isComplete: boolean): ExitCode {
  const isFailed = severityOrder.slice(0, severityOrder.indexOf(failOn) + 1).some((severity) => counts[severity] > 0);
  if (isFailed) return exitCodes.failed;
  return isComplete ? exitCodes.passed : exitCodes.incomplete;
}

/** The forms of a report with findings. `json`: the same as `format: "json"`. */
export type FormOptions = { format: "terminal" | "json" | "sarif" | "github" | "junit"; json: boolean };

/** A report with findings. `report`: what `--json` prints. `warnings`: of no finding, for the log. */
type Inspected = {
  report: object;
  document(options: { isWhole: boolean }): Blocks;
  list: FindingList;
  warnings: readonly Problem[];
};

/** Prints what an inspection found in one form, and its problems. */
export function printFindings(
  { format, json }: FormOptions,
  { report, document, list, warnings }: Inspected,
  io: Io,
): void {
  if (json || format === "json") printJson(report, document({ isWhole: true }), io);
  else if (format === "sarif") io.out(findingSarif(list, version, folderInRepository(io.cwd)));
  else if (format === "junit") io.out(junit(listVerdicts(list)));
  else if (format === "github")
    io.out(githubReport(document({ isWhole: true }), listVerdicts(list), io, folderInRepository(io.cwd)));
  else io.out(renderTerminal(document({ isWhole: false }), io));
  // GitHub runs workflow commands from both streams, so in its format all problems are in the report, escaped.
  if (format !== "github" || json)
    for (const problem of [...warnings, ...list.problems]) io.err(`${formatProblem(problem)}\n`);
}

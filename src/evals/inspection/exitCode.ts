import { type ExitCode, exitCodes, formatProblem } from "../base/types/errors.ts";
import { type Severity, severitySchema } from "../base/types/finding.ts";
import type { Io } from "../base/types/io.ts";

/** `failOn`: the former name of `--failure-threshold`. */
export type ThresholdOptions = { failureThreshold: Severity; failOn?: Severity | undefined };

/** The lowest severity that fails. Warns about the former flag, which still applies. */
export function readThreshold({ failureThreshold, failOn }: ThresholdOptions, io: Pick<Io, "err">): Severity {
  if (failOn === undefined) return failureThreshold;
  const message = "--fail-on of this command is now --failure-threshold.";
  const hint = `Use --failure-threshold ${failOn}.`;
  io.err(`${formatProblem({ severity: "warning", message, hint })}\n`);
  return failOn;
}

/**
 * The exit code of lint and probe: failed if a finding has at least the severity `failOn`, otherwise incomplete if
 * something could not be inspected.
 */
export function decideExitCode(counts: Record<Severity, number>, failOn: Severity, isComplete: boolean): ExitCode {
  const levels = severitySchema.options;
  const isFailed = levels.slice(0, levels.indexOf(failOn) + 1).some((severity) => counts[severity] > 0);
  if (isFailed) return exitCodes.failed;
  return isComplete ? exitCodes.passed : exitCodes.incomplete;
}

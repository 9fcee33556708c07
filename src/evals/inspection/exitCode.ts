import { type ExitCode, exitCodes } from "../types/errors.ts";
import { type Severity, severitySchema } from "../types/lint.ts";

/**
 * The exit code of lint and probe: failed for findings of at least the severity `failOn`, else incomplete if something
 * could not be inspected.
 */
export function decideExitCode(counts: Record<Severity, number>, failOn: Severity, isComplete: boolean): ExitCode {
  const levels = severitySchema.options;
  const isFailed = levels.slice(0, levels.indexOf(failOn) + 1).some((severity) => counts[severity] > 0);
  return isFailed ? exitCodes.failed : isComplete ? exitCodes.passed : exitCodes.incomplete;
}

import { type ExitCode, exitCodes } from "../types/errors.ts";

/**
 * The one rule from a verdict to an exit code: what failed goes first, then what could not be decided at all. `stopped` is
 * the exit code of what stopped it before the verdict.
 */
export function toExitCode({
  failed = false,
  undecided,
  stopped,
}: {
  failed?: boolean;
  undecided: boolean;
  stopped?: ExitCode | undefined;
}): ExitCode {
  if (stopped !== undefined) return stopped;
  return failed ? exitCodes.failed : undecided ? exitCodes.incomplete : exitCodes.passed;
}

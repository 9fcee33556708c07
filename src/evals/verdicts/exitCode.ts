import type { Gate } from "../types/check.ts";
import { type ExitCode, exitCodes } from "../types/errors.ts";

/** What may happen that `--fail-on` can name. */
type Happened = Exclude<Gate, "any">;

/**
 * The one rule from a decision to an exit code: 1 when it failed, or when something happened that `failOn` names; else 3
 * when nothing could be decided; else 0. `stopped` is the exit code of what stopped it before the decision.
 */
export function toExitCode({
  failed = false,
  happened = [],
  failOn = [],
  undecided,
  stopped,
}: {
  failed?: boolean;
  happened?: readonly Happened[];
  failOn?: readonly Gate[];
  undecided: boolean;
  stopped?: ExitCode | undefined;
}): ExitCode {
  if (stopped !== undefined) return stopped;
  if (failed || listFailed(happened, failOn).length > 0) return exitCodes.failed;
  return undecided ? exitCodes.incomplete : exitCodes.passed;
}

/** What happened of what `failOn` names. */
export function listFailed(happened: readonly Happened[], failOn: readonly Gate[]): Happened[] {
  return happened.filter((one) => failOn.includes(one) || failOn.includes("any"));
}

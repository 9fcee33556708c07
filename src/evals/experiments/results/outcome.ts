import * as z from "zod";
import type { Gate } from "../../base/types/check.ts";
import { type ExitCode, exitCodes } from "../../base/types/errors.ts";
import { costSchema } from "../../base/types/trial.ts";

type Happened = Exclude<Gate, "any">;

type Decision = {
  failed?: boolean;
  happened?: readonly Happened[];
  failOn?: readonly Gate[];
  undecided: boolean;
  stopped?: ExitCode | undefined;
};

/** 1 if it failed, or an event in `failOn` occurred; else 3 if undecided; else 0. `stopped`: of what stopped it. */
export function toExitCode({ failed = false, happened = [], failOn = [], undecided, stopped }: Decision): ExitCode {
  if (stopped !== undefined) return stopped;
  if (failed || listFailed(happened, failOn).length > 0) return exitCodes.failed;
  return undecided ? exitCodes.incomplete : exitCodes.passed;
}

/** The events that occurred and that `failOn` names. */
export function listFailed(happened: readonly Happened[], failOn: readonly Gate[]): Happened[] {
  return happened.filter((one) => failOn.includes(one) || failOn.includes("any"));
}

/** The common fields of all summaries of experiments: where the record is and what was run. */
export const experimentFacts = {
  run: z.string(),
  dir: z.string(),
  suite: z.string(),
  model: z.string(),
  note: z.string().nullable(),
  costUsd: costSchema,
};
export type ExperimentFacts = z.infer<z.ZodObject<typeof experimentFacts>>;

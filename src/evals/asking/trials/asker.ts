import type { Trial } from "../../base/types/trial.ts";
import type { PlannedCell } from "./plan.ts";
import { runTrial, type TrialContext } from "./runTrial.ts";

/**
 * Runs the trials of one run: in this process, in batches, or on workers. Everything else (the plan, the record,
 * limits, designs) is the same for all of them.
 */
export type Asker = {
  /**
   * Runs one cell to its score. Resolves soon after `signal` aborts, with a trial that is broken with stage
   * "cancelled". Rejects only when no further trial can be asked.
   */
  ask(plannedCell: PlannedCell, signal: AbortSignal): Promise<Trial>;
  /** Splits a plan into parts that run concurrently, each with its own concurrency. Absent: one part. */
  lanes?(cells: Iterable<PlannedCell>): { cells: Iterable<PlannedCell>; concurrency: number }[];
  /** Called once for each trial from `ask`: it is on disk, or is not recorded because nothing was asked. */
  settle?(trial: Trial): void;
  /** Called at the end, after all trials are settled. */
  close?(): Promise<void>;
};

/** Runs trials in this process. */
export const createLocalAsker = (context: TrialContext): Asker => ({
  ask: (plannedCell, signal) => runTrial(plannedCell, context, signal),
});

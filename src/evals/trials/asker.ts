import type { Trial } from "../types/trial.ts";
import type { PlannedCell } from "./plan.ts";
import { runTrial, type TrialContext } from "./runTrial.ts";

/**
 * Asks the trials of one run: in this process, or elsewhere. Everything else (the plan, the record, limits, designs) is the
 * same for all of them.
 */
export type Asker = {
  /**
   * Runs one cell to its score. Resolves soon after `signal` aborts, with a trial that is broken with stage "cancelled".
   * Rejects only where no trial can be asked any more.
   */
  ask(place: PlannedCell, signal: AbortSignal): Promise<Trial>;
  /** Parts of a plan that are asked side by side, each with its own number of concurrent trials. Absent: one part. */
  lanes?(cells: Iterable<PlannedCell>): { cells: Iterable<PlannedCell>; concurrency: number }[];
  /** Called once for each trial that `ask` resolved with: it is on disk, or it is not recorded because nothing was asked. */
  settle?(trial: Trial): void;
  /** Called when nothing is asked any more, after all trials are settled. */
  close?(): Promise<void>;
};

/** Asks in this process. */
export const createLocalAsker = (context: TrialContext): Asker => ({
  ask: (place, signal) => runTrial(place, context, signal),
});

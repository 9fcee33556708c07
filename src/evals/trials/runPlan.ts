import { EvalsError, messageOf } from "../types/errors.ts";
import type { Trial } from "../types/trial.ts";
import { cellKey } from "../types/trial.ts";
import type { SeenReplies } from "./copies.ts";
import type { PlannedCell } from "./plan.ts";
import { runTrial, type TrialContext } from "./runTrial.ts";
import { schedule } from "./schedule.ts";

export type RunPlanOptions = {
  concurrency: number;
  /** Keys of the cells that are on the record already. */
  done: ReadonlySet<string>;
  /** US dollars after which no further trial is started; in-flight trials are finished. */
  budgetUsd?: number;
  spentUsd: number;
  /** The replies of the run so far. */
  seen: SeenReplies;
  /** Makes the trial durable. */
  record(trial: Trial): Promise<void>;
  /** Called for each trial once it is durable. */
  onRecorded(trial: Trial): void;
};

/** How a plan ended: complete, or why some cells are missing. */
export type PlanEnd = "complete" | "cancelled" | "budget";

/** Maximum number of trials that wait for the disk before new ones are delayed. */
const unrecordedLimit = 256;

/**
 * Runs every cell of a plan that is not done. Starts no new ones when `signal` aborts or the budget is spent; trials that
 * are in flight at an abort are recorded as cancelled, so the journal contains everything that was asked.
 */
export async function runPlan(
  cells: Iterable<PlannedCell>,
  context: TrialContext,
  options: RunPlanOptions,
  signal: AbortSignal,
): Promise<PlanEnd> {
  const stop = new AbortController();
  const anyStop = AbortSignal.any([signal, stop.signal]);
  const recording = new Set<Promise<void>>();
  let failure: { error: unknown } | undefined;
  let spent = options.spentUsd;
  const stopWhenSpent = () => {
    if (options.budgetUsd !== undefined && spent >= options.budgetUsd) stop.abort();
  };
  stopWhenSpent();

  const record = (trial: Trial) => {
    const durable = recordOrBreak(trial, options.record).then(options.onRecorded, (error) => {
      failure ??= { error };
      stop.abort();
    });
    recording.add(durable);
    durable.finally(() => recording.delete(durable));
  };

  await schedule(missing(cells, options.done), options.concurrency, anyStop, async (planned) => {
    const made = await runTrial(planned, context, signal);
    const isCopy = options.seen.add(made) && planned.isRepeatable === true;
    const trial: Trial = isCopy ? { ...made, copy: true } : made;
    if (trial.costUsd !== "unknown") spent += trial.costUsd;
    record(trial);
    stopWhenSpent();
    if (recording.size >= unrecordedLimit) await Promise.race(recording);
  });
  await Promise.all(recording);
  if (failure) throw failure.error;
  if (signal.aborted) return "cancelled";
  return stop.signal.aborted ? "budget" : "complete";
}

/** Records a trial, or that it broke when it cannot be written as JSON. Rejects when the disk fails. */
async function recordOrBreak(trial: Trial, record: RunPlanOptions["record"]): Promise<Trial> {
  try {
    await record(trial);
    return trial;
  } catch (error) {
    if (error instanceof EvalsError) throw error;
    const message = `the trial cannot be recorded: ${messageOf(error)}`;
    const { verdict: _, turns, ...rest } = trial;
    const broken: Trial = { ...rest, turns: [], outcome: { kind: "broken", stage: "model", message } };
    await record(broken);
    return broken;
  }
}

function* missing(cells: Iterable<PlannedCell>, done: ReadonlySet<string>): Generator<PlannedCell> {
  for (const planned of cells) if (done.size === 0 || !done.has(cellKey(planned.cell))) yield planned;
}

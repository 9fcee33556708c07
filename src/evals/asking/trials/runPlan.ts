import { hash } from "node:crypto";
import { schedule } from "../../base/collections.ts";
import { EvalsError, messageOf } from "../../base/types/errors.ts";
import { broken, cellKey, type Trial } from "../../base/types/trial.ts";
import type { SpendingLimits } from "./limits.ts";
import type { PlannedCell } from "./plan.ts";
import type { Asker } from "./runTrial.ts";

export type RunPlanOptions = {
  concurrency: number;
  limits: SpendingLimits;
  /** Keys of the cells that are already on the record. */
  done: ReadonlySet<string>;
  /** Models that answer no further requests, with the reason. */
  stopped: Map<string, string>;
  /** Absent where requests do not wait for each other, as in a batch. */
  prompts?: SentPrompts | undefined;
  /** The replies of the run so far. Absent when neither this plan nor a later one has repeatable trials. */
  seen?: SeenReplies | undefined;
  /** Writes the trial to disk. */
  record(trial: Trial): Promise<void>;
  /** Called for each trial once it is on disk. */
  onRecorded(trial: Trial): void;
};

/** The first trial of a design with some tools in some order, until it is answered, by what its prompt begins with. */
export type SentPrompts = Map<string, Promise<unknown>>;

/**
 * How a plan ended. `complete`: every cell is recorded. `budget`: a limit of the run was reached. `stopped`: a model
 * refused or failed every request.
 */
export type PlanEnd = "complete" | "cancelled" | "budget" | "stopped";

/**
 * Runs every cell of a plan that is not done. Starts no new trial after `signal` aborts or a limit of the run is
 * reached, and none on a model that was stopped. A trial is in flight until it is on disk, so what is killed loses at
 * most `concurrency` answers. Trials in flight at an abort are recorded as cancelled, so the journal contains
 * everything that was asked. If the record cannot be written, cancels the trials in flight and rejects.
 */
export async function runPlan(
  cells: Iterable<PlannedCell>,
  asker: Asker,
  options: RunPlanOptions,
  signal: AbortSignal,
): Promise<PlanEnd> {
  const stop = new AbortController();
  const failing = new AbortController();
  const trialSignal = AbortSignal.any([signal, failing.signal]);
  const anyStop = AbortSignal.any([signal, stop.signal]);
  let failure: { error: unknown } | undefined;
  const { limits } = options;
  const stopAtLimit = () => {
    if (limits.reached !== undefined) stop.abort();
  };
  stopAtLimit();

  const record = async (trial: Trial) => {
    try {
      const recorded = await recordOrBreak(trial, options.record);
      asker.settle?.(recorded);
      options.onRecorded(recorded);
    } catch (error) {
      failure ??= { error };
      stop.abort();
      failing.abort();
    }
  };

  /** A provider keeps a prompt that it answered: what begins alike waits for the first. Undefined if the run ended. */
  const askInTurn = async (planned: PlannedCell): Promise<Trial | undefined> => {
    const key = options.prompts && keyOfPrompt(planned);
    const first = key === undefined ? undefined : options.prompts?.get(key);
    if (first) {
      await first;
      if (anyStop.aborted) return undefined;
    }
    const asked = asker.ask(planned, trialSignal);
    const settled = asked.catch(() => {});
    if (key !== undefined && !first) options.prompts?.set(key, settled);
    return await asked;
  };

  await schedule(listPending(cells, options), options.concurrency, anyStop, async (planned) => {
    const made = await askInTurn(planned);
    if (!made) return;
    if (made.outcome.kind === "broken" && made.outcome.again) {
      const { model } = made.cell;
      options.stopped.set(model, options.stopped.get(model) ?? made.outcome.message);
    }
    if (isUnasked(made)) {
      asker.settle?.(made);
      return stopAtLimit();
    }
    const isCopy = options.seen?.add(made) === true && planned.isRepeatable === true;
    stopAtLimit();
    await record(isCopy ? { ...made, copy: true } : made);
  });
  if (failure) throw failure.error;
  if (signal.aborted) return "cancelled";
  if (limits.reached !== undefined && stop.signal.aborted) return "budget";
  return options.stopped.size > 0 ? "stopped" : "complete";
}

/** What the prompt of a trial begins with, if others of its design begin alike. */
function keyOfPrompt({ cell, model, orderSeed, planned, isRepeatable }: PlannedCell): string | undefined {
  if (!isRepeatable || !("ask" in model) || model.deterministic) return undefined;
  return `${cell.model} ${planned.toolset.hash} ${orderSeed}`;
}

/** Records a trial, as broken if it cannot be written as JSON. Rejects when the disk fails. */
async function recordOrBreak(trial: Trial, record: RunPlanOptions["record"]): Promise<Trial> {
  try {
    await record(trial);
    return trial;
  } catch (error) {
    if (error instanceof EvalsError) throw error;
    const message = `the trial cannot be recorded: ${messageOf(error)}`;
    const { verdict: _, turns, ...rest } = trial;
    const unrecorded: Trial = { ...rest, turns: [], outcome: broken("model", message) };
    await record(unrecorded);
    return unrecorded;
  }
}

/** Whether a trial ended before any request was made. It is not recorded, so it is missing rather than broken. */
function isUnasked({ outcome, turns, lost }: Trial): boolean {
  if (outcome.kind !== "broken" || turns.length > 0 || lost) return false;
  return outcome.stage === "budget" || (outcome.stage === "cancelled" && outcome.again === true);
}

function* listPending(cells: Iterable<PlannedCell>, { done, stopped }: Pick<RunPlanOptions, "done" | "stopped">) {
  for (const planned of cells) {
    if (stopped.has(planned.cell.model)) continue;
    if (done.size === 0 || !done.has(cellKey(planned.cell))) yield planned;
  }
}

/**
 * Recognizes replies that were seen before in a run by their provider ids: a proxy or cache that answers a second
 * request with an old reply repeats its id. Some servers give every reply the same id. As soon as one id comes with two
 * different replies, the ids of that model are ignored.
 */
export class SeenReplies {
  readonly #models = new Map<string, { replies: Map<string, string>; hasIds: boolean }>();

  /** Adds a trial. Returns whether one of its replies was seen before. */
  add({ cell, turns }: Pick<Trial, "cell" | "turns">): boolean {
    const seen = this.#models.get(cell.model) ?? { replies: new Map<string, string>(), hasIds: true };
    this.#models.set(cell.model, seen);
    let isCopy = false;
    for (const turn of turns) {
      if (turn.responseId === undefined) continue;
      const made = turn.calls.map(({ tool, arguments: args, argumentsText }) => [tool, args, argumentsText]);
      const reply = hash("sha256", JSON.stringify([turn.text, made]), "base64").slice(0, 16);
      const known = seen.replies.get(turn.responseId);
      if (known === undefined) seen.replies.set(turn.responseId, reply);
      else if (known === reply) isCopy = true;
      else seen.hasIds = false;
    }
    return isCopy && seen.hasIds;
  }
}

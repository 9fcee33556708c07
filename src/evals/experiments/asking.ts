import type { Io } from "../io.ts";
import { openJournal } from "../runs/journal.ts";
import { journalOf } from "../runs/record.ts";
import type { PlannedCell } from "../trials/plan.ts";
import { type PlanEnd, runPlan } from "../trials/runPlan.ts";
import type { TrialContext } from "../trials/runTrial.ts";
import { type Cost, cellKey, type Trial } from "../types/trial.ts";
import { garbageCollector } from "./garbage.ts";
import { progressLine } from "./progress.ts";

/** A record that trials are added to. `results` sees every trial of it, those of before included. */
export type OpenRecord = {
  dir: string;
  /** Keys of the cells that are on the record; grows as trials are recorded. */
  done: Set<string>;
  spentUsd: number;
  results: { add(trial: Trial): void };
};

export type AskOptions = { concurrency: number; budget?: number | undefined };

/** Asks cells and records them; `ask` can be called again and again, look after look. */
export type Asking = {
  ask(cells: Iterable<PlannedCell>): Promise<PlanEnd>;
  /** The same when nothing is asked afterwards: its cells need not be kept in mind, however many they are. */
  askLast(cells: Iterable<PlannedCell>): Promise<PlanEnd>;
  end(): Promise<void>;
};

/** Opens the journal of a record. `planned` is how many trials there may be, for the progress line. */
export async function startAsking(
  record: OpenRecord,
  context: TrialContext,
  planned: number,
  { concurrency, budget }: AskOptions,
  io: Io,
): Promise<Asking> {
  const progress = progressLine(io, planned, record.done.size);
  const journal = await openJournal(journalOf(record.dir));
  const tidy = garbageCollector();
  const spend = (cost: Cost) => {
    if (cost !== "unknown") record.spentUsd += cost;
  };
  const ask = (cells: Iterable<PlannedCell>, remember: (trial: Trial) => void) => {
    const options = {
      concurrency,
      done: record.done,
      spentUsd: record.spentUsd,
      ...(budget !== undefined && { budgetUsd: budget }),
      record: journal.append,
      onRecorded: (trial: Trial) => {
        remember(trial);
        spend(trial.costUsd);
        record.results.add(trial);
        progress.add(trial);
        tidy();
      },
    };
    return runPlan(cells, context, options, io.signal);
  };
  return {
    ask: (cells) => ask(cells, (trial) => record.done.add(cellKey(trial.cell))),
    askLast: (cells) => ask(cells, () => {}),
    async end() {
      await journal.close();
      progress.end();
    },
  };
}

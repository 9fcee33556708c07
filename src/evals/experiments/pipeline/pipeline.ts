import { resolve } from "node:path";
import type { Design, TrialRecord, TrialRequest } from "../../asking/trials/design.ts";
import {
  type DesignCells,
  OrderLine,
  type PlannedCase,
  type PlannedCell,
  requestedCells,
} from "../../asking/trials/plan.ts";
import { type PlanEnd, runPlan, type SentPrompts } from "../../asking/trials/runPlan.ts";
import { type Asker, createLocalAsker, type TrialContext } from "../../asking/trials/runTrial.ts";
import { getOrAdd, sumOf } from "../../base/collections.ts";
import { knownSecrets } from "../../base/secrets/secrets.ts";
import { printProblem } from "../../base/types/errors.ts";
import type { Io } from "../../base/types/io.ts";
import type { Model } from "../../base/types/model.ts";
import type { Experiment, RunManifest, RunSummary } from "../../base/types/run.ts";
import type { Toolset } from "../../base/types/tool.ts";
import { addCost, type Cost, cellKey, type Trial } from "../../base/types/trial.ts";
import { openJournal } from "../../records/journal.ts";
import { finishRun, journalPath } from "../../records/record.ts";
import { count, money } from "../../reports/format.ts";
import type { PageTrialCollector } from "../run/report/page.ts";
import { type OpenRecord, resumeRecord, startRecord } from "./record.ts";
import type { Resumed } from "./recordedOptions.ts";

/** `given`: names of the explicitly given options; all others are defaults. */
export type AskOptions = {
  out: string;
  concurrency: number;
  budget?: number | undefined;
  given?: ReadonlySet<string> | undefined;
};

/** Runs and records the cells that are not on the record yet. `last`: no call follows, and no cell is repeatable. */
export type Ask = (cells: Iterable<PlannedCell>, last?: "last") => Promise<PlanEnd>;

/** What to ask on one record. */
export type TrialPlan<R> = {
  manifest: RunManifest;
  /** The record to finish, instead of a new one. With `retryBroken`, its broken trials are asked again. */
  resumed?: Resumed | undefined;
  retryBroken?: boolean;
  /** Opens the asker of this record. Default: trials are asked in this process. */
  openAsker?(record: OpenRecord): Promise<Asker>;
  /** Maximum number of trials, for the progress line. */
  cap(record: OpenRecord): number;
  /** Asks trials until there is a result or the run is stopped. */
  run(ask: Ask, record: OpenRecord): Promise<R>;
  /** Called for every trial of the record, including those from before it was resumed. */
  onTrial?(trial: Trial): void;
  /** Adds to the manifest what is only known at the end. */
  complete?(manifest: RunManifest): RunManifest;
};

/** A result with its record. `why`: why trials are missing. The manifest contains the totals. */
export type RecordedRun<R> = R & {
  dir: string;
  manifest: RunManifest;
  summary: RunSummary;
  trials: PageTrialCollector;
  why: string;
};

/**
 * Runs a plan on its record, in the same way for all commands: opens or resumes the record, asks, writes every trial to
 * disk before it counts, and writes the totals. Throws EvalsError if the record cannot be written or resumed.
 */
export async function runOnRecord<R extends { end: PlanEnd }>(
  plan: TrialPlan<R>,
  context: TrialContext,
  options: AskOptions,
  io: Io,
): Promise<RecordedRun<R>> {
  const { redact } = knownSecrets(io.env);
  const { manifest: planned, resumed, retryBroken = false, onTrial = () => {} } = plan;
  const record = resumed
    ? await resumeRecord(resumed, planned, { retryBroken, onKept: onTrial, redact })
    : await startRecord(resolve(io.cwd, options.out), planned, redact);
  try {
    const asker = (await plan.openAsker?.(record)) ?? createLocalAsker(context);
    return await askOnRecord(plan, record, asker, context.limits, options, io).finally(() => asker.close?.());
  } finally {
    await record.lock.release();
  }
}

async function askOnRecord<R extends { end: PlanEnd }>(
  plan: TrialPlan<R>,
  record: OpenRecord,
  asker: Asker,
  limits: TrialContext["limits"],
  options: AskOptions,
  io: Io,
): Promise<RecordedRun<R>> {
  const { redact } = knownSecrets(io.env);
  limits.addSpent(record.spentUsd);
  if (record.dropped > 0)
    io.err(`Asking again ${count(record.dropped, "trial")} that broke when the run was stopped.\n`);
  if (record.lost > 0)
    printProblem(io)({
      severity: "warning",
      message: `The journal lacks ${count(record.lost, "answered trial")} that it had when the run was stopped. They are asked and paid for again.`,
      hint: "To keep their answers, stop the run and restore the file.",
      location: { file: journalPath(record.dir) },
    });
  const stopped = new Map<string, string>();
  const progress = createProgress(io, () => plan.cap(record), record.done.size);
  const journal = await openJournal(journalPath(record.dir), record.manifest.id, {
    lines: record.lines,
    redact,
    verify: record.lock.verify,
  });
  const prompts: SentPrompts = new Map();
  const ask: Ask = (cells, last) =>
    runLanes(asker.lanes?.(cells) ?? [{ cells, concurrency: options.concurrency }], io.signal, (lane, signal) =>
      runPlan(
        lane.cells,
        asker,
        {
          concurrency: lane.concurrency,
          prompts: lane.isBatch ? undefined : prompts,
          limits,
          done: record.done,
          stopped,
          seen: last ? undefined : record.seen,
          record: journal.append,
          onRecorded: (trial) => {
            // Nothing is asked after the last cells, so save the memory.
            if (!last) record.done.add(cellKey(trial.cell));
            record.results.add(trial);
            record.trials.add(trial);
            plan.onTrial?.(trial);
            progress.add(trial);
          },
        },
        signal,
      ),
    );
  const result = await plan.run(ask, record).finally(async () => {
    await journal.close().finally(progress.end);
  });
  const summary = record.results.summary();
  const known = plan.complete?.(record.manifest) ?? record.manifest;
  const finishedAt = result.end === "complete" ? new Date() : undefined;
  const manifest = await finishRun(record.dir, known, summary, finishedAt, redact);
  const { dir, trials } = record;
  return { ...result, dir, summary, manifest, trials, why: explainEnd(result.end, stopped, limits) };
}

/** Runs all parts of a plan concurrently. If one fails, stops the others and rejects. */
async function runLanes<L>(
  lanes: readonly L[],
  signal: AbortSignal,
  run: (lane: L, signal: AbortSignal) => Promise<PlanEnd>,
): Promise<PlanEnd> {
  const [only] = lanes;
  if (only !== undefined && lanes.length === 1) return await run(only, signal);
  const failed = new AbortController();
  const either = AbortSignal.any([signal, failed.signal]);
  const running = lanes.map((lane) =>
    run(lane, either).catch((error: unknown) => {
      failed.abort();
      throw error;
    }),
  );
  await Promise.allSettled(running);
  const ends = await Promise.all(running);
  return (["cancelled", "budget", "stopped"] as const).find((end) => ends.includes(end)) ?? "complete";
}

/** Why trials are missing, as a sentence without its full stop. */
function explainEnd(end: PlanEnd, stopped: ReadonlyMap<string, string>, { reached }: TrialContext["limits"]): string {
  const models = [...stopped].map(([model, why]) => `${model} was stopped: ${why}`);
  return (end === "budget" ? reached : end === "stopped" ? models.join("; ") : undefined) ?? "The run was stopped";
}

/** The verdict of a design, or what stopped it before. */
export type DesignResult<V> = { end: PlanEnd } & ({ kind: "decided"; verdict: V } | { kind: "stopped" });

/**
 * Runs a design until it decides or is stopped. The caller must add every trial of the run to `record`, including those
 * that a resumed run kept: the design requests only what the record lacks, and requests a trial again if it has no
 * answer or a copy of one.
 */
export async function runDesign<V>(
  design: Design<V>,
  record: TrialRecord,
  { cases, model }: { cases: ArmCases; model: Model },
  ask: Ask,
): Promise<DesignResult<V>> {
  const attempts: DesignCells["attempts"] = (id, arm, trial) => record.attempts(id, arm, trial);
  const cells = { find: cases.find, line: cases.line, attempts, model };
  const play = design.play(record);
  for (;;) {
    const step = play.next();
    if (step.done) return { kind: "decided", end: "complete", verdict: step.value };
    const { requests } = step.value;
    const before = countPaid(record, requests);
    const end = await ask(requestedCells(requests, cells));
    if (end !== "complete") return { kind: "stopped", end };
    if (countPaid(record, requests) === before) throw new Error("the trials that were asked for are not on the record");
  }
}

function countPaid(record: TrialRecord, requests: readonly TrialRequest[]): number {
  const paid = new Set(requests.flatMap(({ case: id, arms }) => arms.map((arm) => record.paid(id, arm))));
  return sumOf(paid, ({ calls }) => calls);
}

/** Returns the tools that a case is shown in an arm; undefined if it is not asked there. */
export type GetToolset = (planned: PlannedCase) => Toolset | undefined;

/** Arms by name, or a function for arms that are too many to list; the record then lists those that were asked. */
export type Arms = ReadonlyMap<string, GetToolset> | ((arm: string) => GetToolset);

/** Cases in arms: all if the arms are listed, otherwise those that were requested so far. */
export class ArmCases {
  readonly #cases: ReadonlyMap<string, PlannedCase>;
  readonly #arms: Arms;
  readonly #made = new Map<string, Map<string, PlannedCase>>();
  readonly #lines = new Map<string, OrderLine>();
  readonly #seed: number;

  constructor(cases: readonly PlannedCase[], arms: Arms, seed: number) {
    this.#seed = seed;
    this.#cases = new Map(cases.map((planned) => [planned.case.id, planned]));
    this.#arms = arms;
    if (typeof arms === "function") return;
    for (const arm of arms.keys()) for (const id of this.#cases.keys()) this.#make(id, arm);
  }

  readonly find = ({ case: id, arm }: { case: string; arm: string }): PlannedCase => {
    const found = this.#made.get(arm)?.get(id) ?? this.#make(id, arm);
    if (!found) throw new Error(`the design asked for ${id} in ${arm}, which is not planned`);
    return found;
  };

  /** The orders in which the tools of a case are shown: the same in all arms, and for cases with the same tools. */
  readonly line = (id: string): OrderLine => {
    const planned = this.#cases.get(id);
    if (!planned) throw new Error(`the design asked for the case ${id}, which is not planned`);
    const listed = typeof this.#arms === "function" ? [] : [...this.#made.values()];
    const lists = listed.flatMap((made) => made.get(id)?.toolset ?? []);
    const tools = (lists.length > 0 ? lists : [planned.toolset]).map((list) => list.tools);
    const key = JSON.stringify(tools.map((list) => list.map(({ name }) => name).sort()));
    return getOrAdd(this.#lines, key, () => new OrderLine(this.#seed, planned.suite.name, tools));
  };

  #make(id: string, arm: string): PlannedCase | undefined {
    const planned = this.#cases.get(id);
    const getToolset = typeof this.#arms === "function" ? this.#arms(arm) : this.#arms.get(arm);
    const toolset = planned && getToolset?.(planned);
    if (!planned || !toolset) return undefined;
    const made = { ...planned, arm, toolset };
    getOrAdd(this.#made, arm, () => new Map<string, PlannedCase>()).set(id, made);
    return made;
  }

  arms(): Experiment["arms"] {
    return [...this.#made].map(([name, cases]) => ({
      name,
      toolsets: Object.fromEntries([...cases].map(([id, { toolset }]) => [id, toolset.hash])),
    }));
  }

  toolsets(): RunManifest["toolsets"] {
    const lists = [...this.#made.values()].flatMap((cases) => [...cases.values()].map(({ toolset }) => toolset));
    return Object.fromEntries(lists.map(({ hash, tools }) => [hash, [...tools]]));
  }
}

const redrawMs = 100;

/** Creates a line on standard error that redraws itself: trials, failures, cost, time left. Only on a terminal. */
function createProgress(io: Pick<Io, "err" | "errIsTerminal" | "width">, countPlanned: () => number, done: number) {
  if (!io.errIsTerminal) return { add: () => {}, end: () => {} };
  const startedAt = performance.now();
  let drawnAt = 0;
  const progress = { recorded: done, planned: countPlanned(), failed: 0, broken: 0, spent: 0 as Cost };
  const draw = (now: number) => {
    const seconds = (now - startedAt) / 1000;
    const { recorded, planned } = progress;
    const secondsLeft = recorded > done ? ((planned - recorded) * seconds) / (recorded - done) : undefined;
    const text = describeProgress({ ...progress, secondsLeft });
    io.err(`\r\x1b[K${text.slice(0, io.width - 1)}`);
    drawnAt = now;
  };
  draw(startedAt);
  return {
    add(trial: Trial) {
      progress.recorded++;
      if (trial.outcome.kind === "broken") progress.broken++;
      else if (trial.verdict?.grade === "fail" && !trial.copy) progress.failed++;
      progress.spent = addCost(progress.spent, trial.costUsd);
      const now = performance.now();
      if (now - drawnAt >= redrawMs) draw(now);
    },
    end: () => io.err("\r\x1b[K"),
  };
}

/** Formats progress as `12/50 trials · 3 failed · 1 broken · $0.04 · about 20 s left`. */
export function describeProgress(progress: {
  recorded: number;
  planned: number;
  failed: number;
  broken: number;
  spent: Cost;
  secondsLeft: number | undefined;
}): string {
  const { recorded, planned, failed, broken, spent, secondsLeft } = progress;
  return [
    `${recorded}/${planned} trials`,
    ...(failed > 0 ? [`${failed} failed`] : []),
    ...(broken > 0 ? [`${broken} broken`] : []),
    ...(spent === 0 ? [] : [spent === "unknown" ? "cost unknown" : money(spent)]),
    ...(secondsLeft !== undefined && secondsLeft >= 1 ? [`about ${formatDuration(secondsLeft)} left`] : []),
  ].join(" · ");
}

function formatDuration(seconds: number): string {
  if (seconds < 90) return `${Math.round(seconds)} s`;
  return seconds < 5400 ? `${Math.round(seconds / 60)} min` : `${(seconds / 3600).toFixed(1)} h`;
}

import type { Spending, SpendingLimits } from "../../asking/trials/limits.ts";
import type { PlannedCell } from "../../asking/trials/plan.ts";
import type { Asker } from "../../asking/trials/runTrial.ts";
import { excerpt } from "../../base/text/excerpt.ts";
import { messageOf, printProblem } from "../../base/types/errors.ts";
import type { Io } from "../../base/types/io.ts";
import { type Broken, budgetedUsd, type Cell, type Trial, trialSchema } from "../../base/types/trial.ts";
import { type Answer, type Answers, openAnswers } from "./answers.ts";
import type { Broker } from "./connection.ts";
import { RunJobs } from "./jobs.ts";
import { nameJob, nameLease, namePlan, nameProvider, parseTrial, type TrialJob } from "./messages.ts";
import { type Plan, sealPlan } from "./plan.ts";
import { WorkerMonitor } from "./workers.ts";

/** A run whose trials are asked on workers. */
export type QueuedRun = {
  /** The name of the run on the server. */
  run: string;
  plan: Plan;
  limits: SpendingLimits;
  /** Whether a cell is already on the record. Answers to such cells that are still on the queue are dropped. */
  isRecorded(cell: Cell): boolean;
  /** The maximum that a trial can use, including its judge. */
  ceiling(plannedCell: PlannedCell): Spending;
  /** Runs a trial that needs no model in this process. */
  askHere: Asker["ask"];
  /** Maximum number of trials per second and provider that all workers together start. */
  rate?: number | undefined;
};

/** Default number of trials on the queue at a time; --concurrency overrides it. */
export const defaultQueued = 1_000;

/** How long the server keeps a plan, in seconds. */
const keptSeconds = 30 * 86_400;
const checkMs = 5_000;
/** How long workers still run the trials of a run that no longer renews its lease, in seconds. */
const leaseSeconds = 60;

/** A cell that waits for its answer since `askedAt` (monotonic, in ms), until `signal` aborts. */
type Awaited = {
  plannedCell: PlannedCell;
  job: TrialJob;
  askedAt: number;
  signal: AbortSignal;
  resolve(trial: Trial): void;
};
/** A trial that arrived, as JSON. */
type Arrived = { trial: string; answer: Answer };

/**
 * Asks the trials of a run on workers: puts each cell on the queue of its provider, and reads the answers from a
 * stream, where they stay until they are on disk (`settle`). A worker answers before its job is removed. So everything
 * that a killed run was waiting for is either on the queue or on the stream when the run is resumed.
 */
export async function openQueuedAsker(broker: Broker, queued: QueuedRun, io: Io): Promise<Asker> {
  const models = queued.plan.models.map(({ id }) => id);
  const jobs = await RunJobs.open(broker, queued.run, models, queued.rate);
  const asker = new QueuedAsker(broker, jobs, queued, io);
  await asker.open();
  return asker;
}

class QueuedAsker implements Asker {
  readonly #broker: Broker;
  readonly #queued: QueuedRun;
  readonly #plan: ReturnType<typeof sealPlan>;
  readonly #io: Io;
  readonly #jobs: RunJobs;
  readonly #workers: WorkerMonitor;
  /** Jobs that are on the queue from before the run was killed and resumed. They are not added again. */
  #queuedBefore = new Set<string>();
  readonly #awaited = new Map<string, Awaited>();
  /** Trials that arrived and are not on disk. */
  readonly #arrived = new Map<string, Arrived>();
  readonly #settled = new Set<string>();
  readonly #signals = new WeakSet<AbortSignal>();
  readonly #pending = new Set<Promise<unknown>>();
  readonly #answers: Answers;
  #timer: NodeJS.Timeout | undefined;
  #isChecking = false;
  /** Number of jobs that workers are running although this run no longer waits for them. */
  #abandoned = 0;

  constructor(broker: Broker, jobs: RunJobs, queued: QueuedRun, io: Io) {
    this.#broker = broker;
    this.#jobs = jobs;
    this.#workers = new WorkerMonitor(jobs, broker.name, io);
    this.#queued = queued;
    this.#plan = sealPlan(queued.plan);
    this.#io = io;
    this.#answers = openAnswers(broker, queued.run, (answer) => this.#take(answer));
  }

  /** Stores what workers need. In a resumed run, takes over the jobs and answers from before. */
  async open(): Promise<void> {
    await this.#store();
    this.#queuedBefore = new Set(await this.#jobs.list());
    await this.#answers.catchUp();
    this.#timer = setInterval(() => {
      this.#track(this.#renewLease());
      this.#track(this.#check());
    }, checkMs);
  }

  async #store(): Promise<void> {
    const { redis } = this.#broker;
    const { hash, text } = this.#plan;
    await Promise.all([
      redis.set(nameLease(this.#queued.run), hash, "EX", leaseSeconds),
      redis.set(namePlan(hash), text, "EX", keptSeconds),
      this.#answers.create(),
    ]);
  }

  /** A lease that is gone means that the server was emptied, or that this process was suspended for a minute. */
  async #renewLease(): Promise<void> {
    if ((await this.#broker.redis.expire(nameLease(this.#queued.run), leaseSeconds)) > 0) return;
    await this.#store();
    printProblem(this.#io)({
      severity: "warning",
      message: `The lease of this run on the queue at ${this.#broker.name} has expired: the server lost its data, or this process was suspended.`,
      hint: "Trials without an answer are queued again. Those that a worker was running may be paid for twice.",
    });
  }

  async ask(plannedCell: PlannedCell, signal: AbortSignal): Promise<Trial> {
    if (plannedCell.planned.unavailable) return await this.#queued.askHere(plannedCell, signal);
    const reserved = await this.#queued.limits.reserve(this.#queued.ceiling(plannedCell), signal);
    if (typeof reserved !== "function") return toUnasked(plannedCell, reserved);
    const trial = await this.#askWorker(plannedCell, signal);
    reserved({ cost: budgetedUsd(trial), requests: trial.turns.length + (trial.judging ? 1 : 0) });
    return trial;
  }

  /** Acknowledges an answer that is on disk. */
  settle({ cell }: Trial): void {
    const id = nameJob(this.#queued.run, cell);
    const arrived = this.#arrived.get(id);
    // Without an answer nothing was recorded. A later answer stays on the server for when the run is resumed.
    if (!arrived) return;
    this.#settled.add(id);
    this.#arrived.delete(id);
    this.#track(arrived.answer.acknowledge());
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    this.#track(this.#broker.redis.del(nameLease(this.#queued.run)));
    // A server that is gone must not keep the run from ending.
    await within(5_000, Promise.all(this.#pending));
    this.#answers.close();
    if (this.#abandoned > 0)
      this.#io.err(`Workers are still running ${this.#abandoned} trials; evals run --resume collects their answers.\n`);
    // Answers that are not recorded stay on the server for when the run is resumed.
    else if (this.#arrived.size === 0) await within(5_000, this.#removeAll());
  }

  /** Removes everything of the run from the server, except jobs that a worker is running again. */
  async #removeAll(): Promise<void> {
    await this.#answers.remove();
    await this.#jobs.removeAll();
  }

  async #askWorker(plannedCell: PlannedCell, signal: AbortSignal): Promise<Trial> {
    const { run } = this.#queued;
    const { cell, planned, orderSeed } = plannedCell;
    const id = nameJob(run, cell);
    const job: TrialJob = { run, plan: this.#plan.hash, cell, toolset: planned.toolset.hash, orderSeed };
    this.#settled.delete(id);
    const early = this.#arrived.get(id);
    if (early) return readTrial(early.trial, plannedCell, job);
    if (signal.aborted) return toUnasked(plannedCell, cancelled);
    this.#watch(signal);
    return await new Promise<Trial>((resolve) => {
      this.#awaited.set(id, { plannedCell, job, askedAt: performance.now(), signal, resolve });
      if (!this.#queuedBefore.delete(id)) this.#track(this.#jobs.put(id, job));
    });
  }

  /** Stops waiting when a signal aborts. One listener serves all trials: adding one each would take quadratic time. */
  #watch(signal: AbortSignal): void {
    if (this.#signals.has(signal)) return;
    this.#signals.add(signal);
    const cancel = () => {
      for (const [id, awaited] of this.#awaited) if (awaited.signal === signal) this.#giveUp(id, awaited, cancelled);
    };
    signal.addEventListener("abort", cancel, { once: true });
  }

  /** Stops waiting for a cell. If a worker is already running it, a resumed run collects the answer. */
  #giveUp(id: string, { plannedCell, job, resolve }: Awaited, outcome: Broken): void {
    this.#awaited.delete(id);
    this.#track(this.#removeJob(id, job.cell));
    resolve(toUnasked(plannedCell, outcome));
  }

  async #removeJob(id: string, cell: Cell): Promise<void> {
    if (!(await this.#jobs.remove(id, cell))) this.#abandoned++;
  }

  #take(answer: Answer): void {
    const { result } = answer;
    if (result.kind === "refused") {
      this.#workers.addRefusal(result.worker, result.reason);
      this.#track(answer.acknowledge());
      return;
    }
    const { job: id, trial } = result;
    const arrived = this.#arrived.get(id);
    if (arrived?.answer.entry === answer.entry) return;
    const awaited = this.#awaited.get(id);
    // When nobody waits for the answer, the run has not asked the cell yet, or recorded it before it was killed.
    if (arrived || this.#settled.has(id) || !(awaited || this.#isMissing(id, trial))) {
      this.#track(answer.acknowledge());
      return;
    }
    this.#arrived.set(id, { trial, answer });
    this.#awaited.delete(id);
    awaited?.resolve(readTrial(trial, awaited.plannedCell, awaited.job));
  }

  /** Whether a trial answers a cell that is not on the record. */
  #isMissing(id: string, trial: string): boolean {
    const cell = readCell(trial);
    return cell !== undefined && nameJob(this.#queued.run, cell) === id && !this.#queued.isRecorded(cell);
  }

  /** Adds jobs again that the server has lost, and gives up trials that no worker will run. */
  async #check(): Promise<void> {
    if (this.#isChecking) return;
    this.#isChecking = true;
    try {
      for (const provider of this.#jobs.providers) {
        await this.#checkJobs(provider);
        await this.#checkWorkers(provider);
      }
    } finally {
      this.#isChecking = false;
    }
  }

  #listAwaited(provider: string): [string, Awaited][] {
    return [...this.#awaited].filter(([, { plannedCell }]) => nameProvider(plannedCell.cell.model) === provider);
  }

  async #checkJobs(provider: string): Promise<void> {
    const asked = this.#listAwaited(provider).filter(([, { askedAt }]) => performance.now() - askedAt > checkMs);
    if (asked.length === 0) return;
    const { unfinished, failed } = await this.#jobs.findPresent(provider);
    // A worker answers before its job is removed, so a job is lost if it is neither on the queue nor answered.
    await this.#answers.catchUp();
    const gone = asked.filter(([id, awaited]) => !unfinished.has(id) && this.#awaited.get(id) === awaited);
    if (gone.length > 0) await this.#store();
    for (const [id, { plannedCell, job, resolve }] of gone) {
      if (failed.has(id)) {
        const reason = await this.#jobs.readFailure(id, job.cell);
        await this.#jobs.remove(id, job.cell);
        if (this.#awaited.delete(id)) resolve(toUnrun(plannedCell, `its workers failed: ${excerpt(reason, 500)}`));
      } else this.#track(this.#jobs.replace(id, job));
    }
  }

  async #checkWorkers(provider: string): Promise<void> {
    const asked = this.#listAwaited(provider);
    if (asked.length === 0) return;
    const message = await this.#workers.findObstacle(provider);
    if (message !== undefined) for (const [id, awaited] of asked) this.#giveUp(id, awaited, { ...cancelled, message });
  }

  /** Makes `close` wait for this work. Failures are only reported: the client reconnects, and `#check` repairs losses. */
  #track(work: Promise<unknown>): void {
    const tracked: Promise<unknown> = work
      .catch(this.#broker.reportRefusal)
      .finally(() => this.#pending.delete(tracked));
    this.#pending.add(tracked);
  }
}

const cancelled: Broken = {
  kind: "broken",
  stage: "cancelled",
  message: "the run was stopped before the answer came",
  again: true,
};

function readTrial(text: string, plannedCell: PlannedCell, job: TrialJob): Trial {
  try {
    return parseTrial(text, job);
  } catch (thrown) {
    return toUnrun(plannedCell, `the worker's answer cannot be read: ${excerpt(messageOf(thrown), 500)}`);
  }
}

/** The cell that a trial claims to answer; undefined if it cannot be read. */
function readCell(text: string): Cell | undefined {
  try {
    return trialSchema.shape.cell.parse((JSON.parse(text) as Trial).cell);
  } catch {
    return undefined;
  }
}

/** A trial that ended without turns. */
function toUnasked({ cell, orderSeed, planned }: PlannedCell, outcome: Broken): Trial {
  const startedAt = new Date().toISOString();
  return { cell, toolset: planned.toolset.hash, orderSeed, outcome, turns: [], costUsd: 0, startedAt, ms: 0 };
}

/** A trial that is recorded as cancelled, and asked again when the run is resumed. */
const toUnrun = (plannedCell: PlannedCell, message: string) =>
  toUnasked(plannedCell, { kind: "broken", stage: "cancelled", message });

/** Waits for work for at most `ms`. */
async function within(ms: number, work: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  await Promise.race([work.catch(() => {}), limit]);
  clearTimeout(timer);
}

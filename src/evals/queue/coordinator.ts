import type { Asker } from "../trials/asker.ts";
import type { SpendingLimits } from "../trials/limits.ts";
import type { PlannedCell } from "../trials/plan.ts";
import { formatProblem, messageOf } from "../types/errors.ts";
import type { Io } from "../types/io.ts";
import { excerpt } from "../types/text.ts";
import { type Broken, type Cell, type Cost, type Trial, trialSchema } from "../types/trial.ts";
import { type Answer, type Answers, openAnswers } from "./answers.ts";
import type { Broker } from "./connection.ts";
import { RunJobs } from "./jobs.ts";
import { nameJob, namePlan, nameProvider, parseTrial, type TrialJob } from "./messages.ts";
import { type Plan, sealPlan } from "./plan.ts";

/** What the trials of one run are asked with. */
export type QueuedRun = {
  /** The run's id. */
  run: string;
  plan: Plan;
  limits: SpendingLimits;
  /** Cells that are on the record already: answers to them that are still on the queue are dropped. */
  isRecorded(cell: Cell): boolean;
  /** The most that a trial can use, with its judge. */
  ceiling(plannedCell: PlannedCell): { cost: Cost; requests: number };
  /** Asks a trial in this process, where nothing is asked of a model. */
  askHere: Asker["ask"];
  /** Trials that all workers together start in a second, of one provider. */
  rate?: number | undefined;
};

/** How many trials are on the queue at a time, unless --concurrency says otherwise. */
export const defaultQueued = 1_000;

/** A plan that nobody asked for in this time is dropped, in seconds. */
const keptSeconds = 30 * 86_400;
const checkMs = 5_000;

/** A cell whose answer is awaited, since `askedAt` (monotonic, in ms), until `signal` aborts. */
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
 * Asks the trials of a run on workers: puts each cell on the queue of its provider, and takes the answers from a stream,
 * where they stay until they are on disk (`settle`). A worker answers before its job is removed: so what a killed run was
 * waiting for is either on the queue or on the stream when another run resumes it.
 */
export async function openQueuedAsker(broker: Broker, queued: QueuedRun, io: Io): Promise<Asker> {
  const models = queued.plan.models.map(({ id }) => id);
  const jobs = await RunJobs.open(broker, queued.run, models, queued.rate);
  const asker = new QueuedAsker(broker, jobs, queued, io);
  await asker.open();
  return {
    ask: (plannedCell, signal) => asker.ask(plannedCell, signal),
    settle: (trial) => asker.settle(trial),
    close: () => asker.close(),
  };
}

class QueuedAsker {
  readonly #broker: Broker;
  readonly #queued: QueuedRun;
  readonly #plan: ReturnType<typeof sealPlan>;
  readonly #io: Io;
  readonly #jobs: RunJobs;
  /** Jobs that a killed run, which this one resumes, has put on the queue: they are not put there again. */
  #begun = new Set<string>();
  readonly #awaited = new Map<string, Awaited>();
  readonly #arrived = new Map<string, Arrived>();
  readonly #settled = new Set<string>();
  readonly #signals = new WeakSet<AbortSignal>();
  readonly #refusals = new Map<string, string>();
  readonly #pending = new Set<Promise<unknown>>();
  readonly #answers: Answers;
  #timer: NodeJS.Timeout | undefined;
  #isChecking = false;
  /** Providers without a worker. */
  readonly #unserved = new Set<string>();
  #left = 0;

  constructor(broker: Broker, jobs: RunJobs, queued: QueuedRun, io: Io) {
    this.#broker = broker;
    this.#jobs = jobs;
    this.#queued = queued;
    this.#plan = sealPlan(queued.plan);
    this.#io = io;
    this.#answers = openAnswers(broker, queued.run, (answer) => this.#take(answer));
  }

  /** Makes ready what workers need, and takes over what a killed run, which this one resumes, was waiting for. */
  async open(): Promise<void> {
    await this.#store();
    this.#begun = new Set(await this.#jobs.list());
    await this.#answers.catchUp();
    this.#timer = setInterval(() => this.#track(this.#check()), checkMs);
  }

  async #store(): Promise<void> {
    const { hash, text } = this.#plan;
    await Promise.all([this.#broker.redis.set(namePlan(hash), text, "EX", keptSeconds), this.#answers.create()]);
  }

  async ask(plannedCell: PlannedCell, signal: AbortSignal): Promise<Trial> {
    if (plannedCell.planned.unavailable) return await this.#queued.askHere(plannedCell, signal);
    const reserved = await this.#queued.limits.reserve(this.#queued.ceiling(plannedCell), signal);
    if (typeof reserved !== "function") return toUnasked(plannedCell, reserved);
    const trial = await this.#await(plannedCell, signal);
    reserved({ cost: trial.costUsd, requests: trial.turns.length + (trial.judging ? 1 : 0) });
    return trial;
  }

  /** Removes an answer that is on disk. */
  settle({ cell }: Trial): void {
    const id = nameJob(this.#queued.run, cell);
    const arrived = this.#arrived.get(id);
    // Where nothing arrived, nothing is recorded: a later answer is kept for the run that resumes this one.
    if (!arrived) return;
    this.#settled.add(id);
    this.#arrived.delete(id);
    this.#track(arrived.answer.acknowledge());
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    // A server that is gone must not keep the run from ending.
    await within(5_000, Promise.all(this.#pending));
    this.#answers.close();
    if (this.#left > 0)
      this.#io.err(`${this.#left} trials that workers have begun go on; evals run --resume takes their answers.\n`);
    // Answers that nobody asked for stay on the server for the run that resumes this one.
    else if (this.#arrived.size === 0) await within(5_000, this.#removeAll());
  }

  /** Removes all that the run has on the server, but jobs that a worker runs a second time: it finds that nobody waits. */
  async #removeAll(): Promise<void> {
    await this.#answers.remove();
    await this.#jobs.removeAll();
  }

  async #await(plannedCell: PlannedCell, signal: AbortSignal): Promise<Trial> {
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
      if (!this.#begun.delete(id)) this.#track(this.#jobs.put(id, job));
    });
  }

  /** Stops waiting when a signal aborts. One listener serves all trials: each more would have to be compared with all. */
  #watch(signal: AbortSignal): void {
    if (this.#signals.has(signal)) return;
    this.#signals.add(signal);
    const cancel = () => {
      for (const [id, awaited] of this.#awaited) if (awaited.signal === signal) this.#giveUp(id, awaited, cancelled);
    };
    signal.addEventListener("abort", cancel, { once: true });
  }

  /** Ends what is awaited without an answer: it is not asked, or a resumed run takes its answer. */
  #giveUp(id: string, { plannedCell, job, resolve }: Awaited, outcome: Broken): void {
    this.#awaited.delete(id);
    this.#track(this.#takeBack(id, job.cell));
    resolve(toUnasked(plannedCell, outcome));
  }

  /** Removes a job that no worker has begun. */
  async #takeBack(id: string, cell: Cell): Promise<void> {
    if (!(await this.#jobs.remove(id, cell))) this.#left++;
  }

  #take(answer: Answer): void {
    const { result } = answer;
    if (result.kind === "refused") {
      this.#refuse(result.worker, result.reason);
      this.#track(answer.acknowledge());
      return;
    }
    const { job: id, trial } = result;
    const arrived = this.#arrived.get(id);
    if (arrived?.answer.entry === answer.entry) return;
    const awaited = this.#awaited.get(id);
    // Where nobody waits for it, the run has not asked the cell yet, or has recorded it before it was killed.
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

  #refuse(worker: string, reason: string): void {
    if (this.#refusals.get(worker) === reason) return;
    this.#refusals.set(worker, reason);
    const message = `The worker ${excerpt(worker, 100)} does not run this plan: ${excerpt(reason, 1_000)}.`;
    this.#io.err(
      `${formatProblem({ severity: "warning", message, hint: "Update its checkout and start it again." })}\n`,
    );
  }

  /** Puts jobs on the queue again that the server has lost, and reports what no worker will do. */
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

  #awaitedOf(provider: string): [string, Awaited][] {
    return [...this.#awaited].filter(([, { plannedCell }]) => nameProvider(plannedCell.cell.model) === provider);
  }

  async #checkJobs(provider: string): Promise<void> {
    const asked = this.#awaitedOf(provider).filter(([, { askedAt }]) => performance.now() - askedAt > checkMs);
    if (asked.length === 0) return;
    const { unfinished, failed } = await this.#jobs.findPresent(provider);
    // A worker answers before its job is removed, so what is neither on the queue nor among these answers is lost.
    await this.#answers.catchUp();
    const gone = asked.filter(([id, awaited]) => !unfinished.has(id) && this.#awaited.get(id) === awaited);
    if (gone.length > 0) await this.#store();
    for (const [id, { plannedCell, job, resolve }] of gone) {
      if (failed.has(id)) {
        const reason = await this.#jobs.readFailure(id, job.cell);
        await this.#jobs.remove(id, job.cell);
        if (this.#awaited.delete(id)) resolve(toUnrun(plannedCell, `its workers failed: ${excerpt(reason, 500)}`));
      } else this.#track(this.#jobs.put(id, job));
    }
  }

  async #checkWorkers(provider: string): Promise<void> {
    const asked = this.#awaitedOf(provider);
    if (asked.length === 0) return;
    if ((await this.#jobs.countWorkers(provider)) !== 0) {
      this.#unserved.delete(provider);
      return;
    }
    const [refusal] = this.#refusals;
    if (refusal) {
      const message = `no worker runs this plan: ${refusal[0]}: ${refusal[1]}`;
      for (const [id, awaited] of asked) this.#giveUp(id, awaited, { ...cancelled, message });
      return;
    }
    if (this.#unserved.has(provider)) return;
    this.#unserved.add(provider);
    const hint = `Start one in a checkout of the suites: evals worker ${this.#broker.name}`;
    const message = `No worker takes trials of ${provider} at ${this.#broker.name}.`;
    this.#io.err(`${formatProblem({ severity: "warning", message, hint })}\n`);
  }

  /** Waits for work at the end. A server that is lost is tried again by its client, so failures need no report. */
  #track(work: Promise<unknown>): void {
    const tracked: Promise<unknown> = work.catch(() => {}).finally(() => this.#pending.delete(tracked));
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

/** The cell of a trial that cannot be checked yet. */
function readCell(text: string): Cell | undefined {
  try {
    return trialSchema.shape.cell.parse((JSON.parse(text) as Trial).cell);
  } catch {
    return undefined;
  }
}

/** A trial of which nothing is known. */
function toUnasked({ cell, orderSeed, planned }: PlannedCell, outcome: Broken): Trial {
  const startedAt = new Date().toISOString();
  return { cell, toolset: planned.toolset.hash, orderSeed, outcome, turns: [], costUsd: 0, startedAt, ms: 0 };
}

/** A trial that is recorded as broken, and asked again when the run is resumed. */
const toUnrun = (plannedCell: PlannedCell, message: string) =>
  toUnasked(plannedCell, { kind: "broken", stage: "cancelled", message });

/** Waits for work, at most so long. */
async function within(ms: number, work: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  await Promise.race([work.catch(() => {}), limit]);
  clearTimeout(timer);
}

import { isAbsolute, normalize } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import type { JobType, Queue } from "bullmq";
import type { PlannedCell } from "../../asking/trials/plan.ts";
import { type Asker, createLocalAsker } from "../../asking/trials/runTrial.ts";
import { excerpt } from "../../base/text/text.ts";
import { messageOf, printProblem, usageError } from "../../base/types/errors.ts";
import type { Io } from "../../base/types/io.ts";
import { type Broken, budgetedUsd, cellKey, type Trial } from "../../base/types/trial.ts";
import type { AskOptions } from "../pipeline/pipeline.ts";
import { computeTrialCeiling } from "../pipeline/price.ts";
import type { OpenRecord } from "../pipeline/record.ts";
import type { Resumed } from "../pipeline/recordedOptions.ts";
import type { Workspace } from "../workspace/workspace.ts";
import {
  type Broker,
  connectBroker,
  describePlan,
  keyPrefix,
  nameAnswers,
  nameJob,
  nameLease,
  namePlan,
  nameProvider,
  nameQueue,
  nameRun,
  parseTrial,
  planField,
  refusalField,
  sealPlan,
  type TrialJob,
} from "./connection.ts";

/** Default number of trials on the queue at a time; --concurrency overrides it. Workers have their own limits. */
const defaultQueued = 1_000;
const pollMs = 100;
const checkMs = 5_000;
/** How long the end of a run waits for the server. */
const closeMs = 5_000;
/** How long the server keeps a plan, the answers to a run that was stopped, and a failed job, in seconds. */
const keptSeconds = 30 * 86_400;
/** How long workers still run the trials of a run that no longer renews its lease, in seconds. */
const leaseSeconds = 60;

/** The states of a job that a worker is running or will run. */
const unfinished: JobType[] = ["active", "wait", "delayed", "prioritized"];

/** The queue of a run whose trials are asked on workers. */
export type RunQueue = {
  concurrency: number;
  openAsker(workspace: Workspace, record: OpenRecord): Promise<Asker>;
  close(): Promise<void>;
};

/** The options of a run that a queue needs. */
type QueueOptions = AskOptions & {
  paths?: readonly string[] | undefined;
  prices?: string | undefined;
  baselines: string;
  rate?: number | undefined;
};

/** Connects to the queue of `--queue` before anything is opened. Throws like `connectBroker`, and for a partial run. */
export async function connectQueue(
  url: string,
  options: QueueOptions,
  resumed: Resumed | undefined,
  io: Io,
): Promise<RunQueue> {
  if (resumed?.manifest.partial)
    throw usageError(
      `The run ${resumed.manifest.id} is partial, and --queue supports only whole runs.`,
      "Omit --queue.",
    );
  const { paths = [], prices, baselines, given } = options;
  const far = [...paths, prices, baselines].find((path) => path && (isAbsolute(path) || /^\.\./.test(normalize(path))));
  if (far !== undefined)
    throw usageError(
      `Workers cannot find ${far}: with --queue, paths are relative and in the working directory.`,
      "Start the run and the workers in the folder of the project.",
    );
  const broker = await connectBroker(url, io);
  return {
    concurrency: given?.has("concurrency") ? options.concurrency : defaultQueued,
    close: broker.close,
    async openAsker(workspace, record) {
      const replay = workspace.models.find(({ id }) => nameProvider(id) === "replay");
      if (replay)
        throw usageError(`${replay.id} answers from a local record, which workers cannot read.`, "Omit --queue.");
      const asker = new QueuedAsker(broker, workspace, record, io);
      await asker.open(options.rate);
      return asker;
    },
  };
}

/** A cell that waits for its answer since `askedAt` (monotonic, in ms), until `signal` aborts. */
type Awaited = {
  plannedCell: PlannedCell;
  job: TrialJob;
  askedAt: number;
  signal: AbortSignal;
  resolve(trial: Trial): void;
};

/**
 * Asks the trials of a run on workers: puts each cell on the queue of its provider, and takes the answers from a hash,
 * where they stay until they are on disk (`settle`). A worker answers before its job is removed. So everything that a
 * killed run was waiting for is either on the queue or in the hash when the run is resumed. The id of a job is made from
 * its cell, so a cell is on the queue only once, however often it is added.
 */
class QueuedAsker implements Asker {
  readonly #broker: Broker;
  readonly #workspace: Workspace;
  readonly #record: OpenRecord;
  readonly #io: Io;
  readonly #run: string;
  readonly #plan: ReturnType<typeof sealPlan>;
  readonly #workers: ReturnType<typeof watchWorkers>;
  /** By provider. */
  readonly #queues = new Map<string, Queue>();
  /** Jobs that are on the queue from before the run was killed and resumed. They are not added again. */
  readonly #queuedBefore = new Set<string>();
  /** Cells that wait for an answer, by the ids of their jobs. */
  readonly #awaited = new Map<string, Awaited>();
  /** Answers from before the run was resumed, to cells that are not asked yet. */
  readonly #early = new Map<string, string>();
  /** Jobs whose answers are taken and not on disk. */
  readonly #taken = new Set<string>();
  /** Jobs whose trials are on the record. */
  readonly #recorded: Set<string>;
  readonly #signals = new WeakSet<AbortSignal>();
  readonly #pending = new Set<Promise<unknown>>();
  readonly #closing = new AbortController();
  /** Number of jobs that workers are running although this run no longer waits for them. */
  #abandoned = 0;

  constructor(broker: Broker, workspace: Workspace, record: OpenRecord, io: Io) {
    this.#broker = broker;
    this.#workspace = workspace;
    this.#record = record;
    this.#io = io;
    this.#run = nameRun(record.manifest);
    this.#plan = sealPlan(describePlan(record.manifest, workspace.git?.commit));
    this.#recorded = new Set([...record.done].map((key) => nameJob(this.#run, key)));
    this.#workers = watchWorkers(broker.name, io);
  }

  /**
   * Stores what workers need, and in a resumed run takes over the jobs and answers from before. `rate`: maximum trials
   * per second and provider, on all workers together.
   */
  async open(rate: number | undefined): Promise<void> {
    const { bullmq, redis } = this.#broker;
    for (const provider of new Set(this.#workspace.models.map(({ id }) => nameProvider(id)))) {
      const options = { prefix: keyPrefix, skipVersionCheck: true, connection: redis };
      const queue = new bullmq.Queue(nameQueue(provider), options);
      queue.on("error", () => {});
      await (rate === undefined ? queue.removeGlobalRateLimit() : queue.setGlobalRateLimit(rate, 1_000));
      this.#queues.set(provider, queue);
      for (const id of await this.#listJobs(queue, unfinished)) this.#queuedBefore.add(id);
    }
    await this.#store();
    await this.#takeAnswers();
    void this.#keepUp();
  }

  async ask(plannedCell: PlannedCell, signal: AbortSignal): Promise<Trial> {
    const { context, judge } = this.#workspace;
    const { planned, model } = plannedCell;
    if (planned.unavailable) return await createLocalAsker(context).ask(plannedCell, signal);
    const reserved = await context.limits.reserve(computeTrialCeiling(planned, model, judge), signal);
    if (typeof reserved !== "function") return toUnasked(plannedCell, reserved);
    const trial = await this.#askWorker(plannedCell, signal);
    reserved({ cost: budgetedUsd(trial), requests: trial.turns.length + (trial.judging ? 1 : 0) });
    return trial;
  }

  /** Removes an answer that is on disk from the server. */
  settle({ cell }: Trial): void {
    const id = nameJob(this.#run, cellKey(cell));
    // Without an answer nothing was recorded. A later answer stays on the server for when the run is resumed.
    if (!this.#taken.delete(id)) return;
    this.#recorded.add(id);
    this.#track(this.#broker.redis.hdel(nameAnswers(this.#run), id));
  }

  async close(): Promise<void> {
    this.#closing.abort();
    this.#track(this.#broker.redis.del(nameLease(this.#run)));
    // A server that is gone must not keep the run from ending.
    await waitAtMost(closeMs, Promise.all(this.#pending));
    if (this.#abandoned > 0)
      this.#io.err(`Workers are still running ${this.#abandoned} trials; evals run --resume collects their answers.\n`);
    else await waitAtMost(closeMs, this.#removeAll());
  }

  async #askWorker(plannedCell: PlannedCell, signal: AbortSignal): Promise<Trial> {
    const { cell, planned, orderSeed } = plannedCell;
    const id = nameJob(this.#run, cellKey(cell));
    const plan = this.#plan.hash;
    const job: TrialJob = { run: this.#run, plan, cell, toolset: planned.toolset.hash, orderSeed };
    const early = this.#early.get(id);
    if (early !== undefined) {
      this.#early.delete(id);
      this.#taken.add(id);
      return readTrial(early, plannedCell, job);
    }
    if (signal.aborted) return toUnasked(plannedCell, cancelled);
    this.#watch(signal);
    return await new Promise<Trial>((resolve) => {
      this.#awaited.set(id, { plannedCell, job, askedAt: performance.now(), signal, resolve });
      if (!this.#queuedBefore.delete(id)) this.#track(this.#put(id, job));
    });
  }

  /** Stops waiting when a signal aborts. One listener serves all trials: adding one each would take quadratic time. */
  #watch(signal: AbortSignal): void {
    if (this.#signals.has(signal)) return;
    this.#signals.add(signal);
    const cancel = () => {
      for (const [id, awaited] of this.#awaited) if (awaited.signal === signal) this.#abandon(id, awaited, cancelled);
    };
    signal.addEventListener("abort", cancel, { once: true });
  }

  /** Stops waiting for a cell. If a worker is already running it, a resumed run collects the answer. */
  #abandon(id: string, { plannedCell, job, resolve }: Awaited, outcome: Broken): void {
    this.#awaited.delete(id);
    const removeJob = async () => {
      if ((await this.#findQueue(job).remove(id)) === 0) this.#abandoned++;
    };
    this.#track(removeJob());
    resolve(toUnasked(plannedCell, outcome));
  }

  /** Until the end of the run: takes answers as they arrive, and repairs what the server or its workers have lost. */
  async #keepUp(): Promise<void> {
    const { signal } = this.#closing;
    let checkedAt = performance.now();
    while (!signal.aborted) {
      try {
        await this.#takeAnswers();
        if (performance.now() - checkedAt > checkMs) {
          await this.#check();
          checkedAt = performance.now();
        }
      } catch (error) {
        this.#broker.reportRefusal(error);
      }
      await pause(pollMs, undefined, { signal }).catch(() => {});
    }
  }

  async #takeAnswers(): Promise<void> {
    const key = nameAnswers(this.#run);
    const { [planField]: _, ...answers } = await this.#broker.redis.hgetall(key);
    for (const [name, value] of Object.entries(answers)) {
      const awaited = this.#awaited.get(name);
      const isAnswer = !name.startsWith(refusalField);
      if (!isAnswer) this.#workers.addRefusal(name.slice(refusalField.length), value);
      else if (awaited) {
        this.#awaited.delete(name);
        this.#taken.add(name);
        awaited.resolve(readTrial(value, awaited.plannedCell, awaited.job));
      } else if (this.#recorded.has(name)) this.#track(this.#broker.redis.hdel(key, name));
      else if (!this.#taken.has(name)) this.#early.set(name, value);
    }
  }

  async #check(): Promise<void> {
    if ((await this.#broker.redis.expire(nameLease(this.#run), leaseSeconds)) === 0) {
      await this.#store();
      printProblem(this.#io)({
        severity: "warning",
        message: `The lease of this run on the queue at ${this.#broker.name} has expired: the server lost its data, or this process was suspended.`,
        hint: "Trials without an answer are queued again. Those that a worker was running may be paid for twice.",
      });
    }
    for (const [provider, queue] of this.#queues) {
      if (this.#listAwaited(provider).length === 0) continue;
      await this.#requeueLost(provider, queue);
      const workers = await queue.getWorkersCount().catch(() => undefined);
      const obstacle = this.#workers.findObstacle(provider, workers);
      if (obstacle === undefined) continue;
      for (const [id, awaited] of this.#listAwaited(provider))
        this.#abandon(id, awaited, { ...cancelled, message: obstacle });
    }
  }

  async #requeueLost(provider: string, queue: Queue): Promise<void> {
    const asked = this.#listAwaited(provider).filter(([, { askedAt }]) => performance.now() - askedAt > checkMs);
    const present = new Set(await queue.getRanges(unfinished, 0, -1));
    // A worker answers before its job is removed, so a job is lost if it is neither on the queue nor answered.
    await this.#takeAnswers();
    const gone = asked.filter(([id, awaited]) => !present.has(id) && this.#awaited.get(id) === awaited);
    if (gone.length > 0) await this.#store();
    for (const [id, { plannedCell, job, resolve }] of gone) {
      const failed = await queue.getJob(id);
      // What may be left of the job would keep it from being added again.
      await queue.remove(id);
      if (failed?.failedReason === undefined) this.#track(this.#put(id, job));
      else if (this.#awaited.delete(id))
        resolve(toUnrun(plannedCell, `its workers failed: ${excerpt(failed.failedReason, 500)}`));
    }
  }

  #listAwaited(provider: string): [string, Awaited][] {
    return [...this.#awaited].filter(([, { job }]) => nameProvider(job.cell.model) === provider);
  }

  /** Stores the lease, the plan and the hash of the answers, without which workers do not answer. */
  async #store(): Promise<void> {
    const { redis } = this.#broker;
    const { hash, text } = this.#plan;
    await Promise.all([
      redis.set(nameLease(this.#run), hash, "EX", leaseSeconds),
      redis.set(namePlan(hash), text, "EX", keptSeconds),
      redis.hset(nameAnswers(this.#run), planField, hash),
      redis.expire(nameAnswers(this.#run), keptSeconds),
    ]);
  }

  async #put(id: string, job: TrialJob): Promise<void> {
    const removeOnFail = { age: keptSeconds };
    await this.#findQueue(job).add("trial", job, { jobId: id, removeOnComplete: true, removeOnFail });
  }

  #findQueue({ cell }: TrialJob): Queue {
    const queue = this.#queues.get(nameProvider(cell.model));
    if (!queue) throw new Error(`${cell.model} is not in the plan of the run`);
    return queue;
  }

  /** The ids of the run's own jobs in these states. */
  async #listJobs(queue: Queue, states: JobType[]): Promise<string[]> {
    return (await queue.getRanges(states, 0, -1)).filter((id) => id.startsWith(`${this.#run}-`));
  }

  /** Removes jobs that no worker is running, and the answers, unless a resumed run needs them. */
  async #removeAll(): Promise<void> {
    const isWhole = this.#record.results.summary().totals.missing === 0;
    if (isWhole || this.#early.size === 0) await this.#broker.redis.del(nameAnswers(this.#run));
    for (const queue of this.#queues.values())
      for (const id of await this.#listJobs(queue, [...unfinished, "failed"])) await queue.remove(id);
  }

  /** Makes `close` wait for this work. Failures are only reported: the client reconnects, and checks repair losses. */
  #track(work: Promise<unknown>): void {
    const tracked: Promise<unknown> = work
      .catch(this.#broker.reportRefusal)
      .finally(() => this.#pending.delete(tracked));
    this.#pending.add(tracked);
  }
}

/**
 * Finds out whether workers run the trials of a run, and warns if they do not. `server`: the URL of the queue, as
 * messages name it.
 */
export function watchWorkers(server: string, io: Pick<Io, "err">) {
  const warn = (message: string, hint: string) => printProblem(io)({ severity: "warning", message, hint });
  /** Why workers refused the plan, by worker. */
  const refusals = new Map<string, string>();
  /** Providers that had no worker when it was last looked. */
  const unserved = new Set<string>();
  return {
    /** Records that a worker refused the plan, and warns unless it gave the same reason before. */
    addRefusal(worker: string, reason: string) {
      if (refusals.get(worker) === reason) return;
      refusals.set(worker, reason);
      const message = `The worker ${excerpt(worker, 100)} does not run this plan: ${excerpt(reason, 1_000)}.`;
      warn(message, "Update its checkout and start it again.");
    },
    /**
     * Returns why no worker will run the trials of a provider: all have refused the plan. Warns once if none has come
     * yet. `count`: the workers of the provider now; undefined if unknown. One look is not enough to find none: after a
     * lost connection, workers may be back later than this process.
     */
    findObstacle(provider: string, count: number | undefined): string | undefined {
      const [refusal] = refusals;
      const isSecondLook = unserved.has(provider);
      if (count !== 0) unserved.delete(provider);
      else unserved.add(provider);
      if (count !== 0 || (refusal && !isSecondLook)) return undefined;
      if (refusal) return `no worker runs this plan: ${refusal[0]}: ${refusal[1]}`;
      const hint = `Start one in a checkout of the suites: evals worker ${server}`;
      if (!isSecondLook) warn(`No worker takes trials of ${provider} at ${server}.`, hint);
      return undefined;
    },
  };
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

/** A trial that ended without turns. */
function toUnasked({ cell, orderSeed, planned }: PlannedCell, outcome: Broken): Trial {
  const startedAt = new Date().toISOString();
  return { cell, toolset: planned.toolset.hash, orderSeed, outcome, turns: [], costUsd: 0, startedAt, ms: 0 };
}

/** A trial that is recorded as cancelled, and asked again when the run is resumed. */
const toUnrun = (plannedCell: PlannedCell, message: string) =>
  toUnasked(plannedCell, { kind: "broken", stage: "cancelled", message });

/** Waits for work for at most `ms`. Does not reject. */
async function waitAtMost(ms: number, work: Promise<unknown>): Promise<void> {
  await Promise.race([work.catch(() => {}), pause(ms, undefined, { ref: false })]);
}

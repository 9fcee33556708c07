import { isAbsolute, normalize } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import type { JobType, Queue } from "bullmq";
import type { PlannedCell } from "../../asking/trials/plan.ts";
import { type Asker, createLocalAsker } from "../../asking/trials/runTrial.ts";
import { excerpt } from "../../base/text/text.ts";
import { messageOf, printProblem, usageError } from "../../base/types/errors.ts";
import type { Io } from "../../base/types/io.ts";
import { type Broken, budgetedUsd, type Trial } from "../../base/types/trial.ts";
import type { AskOptions } from "../pipeline/pipeline.ts";
import { computeTrialCeiling } from "../pipeline/price.ts";
import type { OpenRecord } from "../pipeline/record.ts";
import type { Resumed } from "../pipeline/recordedOptions.ts";
import type { Workspace } from "../workspace/workspace.ts";
import {
  type Broker,
  connectBroker,
  keyPrefix,
  nameAnswers,
  nameJob,
  nameLease,
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
const closeMs = 5_000;
/** How long the server keeps the plan of a run that was stopped, the answers to it, and a failed job, in seconds. */
const keptSeconds = 30 * 86_400;
/** How long workers still run the trials of a run that no longer renews its lease, in seconds. */
const leaseSeconds = 60;

/** The states of a job that a worker is running or will run. */
const unfinished: JobType[] = ["active", "wait"];

/** The queue of a run whose trials are asked on workers. */
export type RunQueue = Awaited<ReturnType<typeof connectQueue>>;

type QueueOptions = AskOptions & {
  paths?: readonly string[] | undefined;
  prices?: string | undefined;
  baselines: string;
  rate?: number | undefined;
};

/** Connects to the queue of `--queue` before anything is opened. Throws like `connectBroker`, and for a partial run. */
export async function connectQueue(url: string, options: QueueOptions, resumed: Resumed | undefined, io: Io) {
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
    async openAsker(workspace: Workspace, record: OpenRecord): Promise<Asker> {
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
type AwaitedCell = {
  id: string;
  plannedCell: PlannedCell;
  job: TrialJob;
  queue: Queue;
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
  readonly #answers: string;
  readonly #plan: ReturnType<typeof sealPlan>;
  readonly #workers: ReturnType<typeof watchWorkers>;
  /** By provider. */
  readonly #queues = new Map<string, Queue>();
  /** Jobs that were queued or answered before the run was killed and resumed. They are not added again. */
  readonly #askedBefore = new Set<string>();
  /** Cells that wait for an answer, by the ids of their jobs. */
  readonly #awaited = new Map<string, AwaitedCell>();
  /** Jobs whose answers are taken and not on disk. */
  readonly #taken = new Set<string>();
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
    this.#answers = nameAnswers(this.#run);
    this.#plan = sealPlan(record.manifest, workspace.git?.commit);
    this.#workers = watchWorkers(broker.name, io);
  }

  /** Finds what was queued or answered before. `rate`: maximum trials a second and provider, on all workers. */
  async open(rate: number | undefined): Promise<void> {
    const { bullmq, redis } = this.#broker;
    for (const provider of new Set(this.#workspace.models.map(({ id }) => nameProvider(id)))) {
      const options = { prefix: keyPrefix, skipVersionCheck: true, connection: redis };
      const queue = new bullmq.Queue(nameQueue(provider), options);
      queue.on("error", () => {});
      await (rate === undefined ? queue.removeGlobalRateLimit() : queue.setGlobalRateLimit(rate, 1_000));
      this.#queues.set(provider, queue);
      for (const id of await queue.getRanges(unfinished, 0, -1)) this.#askedBefore.add(id);
    }
    for (const id of await redis.hkeys(this.#answers)) this.#askedBefore.add(id);
    await this.#store();
    void this.#repeat(pollMs, () => this.#abandonStopped());
    void this.#repeat(pollMs, () => this.#takeAnswers());
    void this.#repeat(checkMs, () => this.#check());
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

  settle({ cell }: Trial): void {
    const id = nameJob(this.#run, cell);
    // Without an answer nothing was recorded. A later answer stays on the server for when the run is resumed.
    if (this.#taken.delete(id)) this.#track(this.#broker.redis.hdel(this.#answers, id));
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
    const queue = this.#queues.get(nameProvider(cell.model));
    if (!queue) throw new Error(`${cell.model} is not in the plan of the run`);
    const id = nameJob(this.#run, cell);
    const job: TrialJob = { run: this.#run, cell, toolset: planned.toolset.hash, orderSeed };
    return await new Promise<Trial>((resolve) => {
      const awaited = { id, plannedCell, job, queue, askedAt: performance.now(), signal, resolve };
      this.#awaited.set(id, awaited);
      if (!this.#askedBefore.delete(id)) this.#track(this.#put(awaited));
    });
  }

  async #put({ id, job, queue }: AwaitedCell): Promise<void> {
    await queue.add("trial", job, { jobId: id, removeOnComplete: true, removeOnFail: { age: keptSeconds } });
  }

  async #repeat(everyMs: number, work: () => void | Promise<void>): Promise<void> {
    const { signal } = this.#closing;
    while (!signal.aborted) {
      try {
        await work();
      } catch (error) {
        this.#broker.reportRefusal(error);
      }
      await pause(everyMs, undefined, { signal }).catch(() => {});
    }
  }

  /** Stops waiting for cells whose signal aborted, even while the server is lost. */
  #abandonStopped(): void {
    for (const awaited of this.#awaited.values()) if (awaited.signal.aborted) this.#abandon(awaited, cancelled);
  }

  /** Stops waiting for a cell. If a worker is already running it, a resumed run collects the answer. */
  #abandon({ id, plannedCell, queue, resolve }: AwaitedCell, outcome: Broken): void {
    this.#awaited.delete(id);
    const removeJob = async () => {
      if ((await queue.remove(id)) === 0) this.#abandoned++;
    };
    this.#track(removeJob());
    resolve(toUnasked(plannedCell, outcome));
  }

  async #takeAnswers(): Promise<void> {
    const { redis } = this.#broker;
    const isRefusal = (field: string) => field.startsWith(refusalField);
    const fields = (await redis.hkeys(this.#answers)).filter((field) => this.#awaited.has(field) || isRefusal(field));
    const values = fields.length > 0 ? await redis.hmget(this.#answers, ...fields) : [];
    for (const [at, field] of fields.entries()) {
      const value = values[at];
      const awaited = this.#awaited.get(field);
      if (typeof value !== "string") continue;
      if (isRefusal(field)) this.#workers.addRefusal(field.slice(refusalField.length), value);
      if (!awaited) continue;
      this.#awaited.delete(field);
      this.#taken.add(field);
      awaited.resolve(readTrial(value, awaited));
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
      const listAwaited = () => [...this.#awaited.values()].filter((awaited) => awaited.queue === queue);
      if (listAwaited().length === 0) continue;
      await this.#requeueLost(queue, listAwaited());
      const workers = await queue.getWorkersCount().catch(() => undefined);
      const obstacle = this.#workers.findObstacle(provider, workers);
      if (obstacle === undefined) continue;
      for (const awaited of listAwaited()) this.#abandon(awaited, { ...cancelled, message: obstacle });
    }
  }

  async #requeueLost(queue: Queue, awaited: readonly AwaitedCell[]): Promise<void> {
    const asked = awaited.filter(({ askedAt }) => performance.now() - askedAt > checkMs);
    const present = new Set(await queue.getRanges(unfinished, 0, -1));
    // A worker answers before its job is removed, so a job is lost if it is neither on the queue nor answered.
    await this.#takeAnswers();
    const gone = asked.filter((one) => !present.has(one.id) && this.#awaited.get(one.id) === one);
    if (gone.length > 0) await this.#store();
    for (const lost of gone) {
      const failed = await queue.getJob(lost.id);
      // What may be left of the job would keep it from being added again.
      await queue.remove(lost.id);
      if (failed?.failedReason === undefined) this.#track(this.#put(lost));
      else if (this.#awaited.delete(lost.id))
        lost.resolve(toUnrun(lost.plannedCell, `its workers failed: ${excerpt(failed.failedReason, 500)}`));
    }
  }

  /** Stores the lease, and the hash with the plan, without which workers do not answer. */
  async #store(): Promise<void> {
    const { redis } = this.#broker;
    const { hash, text } = this.#plan;
    await Promise.all([
      redis.hset(this.#answers, planField, text),
      redis.expire(this.#answers, keptSeconds),
      redis.set(nameLease(this.#run), hash, "EX", leaseSeconds),
    ]);
  }

  /** Removes jobs that no worker is running, and the answers, unless a resumed run needs them. */
  async #removeAll(): Promise<void> {
    const isWhole = this.#record.results.summary().totals.missing === 0;
    if (isWhole) await this.#broker.redis.del(this.#answers);
    for (const queue of this.#queues.values())
      for (const id of await queue.getRanges([...unfinished, "failed"], 0, -1))
        if (id.startsWith(`${this.#run}-`)) await queue.remove(id);
  }

  /** Makes `close` wait for this work. Failures are only reported: the client reconnects, and checks repair losses. */
  #track(work: Promise<unknown>): void {
    const tracked: Promise<unknown> = work
      .catch(this.#broker.reportRefusal)
      .finally(() => this.#pending.delete(tracked));
    this.#pending.add(tracked);
  }
}

/** Warns if no worker runs the trials of a run. `server`: the URL of the queue, as messages name it. */
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
      const isSecondLook = unserved.delete(provider);
      if (count !== 0) return undefined;
      unserved.add(provider);
      if (refusal) return isSecondLook ? `no worker runs this plan: ${refusal[0]}: ${refusal[1]}` : undefined;
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

function readTrial(text: string, { plannedCell, job }: AwaitedCell): Trial {
  try {
    return parseTrial(text, job);
  } catch (thrown) {
    return toUnrun(plannedCell, `the worker's answer cannot be read: ${excerpt(messageOf(thrown), 500)}`);
  }
}

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

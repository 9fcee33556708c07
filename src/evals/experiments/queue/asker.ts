import { setTimeout as pause } from "node:timers/promises";
import type { JobType, Queue } from "bullmq";
import type { PlannedCell } from "../../asking/trials/plan.ts";
import { type Asker, createLocalAsker } from "../../asking/trials/runTrial.ts";
import { excerpt } from "../../base/text/text.ts";
import { formatIssues, printProblem } from "../../base/types/errors.ts";
import type { Io } from "../../base/types/io.ts";
import { isNestedDeeper, parseJsonText } from "../../base/types/json.ts";
import { type Broken, budgetedUsd, type Trial, trialSchema } from "../../base/types/trial.ts";
import type { AskOptions } from "../pipeline/pipeline.ts";
import { computeTrialCeiling } from "../pipeline/price.ts";
import type { OpenRecord } from "../pipeline/record.ts";
import type { Workspace } from "../workspace/workspace.ts";
import {
  type Broker,
  connectBroker,
  hashSettings,
  keyPrefix,
  nameAnswers,
  nameJob,
  nameLease,
  nameProvider,
  nameQueue,
  nameRun,
  openField,
  refusalField,
  type TrialJob,
  waitAtMost,
  writePlan,
} from "./connection.ts";

/** Default number of trials on the queue at a time; --concurrency overrides it. Workers have their own limits. */
const defaultQueued = 1_000;
const pollMs = 100;
const checkMs = 5_000;
/** How long the server keeps the plan of a run that was stopped, the answers to it, and a failed job, in seconds. */
const keptSeconds = 30 * 86_400;
/** Maximum length of an answer in characters. Replies and results are truncated far below it. */
const maxTrialLength = 64 * 1024 * 1024;
/** How long workers still run the trials of a run that no longer renews its lease, in seconds. */
const leaseSeconds = 60;

/** The states of a job that a worker is running or will run. */
const unfinished: JobType[] = ["active", "wait"];

/** The queue of a run whose trials are asked on workers. */
export type RunQueue = Awaited<ReturnType<typeof connectQueue>>;

/** Connects to the queue of `--queue` before anything is opened. Throws like `connectBroker`. */
export async function connectQueue(url: string, options: AskOptions & { rate?: number | undefined }, io: Io) {
  const broker = await connectBroker(url, io);
  return {
    concurrency: options.given?.has("concurrency") ? options.concurrency : defaultQueued,
    close: broker.close,
    async openAsker(workspace: Workspace, record: OpenRecord): Promise<Asker> {
      const asker = new QueuedAsker(broker, workspace, record, io);
      await asker.open(options.rate);
      return asker;
    },
  };
}

/** A cell that waits for its answer until `signal` aborts. */
type AwaitedCell = {
  id: string;
  plannedCell: PlannedCell;
  job: TrialJob;
  queue: Queue;
  signal: AbortSignal;
  resolve(trial: Trial): void;
};

/**
 * Asks the trials of a run on workers: puts each cell on the queue of its provider, and takes the answers from a hash,
 * where they stay until they are on disk (`settle`). A worker answers before its job is removed. So everything that a
 * killed run was waiting for is either on the queue or in the hash when the run is resumed. The id of a job is made
 * from its cell, so a cell is on the queue only once, however often it is added.
 */
class QueuedAsker implements Asker {
  readonly #run: string;
  readonly #answers: string;
  readonly #plan: string;
  /** A worker that refused the plan, and why. */
  #refusal: string | undefined;
  /** Providers of which it is said that no worker takes their trials. */
  readonly #unserved = new Set<string>();
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

  constructor(
    private readonly broker: Broker,
    private readonly workspace: Workspace,
    private readonly record: OpenRecord,
    private readonly io: Io,
  ) {
    this.#run = nameRun(record.manifest);
    this.#answers = nameAnswers(this.#run);
    this.#plan = writePlan(record.manifest, workspace.git?.commit);
  }

  /** Finds what was queued or answered before. `rate`: maximum trials a second and provider, on all workers. */
  async open(rate: number | undefined): Promise<void> {
    const { bullmq, redis } = this.broker;
    for (const provider of new Set(this.workspace.models.map(({ id }) => nameProvider(id)))) {
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
    const { context, judge } = this.workspace;
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
    if (this.#taken.delete(id)) this.#track(this.broker.redis.hdel(this.#answers, id));
  }

  async close(): Promise<void> {
    this.#closing.abort();
    this.#track(this.broker.redis.del(nameLease(this.#run)));
    await waitAtMost(Promise.all(this.#pending));
    if (this.record.results.summary().totals.missing === 0) await waitAtMost(this.broker.redis.del(this.#answers));
  }

  async #askWorker(plannedCell: PlannedCell, signal: AbortSignal): Promise<Trial> {
    const { cell, planned, model, orderSeed } = plannedCell;
    const queue = this.#queues.get(nameProvider(cell.model));
    if (!queue) throw new Error(`${cell.model} is not in the plan of the run`);
    const id = nameJob(this.#run, cell);
    const settings = hashSettings(model, this.workspace.judge);
    const hashes = { suite: planned.suite.hash, toolset: planned.toolset.hash, settings };
    const job: TrialJob = { run: this.#run, cell, ...hashes, orderSeed };
    return await new Promise<Trial>((resolve) => {
      const awaited = { id, plannedCell, job, queue, signal, resolve };
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
        this.broker.reportRefusal(error);
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
    this.#track(queue.remove(id));
    resolve(toUnasked(plannedCell, outcome));
  }

  async #takeAnswers(): Promise<void> {
    const { redis } = this.broker;
    const isRefusal = (field: string) => field.startsWith(refusalField);
    const fields = (await redis.hkeys(this.#answers)).filter((field) => this.#awaited.has(field) || isRefusal(field));
    const values = fields.length > 0 ? await redis.hmget(this.#answers, ...fields) : [];
    for (const [at, field] of fields.entries()) {
      const value = values[at];
      const awaited = this.#awaited.get(field);
      if (typeof value !== "string") continue;
      if (isRefusal(field)) this.#reportRefusal(field, value);
      if (!awaited) continue;
      this.#awaited.delete(field);
      this.#taken.add(field);
      awaited.resolve(readTrial(value, awaited));
    }
  }

  #reportRefusal(field: string, reason: string): void {
    this.#track(this.broker.redis.hdel(this.#answers, field));
    this.#refusal = `${excerpt(field.slice(refusalField.length), 100)}: ${excerpt(reason, 1_000)}`;
    const message = `A worker does not run this plan: ${this.#refusal}.`;
    printProblem(this.io)({ severity: "warning", message, hint: "Update its checkout and start it again." });
  }

  /** Keeps what workers need on the server, puts lost jobs there again, and looks whether there are workers. */
  async #check(): Promise<void> {
    if ((await this.broker.redis.expire(nameLease(this.#run), leaseSeconds)) === 0) await this.#store();
    for (const [provider, queue] of this.#queues) {
      const listAwaited = () => [...this.#awaited.values()].filter((awaited) => awaited.queue === queue);
      if (listAwaited().length === 0) continue;
      await this.#requeueLost(queue, listAwaited());
      const workers = await queue.getWorkersCount().catch(() => undefined);
      if (workers === 0) this.#reportUnserved(provider, listAwaited());
    }
  }

  /** No worker takes the trials of a provider: gives them up if one refused the plan, else warns once. */
  #reportUnserved(provider: string, awaited: readonly AwaitedCell[]): void {
    if (this.#refusal !== undefined) {
      const message = `no worker runs this plan: ${this.#refusal}`;
      for (const one of awaited) this.#abandon(one, { ...cancelled, message });
    } else if (!this.#unserved.has(provider)) {
      this.#unserved.add(provider);
      const { name } = this.broker;
      const message = `No worker takes trials of ${provider} at ${name}.`;
      const hint = `Start one in a checkout of the suites: evals worker ${name}`;
      printProblem(this.io)({ severity: "warning", message, hint });
    }
  }

  async #requeueLost(queue: Queue, awaited: readonly AwaitedCell[]): Promise<void> {
    const present = new Set(await queue.getRanges(unfinished, 0, -1));
    // A worker answers before its job is removed, so a job is lost if it is neither on the queue nor answered.
    await this.#takeAnswers();
    const gone = awaited.filter((one) => !present.has(one.id) && this.#awaited.get(one.id) === one);
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

  /** Stores the lease with the plan, and the hash of the answers, without which workers do not answer. */
  async #store(): Promise<void> {
    const { redis } = this.broker;
    await Promise.all([
      redis.hset(this.#answers, openField, ""),
      redis.expire(this.#answers, keptSeconds),
      redis.set(nameLease(this.#run), this.#plan, "EX", leaseSeconds),
    ]);
  }

  /** Makes `close` wait for this work. Failures are only reported: the client reconnects, and checks repair losses. */
  #track(work: Promise<unknown>): void {
    const tracked: Promise<unknown> = work
      .catch(this.broker.reportRefusal)
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

/** Parses an answer. One that cannot be read, or answers another cell, breaks its trial. */
function readTrial(text: string, { id, plannedCell, job }: AwaitedCell): Trial {
  const value = text.length > maxTrialLength ? undefined : parseJsonText(text);
  const { data, error } = trialSchema.safeParse(isNestedDeeper(value) ? undefined : value);
  const isAnswer = data && nameJob(job.run, data.cell) === id && data.toolset === job.toolset;
  if (isAnswer && data.orderSeed === job.orderSeed) return data;
  const reason = error ? excerpt(formatIssues(error), 500) : "it answers another cell";
  return toUnrun(plannedCell, `the worker's answer cannot be read: ${reason}`);
}

function toUnasked({ cell, orderSeed, planned }: PlannedCell, outcome: Broken): Trial {
  const startedAt = new Date().toISOString();
  return { cell, toolset: planned.toolset.hash, orderSeed, outcome, turns: [], costUsd: 0, startedAt, ms: 0 };
}

/** A trial that is recorded as cancelled, and asked again when the run is resumed. */
const toUnrun = (plannedCell: PlannedCell, message: string) =>
  toUnasked(plannedCell, { kind: "broken", stage: "cancelled", message });

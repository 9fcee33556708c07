import { hostname } from "node:os";
import { setTimeout as pause } from "node:timers/promises";
import type { Job, JobJson, Worker } from "bullmq";
import { runTrial } from "../../asking/trials/runTrial.ts";
import { knownSecrets } from "../../base/secrets/secrets.ts";
import { printableLines } from "../../base/secrets/visible.ts";
import { excerpt } from "../../base/text/excerpt.ts";
import { type ExitCode, exitCodes, messageOf, printProblem } from "../../base/types/errors.ts";
import type { Io } from "../../base/types/io.ts";
import type { Trial } from "../../base/types/trial.ts";
import { type Broker, connectBroker, readTemporary } from "./connection.ts";
import {
  jobSchema,
  keyPrefix,
  maxStalls,
  nameAnswers,
  nameJob,
  nameLease,
  namePlan,
  nameQueue,
  type Result,
  type TrialJob,
} from "./messages.ts";
import { type OpenPlan, openPlanHere, type Permissions, Refusal } from "./openPlan.ts";
import { openPlan } from "./plan.ts";

export type WorkerOptions = Omit<Permissions, "providers"> & {
  /** The URL of the Redis server. */
  queue: string;
  /** Maximum concurrent trials per provider. */
  concurrency: number;
  /** Additional providers to serve, which run programs on this machine. */
  hosts?: readonly string[] | undefined;
  /** Exits after this many idle seconds. */
  maxIdle?: number | undefined;
};

/** Providers that every worker serves: they run no program on its machine. */
const defaultProviders = ["lexical", "anthropic", "openai"] as const;

/** How long an answer may wait for the server before the end of this process is explained, in ms. */
const patienceMs = 2_000;

/** Maximum size of a plan in bytes. */
const maxPlanBytes = 64 * 1024 * 1024;

/**
 * `evals worker`: runs trials from a queue, with the suites, keys and servers of this machine, until it is stopped. An
 * interrupted trial goes back to the queue. Exits with code 3 if the plan of a run does not match this checkout.
 */
export async function work(options: WorkerOptions, io: Io): Promise<ExitCode> {
  const broker = await connectBroker(options.queue, io);
  const providers = [...defaultProviders, ...(options.hosts ?? [])];
  const worker = new TrialWorker(broker, { ...options, providers: new Set(providers) }, io);
  const consumers = providers.map((provider) => worker.consume(provider, options.concurrency));
  io.err(printableLines(`Worker ${worker.name} takes trials of ${providers.join(", ")} from ${broker.name}.`));
  try {
    const end = await worker.waitForEnd(options.maxIdle);
    await Promise.race([Promise.all(consumers.map((consumer) => consumer.close())), worker.waitForLoss()]);
    await Promise.all(consumers.map((consumer) => consumer.stopRenewing()));
    io.err(`Worker ${worker.name}: ${worker.describeWork()}.\n`);
    if (end === "refused") return exitCodes.incomplete;
    return end === "stopped" ? io.signalExitCode() : exitCodes.passed;
  } finally {
    await worker.close();
    await broker.close();
  }
}

type Consumer = Worker & { stopRenewing(): Promise<void> };
type End = "stopped" | "idle" | "refused";
type Opened = { plan: Promise<OpenPlan>; inFlight: number };

/** Runs the trials of all queues that this process serves. */
class TrialWorker {
  readonly name = `${hostname()}-${process.pid}`;
  readonly #broker: Broker;
  readonly #permissions: Permissions;
  readonly #io: Io;
  readonly #plans = new Map<string, Opened>();
  /** Runs whose trials were dropped. */
  readonly #dropped = new Set<string>();
  readonly #over: Promise<End>;
  /** Answers that the server has not taken yet, and since when they wait (monotonic, in ms). */
  readonly #delivering = new Map<Promise<unknown>, number>();
  #reporting: NodeJS.Timeout | undefined;
  /** Resolves when the server is gone and this process does not wait for it any longer. */
  readonly #lost: Promise<void>;
  #lose: () => void = () => {};
  #end: (end: End) => void = () => {};
  #hasEnded = false;
  #done = 0;
  #returned = 0;
  #inFlight = 0;
  #activeAt = performance.now();

  constructor(broker: Broker, permissions: Permissions, io: Io) {
    this.#broker = broker;
    this.#permissions = permissions;
    this.#io = io;
    this.#over = new Promise((resolve) => {
      this.#end = resolve;
    });
    this.#lost = new Promise((resolve) => {
      this.#lose = resolve;
    });
  }

  consume(provider: string, concurrency: number): Consumer {
    const { bullmq, connect } = this.#broker;
    class TrialConsumer extends bullmq.Worker {
      /** Without a server, `close` does not end, and the renewal of locks would keep the process running. */
      stopRenewing(): Promise<void> {
        return this.lockManager.close();
      }

      /** Data that is not JSON would be taken from the queue without end. As `null` it is dropped as no job. */
      protected override createJob(json: JobJson, id: string): Job {
        return super.createJob(isJson(json.data) ? json : { ...json, data: "null" }, id);
      }
    }
    const consumer = new TrialConsumer(nameQueue(provider), (job: Job, token = "") => this.#run(job, token), {
      prefix: keyPrefix,
      connection: connect(),
      skipVersionCheck: true,
      name: this.name,
      concurrency,
      // The lock of a trial is renewed four times before it expires, because a busy process may miss some renewals. The
      // trials of a dead worker are taken over at the next check after their locks have expired.
      lockDuration: 10_000,
      lockRenewTime: 2_500,
      stalledInterval: 2_000,
      maxStalledCount: maxStalls,
      // The delay after a failed command, for example on a lost connection.
      runRetryDelay: 1_000,
    });
    consumer.on("error", this.#broker.reportRefusal);
    return consumer;
  }

  /** Resolves when the process is asked to stop, has been idle for too long, or has refused a plan. */
  async waitForEnd(maxIdle?: number): Promise<End> {
    const { signal } = this.#io;
    if (signal.aborted) this.#end("stopped");
    signal.addEventListener("abort", () => this.#end("stopped"), { once: true });
    const timer = setInterval(() => {
      const idleMs = performance.now() - this.#activeAt;
      if (maxIdle !== undefined && this.#inFlight === 0 && idleMs > maxIdle * 1_000) this.#end("idle");
    }, 250);
    const end = await this.#over.finally(() => clearInterval(timer));
    this.#hasEnded = true;
    this.#reporting = setInterval(() => this.#reportUndelivered(), 1_000);
    return end;
  }

  /**
   * Resolves at the end of this process if the server is gone: it must not keep the process from ending. Waits for it as
   * long as there are answers, which would be paid for again.
   */
  async waitForLoss(): Promise<void> {
    while (this.#delivering.size > 0) await Promise.allSettled(this.#delivering.keys());
    await this.#broker.stopWaiting();
    this.#lose();
  }

  /** Says once what keeps this process from ending, and how to end it. */
  #reportUndelivered(): void {
    const late = [...this.#delivering.values()].filter((since) => performance.now() - since > patienceMs);
    if (late.length === 0) return;
    clearInterval(this.#reporting);
    const answers = late.length === 1 ? "1 answer" : `${late.length} answers`;
    const press = this.#io.signal.aborted ? "Press Ctrl-C again" : "Press Ctrl-C twice";
    this.#io.err(
      printableLines(
        `Waiting for the queue at ${this.#broker.name} to take ${answers}. ${press} to quit without: the trials are then paid for again.`,
      ),
    );
  }

  describeWork(): string {
    const trials = `${this.#done} trials run`;
    return this.#returned > 0 ? `${trials}, ${this.#returned} returned to the queue` : trials;
  }

  async close(): Promise<void> {
    clearInterval(this.#reporting);
    await Promise.all([...this.#plans.values()].map(({ plan }) => plan.then((one) => one.close()).catch(() => {})));
  }

  /** Runs one job. Its answer is on the server before the job is completed and removed. */
  async #run(job: Job, token: string): Promise<void> {
    const parsed = jobSchema.safeParse(job.data);
    // Not from a coordinator, so nobody waits for the answer.
    if (!parsed.success || job.id !== nameJob(parsed.data.run, parsed.data.cell)) return;
    if (this.#hasEnded || this.#io.signal.aborted) return await this.#returnJob(job, token, 0);
    this.#inFlight++;
    try {
      const plan = await this.#insist(() => this.#broker.redis.get(nameLease(parsed.data.run)));
      if (plan === null) return this.#reportDropped(parsed.data, "no process waits for their answers");
      if (plan !== parsed.data.plan) return;
      const trial = await this.#runTrial(parsed.data);
      const isInterrupted = trial.outcome.kind === "broken" && trial.outcome.stage === "cancelled";
      if (isInterrupted && this.#io.signal.aborted) return await this.#returnJob(job, token, 0);
      const text = knownSecrets(this.#io.env).redact(JSON.stringify(trial));
      await this.#answer(parsed.data, { kind: "trial", worker: this.name, job: job.id, trial: text });
      this.#done++;
    } catch (thrown) {
      if (thrown instanceof LostPlan) return this.#reportDropped(parsed.data, thrown.message);
      if (this.#hasEnded && readTemporary(thrown) !== undefined) return await this.#returnJob(job, token, 0);
      // The server stores the message and the stack of an error.
      if (!(thrown instanceof Refusal)) throw redactError(thrown, this.#io);
      await this.#refuse(parsed.data, thrown.message);
      // This worker is about to stop. Leave the job to others.
      await this.#returnJob(job, token, 1_000);
    } finally {
      this.#inFlight--;
      this.#activeAt = performance.now();
    }
  }

  /** A run that still waits for the answers puts what it needs on the server again: first the plan, then the job. */
  #reportDropped({ run }: TrialJob, reason: string): void {
    if (this.#dropped.has(run)) return;
    this.#dropped.add(run);
    this.#io.err(printableLines(`Dropping the trials of the run ${run}: ${reason}.`));
  }

  async #runTrial(job: TrialJob): Promise<Trial> {
    const opened = this.#plans.get(job.plan) ?? this.#open(job.plan);
    opened.inFlight++;
    try {
      const plan = await opened.plan;
      const trial = await runTrial(plan.find(job), plan.workspace.context, this.#io.signal);
      // The model answers no more requests. Open the plan again for the next trial: a resumed run asks it again.
      if (trial.outcome.kind === "broken" && trial.outcome.again) this.#plans.delete(job.plan);
      return trial;
    } finally {
      opened.inFlight--;
      if (opened.inFlight === 0 && this.#plans.get(job.plan) !== opened) await opened.plan.then((one) => one.close());
    }
  }

  /** Opens a plan, and closes plans without trials in flight. */
  #open(hash: string): Opened {
    for (const [other, { inFlight, plan }] of this.#plans) {
      if (inFlight > 0) continue;
      this.#plans.delete(other);
      plan.then((one) => one.close()).catch(() => {});
    }
    const opened = { plan: this.#read(hash), inFlight: 0 };
    this.#plans.set(hash, opened);
    // The next trial tries again to open a plan that could not be opened.
    opened.plan.catch(() => this.#plans.delete(hash));
    return opened;
  }

  async #read(hash: string): Promise<OpenPlan> {
    const { redis } = this.#broker;
    const size = await this.#insist(() => redis.strlen(namePlan(hash)));
    if (size > maxPlanBytes) throw new Refusal("the plan of the run is too large");
    const sealed = await this.#insist(() => redis.get(namePlan(hash)));
    const plan = readOrRefuse(() => openPlan(sealed ?? "", hash));
    if (!plan) throw new LostPlan(`their plan ${sealed === null ? "is not on the server" : "does not match its hash"}`);
    this.#io.err(printableLines(`Opening ${plan.suites.map(({ file }) => file).join(", ")}.`));
    return await openPlanHere(plan, this.#permissions, this.#io);
  }

  /** Adds an answer to the stream of its run. Does nothing after the end of the run, when the stream is gone. */
  async #answer({ run }: TrialJob, result: Result): Promise<void> {
    const add = () => this.#broker.redis.xadd(nameAnswers(run), "NOMKSTREAM", "*", ...Object.entries(result).flat());
    // Always, because asking for the answer again costs money.
    const delivery = this.#insist(add, () => true);
    this.#delivering.set(delivery, performance.now());
    await delivery.finally(() => this.#delivering.delete(delivery));
  }

  /** Runs a command, and again while the server refuses it for now and `isWorth` holds. */
  async #insist<T>(command: () => Promise<T>, isWorth = () => !this.#hasEnded): Promise<T> {
    for (;;) {
      try {
        return await command();
      } catch (error) {
        if (readTemporary(error) === undefined || !isWorth()) throw error;
        this.#broker.reportRefusal(error);
        await pause(500);
      }
    }
  }

  async #refuse(job: TrialJob, reason: string): Promise<void> {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    const safe = excerpt(knownSecrets(this.#io.env).redact(reason), 4_000);
    const message = `The plan of the run ${job.run} does not match this worker: ${safe}.`;
    const hint = "Check out the files that the run was started with, and start the worker again.";
    printProblem(this.#io)({ severity: "error", message, hint });
    await this.#answer(job, { kind: "refused", worker: this.name, reason: safe });
    this.#end("refused");
  }

  /** Returns a job to the queue for another worker. If the server does not take it, it returns when its lock expires. */
  async #returnJob(job: Job, token: string, delayMs: number): Promise<never> {
    this.#returned++;
    const { DelayedError, WaitingError } = this.#broker.bullmq;
    if (delayMs > 0) {
      await job.moveToDelayed(Date.now() + delayMs, token).catch(this.#broker.reportRefusal);
      throw new DelayedError();
    }
    await Promise.race([job.moveToWait(token).catch(this.#broker.reportRefusal), this.#lost]);
    throw new WaitingError();
  }
}

/** The plan of a run is not on the server, or is another one. */
class LostPlan extends Error {
  override readonly name = "LostPlan";
}

/** Copies an error with known secrets removed from its message, and without a stack. */
function redactError(thrown: unknown, { env }: Io): Error {
  const error = new Error(excerpt(knownSecrets(env).redact(messageOf(thrown)), 1_000));
  error.stack = error.message;
  return error;
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function readOrRefuse<T>(read: () => T): T {
  try {
    return read();
  } catch (thrown) {
    throw new Refusal(`the plan of the run cannot be read: ${excerpt(messageOf(thrown), 500)}`);
  }
}

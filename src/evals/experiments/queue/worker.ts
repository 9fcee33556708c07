import { hostname } from "node:os";
import { setTimeout as pause } from "node:timers/promises";
import type { Job, JobJson, Worker } from "bullmq";
import { runTrial } from "../../asking/trials/runTrial.ts";
import { knownSecrets } from "../../base/secrets/secrets.ts";
import { printableLines } from "../../base/text/display.ts";
import { excerpt } from "../../base/text/text.ts";
import { EvalsError, type ExitCode, exitCodes, messageOf, printProblem } from "../../base/types/errors.ts";
import type { Io } from "../../base/types/io.ts";
import { parseJsonText } from "../../base/types/json.ts";
import type { Trial } from "../../base/types/trial.ts";
import { count } from "../../reports/format.ts";
import { type OpenPlan, openPlanHere, type Permissions } from "./checkout.ts";
import {
  type Broker,
  connectBroker,
  isTemporary,
  jobSchema,
  keyPrefix,
  nameAnswers,
  nameJob,
  nameLease,
  nameQueue,
  openPlan,
  planField,
  Refusal,
  refusalField,
  type TrialJob,
} from "./connection.ts";

export type WorkerOptions = Omit<Permissions, "providers"> & {
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

const maxPlanBytes = 64 * 1024 * 1024;

/** A job fails after this many of its workers died. */
const maxStalls = 5;

/** Adds an answer to those of a run, unless the run is over, when there are none. */
const answerScript = `if redis.call("EXISTS", KEYS[1]) == 1 then redis.call("HSET", KEYS[1], ARGV[1], ARGV[2]) end`;

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
    const returned = worker.returned > 0 ? `, ${worker.returned} returned to the queue` : "";
    io.err(`Worker ${worker.name}: ${worker.done} trials run${returned}.\n`);
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

class TrialWorker {
  readonly name = `${hostname()}-${process.pid}`;
  readonly #broker: Broker;
  readonly #permissions: Permissions;
  readonly #io: Io;
  readonly #plans = new Map<string, Opened>();
  readonly #dropped = new Set<string>();
  /** Answers that the server has not taken yet. */
  readonly #delivering = new Set<Promise<unknown>>();
  readonly #ending = new AbortController();
  /** Number of trials that were answered, and that were returned to the queue. */
  done = 0;
  returned = 0;
  #inFlight = 0;
  #activeAt = performance.now();

  constructor(broker: Broker, permissions: Permissions, io: Io) {
    this.#broker = broker;
    this.#permissions = permissions;
    this.#io = io;
    if (io.signal.aborted) this.#end("stopped");
    io.signal.addEventListener("abort", () => this.#end("stopped"), { once: true });
  }

  consume(provider: string, concurrency: number): Consumer {
    const { bullmq, redis } = this.#broker;
    class TrialConsumer extends bullmq.Worker {
      /** Without a server, `close` does not end, and the renewal of locks would keep the process running. */
      stopRenewing(): Promise<void> {
        return this.lockManager.close();
      }

      /** Data that is not JSON would be taken from the queue without end. As `null` it is dropped as no job. */
      protected override createJob(json: JobJson, id: string): Job {
        return super.createJob(parseJsonText(json.data) !== undefined ? json : { ...json, data: "null" }, id);
      }
    }
    const consumer = new TrialConsumer(nameQueue(provider), (job: Job, token = "") => this.#run(job, token), {
      prefix: keyPrefix,
      connection: redis,
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

  /** Resolves when the process is asked to stop, has been idle for `maxIdle` seconds, or has refused a plan. */
  async waitForEnd(maxIdle = Number.POSITIVE_INFINITY): Promise<End> {
    const { signal } = this.#ending;
    while (!signal.aborted) {
      await pause(250, undefined, { signal }).catch(() => {});
      if (this.#inFlight === 0 && performance.now() - this.#activeAt > maxIdle * 1_000) this.#end("idle");
    }
    return signal.reason as End;
  }

  /** Resolves when the server is gone; waits as long as there are answers, and then says how to end the process. */
  async waitForLoss(): Promise<void> {
    const explaining = setTimeout(() => {
      const answers = count(this.#delivering.size, "answer");
      const press = this.#io.signal.aborted ? "Press Ctrl-C again" : "Press Ctrl-C twice";
      this.#io.err(
        `Waiting for the queue at ${this.#broker.name} to take ${answers}. ${press} to quit without: the trials are then paid for again.\n`,
      );
    }, patienceMs);
    while (this.#delivering.size > 0) await Promise.allSettled(this.#delivering);
    clearTimeout(explaining);
    this.#broker.stopWaiting();
    await this.#broker.lost;
  }

  async close(): Promise<void> {
    await Promise.all([...this.#plans.values()].map(closePlan));
  }

  #end(end: End): void {
    this.#ending.abort(end);
  }

  /** Runs one job. Its answer is on the server before the job is completed and removed. */
  async #run(job: Job, token: string): Promise<void> {
    const { data } = jobSchema.safeParse(job.data);
    // Not from a coordinator, so nobody waits for the answer.
    if (!data || job.id !== nameJob(data.run, data.cell)) return;
    if (this.#ending.signal.aborted) return await this.#returnJob(job, token);
    this.#inFlight++;
    try {
      const trial = await this.#runTrial(data);
      const isInterrupted = trial.outcome.kind === "broken" && trial.outcome.stage === "cancelled";
      if (isInterrupted && this.#io.signal.aborted) return await this.#returnJob(job, token);
      await this.#answer(data, job.id, JSON.stringify(trial));
      this.done++;
    } catch (thrown) {
      if (thrown instanceof LostPlan) {
        // A run that still waits for the answers puts what it needs on the server again: first the plan, then the job.
        if (!this.#dropped.has(data.run))
          this.#io.err(printableLines(`Dropping the trials of the run ${data.run}: ${thrown.message}.`));
        this.#dropped.add(data.run);
      } else if (thrown instanceof Refusal || thrown instanceof EvalsError) {
        await this.#refuse(data, thrown);
        await this.#returnJob(job, token);
      } else if (this.#ending.signal.aborted && isTemporary(thrown)) await this.#returnJob(job, token);
      else throw thrown instanceof this.#broker.bullmq.WaitingError ? thrown : redactError(thrown, this.#io);
    } finally {
      this.#inFlight--;
      this.#activeAt = performance.now();
    }
  }

  async #runTrial(job: TrialJob): Promise<Trial> {
    const hash = await this.#insist(() => this.#broker.redis.get(nameLease(job.run)));
    if (hash === null) throw new LostPlan("no process waits for their answers");
    const opened = this.#plans.get(hash) ?? this.#open(job.run, hash);
    opened.inFlight++;
    try {
      const { find, context } = await opened.plan;
      const trial = await runTrial(find(job), context, this.#io.signal);
      // The model answers no more requests. Open the plan again for the next trial: a resumed run asks it again.
      if (trial.outcome.kind === "broken" && trial.outcome.again) this.#plans.delete(hash);
      return trial;
    } finally {
      opened.inFlight--;
      if (opened.inFlight === 0 && this.#plans.get(hash) !== opened) await closePlan(opened);
    }
  }

  /** Opens a plan, and closes plans without trials in flight. */
  #open(run: string, hash: string): Opened {
    for (const [other, opened] of this.#plans) {
      if (opened.inFlight > 0) continue;
      this.#plans.delete(other);
      void closePlan(opened);
    }
    const opened = { plan: this.#readPlan(run, hash), inFlight: 0 };
    this.#plans.set(hash, opened);
    // The next trial tries again to open a plan that could not be opened.
    opened.plan.catch(() => this.#plans.delete(hash));
    return opened;
  }

  async #readPlan(run: string, hash: string): Promise<OpenPlan> {
    const { redis } = this.#broker;
    if ((await this.#insist(() => redis.hstrlen(nameAnswers(run), planField))) > maxPlanBytes)
      throw new Refusal("the plan of the run is too large");
    const text = await this.#insist(() => redis.hget(nameAnswers(run), planField));
    const plan = openPlan(text ?? "", hash);
    if (!plan) throw new LostPlan(`their plan ${text === null ? "is not on the server" : "does not match its hash"}`);
    this.#io.err(printableLines(`Opening ${plan.suites.map(({ file }) => file).join(", ")}.`));
    return await openPlanHere(plan, this.#permissions, this.#io);
  }

  async #answer({ run }: TrialJob, field: string, text: string): Promise<void> {
    const safe = knownSecrets(this.#io.env).redact(text);
    const add = () => this.#broker.redis.eval(answerScript, 1, nameAnswers(run), field, safe);
    // Always, because asking for the answer again costs money.
    const delivery = this.#insist(add, () => true);
    this.#delivering.add(delivery);
    await delivery.finally(() => this.#delivering.delete(delivery));
  }

  /** Runs a command, and again while the server refuses it for now and `isWorth` holds. */
  async #insist<T>(command: () => Promise<T>, isWorth = () => !this.#ending.signal.aborted): Promise<T> {
    for (;;) {
      try {
        return await command();
      } catch (error) {
        if (!isTemporary(error) || !isWorth()) throw error;
        this.#broker.reportRefusal(error);
        await pause(500);
      }
    }
  }

  async #refuse(job: TrialJob, thrown: Refusal | EvalsError): Promise<void> {
    if (this.#ending.signal.aborted) return;
    this.#end("refused");
    const reason = thrown instanceof Refusal ? thrown.message : thrown.problems.map((one) => one.message).join(" ");
    const safe = excerpt(knownSecrets(this.#io.env).redact(reason).replace(/\.$/, ""), 4_000);
    const message = `The plan of the run ${job.run} does not match this worker: ${safe}.`;
    const hint = "Check out the files that the run was started with, and start the worker again.";
    printProblem(this.#io)({ severity: "error", message, hint });
    await this.#answer(job, `${refusalField}${this.name}`, safe);
  }

  /** Returns a job to the queue for another worker. If the server does not take it, it returns when its lock expires. */
  async #returnJob(job: Job, token: string): Promise<never> {
    this.returned++;
    await Promise.race([job.moveToWait(token).catch(this.#broker.reportRefusal), this.#broker.lost]);
    throw new this.#broker.bullmq.WaitingError();
  }
}

const closePlan = ({ plan }: Opened) => plan.then((opened) => opened.close()).catch(() => {});

/** The plan of a run is not on the server, or is another one. */
class LostPlan extends Error {
  override readonly name = "LostPlan";
}

function redactError(thrown: unknown, { env }: Io): Error {
  const error = new Error(excerpt(knownSecrets(env).redact(messageOf(thrown)), 1_000));
  error.stack = error.message;
  return error;
}

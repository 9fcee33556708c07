import { hostname } from "node:os";
import { setTimeout as pause } from "node:timers/promises";
import type { Job, JobJson, Worker } from "bullmq";
import type { PlannedCell } from "../../asking/trials/plan.ts";
import { runTrial, type TrialContext } from "../../asking/trials/runTrial.ts";
import { knownSecrets } from "../../base/secrets/secrets.ts";
import { printableLines } from "../../base/text/display.ts";
import { excerpt } from "../../base/text/text.ts";
import { EvalsError, type ExitCode, exitCodes, messageOf, printProblem } from "../../base/types/errors.ts";
import type { Io } from "../../base/types/io.ts";
import { parseJsonText } from "../../base/types/json.ts";
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
  refusalField,
  type TrialJob,
  waitAtMost,
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
    const closed = Promise.all(consumers.map((consumer) => consumer.close()));
    await worker.waitForAnswers();
    await waitAtMost(closed);
    await Promise.all(consumers.map((consumer) => consumer.stopRenewing()));
    io.err(`Worker ${worker.name}: ${worker.done} trials run.\n`);
    if (end === "refused") return exitCodes.incomplete;
    return end === "stopped" ? io.signalExitCode() : exitCodes.passed;
  } finally {
    await worker.close();
    broker.close();
  }
}

type Consumer = Worker & { stopRenewing(): Promise<void> };
type End = "stopped" | "idle" | "refused";
type Opened = { plan: Promise<OpenPlan>; inFlight: number };

class TrialWorker {
  readonly name = `${hostname()}-${process.pid}`;
  /** By the text of the plan. */
  readonly #plans = new Map<string, Opened>();
  /** Trials that are asked, until the server has taken their answers. */
  readonly #asking = new Set<Promise<unknown>>();
  readonly #ending = new AbortController();
  /** Number of trials that were answered. */
  done = 0;
  #inFlight = 0;
  #activeAt = performance.now();

  constructor(
    private readonly broker: Broker,
    private readonly permissions: Permissions,
    private readonly io: Io,
  ) {
    if (io.signal.aborted) this.#ending.abort("stopped");
    io.signal.addEventListener("abort", () => this.#ending.abort("stopped"), { once: true });
  }

  consume(provider: string, concurrency: number): Consumer {
    const { bullmq, redis } = this.broker;
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
      // A job fails after this many of its workers died.
      maxStalledCount: 5,
      // The delay after a failed command, for example on a lost connection.
      runRetryDelay: 1_000,
    });
    consumer.on("error", this.broker.reportRefusal);
    return consumer;
  }

  /** Resolves when the process is asked to stop, has been idle for `maxIdle` seconds, or has refused a plan. */
  async waitForEnd(maxIdle = Number.POSITIVE_INFINITY): Promise<End> {
    const { signal } = this.#ending;
    while (!signal.aborted) {
      await pause(250, undefined, { signal }).catch(() => {});
      if (this.#inFlight === 0 && performance.now() - this.#activeAt > maxIdle * 1_000) this.#ending.abort("idle");
    }
    return signal.reason as End;
  }

  /** Resolves when no trial is asked, and the server has all answers: asking for them again costs money. */
  async waitForAnswers(): Promise<void> {
    while (this.#asking.size > 0) await Promise.allSettled(this.#asking);
  }

  async close(): Promise<void> {
    await Promise.all([...this.#plans.values()].map(closePlan));
  }

  /** Runs one job. Its answer is on the server before the job is completed and removed. */
  async #run(job: Job, token: string): Promise<void> {
    const { data } = jobSchema.safeParse(job.data);
    // Not from a coordinator, so nobody waits for the answer.
    if (!data || job.id !== nameJob(data.run, data.cell)) return;
    this.#inFlight++;
    try {
      const isDone =
        !this.#ending.signal.aborted && (await this.#answerJob(data).catch((thrown) => this.#fail(data, thrown)));
      if (!isDone) await this.#returnJob(job, token);
    } finally {
      this.#inFlight--;
      this.#activeAt = performance.now();
    }
  }

  /** Whether nothing is left to do of a job that could not be run. Throws what fails the job itself. */
  async #fail(job: TrialJob, thrown: unknown): Promise<boolean> {
    if (!(thrown instanceof EvalsError)) throw redactError(thrown, this.io);
    await this.#refuse(job, thrown);
    return false;
  }

  /** Asks the trial of a job, and adds its answer to those of the run. Returns false if it was interrupted. */
  async #answerJob(job: TrialJob): Promise<boolean> {
    const plan = await this.#insist(() => this.broker.redis.get(nameLease(job.run)));
    // Nobody waits for the answer. A run that does puts what it needs on the server again: the plan, then the job.
    if (plan === null) return true;
    const opened = this.#plans.get(plan) ?? this.#open(job.run, plan);
    opened.inFlight++;
    try {
      const { find, context } = await opened.plan;
      const asked = this.#ask(find(job), context, job);
      this.#asking.add(asked);
      return await asked.finally(() => this.#asking.delete(asked));
    } finally {
      opened.inFlight--;
    }
  }

  async #ask(planned: PlannedCell, context: TrialContext, job: TrialJob): Promise<boolean> {
    const trial = await runTrial(planned, context, this.io.signal);
    const isInterrupted = trial.outcome.kind === "broken" && trial.outcome.stage === "cancelled";
    if (isInterrupted && this.io.signal.aborted) return false;
    await this.#answer(job.run, nameJob(job.run, job.cell), JSON.stringify(trial));
    this.done++;
    return true;
  }

  /** Opens a plan, and closes plans without trials in flight. */
  #open(run: string, text: string): Opened {
    for (const [other, opened] of this.#plans) {
      if (opened.inFlight > 0) continue;
      this.#plans.delete(other);
      void closePlan(opened);
    }
    this.io.err(printableLines(`Opening the suites of the run ${run}.`));
    const opened = { plan: openPlanHere(text, this.permissions, this.io), inFlight: 0 };
    this.#plans.set(text, opened);
    // The next trial tries again to open a plan that could not be opened.
    opened.plan.catch(() => this.#plans.delete(text));
    return opened;
  }

  async #answer(run: string, field: string, text: string): Promise<void> {
    const safe = knownSecrets(this.io.env).redact(text);
    const add = () => this.broker.redis.eval(answerScript, 1, nameAnswers(run), field, safe);
    await this.#insist(add);
  }

  /** Runs a command, and again while the server refuses it for now. */
  async #insist<T>(command: () => Promise<T>): Promise<T> {
    for (;;) {
      try {
        return await command();
      } catch (error) {
        if (!isTemporary(error)) throw error;
        this.broker.reportRefusal(error);
        await pause(500);
      }
    }
  }

  async #refuse(job: TrialJob, { problems }: EvalsError): Promise<void> {
    if (this.#ending.signal.aborted) return;
    this.#ending.abort("refused");
    const reason = problems.map((one) => one.message).join(" ");
    const safe = excerpt(knownSecrets(this.io.env).redact(reason).replace(/\.$/, ""), 4_000);
    const message = `The plan of the run ${job.run} does not match this worker: ${safe}.`;
    const hint = "Check out the files that the run was started with, and start the worker again.";
    printProblem(this.io)({ severity: "error", message, hint });
    await this.#answer(job.run, `${refusalField}${this.name}`, safe);
  }

  /** Returns a job to the queue for another worker. If the server refuses it, it returns when its lock expires. */
  async #returnJob(job: Job, token: string): Promise<never> {
    await waitAtMost(job.moveToWait(token).catch(this.broker.reportRefusal));
    throw new this.broker.bullmq.WaitingError();
  }
}

const closePlan = ({ plan }: Opened) => plan.then((opened) => opened.close()).catch(() => {});

function redactError(thrown: unknown, { env }: Io): Error {
  const error = new Error(excerpt(knownSecrets(env).redact(messageOf(thrown)), 1_000));
  error.stack = error.message;
  return error;
}

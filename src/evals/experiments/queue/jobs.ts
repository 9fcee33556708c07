import type { JobType, Queue } from "bullmq";
import type { Cell } from "../../base/types/trial.ts";
import type { Broker } from "./connection.ts";
import { keyPrefix, nameProvider, nameQueue, type TrialJob } from "./messages.ts";

/** How long the server keeps a failed job, in seconds. */
const keptSeconds = 30 * 86_400;

/** The states of a job that a worker is running or will run. */
const unfinished: JobType[] = ["active", "wait", "delayed", "prioritized"];

/** Ids of the jobs of all runs on a queue. `failed`: given up after their workers failed. */
export type Present = { unfinished: ReadonlySet<string>; failed: ReadonlySet<string> };

/**
 * The jobs of one run, each on the queue of its provider. The id of a job is made from its cell, so a cell is on the
 * queue only once, however often it is added.
 */
export class RunJobs {
  readonly #run: string;
  readonly #queues: ReadonlyMap<string, Queue>;

  private constructor(run: string, queues: ReadonlyMap<string, Queue>) {
    this.#run = run;
    this.#queues = queues;
  }

  /** Opens the queues of these models. `rate`: maximum trials per second and provider, on all workers together. */
  static async open(
    { bullmq, redis }: Broker,
    run: string,
    models: readonly string[],
    rate: number | undefined,
  ): Promise<RunJobs> {
    const queues = new Map<string, Queue>();
    for (const provider of new Set(models.map(nameProvider))) {
      const options = { prefix: keyPrefix, skipVersionCheck: true, connection: redis };
      const queue = new bullmq.Queue(nameQueue(provider), options);
      queue.on("error", () => {});
      await (rate === undefined ? queue.removeGlobalRateLimit() : queue.setGlobalRateLimit(rate, 1_000));
      queues.set(provider, queue);
    }
    return new RunJobs(run, queues);
  }

  get providers(): Iterable<string> {
    return this.#queues.keys();
  }

  /** The ids of the run's unfinished jobs. */
  async list(): Promise<string[]> {
    const ids = await Promise.all([...this.#queues.values()].map((queue) => queue.getRanges(unfinished, 0, -1)));
    return ids.flat().filter((id) => this.#isOwn(id));
  }

  async put(id: string, job: TrialJob): Promise<void> {
    const removeOnFail = { age: keptSeconds };
    await this.#findQueue(job.cell).add("trial", job, { jobId: id, removeOnComplete: true, removeOnFail });
  }

  /** Puts a job on the queue again that was lost. What may be left of it would keep it from being added. */
  async replace(id: string, job: TrialJob): Promise<void> {
    await this.remove(id, job.cell);
    await this.put(id, job);
  }

  /** Removes a job. Returns false if a worker has already started it. */
  async remove(id: string, cell: Cell): Promise<boolean> {
    return (await this.#findQueue(cell).remove(id)) > 0;
  }

  /** Removes all jobs of the run that no worker is running. */
  async removeAll(): Promise<void> {
    for (const queue of this.#queues.values())
      for (const id of await queue.getRanges([...unfinished, "failed"], 0, -1))
        if (this.#isOwn(id)) await queue.remove(id);
  }

  async findPresent(provider: string): Promise<Present> {
    const queue = this.#getQueue(provider);
    const list = async (states: JobType[]) => new Set(await queue.getRanges(states, 0, -1));
    return { unfinished: await list(unfinished), failed: await list(["failed"]) };
  }

  async readFailure(id: string, cell: Cell): Promise<string> {
    return (await this.#findQueue(cell).getJob(id))?.failedReason ?? "no reason given";
  }

  /** The number of workers for a provider; undefined if the server does not report it. */
  async countWorkers(provider: string): Promise<number | undefined> {
    return await this.#getQueue(provider)
      .getWorkersCount()
      .catch(() => undefined);
  }

  #findQueue({ model }: Cell): Queue {
    return this.#getQueue(nameProvider(model));
  }

  #getQueue(provider: string): Queue {
    const queue = this.#queues.get(provider);
    if (!queue) throw new Error(`${provider} is not in the plan of the run`);
    return queue;
  }

  #isOwn(id: string): boolean {
    return id.startsWith(`${this.#run}-`);
  }
}

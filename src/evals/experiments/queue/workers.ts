import { excerpt } from "../../base/text/excerpt.ts";
import { type Problem, printProblem } from "../../base/types/errors.ts";
import type { Io } from "../../base/types/io.ts";
import type { RunJobs } from "./jobs.ts";

/** Tracks whether workers run the trials of a run, and warns if they do not. */
export class WorkerMonitor {
  readonly #jobs: RunJobs;
  readonly #server: string;
  readonly #warn: (problem: Problem) => void;
  /** Why workers refused the plan, by worker. */
  readonly #refusals = new Map<string, string>();
  /** Providers that had no worker when it was last looked. */
  readonly #unserved = new Set<string>();

  /** `server`: the URL of the queue, as messages name it. */
  constructor(jobs: RunJobs, server: string, io: Pick<Io, "err">) {
    this.#jobs = jobs;
    this.#server = server;
    this.#warn = printProblem(io);
  }

  /** Records that a worker refused the plan, and warns unless it gave the same reason before. */
  addRefusal(worker: string, reason: string): void {
    if (this.#refusals.get(worker) === reason) return;
    this.#refusals.set(worker, reason);
    const message = `The worker ${excerpt(worker, 100)} does not run this plan: ${excerpt(reason, 1_000)}.`;
    this.#warn({ severity: "warning", message, hint: "Update its checkout and start it again." });
  }

  /**
   * Returns why no worker will run the trials of a provider: all have refused the plan. Warns once if none has come
   * yet; undefined then, and where workers are running. One look is not enough to find none: after a lost connection,
   * workers may be back later than this process.
   */
  async findObstacle(provider: string): Promise<string | undefined> {
    if ((await this.#jobs.countWorkers(provider)) !== 0) {
      this.#unserved.delete(provider);
      return undefined;
    }
    const [refusal] = this.#refusals;
    if (this.#unserved.has(provider)) return refusal && `no worker runs this plan: ${refusal[0]}: ${refusal[1]}`;
    this.#unserved.add(provider);
    if (refusal) return undefined;
    const hint = `Start one in a checkout of the suites: evals worker ${this.#server}`;
    const message = `No worker takes trials of ${provider} at ${this.#server}.`;
    this.#warn({ severity: "warning", message, hint });
    return undefined;
  }
}

import { setMaxListeners } from "node:events";
import { type Attempt, type Fault, isRetried, toBroken } from "../types/attempt.ts";
import type { AskedModel, BatchService, ModelRequest, Reply } from "../types/model.ts";
import { addUsage, type Broken, type Cell, cellKey, type Usage } from "../types/trial.ts";
import { type Chunk, createRequestId, type Ledger, type LedgerEntry } from "./ledger.ts";
import { type Outcome, Submission, type Surroundings } from "./submission.ts";

/** Requests that arrive with pauses no longer than this go into one submission. */
const gatherMs = 50;

/**
 * The most that is submitted as one batch, in bytes and in requests. Far below what services accept: the results of a batch
 * are in memory until they are recorded, and little is lost when one fails. Further batches are submitted at once.
 */
const mostBytes = 64_000_000;
const mostRequests = 10_000;

/** So many trials wait for the disk before further results are handed out. */
const mostUnrecorded = 200;

type Waiting = { entry: Omit<LedgerEntry, "id">; request: ModelRequest; resolve(outcome: Outcome): void };

/**
 * Asks one model by batches. Requests are gathered until no more arrive, written down, and submitted together; each ask
 * resolves when the batch with its request has ended. A request that an earlier process submitted is waited for, and not
 * submitted again.
 */
export class BatchQueue {
  readonly #model: AskedModel;
  readonly #around: Surroundings;
  readonly #stopping = new AbortController();
  readonly #signals = new WeakSet<AbortSignal>();
  readonly #submissions = new Map<string, Submission>();
  /** The submissions that were not waited for any more. */
  #left: readonly Submission[] = [];
  /** The cells whose trials have their reply and have not ended. */
  readonly #open = new Set<string>();
  /** The cells whose trials have their reply and are not recorded. */
  readonly #unrecorded = new Set<string>();
  #onRoom = () => {};
  #waiting: Waiting[] = [];
  #timer: NodeJS.Timeout | undefined;
  #flushing: Promise<void> | undefined;

  /** `concurrency`: how many trials may have their reply and not have ended. */
  constructor(
    model: AskedModel,
    service: BatchService,
    { ledger, concurrency, say }: { ledger: Ledger; concurrency: number; say(line: string): void },
  ) {
    this.#model = model;
    const stop = this.#stopping.signal;
    setMaxListeners(0, stop);
    let reading: Promise<void> = Promise.resolve();
    const exclusively = (work: () => Promise<void>) => {
      reading = reading.catch(() => {}).then(work);
      return reading;
    };
    const awaitRoom = async (cell: string) => {
      while ((this.#open.size >= concurrency || this.#unrecorded.size >= mostUnrecorded) && !stop.aborted)
        await new Promise<void>((resolve) => {
          this.#onRoom = resolve;
        });
      this.#open.add(cell);
      this.#unrecorded.add(cell);
    };
    this.#around = { service, ledger, say, stop, exclusively, awaitRoom };
  }

  /** Whether the request of a cell was submitted before. */
  hasSubmitted(request: ModelRequest): boolean {
    return this.#around.ledger.find(cellKey(request.cell)) !== undefined;
  }

  /** Asks as `AskedModel` does. A transient fault is tried again in another batch. */
  async ask(request: ModelRequest, signal: AbortSignal): Promise<Reply> {
    const { ledger, service } = this.#around;
    this.#stopWith(signal);
    const startedAt = performance.now();
    const cell = cellKey(request.cell);
    let sent = ledger.find(cell);
    let made = sent?.entry.attempt ?? 1;
    let lost: Usage | undefined = sent?.entry.lost;
    for (;;) {
      const outcome = this.#stopping.signal.aborted
        ? stoppedByUser
        : sent
          ? await this.#collect(sent.chunk).await(sent.entry.id)
          : await this.#enqueue({ cell, attempt: made, ...(lost && { lost }) }, request);
      sent = outcome.kind === "late" ? ledger.find(cell) : undefined;
      const attempt = this.#read(outcome, request);
      if (!attempt) continue;
      if (attempt.kind === "broken") return { ...attempt, ...(lost && { lost }) };
      if (attempt.kind === "turn") {
        const turn = { ...attempt.turn, ms: performance.now() - startedAt, batch: outcome.batch ?? "" };
        return { kind: "turn", turn, native: attempt.native, ...(lost && { lost }) };
      }
      if (attempt.usage) lost = addUsage(lost, attempt.usage);
      if (!isRetried(attempt, made, service.retries)) return { ...toBroken(attempt, made), ...(lost && { lost }) };
      made++;
    }
  }

  /** To be called when the trial of a cell has ended. */
  finish(cell: Cell): void {
    if (this.#open.delete(cellKey(cell))) this.#onRoom();
  }

  /** To be called when the trial of a cell is recorded. */
  settle(cell: Cell): void {
    if (this.#unrecorded.delete(cellKey(cell))) this.#onRoom();
  }

  /** Stops waiting, lets a submission that is on its way end, and returns the batches that may still run. */
  async close(): Promise<string[]> {
    this.#stop();
    await this.#flushing;
    return this.#left.flatMap(({ batch }) => batch ?? []);
  }

  /** Asks the service to stop all batches that run. Returns their ids, or the fault of the first that it did not stop. */
  async cancel(signal: AbortSignal): Promise<string[] | Fault> {
    const { ledger, service } = this.#around;
    const canceled: string[] = [];
    for (const { batch } of ledger.list(this.#model.id)) {
      const state = batch === undefined ? undefined : await service.retrieve(batch, signal);
      if (!state) continue;
      if ("kind" in state) return state;
      if (state.status !== "running") continue;
      const fault = await service.cancel(state.id, signal);
      if (fault) return fault;
      canceled.push(state.id);
    }
    return canceled;
  }

  #read(outcome: Outcome, request: ModelRequest): Attempt | Broken | undefined {
    const fault = (message: string, isTransient: boolean): Fault => ({
      kind: "fault",
      stage: "model",
      message,
      isTransient,
    });
    switch (outcome.kind) {
      case "unsent":
      case "late":
        return undefined;
      case "reply":
        return this.#around.service.read(outcome, request);
      case "errored":
        return fault(outcome.message, outcome.isTransient);
      case "expired":
        return {
          ...fault(`the batch ${outcome.batch} expired before the request was answered`, true),
          stage: "timeout",
        };
      case "lacking":
        return fault(`the results of the batch ${outcome.batch} lack the request`, false);
      case "canceled":
        return notAsked(`the batch ${outcome.batch} was canceled`);
      case "stopped":
        return notAsked(outcome.message);
    }
  }

  #enqueue(entry: Waiting["entry"], request: ModelRequest): Promise<Outcome> {
    this.#open.delete(entry.cell);
    this.#unrecorded.delete(entry.cell);
    this.#onRoom();
    return new Promise((resolve) => {
      this.#waiting.push({ entry, request, resolve });
      this.#schedule();
    });
  }

  #schedule(): void {
    if (this.#timer) this.#timer.refresh();
    else this.#timer = setTimeout(() => this.#onPause(), gatherMs);
  }

  #onPause(): void {
    this.#timer = undefined;
    if (this.#waiting.length === 0) return;
    // What fails in a batch is tried again with all others of it.
    const isBusy = this.#flushing || [...this.#submissions.values()].some(({ isReading }) => isReading);
    if (isBusy) this.#schedule();
    else
      this.#flushing = this.#flush().finally(() => {
        this.#flushing = undefined;
      });
  }

  /** Submits everything that waits, in as many batches as it needs. Does not reject. */
  async #flush(): Promise<void> {
    const { service, ledger, stop } = this.#around;
    const waiting = this.#waiting;
    this.#waiting = [];
    const newest = await this.#findNewest();
    let at = 0;
    try {
      while (at < waiting.length && !stop.aborted && !isStopped(newest)) {
        const chunk = ledger.start(this.#model.id, newest);
        const entries: object[] = [];
        const part: Waiting[] = [];
        const most = Math.min(mostRequests, service.limits.requests);
        for (let bytes = 0; at < waiting.length && entries.length < most; at++) {
          const one = waiting[at] as Waiting;
          const id = createRequestId(chunk, one.entry.cell, one.entry.attempt);
          const entry = service.write(id, one.request);
          bytes += Buffer.byteLength(JSON.stringify(entry)) + 2;
          if (entries.length > 0 && bytes > Math.min(mostBytes, service.limits.bytes)) break;
          entries.push(entry);
          part.push(one);
          chunk.entries.set(id, { id, ...one.entry });
        }
        const prepared = await ledger.prepare(chunk);
        if (stop.aborted) {
          at -= part.length;
          await ledger.release(chunk.entries.keys());
          break;
        }
        const submission = this.#start(prepared);
        for (const [i, id] of [...chunk.entries.keys()].entries())
          void submission.await(id).then((outcome) => part[i]?.resolve(outcome));
        await submission.submit(entries);
        if (submission.batch !== undefined) void this.#finish(submission, chunk);
        else this.#submissions.delete(chunk.label);
      }
    } catch (thrown) {
      // The ledger cannot be written: nothing was submitted that is not in it.
      const message = thrown instanceof Error ? thrown.message : String(thrown);
      for (const one of waiting) one.resolve({ kind: "stopped", message });
    }
    for (const one of waiting.slice(at)) one.resolve(isStopped(newest) ? newest : stoppedByUser);
  }

  /** The newest batch of the account; a fault means that there is no batch API, or no right to use it. */
  async #findNewest(): Promise<string | undefined | Stopped> {
    const { service, stop } = this.#around;
    for (let made = 1; ; made++) {
      const listed = await service.list(undefined, 1, stop);
      if (!("kind" in listed)) return listed[0]?.id;
      if (!isRetried(listed, made, service.retries) || stop.aborted)
        return { kind: "stopped", message: `the batches of the account cannot be listed: ${listed.message}` };
      await service.delay(Math.min(listed.retryAfterMs ?? 500 * 2 ** made, 60_000), stop);
    }
  }

  /** The submission of a chunk, which is collected from now on. */
  #collect(chunk: Chunk): Submission {
    const known = this.#submissions.get(chunk.label);
    if (known) return known;
    const submission = this.#start(chunk);
    if (chunk.batch !== undefined) this.#around.say(`Batch ${chunk.batch}: waiting for its results.`);
    void this.#finish(submission, chunk);
    return submission;
  }

  #start(chunk: Chunk): Submission {
    const submission = new Submission(chunk, this.#around);
    this.#submissions.set(chunk.label, submission);
    return submission;
  }

  async #finish(submission: Submission, { label }: Chunk): Promise<void> {
    await submission.collect();
    this.#submissions.delete(label);
    submission.end({ kind: "late" });
  }

  #stopWith(signal: AbortSignal): void {
    if (this.#signals.has(signal)) return;
    this.#signals.add(signal);
    if (signal.aborted) this.#stop();
    else signal.addEventListener("abort", () => this.#stop(), { once: true });
  }

  #stop(): void {
    if (this.#stopping.signal.aborted) return;
    this.#left = [...this.#submissions.values()];
    this.#stopping.abort();
    this.#onRoom();
    clearTimeout(this.#timer);
    for (const one of this.#waiting.splice(0)) one.resolve(stoppedByUser);
    for (const submission of this.#submissions.values()) submission.end(stoppedByUser);
  }
}

type Stopped = Extract<Outcome, { kind: "stopped" }>;

const stoppedByUser: Stopped = { kind: "stopped", message: "the run was stopped" };

const isStopped = (newest: string | undefined | Stopped): newest is Stopped => typeof newest === "object";

/** Missing, not broken: the trial is asked when the run is resumed. */
const notAsked = (message: string): Broken => ({ kind: "broken", stage: "cancelled", message, again: true });

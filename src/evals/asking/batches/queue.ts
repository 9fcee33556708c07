import { setMaxListeners } from "node:events";
import { type Attempt, type Fault, isRetried, toBroken } from "../../base/types/attempt.ts";
import type { AskedModel, BatchService, ModelRequest, Reply } from "../../base/types/model.ts";
import { addUsage, type Broken, type Cell, cellKey, type Usage } from "../../base/types/trial.ts";
import { type Chunk, createRequestId, type Ledger, type LedgerEntry } from "./ledger.ts";
import { type Outcome, Submission, type SubmissionContext } from "./submission.ts";

/** Requests that arrive within this time of each other go into one submission. */
const gatherMs = 50;

/**
 * The maximum size of one batch in bytes and requests. It is far below what services accept, because the results of a
 * batch are in memory until they are recorded, and so that little is lost if one fails. Further batches are submitted
 * at once.
 */
const maxBytes = 64_000_000;
const maxRequests = 10_000;

type Waiting = { entry: Omit<LedgerEntry, "id">; request: ModelRequest; resolve(outcome: Outcome): void };

/**
 * Asks one model in batches. Collects requests until no more arrive, records them in the ledger, and submits them
 * together. Each ask resolves when the batch with its request has ended. A request that an earlier process submitted is
 * not submitted again: its batch is waited for.
 */
export class BatchQueue {
  readonly #model: AskedModel;
  readonly #context: SubmissionContext;
  readonly #stopping = new AbortController();
  readonly #signals = new WeakSet<AbortSignal>();
  readonly #submissions = new Map<string, Submission>();
  /** The submissions that had no result yet when the queue stopped. */
  #unfinished: readonly Submission[] = [];
  /** Cells with a reply whose trials are not recorded. */
  readonly #open = new Set<string>();
  #onCapacity = () => {};
  #waiting: Waiting[] = [];
  #timer: NodeJS.Timeout | undefined;
  #flushing: Promise<void> | undefined;

  /** `concurrency`: the maximum number of trials with a reply that are not recorded. */
  constructor(
    model: AskedModel,
    service: BatchService,
    { ledger, concurrency, report }: { ledger: Ledger; concurrency: number; report(line: string): void },
  ) {
    this.#model = model;
    const stop = this.#stopping.signal;
    setMaxListeners(0, stop);
    let reading: Promise<void> = Promise.resolve();
    const runExclusively = (work: () => Promise<void>) => {
      reading = reading.catch(() => {}).then(work);
      return reading;
    };
    const waitForCapacity = async (cell: string) => {
      while (this.#open.size >= concurrency && !stop.aborted)
        await new Promise<void>((resolve) => {
          this.#onCapacity = resolve;
        });
      this.#open.add(cell);
    };
    this.#context = { service, ledger, report, stop, runExclusively, waitForCapacity };
  }

  /** Whether the request of a cell has already been submitted. */
  hasSubmitted(request: ModelRequest): boolean {
    return this.#context.ledger.find(cellKey(request.cell)) !== undefined;
  }

  /** Asks as `AskedModel` does. Retries transient faults in another batch. */
  async ask(request: ModelRequest, signal: AbortSignal): Promise<Reply> {
    const { ledger, service } = this.#context;
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

  /** Call this when the trial of a cell is recorded. */
  settle(cell: Cell): void {
    if (this.#open.delete(cellKey(cell))) this.#onCapacity();
  }

  /** Stops waiting, lets a submission in flight finish, and returns the batches that may still be running. */
  async close(): Promise<string[]> {
    this.#stop();
    await this.#flushing;
    return this.#unfinished.flatMap(({ batch }) => batch ?? []);
  }

  /** Asks the service to cancel all running batches. Returns their ids, or the first fault. */
  async cancel(signal: AbortSignal): Promise<string[] | Fault> {
    const { ledger, service } = this.#context;
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
        return this.#context.service.read(outcome, request);
      case "errored":
        return fault(outcome.message, outcome.isTransient);
      case "expired":
        return {
          ...fault(`the batch ${outcome.batch} expired before the request was answered`, true),
          stage: "timeout",
        };
      case "missing":
        return fault(`the batch ${outcome.batch} has no result for the request`, false);
      case "canceled":
        return notAsked(`the batch ${outcome.batch} was canceled`);
      case "stopped":
        return notAsked(outcome.message);
    }
  }

  #enqueue(entry: Waiting["entry"], request: ModelRequest): Promise<Outcome> {
    this.#open.delete(entry.cell);
    this.#onCapacity();
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
    // Wait until all results of a batch are read, so that its failed requests are retried together.
    const isBusy = this.#flushing || [...this.#submissions.values()].some(({ isReading }) => isReading);
    if (isBusy) this.#schedule();
    else
      this.#flushing = this.#flush().finally(() => {
        this.#flushing = undefined;
      });
  }

  /** Submits all waiting requests, in as many batches as needed. Does not reject. */
  async #flush(): Promise<void> {
    const { service, ledger, stop } = this.#context;
    const waiting = this.#waiting;
    this.#waiting = [];
    const newest = await this.#findNewest();
    let at = 0;
    try {
      while (at < waiting.length && !stop.aborted && !isStopped(newest)) {
        const chunk = ledger.start(this.#model.id, newest);
        const entries: object[] = [];
        const part: Waiting[] = [];
        const most = Math.min(maxRequests, service.limits.requests);
        for (let bytes = 0; at < waiting.length && entries.length < most; at++) {
          const one = waiting[at] as Waiting;
          const id = createRequestId(chunk, one.entry.cell, one.entry.attempt);
          const entry = service.write(id, one.request);
          bytes += Buffer.byteLength(JSON.stringify(entry)) + 2;
          if (entries.length > 0 && bytes > Math.min(maxBytes, service.limits.bytes)) break;
          entries.push(entry);
          part.push(one);
          chunk.requests.push({ id, ...one.entry });
        }
        await ledger.prepare(chunk);
        if (stop.aborted) {
          at -= part.length;
          await ledger.release(chunk.requests);
          break;
        }
        const submission = this.#start(chunk);
        for (const [i, { id }] of chunk.requests.entries())
          void submission.await(id).then((outcome) => part[i]?.resolve(outcome));
        await submission.submit(entries);
        if (submission.batch !== undefined) void this.#finish(submission, chunk);
        else this.#submissions.delete(chunk.label);
      }
    } catch (thrown) {
      // The ledger cannot be written. Nothing was submitted that is not in it.
      const message = thrown instanceof Error ? thrown.message : String(thrown);
      for (const one of waiting) one.resolve({ kind: "stopped", message });
    }
    for (const one of waiting.slice(at)) one.resolve(isStopped(newest) ? newest : stoppedByUser);
  }

  /** The id of the newest batch of the account. A fault means that there is no batch API, or no permission for it. */
  async #findNewest(): Promise<string | undefined | Stopped> {
    const { service, stop } = this.#context;
    for (let made = 1; ; made++) {
      const listed = await service.list(undefined, 1, stop);
      if (!("kind" in listed)) return listed[0]?.id;
      if (!isRetried(listed, made, service.retries) || stop.aborted)
        return { kind: "stopped", message: `the batches of the account cannot be listed: ${listed.message}` };
      await service.delay(Math.min(listed.retryAfterMs ?? 500 * 2 ** made, 60_000), stop);
    }
  }

  /** Returns the submission of a chunk, and starts collecting its results if that has not begun. */
  #collect(chunk: Chunk): Submission {
    const known = this.#submissions.get(chunk.label);
    if (known) return known;
    const submission = this.#start(chunk);
    if (chunk.batch !== undefined) this.#context.report(`Batch ${chunk.batch}: waiting for its results.`);
    void this.#finish(submission, chunk);
    return submission;
  }

  #start(chunk: Chunk): Submission {
    const submission = new Submission(chunk, this.#context);
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
    this.#unfinished = [...this.#submissions.values()];
    this.#stopping.abort();
    this.#onCapacity();
    clearTimeout(this.#timer);
    for (const one of this.#waiting.splice(0)) one.resolve(stoppedByUser);
    for (const submission of this.#submissions.values()) submission.end(stoppedByUser);
  }
}

type Stopped = Extract<Outcome, { kind: "stopped" }>;

const stoppedByUser: Stopped = { kind: "stopped", message: "the run was stopped" };

const isStopped = (newest: string | undefined | Stopped): newest is Stopped => typeof newest === "object";

/** Such a trial is missing rather than broken: a resumed run asks it. */
const notAsked = (message: string): Broken => ({ kind: "broken", stage: "cancelled", message, again: true });

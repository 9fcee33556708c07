import { setMaxListeners } from "node:events";
import { messageOf } from "../../base/types/errors.ts";
import {
  type AskedModel,
  type Attempt,
  type BatchResult,
  type BatchService,
  type BatchState,
  type Fault,
  isRetried,
  type ModelRequest,
  permanentFault,
  type Reply,
  toBroken,
  transientFault,
} from "../../base/types/model.ts";
import { addUsage, type Broken, type Cell, cellKey } from "../../base/types/trial.ts";
import { count } from "../../reports/format.ts";
import { type Chunk, createRequestId, type Ledger, type LedgerEntry } from "./ledger.ts";

/** Requests that arrive within this time of each other go into one submission. */
const gatherMs = 50;
/**
 * The maximum size of one batch in bytes and requests. Services accept at least 200 MB and 50,000 requests. It is
 * lower, because the results of a batch are in memory until they are recorded, and so that little is lost if one fails.
 * Further batches are submitted at once.
 */
const maxBytes = 64_000_000;
const maxRequests = 10_000;
/** Maximum consecutive failed requests about a batch: with the delays between them, about a quarter of an hour. */
const maxFaults = 20;
/** Maximum number of attempts to read results that cannot be read, or lack some request. */
const maxReads = 3;
/** Maximum number of newer batches among which to look for one. */
const maxListed = 1_000;

/** The n-th delay, from 0: it grows from half a second to a minute, unless the service asked for another one. */
const waitMs = (n: number, asked?: number) => Math.min(asked ?? 500 * 1.5 ** n, 60_000);

/** What became of a request in a batch; "again": look up in the ledger whether it is still in one. */
type Outcome = (Attempt | Broken) & { batch?: string };
type Waiting = { request: ModelRequest; resolve(outcome: Outcome | "again"): void };
/** A request that is about to be submitted. */
type Gathered = Waiting & { entry: Omit<LedgerEntry, "id"> };

/** Why it is unknown what became of requests. Their cells are missing, and are asked when the run is resumed. */
class Stopped extends Error {
  override readonly name = "Stopped";
}
const stoppedByUser = "the run was stopped";

/**
 * Asks one model in batches. Collects requests until no more arrive, records them in the ledger, and submits them
 * together. Each ask resolves when the batch with its request has ended. A request that an earlier process submitted is
 * not submitted again: its batch is waited for.
 */
export class BatchQueue {
  readonly #stopping = new AbortController();
  readonly #stop = this.#stopping.signal;
  readonly #signals = new WeakSet<AbortSignal>();
  #gathered: Gathered[] = [];
  #timer: NodeJS.Timeout | undefined;
  #flushing: Promise<void> | undefined;
  /** Submitted requests that someone waits for, by id. */
  readonly #waiting = new Map<string, Waiting>();
  /** Submissions that are sent, or whose results are waited for. */
  readonly #running = new Set<Chunk>();
  /** The same at the moment when the queue stopped. */
  #unfinished: readonly Chunk[] = [];
  /** The results that are being delivered: those of one batch at a time. */
  #delivering: Promise<void> | undefined;
  /** Cells with a reply whose trials are not recorded. */
  readonly #open = new Set<string>();
  #onCapacity = () => {};

  /** `concurrency`: the maximum number of trials with a reply that are not recorded. */
  constructor(
    private readonly model: AskedModel,
    private readonly service: BatchService,
    private readonly options: { ledger: Ledger; concurrency: number; report(line: string): void },
  ) {
    setMaxListeners(0, this.#stop);
  }

  /** Whether the request of a cell has already been submitted. */
  hasSubmitted(request: ModelRequest): boolean {
    return this.options.ledger.find(cellKey(request.cell)) !== undefined;
  }

  /** Asks as `AskedModel` does. Retries transient faults in another batch. */
  async ask(request: ModelRequest, signal: AbortSignal): Promise<Reply> {
    this.#stopWith(signal);
    const startedAt = performance.now();
    const cell = cellKey(request.cell);
    let sent = this.options.ledger.find(cell);
    let attempt = sent?.entry.attempt ?? 1;
    let lost = sent?.entry.lost;
    const withLost = (reply: Reply): Reply => ({ ...reply, ...(lost && { lost }) });
    for (;;) {
      if (this.#stop.aborted) return withLost(notAsked(stoppedByUser));
      const outcome = sent
        ? await this.#join(sent.chunk, sent.entry.id, request)
        : await this.#gather({ cell, attempt, ...(lost && { lost }) }, request);
      sent = outcome === "again" ? this.options.ledger.find(cell) : undefined;
      if (outcome === "again") continue;
      if (outcome.kind === "broken") return withLost(outcome);
      if (outcome.kind === "turn") {
        const { native, batch = "" } = outcome;
        return withLost({ kind: "turn", turn: { ...outcome.turn, ms: performance.now() - startedAt, batch }, native });
      }
      if (outcome.usage) lost = addUsage(lost, outcome.usage);
      if (!isRetried(outcome, attempt, this.service.retries)) return withLost(toBroken(outcome, attempt));
      attempt++;
    }
  }

  /** Call this when the trial of a cell is recorded. */
  settle(cell: Cell): void {
    if (this.#open.delete(cellKey(cell))) this.#onCapacity();
  }

  /** Stops waiting, lets a submission in flight finish, and returns the batches that may still be running. */
  async close(): Promise<string[]> {
    this.#stopNow();
    await this.#flushing;
    return this.#unfinished.flatMap(({ batch }) => batch ?? []);
  }

  /** Waits for a request of a submission, and starts collecting its results if that has not begun. */
  #join(chunk: Chunk, id: string, request: ModelRequest): Promise<Outcome | "again"> {
    const outcome = new Promise<Outcome | "again">((resolve) => this.#waiting.set(id, { request, resolve }));
    if (!this.#running.has(chunk)) {
      if (chunk.batch !== undefined) this.options.report(`Batch ${chunk.batch}: waiting for its results.`);
      void this.#collect(chunk);
    }
    return outcome;
  }

  #gather(entry: Gathered["entry"], request: ModelRequest): Promise<Outcome | "again"> {
    if (this.#open.delete(entry.cell)) this.#onCapacity();
    return new Promise((resolve) => {
      this.#gathered.push({ entry, request, resolve });
      this.#schedule();
    });
  }

  #schedule(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      if (this.#gathered.length === 0) return;
      // Wait until all results of a batch are read, so that its failed requests are retried together.
      if (this.#flushing || this.#delivering) return this.#schedule();
      this.#flushing = this.#flush().finally(() => {
        this.#flushing = undefined;
      });
    }, gatherMs);
    this.#timer.refresh();
  }

  /** Submits all gathered requests, in as many batches as needed. Does not reject. */
  async #flush(): Promise<void> {
    const gathered = this.#gathered;
    this.#gathered = [];
    try {
      const newest = await this.#findNewest();
      while (gathered.length > 0 && !this.#stop.aborted) {
        const chunk = this.options.ledger.start(this.model.id, newest);
        const { entries, taken } = this.#fill(chunk, gathered);
        await this.options.ledger.prepare(chunk);
        if (this.#stop.aborted) {
          await this.options.ledger.release(chunk.requests);
          break;
        }
        for (const [at, { id }] of chunk.requests.entries()) this.#waiting.set(id, taken[at] as Gathered);
        gathered.splice(0, taken.length);
        this.#running.add(chunk);
        const failure = await this.#submit(chunk, entries).catch(messageOf);
        if (failure === undefined) void this.#collect(chunk);
        else this.#end(chunk, notAsked(failure));
      }
      for (const { resolve } of gathered) resolve(notAsked(stoppedByUser));
    } catch (thrown) {
      // The ledger cannot be written. Nothing was submitted that is not in it.
      for (const { resolve } of gathered) resolve(notAsked(messageOf(thrown)));
    }
  }

  /** Fills a submission with the first of the gathered requests. */
  #fill(chunk: Chunk, gathered: readonly Gathered[]): { entries: object[]; taken: Gathered[] } {
    const entries: object[] = [];
    let bytes = 0;
    for (const one of gathered.slice(0, maxRequests)) {
      const id = createRequestId(chunk, one.entry.cell, one.entry.attempt);
      const entry = this.service.write(id, one.request);
      bytes += Buffer.byteLength(JSON.stringify(entry)) + 2;
      if (entries.length > 0 && bytes > maxBytes) break;
      entries.push(entry);
      chunk.requests.push({ id, ...one.entry });
    }
    return { entries, taken: gathered.slice(0, entries.length) };
  }

  /** The id of the newest batch of the account. A fault means that there is no batch API, or no permission for it. */
  async #findNewest(): Promise<string | undefined> {
    for (let made = 1; ; made++) {
      const listed = await this.service.list(undefined, 1, this.#stop);
      if (!("kind" in listed)) return listed[0]?.id;
      if (!isRetried(listed, made, this.service.retries) || this.#stop.aborted)
        throw new Stopped(`the batches of the account cannot be listed: ${listed.message}`);
      await this.service.delay(waitMs(made, listed.retryAfterMs), this.#stop);
    }
  }

  /** Submits the entries, each exactly once. Throws if they cannot be submitted. */
  async #submit(chunk: Chunk, entries: readonly object[]): Promise<undefined> {
    for (let made = 1; ; made++) {
      // Not aborted when the run is: the id of a batch that is paid for would be lost.
      const sent = await this.service.submit(entries, chunk.label, new AbortController().signal);
      const isKnown = typeof sent === "string" || isRefused(sent);
      if (!isKnown) await this.service.delay(waitMs(made, sent.retryAfterMs), this.#stop);
      const batch = typeof sent === "string" ? sent : isKnown ? undefined : await this.#find(chunk);
      if (batch !== undefined) {
        await this.options.ledger.submitted(chunk, batch);
        const submitted = `Batch ${batch}: ${count(entries.length, "request")} submitted.`;
        this.options.report(`${submitted} Replies come within 24 hours, as a rule within one.`);
        return undefined;
      }
      const { message, isTransient, retryAfterMs } = sent as Fault;
      if ((isKnown && !isTransient) || made > this.service.retries || this.#stop.aborted) {
        await this.options.ledger.release(chunk.requests);
        throw new Stopped(`the batch ${isKnown ? "was refused" : "could not be submitted"}: ${message}`);
      }
      if (isKnown) await this.service.delay(waitMs(made, retryAfterMs), this.#stop);
    }
  }

  /** Finds the batch of a submission at the service; undefined if it did not arrive. */
  async #find({ label, after, at, requests }: Chunk): Promise<string | undefined> {
    const ids = new Set(requests.map(({ id }) => id));
    const unknown = `it is unknown whether the batch of ${count(ids.size, "request")} from ${at} arrived`;
    const listed = await this.#retry(unknown, () => this.service.list(after, maxListed, this.#stop));
    const labeled = listed.find((one) => one.label === label);
    if (labeled) return labeled.id;
    if (listed.length >= maxListed) throw new Stopped(`${unknown}: too many batches were submitted since`);
    if (this.service.keepsLabels) return undefined;
    for (const { id, status, requests = ids.size } of listed) {
      if (requests !== ids.size || this.options.ledger.has(id)) continue;
      const why = "because the id of a batch was not recorded";
      if (status === "running")
        this.options.report(`Batch ${id} may belong to this run. Waiting for its results, ${why}.`);
      await this.#awaitEnd(id);
      let isOurs = false;
      const check = (one: string) => {
        isOurs ||= ids.has(one);
      };
      await this.#retry(unknown, async () => {
        const fault = await this.service.readResults(id, check, this.#stop);
        return isOurs ? "read" : (fault ?? "read");
      });
      if (isOurs) return id;
    }
    return undefined;
  }

  /** Waits for the end of a submission and delivers its results. Does not reject. */
  async #collect(chunk: Chunk): Promise<void> {
    this.#running.add(chunk);
    let rest: Outcome | "again" = "again";
    try {
      const batch = chunk.batch ?? (await this.#find(chunk));
      if (batch === undefined) await this.options.ledger.release(chunk.requests);
      else {
        if (chunk.batch === undefined) await this.options.ledger.submitted(chunk, batch);
        const state = await this.#awaitEnd(batch);
        while (this.#delivering) await this.#delivering.catch(() => {});
        this.#delivering = this.#deliver(chunk, state).finally(() => {
          this.#delivering = undefined;
        });
        await this.#delivering;
      }
    } catch (thrown) {
      rest = notAsked(messageOf(thrown));
    }
    this.#end(chunk, rest);
  }

  /** Reads the results of an ended batch, and delivers them as fast as trials are recorded. */
  async #deliver(chunk: Chunk, { id: batch, status, absent, problem = "no reason given" }: BatchState): Promise<void> {
    if (status === "failed") {
      await this.options.ledger.release(chunk.requests);
      throw new Stopped(`the batch ${batch} failed: ${problem}`);
    }
    const wanted = new Map(chunk.requests.flatMap((entry) => (this.#waiting.has(entry.id) ? [[entry.id, entry]] : [])));
    const results = new Map<string, BatchResult>();
    const keep = (id: string, result: BatchResult) => {
      if (wanted.has(id)) results.set(id, result);
    };
    let fault: Fault | undefined;
    for (let reads = 1; !this.#stop.aborted; reads++) {
      fault = await this.service.readResults(batch, keep, this.#stop);
      if (!fault && (results.size === wanted.size || absent)) break;
      if (reads >= maxReads || (fault && !fault.isTransient)) break;
      await this.service.delay(waitMs(reads), this.#stop);
    }
    if (absent && !fault) for (const id of wanted.keys()) if (!results.has(id)) results.set(id, { kind: absent });
    await this.options.ledger.release([...wanted.values()].filter(({ id }) => results.get(id)?.kind === "canceled"));
    if (!this.#stop.aborted) this.options.report(`Batch ${batch} ended: ${count(results.size, "result")}.`);
    for (const [id, result] of results) {
      await this.#waitForCapacity(wanted.get(id)?.cell ?? "");
      if (this.#stop.aborted) throw new Stopped(stoppedByUser);
      const { request } = this.#waiting.get(id) ?? {};
      if (request) this.#resolve(id, { ...this.#read(result, request, batch), batch });
    }
    if (fault) throw new Stopped(`the results of the batch ${batch} cannot be read: ${fault.message}`);
    if (this.#stop.aborted) throw new Stopped(stoppedByUser);
    const missing = permanentFault(`the batch ${batch} has no result for the request`);
    for (const id of wanted.keys()) this.#resolve(id, missing);
  }

  #read(result: BatchResult, request: ModelRequest, batch: string): Attempt | Broken {
    if (result.kind === "reply") return this.service.read(result, request);
    if (result.kind === "canceled") return notAsked(`the batch ${batch} was canceled`);
    if (result.kind === "errored")
      return result.isTransient ? transientFault(result.message) : permanentFault(result.message);
    const expired = transientFault(`the batch ${batch} expired before the request was answered`);
    return { ...expired, stage: "timeout" };
  }

  async #waitForCapacity(cell: string): Promise<void> {
    while (this.#open.size >= this.options.concurrency && !this.#stop.aborted)
      await new Promise<void>((resolve) => {
        this.#onCapacity = resolve;
      });
    this.#open.add(cell);
  }

  async #awaitEnd(id: string): Promise<BatchState> {
    for (let polls = 0; ; polls++) {
      const state = await this.#retry(`the batch ${id}`, () => this.service.retrieve(id, this.#stop));
      if (state.status !== "running") return state;
      await this.service.delay(waitMs(polls), this.#stop);
    }
  }

  /** Repeats a request that is free of charge until it is answered. Throws that `what` is unknown if it never is. */
  async #retry<T extends object | string>(what: string, request: () => Promise<T | Fault>): Promise<T> {
    for (let faults = 0; ; faults++) {
      const result = this.#stop.aborted ? undefined : await request();
      if (result === undefined || this.#stop.aborted) throw new Stopped(stoppedByUser);
      if (!isFault(result)) return result;
      if (!result.isTransient || faults >= maxFaults) throw new Stopped(`${what}: ${result.message}`);
      await this.service.delay(waitMs(faults, result.retryAfterMs), this.#stop);
    }
  }

  /** Ends a submission, and every wait for one of its requests. */
  #end(chunk: Chunk, outcome: Outcome | "again"): void {
    this.#running.delete(chunk);
    for (const { id } of chunk.requests) this.#resolve(id, outcome);
  }

  #resolve(id: string, outcome: Outcome | "again"): void {
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    waiting?.resolve(outcome);
  }

  #stopWith(signal: AbortSignal): void {
    if (this.#signals.has(signal)) return;
    this.#signals.add(signal);
    if (signal.aborted) this.#stopNow();
    else signal.addEventListener("abort", () => this.#stopNow(), { once: true });
  }

  #stopNow(): void {
    if (this.#stop.aborted) return;
    this.#unfinished = [...this.#running];
    this.#stopping.abort();
    this.#onCapacity();
    clearTimeout(this.#timer);
    for (const { resolve } of this.#gathered.splice(0)) resolve(notAsked(stoppedByUser));
    for (const id of [...this.#waiting.keys()]) this.#resolve(id, notAsked(stoppedByUser));
  }
}

/** Whether the service certainly refused a submission. After any other fault it may have arrived. */
const isRefused = ({ status }: Fault) =>
  status !== undefined && status >= 400 && status < 500 && ![408, 409].includes(status);

const isFault = (value: object | string): value is Fault =>
  typeof value === "object" && "kind" in value && value.kind === "fault";

/** Such a trial is missing rather than broken: a resumed run asks it. */
const notAsked = (message: string): Broken => ({ kind: "broken", stage: "cancelled", message, again: true });

import type { Fault } from "../../base/types/attempt.ts";
import type { BatchResult, BatchService, BatchState } from "../../base/types/model.ts";
import type { Chunk, Ledger } from "./ledger.ts";

/**
 * What happened to a request in a batch. `unsent`: its batch never arrived at the service. `missing`: the batch ended
 * without a result for the request. `late`: the results were read before anyone waited for this one, so look it up
 * again. `stopped`: unknown, because this process stopped waiting.
 */
export type Outcome = (BatchResult | { kind: "unsent" | "missing" | "late" } | { kind: "stopped"; message: string }) & {
  batch?: string;
};

/** The dependencies of a submission. `stop` aborts when this process no longer waits for results. */
export type SubmissionContext = {
  service: BatchService;
  ledger: Ledger;
  stop: AbortSignal;
  report(line: string): void;
  /** Runs functions that deliver results one at a time. */
  runExclusively(work: () => Promise<void>): Promise<void>;
  /** Resolves when the result of one more request may be delivered. */
  waitForCapacity(cell: string): Promise<void>;
};

type Stopped = { kind: "stopped"; message: string };
const stopped = (message: string): Stopped => ({ kind: "stopped", message });
const interrupted = stopped("the run was stopped");

/** The n-th delay, from 0: it grows from half a second to a minute, unless the service asked for another one. */
const waitMs = (n: number, asked?: number) => Math.min(asked ?? 500 * 1.5 ** n, 60_000);

/** Maximum consecutive failed requests about a batch: with the delays between them, about a quarter of an hour. */
const maxFaults = 20;
/** Maximum number of attempts to read results that cannot be read, or lack some request. */
const maxReads = 3;
/** Maximum number of newer batches among which to look for one. */
const maxListed = 1_000;

/** Whether the service certainly refused a submission. After any other fault it may have arrived. */
const isRefused = ({ status }: Fault) =>
  status !== undefined && status >= 400 && status < 500 && ![408, 409].includes(status);

/** One submission of a run, from sending it to delivering its last result. */
export class Submission {
  readonly #chunk: Chunk;
  readonly #context: SubmissionContext;
  readonly #waiting = new Map<string, (outcome: Outcome) => void>();
  /** Whether results are being delivered. */
  isReading = false;

  constructor(chunk: Chunk, context: SubmissionContext) {
    this.#chunk = chunk;
    this.#context = context;
  }

  /** The id of the batch; undefined if there is none, or it is unknown. */
  get batch(): string | undefined {
    return this.#chunk.batch;
  }

  /** Resolves with the outcome of a request. */
  await(id: string): Promise<Outcome> {
    return new Promise((resolve) => this.#waiting.set(id, resolve));
  }

  /** Ends every wait. */
  end(outcome: Outcome): void {
    for (const id of [...this.#waiting.keys()]) this.#settle(id, outcome);
  }

  /** Submits the entries, each exactly once. Ends every wait if they cannot be submitted. Does not reject. */
  async submit(entries: readonly object[]): Promise<void> {
    const result = await this.#send(entries).catch(toStopped);
    if (result) return this.end(result);
    this.#context.report(
      `Batch ${this.batch}: ${describeRequests(entries.length)} submitted. Replies come within 24 hours, as a rule within one.`,
    );
  }

  /**
   * Waits for the end of the batch and delivers its results. Does not reject. Waits that began while results were being
   * read stay open.
   */
  async collect(): Promise<void> {
    const result = await this.#resolveBatch().catch(toStopped);
    if (result) this.end(result);
  }

  async #send(entries: readonly object[]): Promise<Stopped | undefined> {
    const { service, ledger, stop } = this.#context;
    for (let made = 1; ; made++) {
      // Not aborted by `stop`: the id of a batch that is paid for would be lost.
      const sent = await service.submit(entries, this.#chunk.label, new AbortController().signal);
      if (typeof sent === "string") {
        await ledger.submitted(this.#chunk, sent);
        return undefined;
      }
      if (isRefused(sent)) {
        if (!sent.isTransient || made > service.retries || stop.aborted) {
          await ledger.release(this.#chunk.requests);
          return stopped(`the batch was refused: ${sent.message}`);
        }
        await service.delay(waitMs(made, sent.retryAfterMs), stop);
        continue;
      }
      await service.delay(waitMs(made, sent.retryAfterMs), stop);
      const found = await this.#find();
      if (typeof found === "string") {
        await ledger.submitted(this.#chunk, found);
        return undefined;
      }
      if (found) return found;
      if (made <= service.retries && !stop.aborted) continue;
      await ledger.release(this.#chunk.requests);
      return stopped(`the batch could not be submitted: ${sent.message}`);
    }
  }

  /** Finds the batch of this submission at the service; undefined if it did not arrive. */
  async #find(): Promise<string | Stopped | undefined> {
    const { label, after, at, requests } = this.#chunk;
    const ids = new Set(requests.map(({ id }) => id));
    const { service, ledger, stop, report } = this.#context;
    const what = `it is unknown whether the batch of ${describeRequests(ids.size)} from ${at} arrived`;
    const listed = await this.#retry(() => service.list(after, maxListed, stop));
    if ("kind" in listed) return listed === interrupted ? listed : stopped(`${what}: ${listed.message}`);
    const labelled = listed.find((one) => one.label === label);
    if (labelled) return labelled.id;
    if (listed.length >= maxListed) return stopped(`${what}: too many batches were submitted since`);
    if (service.keepsLabels) return undefined;
    const others = listed.filter((one) => (one.requests ?? ids.size) === ids.size && !ledger.has(one.id));
    for (const { id, status } of others) {
      if (status === "running")
        report(
          `Batch ${id} may belong to this run. Waiting for its results, because the id of a batch was not recorded.`,
        );
      const ended = await this.#awaitEnd(id);
      if ("kind" in ended) return ended;
      let isOurs = false;
      const read = () =>
        service.readResults(
          id,
          (one) => {
            isOurs ||= ids.has(one);
          },
          stop,
        );
      const fault = await this.#retry(async () => (await read()) ?? "read");
      if (isOurs) return id;
      if (typeof fault !== "string") return fault === interrupted ? fault : stopped(`${what}: ${fault.message}`);
    }
    return undefined;
  }

  async #resolveBatch(): Promise<Outcome | undefined> {
    const { ledger } = this.#context;
    if (this.#chunk.batch === undefined) {
      const found = await this.#find();
      if (typeof found === "object") return found;
      if (found === undefined) {
        await ledger.release(this.#chunk.requests);
        return { kind: "unsent" };
      }
      await ledger.submitted(this.#chunk, found);
    }
    const id = this.#chunk.batch ?? "";
    const state = await this.#awaitEnd(id);
    if ("kind" in state) return state;
    if (state.status === "failed") {
      await ledger.release(this.#chunk.requests);
      return stopped(`the batch ${id} failed: ${state.problem ?? "no reason given"}`);
    }
    let end: Outcome | undefined;
    await this.#context.runExclusively(async () => {
      this.isReading = true;
      end = await this.#read(state).finally(() => {
        this.isReading = false;
      });
    });
    return end;
  }

  /** Reads the results of an ended batch and delivers them. Returns the outcome of the remaining requests, if any. */
  async #read(state: BatchState): Promise<Outcome | undefined> {
    const { service, ledger, stop, report, waitForCapacity } = this.#context;
    const { id } = state;
    const wanted = new Set(this.#waiting.keys());
    const results = new Map<string, BatchResult>();
    const keep = (one: string, result: BatchResult) => {
      if (wanted.has(one)) results.set(one, result);
    };
    let fault: Fault | undefined;
    for (let reads = 1; !stop.aborted; reads++) {
      fault = await service.readResults(id, keep, stop);
      const isComplete = [...wanted].every((one) => results.has(one));
      if (!fault && (isComplete || state.absent)) break;
      if (reads >= maxReads || (fault && !fault.isTransient)) break;
      await service.delay(waitMs(reads), stop);
    }
    if (!fault && state.absent)
      for (const one of wanted) if (!results.has(one)) results.set(one, { kind: state.absent });
    const entries = new Map(this.#chunk.requests.map((entry) => [entry.id, entry]));
    await ledger.release([...entries.values()].filter((entry) => results.get(entry.id)?.kind === "canceled"));
    if (!stop.aborted) report(`Batch ${id} ended: ${describeResults(results.values())}.`);
    for (const [one, result] of results) {
      await waitForCapacity(entries.get(one)?.cell ?? "");
      if (stop.aborted) return interrupted;
      this.#settle(one, { ...result, batch: id });
    }
    if (fault) return stopped(`the results of the batch ${id} cannot be read: ${fault.message}`);
    if (stop.aborted) return interrupted;
    for (const one of wanted) this.#settle(one, { kind: "missing", batch: id });
    return undefined;
  }

  async #awaitEnd(id: string): Promise<BatchState | Stopped> {
    const { service, stop } = this.#context;
    for (let polls = 0; ; polls++) {
      const state = await this.#retry(() => service.retrieve(id, stop));
      if ("kind" in state) return state === interrupted ? state : stopped(`the batch ${id}: ${state.message}`);
      if (state.status !== "running") return state;
      await service.delay(waitMs(polls), stop);
    }
  }

  /** Repeats a request that is free of charge until it is answered. */
  async #retry<T extends object | string>(request: () => Promise<T | Fault>): Promise<T | Stopped> {
    const { service, stop } = this.#context;
    for (let faults = 0; ; faults++) {
      if (stop.aborted) return interrupted;
      const result = await request();
      if (stop.aborted) return interrupted;
      if (!isFault(result)) return result;
      if (!result.isTransient || faults >= maxFaults) return stopped(result.message);
      await service.delay(waitMs(faults, result.retryAfterMs), stop);
    }
  }

  #settle(id: string, outcome: Outcome): void {
    const resolve = this.#waiting.get(id);
    if (!resolve) return;
    this.#waiting.delete(id);
    resolve(outcome);
  }
}

function describeResults(results: Iterable<BatchResult>): string {
  const words = { reply: "answered", errored: "with an error", expired: "expired", canceled: "canceled" };
  const counts = new Map<string, number>();
  for (const { kind } of results) counts.set(words[kind], (counts.get(words[kind]) ?? 0) + 1);
  const parts = Object.values(words).flatMap((word) => (counts.has(word) ? [`${counts.get(word)} ${word}`] : []));
  return parts.length > 0 ? parts.join(", ") : "no results";
}

const isFault = (value: object | string): value is Fault =>
  typeof value === "object" && "kind" in value && value.kind === "fault";

const toStopped = (thrown: unknown): Stopped => stopped(thrown instanceof Error ? thrown.message : String(thrown));

const describeRequests = (n: number) => `${n.toLocaleString("en-US")} ${n === 1 ? "request" : "requests"}`;

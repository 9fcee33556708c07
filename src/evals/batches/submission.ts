import type { Fault } from "../types/attempt.ts";
import type { BatchResult, BatchState } from "../types/batch.ts";
import type { BatchService } from "../types/model.ts";
import type { Chunk, Ledger } from "./ledger.ts";

/**
 * What became of a request in a batch. `unsent`: its batch never arrived. `lacking`: the batch ended, and its results
 * say nothing of the request. `late`: the results were read before they were waited for. `stopped`: nothing is known
 * yet, and no more is found out in this process.
 */
export type Outcome = (BatchResult | { kind: "unsent" | "lacking" | "late" } | { kind: "stopped"; message: string }) & {
  batch?: string;
};

/** What a submission needs from outside. `stop` aborts when nothing more is waited for. */
export type Surroundings = {
  service: BatchService;
  ledger: Ledger;
  stop: AbortSignal;
  say(line: string): void;
  /** Runs the functions that hand results out one at a time. */
  exclusively(work: () => Promise<void>): Promise<void>;
  /** Resolves when the result of one more request may be handed out. */
  awaitRoom(cell: string): Promise<void>;
};

type Stopped = { kind: "stopped"; message: string };
const stopped = (message: string): Stopped => ({ kind: "stopped", message });
const interrupted = stopped("the run was stopped");

/** The n-th wait, from 0: from half a second to a minute, or what the service asked for. */
const waitMs = (n: number, asked?: number) => Math.min(asked ?? 500 * 1.5 ** n, 60_000);

/** So many requests about a batch may fail in a row: with the waits between them, for about a quarter of an hour. */
const mostFaults = 20;
/** Results that cannot be read, or say nothing of some request, are read so often. */
const mostReadings = 3;
/** A batch is looked for among at most this many newer ones. */
const mostListed = 1_000;

/** A submission that the service refused for certain. After any other fault it may have arrived. */
const isRefused = ({ status }: Fault) =>
  status !== undefined && status >= 400 && status < 500 && ![408, 409].includes(status);

/** One submission of a run, from its way to the service to the last of its results. */
export class Submission {
  readonly #chunk: Chunk;
  readonly #around: Surroundings;
  readonly #waiting = new Map<string, (outcome: Outcome) => void>();
  /** Whether results are being handed out. */
  isReading = false;

  constructor(chunk: Chunk, around: Surroundings) {
    this.#chunk = chunk;
    this.#around = around;
  }

  /** The batch that may still run; undefined where there is none, or none that is known. */
  get batch(): string | undefined {
    return this.#chunk.batch;
  }

  /** Resolves with what becomes of a request. */
  await(id: string): Promise<Outcome> {
    return new Promise((resolve) => this.#waiting.set(id, resolve));
  }

  /** Ends every wait. */
  end(outcome: Outcome): void {
    for (const id of [...this.#waiting.keys()]) this.#settle(id, outcome);
  }

  /** Submits the entries, each once for certain. Ends every wait when they cannot be submitted. Does not reject. */
  async submit(entries: readonly object[]): Promise<void> {
    const result = await this.#send(entries).catch(toStopped);
    if (result) return this.end(result);
    this.#around.say(
      `Batch ${this.batch}: ${describeRequests(entries.length)} submitted. Replies come within 24 hours, as a rule within one.`,
    );
  }

  /**
   * Waits for the end of the batch and hands out its results. Does not reject. Who began to wait while they were read waits
   * on.
   */
  async collect(): Promise<void> {
    const result = await this.#gather().catch(toStopped);
    if (result) this.end(result);
  }

  async #send(entries: readonly object[]): Promise<Stopped | undefined> {
    const { service, ledger, stop } = this.#around;
    for (let made = 1; ; made++) {
      // It is not cut short: the id of a batch that was paid for would be lost.
      const sent = await service.submit(entries, this.#chunk.label, new AbortController().signal);
      if (typeof sent === "string") {
        await ledger.submitted(this.#chunk, sent);
        return undefined;
      }
      if (isRefused(sent)) {
        if (!sent.isTransient || made > service.retries || stop.aborted) {
          await ledger.release(this.#chunk.entries.keys());
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
      await ledger.release(this.#chunk.entries.keys());
      return stopped(`the batch could not be submitted: ${sent.message}`);
    }
  }

  /** The batch of this submission at the service; undefined when it did not arrive. */
  async #find(): Promise<string | Stopped | undefined> {
    const { label, after, at, entries } = this.#chunk;
    const { service, ledger, stop, say } = this.#around;
    const what = `whether the batch of ${describeRequests(entries.size)} of ${at} arrived is unknown`;
    const listed = await this.#insist(() => service.list(after, mostListed, stop));
    if ("kind" in listed) return listed === interrupted ? listed : stopped(`${what}: ${listed.message}`);
    const labelled = listed.find((one) => one.label === label);
    if (labelled) return labelled.id;
    if (listed.length >= mostListed) return stopped(`${what}: too many batches were submitted since`);
    if (service.keepsLabels) return undefined;
    const others = listed.filter(({ id, requests = entries.size }) => requests === entries.size && !ledger.has(id));
    for (const { id, status } of others) {
      if (status === "running")
        say(`Batch ${id} may be one of this run, whose id was not recorded: its results will show it.`);
      const ended = await this.#awaitEnd(id);
      if ("kind" in ended) return ended;
      let isOurs = false;
      const read = () =>
        service.readResults(
          id,
          (one) => {
            isOurs ||= entries.has(one);
          },
          stop,
        );
      const fault = await this.#insist(async () => (await read()) ?? "read");
      if (isOurs) return id;
      if (typeof fault !== "string") return fault === interrupted ? fault : stopped(`${what}: ${fault.message}`);
    }
    return undefined;
  }

  async #gather(): Promise<Outcome | undefined> {
    const { ledger } = this.#around;
    if (this.#chunk.batch === undefined) {
      const found = await this.#find();
      if (typeof found === "object") return found;
      if (found === undefined) {
        await ledger.release(this.#chunk.entries.keys());
        return { kind: "unsent" };
      }
      await ledger.submitted(this.#chunk, found);
    }
    const id = this.#chunk.batch ?? "";
    const state = await this.#awaitEnd(id);
    if ("kind" in state) return state;
    if (state.status === "failed") {
      await ledger.release(this.#chunk.entries.keys());
      return stopped(`the batch ${id} failed: ${state.problem ?? "no reason given"}`);
    }
    let end: Outcome | undefined;
    await this.#around.exclusively(async () => {
      this.isReading = true;
      end = await this.#read(state).finally(() => {
        this.isReading = false;
      });
    });
    return end;
  }

  /** Reads the results of an ended batch and hands them out. Returns what the others came to. */
  async #read(state: BatchState): Promise<Outcome | undefined> {
    const { service, ledger, stop, say, awaitRoom } = this.#around;
    const { id } = state;
    const wanted = new Set(this.#waiting.keys());
    const results = new Map<string, BatchResult>();
    const keep = (one: string, result: BatchResult) => {
      if (wanted.has(one)) results.set(one, result);
    };
    let fault: Fault | undefined;
    for (let readings = 1; !stop.aborted; readings++) {
      fault = await service.readResults(id, keep, stop);
      const isComplete = [...wanted].every((one) => results.has(one));
      if (!fault && (isComplete || state.absent)) break;
      if (readings >= mostReadings || (fault && !fault.isTransient)) break;
      await service.delay(waitMs(readings), stop);
    }
    if (!fault && state.absent)
      for (const one of wanted) if (!results.has(one)) results.set(one, { kind: state.absent });
    await ledger.release([...results].flatMap(([one, { kind }]) => (kind === "canceled" ? [one] : [])));
    if (!stop.aborted) say(`Batch ${id} ended: ${describeResults(results.values())}.`);
    for (const [one, result] of results) {
      await awaitRoom(this.#chunk.entries.get(one)?.cell ?? "");
      if (stop.aborted) return interrupted;
      this.#settle(one, { ...result, batch: id });
    }
    if (fault) return stopped(`the results of the batch ${id} cannot be read: ${fault.message}`);
    if (stop.aborted) return interrupted;
    for (const one of wanted) this.#settle(one, { kind: "lacking", batch: id });
    return undefined;
  }

  async #awaitEnd(id: string): Promise<BatchState | Stopped> {
    const { service, stop } = this.#around;
    for (let polls = 0; ; polls++) {
      const state = await this.#insist(() => service.retrieve(id, stop));
      if ("kind" in state) return state === interrupted ? state : stopped(`the batch ${id}: ${state.message}`);
      if (state.status !== "running") return state;
      await service.delay(waitMs(polls), stop);
    }
  }

  /** Repeats a request that costs nothing until it is answered. */
  async #insist<T extends object | string>(request: () => Promise<T | Fault>): Promise<T | Stopped> {
    const { service, stop } = this.#around;
    for (let faults = 0; ; faults++) {
      if (stop.aborted) return interrupted;
      const result = await request();
      if (stop.aborted) return interrupted;
      if (!isFault(result)) return result;
      if (!result.isTransient || faults >= mostFaults) return stopped(result.message);
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

import { setMaxListeners } from "node:events";
import { extname } from "node:path";
import { fileURLToPath } from "node:url";
import { Worker } from "node:worker_threads";
import { getOrAdd } from "../collections.ts";
import type { Exported, Received, Sent } from "./thread.ts";

/** What a user's function returned, or why it returned nothing, as a sentence without a full stop. */
export type CodeResult<T = unknown> =
  | { kind: "returned"; value: T }
  /** `isLate`: its time was up, or the caller's signal aborted. */
  | { kind: "broken"; why: string; isLate?: true };

/** The time limit for loading a code assertion. */
const loadMs = 60_000;
/** A thread that takes longer than this to answer is in a loop. */
const maxSilenceMs = 10_000;

/**
 * A user's module in a thread, which the first call starts, and the first one after its end starts again. Calls run at
 * the same time. They keep the program running; an idle thread does not.
 */
export class CodeThread {
  #worker: Worker | undefined;
  #loading: Promise<CodeResult<Exported>> | undefined;
  readonly #settlers = new Map<number, (result: CodeResult) => void>();
  #calls = 0;
  #probing: Promise<void> | undefined;

  /** `file` is absolute. `warn` gets what it prints. `loadMs`: the time limit for loading it; undefined for none. */
  constructor(
    private readonly file: string,
    private readonly warn: (text: string) => void,
    private readonly loadMs?: number,
  ) {}

  /** Loads the module, unless it is loaded. Does not reject. */
  load(signal?: AbortSignal): Promise<CodeResult<Exported>> {
    this.#loading ??= this.#start(signal);
    return this.#loading;
  }

  /**
   * Calls the default export. `argument` must be JSON; with a signal, the function gets one as `signal` of its
   * argument. A call that takes longer than the limit is given up; if the thread does not answer then, it is in a loop,
   * and is ended with its other calls. An abort ends it at once. Does not reject.
   */
  async call(argument: unknown, limitMs: number, signal?: AbortSignal): Promise<CodeResult> {
    await this.#probing;
    const loaded = await this.load(signal);
    const worker = this.#worker;
    if (loaded.kind === "broken" || !worker) return loaded;
    const id = ++this.#calls;
    worker.postMessage({ id, argument, signal: signal !== undefined } satisfies Sent);
    const result = await this.#wait(worker, id, limitMs, signal);
    if (result.kind === "broken" && result.isLate) this.#probing = this.#probe(worker, id, signal);
    return result;
  }

  /** Ends the thread, unless it is another one by now. `why` is the result of the calls that wait for it. */
  async end(why = "its thread was ended", worker = this.#worker): Promise<void> {
    if (worker !== this.#worker) return;
    this.#worker = undefined;
    this.#loading = undefined;
    for (const settle of this.#settlers.values()) settle({ kind: "broken", why });
    await worker?.terminate();
  }

  async #start(signal: AbortSignal | undefined): Promise<CodeResult<Exported>> {
    // Next to this file, with the same ending: .js in the package.
    const script = fileURLToPath(new URL(`./thread${extname(import.meta.url)}`, import.meta.url));
    const worker = new Worker(script, { workerData: { file: this.file } });
    this.#worker = worker;
    worker.on("message", (message: Received) => {
      if ("printed" in message) return this.warn(message.printed);
      const result: CodeResult =
        "thrown" in message
          ? { kind: "broken", why: `it threw: ${message.thrown}` }
          : { kind: "returned", value: message.returned };
      this.#settlers.get(message.id)?.(result);
    });
    worker.on("error", (error: Error) => this.end(`it threw: ${error.message}`, worker));
    worker.on("exit", () => this.end("it ended its thread", worker));
    const loaded = await this.#wait(worker, 0, this.loadMs, signal);
    if (loaded.kind === "returned") return loaded as CodeResult<Exported>;
    await this.end(loaded.why, worker);
    return { ...loaded, why: `it cannot be loaded: ${loaded.why.replace(/^it threw: /, "")}` };
  }

  async #wait(worker: Worker, id: number, limitMs?: number, signal?: AbortSignal): Promise<CodeResult> {
    if (signal) setMaxListeners(0, signal);
    let timer: NodeJS.Timeout | undefined;
    let stop = () => {};
    const result = await new Promise<CodeResult>((settle) => {
      const abandon = (why: string) => settle({ kind: "broken", why, isLate: true });
      stop = () => abandon("it was stopped");
      if (limitMs !== undefined)
        timer = setTimeout(() => abandon(`it did not return within ${limitMs / 1000} s`), limitMs);
      signal?.addEventListener("abort", stop, { once: true });
      this.#settlers.set(id, settle);
      worker.ref();
      if (signal?.aborted) stop();
    });
    clearTimeout(timer);
    signal?.removeEventListener("abort", stop);
    this.#settlers.delete(id);
    if (this.#settlers.size === 0) worker.unref();
    if (signal?.aborted) await this.end("it was stopped", worker);
    return result;
  }

  /** Aborts the signal of a call that was given up, and ends the thread unless it answers. */
  async #probe(worker: Worker, id: number, signal: AbortSignal | undefined): Promise<void> {
    worker.postMessage({ id, cancel: true } satisfies Sent);
    const answer = await this.#wait(worker, id, maxSilenceMs, signal);
    if (answer.kind === "broken" && answer.isLate)
      await this.end("its thread was ended, because another call runs in a loop", worker);
  }
}

/** Calls users' modules, each in a thread of its own, one call at a time. A call over the limit ends the thread. */
export class CodeCaller {
  readonly #threads = new Map<string, CodeThread>();
  readonly #last = new Map<string, Promise<unknown>>();

  constructor(
    private readonly warn: (text: string) => void,
    private readonly callMs = 10_000,
  ) {}

  /** Calls the module at an absolute path. `argument` must be JSON. Does not reject. */
  async call(file: string, argument: unknown): Promise<CodeResult> {
    const before = this.#last.get(file);
    const result = (before ?? Promise.resolve()).then(() => this.#callNow(file, argument));
    this.#last.set(file, result);
    return await result;
  }

  async close(): Promise<void> {
    await Promise.all([...this.#threads.values()].map((thread) => thread.end()));
  }

  async #callNow(file: string, argument: unknown): Promise<CodeResult> {
    const thread = getOrAdd(this.#threads, file, () => new CodeThread(file, this.warn, loadMs));
    const result = await thread.call(argument, this.callMs);
    if (result.kind === "broken" && result.isLate) await thread.end();
    return result;
  }
}

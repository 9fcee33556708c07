import { extname } from "node:path";
import { fileURLToPath } from "node:url";
import { Worker } from "node:worker_threads";

/** What a user's function returned, or why it returned nothing, as a sentence without a full stop. */
export type CodeResult = { kind: "returned"; value: unknown } | { kind: "broken"; why: string };

/** The time limit for loading a module. */
const loadMs = 60_000;

type Reply = { isReady?: true; returned?: unknown; thrown?: string; failed?: string };

/** A thread. `settle` resolves the current wait with a message from the thread, or with the reason why it ended. */
type Thread = { worker: Worker; settle(reply: Reply | string): void };

/**
 * Calls the default exports of the user's modules. Each module has a thread, which is reused and makes one call at a
 * time. A call that takes longer than the limit ends the thread, and the next call starts a new one.
 */
export class CodeCaller {
  readonly #threads = new Map<string, Thread>();
  readonly #last = new Map<string, Promise<unknown>>();

  constructor(private readonly callMs = 10_000) {}

  /** Calls the module at an absolute path. `argument` must be JSON. Does not reject. */
  async call(file: string, argument: unknown): Promise<CodeResult> {
    const before = this.#last.get(file);
    const result = (before ?? Promise.resolve()).then(() => this.#callNow(file, argument));
    this.#last.set(file, result);
    return await result;
  }

  async close(): Promise<void> {
    await Promise.all([...this.#threads.values()].map(({ worker }) => worker.terminate()));
    this.#threads.clear();
  }

  async #callNow(file: string, argument: unknown): Promise<CodeResult> {
    const thread = this.#threads.get(file) ?? (await this.#start(file));
    if ("kind" in thread) return thread;
    const reply = await this.#wait(file, thread, this.callMs, () => thread.worker.postMessage(argument));
    if (typeof reply === "string") return { kind: "broken", why: reply };
    if (reply.thrown !== undefined) return { kind: "broken", why: `it threw: ${reply.thrown}` };
    return { kind: "returned", value: reply.returned };
  }

  async #start(file: string): Promise<Thread | CodeResult> {
    // Next to this file, with the same ending: .js in the package.
    const script = fileURLToPath(new URL(`./thread${extname(import.meta.url)}`, import.meta.url));
    const worker = new Worker(script, { workerData: { file } });
    const thread: Thread = { worker, settle: () => {} };
    worker.on("message", (reply: Reply) => thread.settle(reply));
    worker.on("error", (error: Error) => thread.settle(`it threw: ${error.message}`));
    worker.on("exit", () => thread.settle("it ended its thread"));
    this.#threads.set(file, thread);
    const reply = await this.#wait(file, thread, loadMs, () => {});
    if (typeof reply !== "string" && reply.isReady) return thread;
    await this.#end(file, thread);
    return { kind: "broken", why: `it cannot be loaded: ${typeof reply === "string" ? reply : reply.failed}` };
  }

  /** Waits for the next message of a thread. A sentence says why there is none. */
  async #wait(file: string, thread: Thread, limitMs: number, send: () => void): Promise<Reply | string> {
    let timer: NodeJS.Timeout | undefined;
    const reply = await new Promise<Reply | string>((resolve) => {
      timer = setTimeout(() => resolve(`it did not return within ${limitMs / 1000} s`), limitMs);
      thread.settle = resolve;
      send();
    });
    clearTimeout(timer);
    if (typeof reply === "string") await this.#end(file, thread);
    return reply;
  }

  async #end(file: string, { worker }: Thread): Promise<void> {
    this.#threads.delete(file);
    await worker.terminate();
  }
}

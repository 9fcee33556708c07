import { extname } from "node:path";
import { fileURLToPath } from "node:url";
import { Worker } from "node:worker_threads";

/** What a function of the user returned, or why there is no answer, as a sentence without its full stop. */
export type CodeResult = { kind: "returned"; value: unknown } | { kind: "broken"; why: string };

/** The longest that a module may load, and one call may take. */
const limits = { loadMs: 60_000, callMs: 10_000 } as const;

type Reply = { isReady?: true; returned?: unknown; thrown?: string; failed?: string };

/** A thread, and who waits for what it sends or how it ends. */
type Thread = { worker: Worker; settle(reply: Reply | string): void };

/**
 * Calls the default exports of the user's modules, each in a thread that is kept. One call of a module is made at a time;
 * a call that takes longer than 10 s ends its thread, and the next one starts a new one.
 */
export class CodeCaller {
  readonly #threads = new Map<string, Thread>();
  readonly #last = new Map<string, Promise<unknown>>();

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
    const reply = await this.#wait(file, thread, limits.callMs, () => thread.worker.postMessage(argument));
    if (typeof reply === "string") return { kind: "broken", why: reply };
    if (reply.thrown !== undefined) return { kind: "broken", why: `it threw: ${reply.thrown}` };
    return { kind: "returned", value: reply.returned };
  }

  async #start(file: string): Promise<Thread | CodeResult> {
    // Beside this file, with its ending: .js in the package.
    const script = fileURLToPath(new URL(`./thread${extname(import.meta.url)}`, import.meta.url));
    const worker = new Worker(script, { workerData: { file } });
    const thread: Thread = { worker, settle: () => {} };
    worker.on("message", (reply: Reply) => thread.settle(reply));
    worker.on("error", (error: Error) => thread.settle(`it threw: ${error.message}`));
    worker.on("exit", () => thread.settle("it ended its thread"));
    this.#threads.set(file, thread);
    const reply = await this.#wait(file, thread, limits.loadMs, () => {});
    if (typeof reply !== "string" && reply.isReady) return thread;
    await this.#end(file, thread);
    return { kind: "broken", why: `it cannot be loaded: ${typeof reply === "string" ? reply : reply.failed}` };
  }

  /** The next message of a thread; a sentence if there is none. */
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

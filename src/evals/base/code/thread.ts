import { format } from "node:util";
import { parentPort, workerData } from "node:worker_threads";
import { importModule } from "./module.ts";

// The thread of one user module. It calls the module's default export with each message, and sends back the result. The
// program ends the thread if the module loops forever.

/** A call with its number, from 1; with `signal`, its argument gets a signal. Or: nothing waits for a call any more. */
export type Sent = { id: number; argument: unknown; signal: boolean } | { id: number; cancel: true };

/** What a call returned or threw, or what the module prints. Call 0 loads the module, and returns `Exported`. */
export type Received = { id: number; returned: unknown } | { id: number; thrown: string } | { printed: string };

/** What a module exports besides its function. */
export type Exported = { isDeterministic: boolean; hasCost: boolean };

const running = new Map<number, AbortController>();

async function send(id: number, getResult: () => Promise<unknown>): Promise<void> {
  try {
    parentPort?.postMessage({ id, returned: await getResult() } satisfies Received);
  } catch (error) {
    const thrown = error instanceof Error ? error.message : String(error);
    parentPort?.postMessage({ id, thrown } satisfies Received);
  }
}

// Written by the program, redacted, and never among its data on standard output.
console.log =
  console.info =
  console.debug =
  console.warn =
  console.error =
    (...parts: unknown[]) => parentPort?.postMessage({ printed: format(...parts).slice(0, 1_000) } satisfies Received);

await send(0, async (): Promise<Exported> => {
  const { default: call, deterministic, costUsd } = await importModule((workerData as { file: string }).file);
  if (typeof call !== "function") throw new Error("its default export is not a function");
  parentPort?.on("message", async (message: Sent) => {
    const { id } = message;
    if ("cancel" in message) {
      running.get(id)?.abort();
      // Says that the thread does not loop.
      return await send(id, async () => undefined);
    }
    const own = new AbortController();
    running.set(id, own);
    const { argument } = message;
    await send(id, async () => call(message.signal ? { ...(argument as object), signal: own.signal } : argument));
    running.delete(id);
  });
  return { isDeterministic: deterministic === true, hasCost: typeof costUsd === "function" };
});

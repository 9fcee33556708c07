import { parentPort, workerData } from "node:worker_threads";
import { importModule } from "./module.ts";

// The thread of one user module. It calls the module's default export with each message, and sends back the result. The
// program ends the thread if the module loops forever.

async function start(): Promise<void> {
  const port = parentPort;
  if (!port) return;
  const { file } = workerData as { file: string };
  const { default: call } = await importModule(file);
  if (typeof call !== "function") throw new Error("its default export is not a function");
  port.on("message", async (argument: unknown) => {
    try {
      port.postMessage({ returned: await call(argument) });
    } catch (error) {
      port.postMessage({ thrown: error instanceof Error ? error.message : String(error) });
    }
  });
  port.postMessage({ isReady: true });
}

start().catch((error) => parentPort?.postMessage({ failed: error instanceof Error ? error.message : String(error) }));

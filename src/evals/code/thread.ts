import { parentPort, workerData } from "node:worker_threads";
import { importModule } from "./module.ts";

// The thread of one module of the user. It calls the module's default export with what it is sent, and sends back what it
// returns. An endless loop in it does not stop the program, which ends the thread.

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

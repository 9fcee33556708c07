import { stat } from "node:fs/promises";
import { pathToFileURL } from "node:url";

/**
 * Imports the user's module at an absolute path, in JavaScript, or by jiti in TypeScript: newer versions of Node only
 * strip types, and find no `./helper` without its ending. Rejects with what the module or the loader throws, and for a
 * folder, a pipe or a device: a pipe would be waited for without end.
 */
export async function importModule(path: string): Promise<{ default?: unknown; [name: string]: unknown }> {
  if (!(await stat(path)).isFile()) throw new Error("it is not a regular file");
  const restore = releaseSignals();
  try {
    if (!/\.[mc]?ts$/.test(path)) return await import(pathToFileURL(path).href);
    const { createJiti } = await import("jiti");
    // A cache on disk could be outdated after a change of an imported file.
    return await createJiti(import.meta.url, { fsCache: false, moduleCache: false }).import(path);
  } finally {
    restore();
  }
}

/** Lets Ctrl-C and SIGTERM end the process at once until the returned function is called: users' code may loop. */
export function releaseSignals(): () => void {
  const signals = (["SIGINT", "SIGTERM"] as const).map((signal) => [signal, process.listeners(signal)] as const);
  for (const [signal] of signals) process.removeAllListeners(signal);
  return () => {
    for (const [signal, handlers] of signals) for (const handler of handlers) process.on(signal, handler);
  };
}

import { stat } from "node:fs/promises";
import { pathToFileURL } from "node:url";

/**
 * Imports a user's module in JavaScript or TypeScript. Node strips the types if it can (22.18 and newer), otherwise
 * jiti does. Rejects with what the module or the loader throws, and for a folder, a pipe or a device: a pipe would be
 * waited for without end.
 * @param path absolute
 */
export async function importModule(path: string): Promise<{ default?: unknown; [name: string]: unknown }> {
  if (!(await stat(path)).isFile()) throw new Error("it is not a regular file");
  const { features } = process as { features: { typescript?: unknown } };
  if (!/\.[mc]?ts$/.test(path) || features.typescript) return await import(pathToFileURL(path).href);
  const { createJiti } = await import("jiti");
  // A cache on disk could be outdated after a change of an imported file.
  return await createJiti(import.meta.url, { fsCache: false, moduleCache: false }).import(path);
}

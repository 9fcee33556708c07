import { pathToFileURL } from "node:url";

/**
 * Imports a module of the user, JavaScript or TypeScript. Types are stripped by Node where it can (22.18 and newer), else
 * by jiti. Rejects with what the module or the loader throws.
 * @param path absolute
 */
export async function importModule(path: string): Promise<{ default?: unknown; [name: string]: unknown }> {
  const { features } = process as { features: { typescript?: unknown } };
  if (!/\.[mc]?ts$/.test(path) || features.typescript) return await import(pathToFileURL(path).href);
  const { createJiti } = await import("jiti");
  // A cache on the disk could outlive a change of what the file imports.
  return await createJiti(import.meta.url, { fsCache: false, moduleCache: false }).import(path);
}

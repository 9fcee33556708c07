import { stat } from "node:fs/promises";
import { resolve } from "node:path";
import { isJsonObject } from "../../base/types/json.ts";
import { isHostFile } from "../hostFiles.ts";
import { readParsed } from "../parsing/read.ts";

/** What a word on a command line can name; `paths` are suites and skill packages. */
export type NamedBy = "paths" | "server" | "url" | "config" | "tools";

/** What a word names. A file that cannot be read is a suite, whose reader says what is wrong. */
export async function recognize(word: string, cwd: string): Promise<NamedBy> {
  if (/^https?:\/\//i.test(word)) return "url";
  const path = resolve(cwd, word);
  const found = await stat(path).catch(() => undefined);
  if (!found) return /\s/.test(word.trim()) ? "server" : "paths";
  if (!found.isFile() || !/\.(?:jsonc?|ya?ml|toml)$/i.test(word)) return "paths";
  const value = await readParsed(path, word, { lenient: true }).then(
    (parsed) => parsed.value,
    () => undefined,
  );
  // Also a list is the evals of a skill's triggers, each with its query.
  if (Array.isArray(value)) return value.some((one) => isJsonObject(one) && "query" in one) ? "paths" : "tools";
  if (!isJsonObject(value) || "cases" in value || "evals" in value) return "paths";
  if (isHostFile(value)) return "config";
  return Array.isArray(value.tools) ? "tools" : "paths";
}

import { resolve } from "node:path";
import { EvalsError, type Place, usageError } from "../errors.ts";
import type { Path } from "../parsing/tree.ts";
import { isJsonObject } from "../types/json.ts";
import { type LintSettings, lintSettingsSchema } from "../types/lint.ts";
import { parseDocument } from "./document.ts";
import { explain } from "./explain.ts";
import { readText } from "./text.ts";

/** The lint settings of a file, and where each of their values stands. */
export type PlacedSettings = { settings: LintSettings; place(path: Path): Place };

/**
 * Reads a file of lint settings, as strictly as a suite is read: an unknown key or a suppression without a reason is an
 * error. Throws EvalsError with every problem and its place.
 */
export async function loadLintSettings(file: string, { cwd }: { cwd: string }): Promise<PlacedSettings> {
  const { data, problems, place } = parseDocument(await readText(resolve(cwd, file), file), file);
  if (!isJsonObject(data))
    throw usageError("lint settings are an object", "write `ignore:` or `severities:`", { file });
  const faults = explain(lintSettingsSchema, data);
  if (faults.length === 0 && problems.length === 0) return { settings: lintSettingsSchema.parse(data), place };
  const told = faults.map(({ path, part, message, hint }) => {
    return { severity: "error" as const, message, ...(hint && { hint }), place: place(path, part) };
  });
  throw new EvalsError([...problems, ...told]);
}

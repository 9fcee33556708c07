import { rm, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { makeFolder } from "../files/makeFolder.ts";
import { EvalsError, exitCodes, messageOf } from "../types/errors.ts";

/**
 * Writes a file that a command makes, and the folders above it. With `isNew` it fails rather than overwriting a file that
 * appeared in between, and leaves no part of one. Throws EvalsError when the file cannot be written.
 */
export async function writeOutput(path: string, text: string, { isNew = false } = {}): Promise<void> {
  try {
    await makeFolder(dirname(path));
    await writeFile(path, text, { flag: isNew ? "wx" : "w" });
  } catch (error) {
    const isOthers = (error as NodeJS.ErrnoException).code === "EEXIST";
    if (isNew && !isOthers) await rm(path, { force: true }).catch(() => undefined);
    const message = `${path} cannot be written: ${messageOf(error)}.`;
    throw new EvalsError(
      { severity: "error", message, hint: "Free space, or write it somewhere else." },
      exitCodes.incomplete,
    );
  }
}

import { rm, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { makeFolder } from "../files/makeFolder.ts";
import { EvalsError, exitCodes, messageOf } from "../types/errors.ts";
import type { Io } from "../types/io.ts";
import { knownSecrets } from "../types/secrets.ts";

/**
 * Writes a file that a command makes, without known secrets, and the folders above it. With the flag `wx` it fails rather than
 * overwriting a file that appeared in between, and leaves no part of one. Throws EvalsError when the file cannot be written.
 */
export async function writeOutput(
  path: string,
  text: string,
  { env }: Pick<Io, "env">,
  { flag = "w" }: { flag?: "w" | "wx" | "a" } = {},
): Promise<void> {
  try {
    await makeFolder(dirname(path));
    await writeFile(path, knownSecrets(env).redact(text), { flag });
  } catch (error) {
    const isOthers = (error as NodeJS.ErrnoException).code === "EEXIST";
    if (flag === "wx" && !isOthers) await rm(path, { force: true }).catch(() => undefined);
    const message = `${path} cannot be written: ${messageOf(error)}.`;
    throw new EvalsError(
      { severity: "error", message, hint: "Free space, or write it somewhere else." },
      exitCodes.incomplete,
    );
  }
}

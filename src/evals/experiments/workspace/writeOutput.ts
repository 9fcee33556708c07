import { rm, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { describeFileError, makeFolder, replaceFile } from "../../base/files/files.ts";
import { knownSecrets } from "../../base/secrets/secrets.ts";
import { EvalsError, exitCodes } from "../../base/types/errors.ts";
import type { Io } from "../../base/types/io.ts";

/**
 * Writes a file that a command makes, without known secrets, and the folders above it. It replaces a file,
 * and leaves no part of one. With the flag `wx` it fails rather than overwriting a file that appeared in between. Throws
 * EvalsError when the file cannot be written.
 */
export async function writeOutput(
  path: string,
  text: string,
  { env }: Pick<Io, "env">,
  { flag = "w" }: { flag?: "w" | "wx" | "a" } = {},
): Promise<void> {
  try {
    await makeFolder(dirname(path));
    const redacted = knownSecrets(env).redact(text);
    if (flag === "w") await replaceFile(path, redacted);
    else await writeFile(path, redacted, { flag });
  } catch (error) {
    const isOthers = (error as NodeJS.ErrnoException).code === "EEXIST";
    if (flag === "wx" && !isOthers) await rm(path, { force: true }).catch(() => undefined);
    const message = `${path} cannot be written: ${describeFileError(error).message}.`;
    throw new EvalsError(
      { severity: "error", message, hint: "Free space, or write it somewhere else." },
      exitCodes.incomplete,
    );
  }
}

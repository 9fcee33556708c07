import { randomBytes } from "node:crypto";
import { chmod, realpath, rename, rm, stat, writeFile } from "node:fs/promises";

/** The names of files that `replaceFile` leaves beside others when the process is killed. */
export const temporaryName = /\.[0-9a-f]{12}\.tmp$/;

/**
 * Writes a file such that it has the old content or the new one, and never a part: after a crash, on a full disk, and
 * for whoever reads it meanwhile. The content can come in parts. A link is followed. `mode` is that of the file before,
 * where there is one, unless it is given. Rejects with the error of the file system and for a folder, a pipe or a device,
 * and leaves it as it was.
 */
export async function replaceFile(
  path: string,
  content: string | Uint8Array | Generator<string>,
  { mode }: { mode?: number } = {},
): Promise<void> {
  const target = await realpath(path).catch(() => path);
  const before = await stat(target).catch(() => undefined);
  if (before && !before.isFile()) throw new Error("it is not a regular file");
  const kept = mode ?? before?.mode;
  const temporary = `${target}.${randomBytes(6).toString("hex")}.tmp`;
  try {
    // Writes until all is written: a disk that fills up takes a part first.
    await writeFile(temporary, content, { flag: "wx", flush: true, mode: kept ?? 0o666 });
    if (kept !== undefined) await chmod(temporary, kept);
    await rename(temporary, target);
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => undefined);
    throw error;
  }
}

import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { chmod, mkdir, readFile, realpath, rename, rm, stat, writeFile } from "node:fs/promises";
import { constants } from "node:os";
import { dirname, resolve } from "node:path";
import { knownSecrets } from "../secrets/secrets.ts";
import { EvalsError, exitCodes, usageError } from "../types/errors.ts";
import type { Io } from "../types/io.ts";

/** Errors that Node prints as a number only. */
const unnamed = {
  EDQUOT: "disk quota exceeded",
  ENOLCK: "no locks available",
  ESTALE: "stale file handle",
} as const;

/** The code and the message of an error of the file system; an empty code for any other error. */
export function describeFileError(thrown: unknown): { code: string; message: string } {
  const { code = "", message = String(thrown) } = (thrown ?? {}) as Partial<NodeJS.ErrnoException>;
  const number = Number(/^Unknown system error -(\d+)$/.exec(code)?.[1]);
  for (const [name, meaning] of Object.entries(unnamed))
    if (constants.errno[name as keyof typeof unnamed] === number)
      return { code: name, message: message.replace(/(Unknown system error -\d+)(?:: \1)?/, `${name}: ${meaning}`) };
  return { code, message };
}

/**
 * Creates a folder and those above it, with `mode`. Creates them one at a time: the recursive `mkdir` of Node never
 * returns in a file system that has no folders to create, such as /proc. Rejects.
 */
export async function makeFolder(path: string, { mode = 0o777 } = {}): Promise<void> {
  const error = await tryMake(path, mode);
  if (!error) return;
  const above = dirname(path);
  if (error.code !== "ENOENT" || above === path) throw error;
  await makeFolder(above, { mode });
  const again = await tryMake(path, mode);
  if (again?.code === "ENOENT")
    throw Object.assign(new Error(`no folder can be created in ${above}`), { code: "EPERM" });
  if (again) throw again;
}

/** Returns the error; undefined if the folder now exists, also if another process created it. */
async function tryMake(path: string, mode: number): Promise<NodeJS.ErrnoException | undefined> {
  try {
    await mkdir(path, { mode });
    return undefined;
  } catch (error) {
    const found = await stat(path).catch(() => undefined);
    return found?.isDirectory() ? undefined : (error as NodeJS.ErrnoException);
  }
}

/** The text of a file. Rejects with the error of the file system, and for a folder, a pipe or a device. */
export async function readRegularFile(path: string): Promise<string> {
  if (!(await stat(path)).isFile()) throw new Error("it is not a regular file");
  return await readFile(path, "utf8");
}

/** The text of a file, or undefined if there is none. Throws a usage error about `what` if it cannot be read. */
export async function readIfPresent(what: string, file: string): Promise<string | undefined> {
  return await readRegularFile(file).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return undefined;
    throw usageError(`${what} cannot be read: ${error.message}.`, undefined, { file });
  });
}

/** The names of files that `replaceFile` leaves beside others when the process is killed. */
export const temporaryName = /\.[0-9a-f]{12}\.tmp$/;

/**
 * Writes a file such that it has the old content or the new one, and never a part: after a crash, on a full disk, and
 * for its readers. The content can come in parts, and a link is followed. `mode`: by default that of the file before.
 * Rejects with the error of the file system and for a folder, a pipe or a device, and leaves it as it was.
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

/**
 * Writes a file that a command makes, without known secrets, and the folders above it. With the flag `wx` it fails
 * rather than overwriting a file that appeared in between. Throws EvalsError.
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
    const hint = "Free space, or write it somewhere else.";
    throw new EvalsError({ severity: "error", message, hint }, exitCodes.incomplete);
  }
}

/** How this program is started in a folder, whether or not it is installed there. */
export const nameProgram = ({ cwd }: Pick<Io, "cwd">) =>
  existsSync(resolve(cwd, "node_modules/tool-evals")) ? "npx evals" : "npx tool-evals";

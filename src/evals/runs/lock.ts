import { type FileHandle, open, readFile, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import { EvalsError, exitCodes } from "../types/errors.ts";
import { writeError } from "./disk.ts";

/** Locks a range of bytes of an open file without waiting; false when another open file has it. */
export type TryLock = (fd: number, offset: number, length: number) => boolean;

/** A byte far behind the text: on Windows a locked byte cannot be read by others. */
const lockedByte = 2 ** 30;

/**
 * Makes this process the only writer of a run folder, until the returned function is called. The lock is the kernel's, on
 * the file `lock` in the folder: it is free as soon as its process has ended, however it ended. Where the native module is
 * not available (musl), the file holds the process id and counts while that process exists.
 * Throws EvalsError with the process id when another process writes the run.
 */
export async function lockRun(dir: string, tryLock: TryLock | null = loadTryLock()): Promise<() => Promise<void>> {
  const file = join(dir, "lock");
  return tryLock ? await lockByKernel(file, dir, tryLock) : await lockByProcessId(file, dir);
}

function loadTryLock(): TryLock | null {
  try {
    return (createRequire(import.meta.url)("fs-native-extensions") as { tryLock: TryLock }).tryLock;
  } catch {
    return null;
  }
}

/** The file is never removed: a process could lock the removed file while another one locks the new one. */
async function lockByKernel(file: string, dir: string, tryLock: TryLock): Promise<() => Promise<void>> {
  const handle: FileHandle = await open(file, "a+").catch((error) => {
    throw writeError(file, error);
  });
  if (!tryLock(handle.fd, lockedByte, 1)) {
    const holder = await handle.readFile("utf8");
    await handle.close();
    throw lockedError(dir, holder);
  }
  await handle.truncate(0);
  await handle.write(String(process.pid));
  return () => handle.close();
}

async function lockByProcessId(file: string, dir: string): Promise<() => Promise<void>> {
  for (let attempt = 1; ; attempt++) {
    try {
      await writeFile(file, String(process.pid), { flag: "wx" });
      return () => rm(file, { force: true });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw writeError(file, error);
    }
    const holder = await readFile(file, "utf8").catch(() => "");
    if (attempt === 3 || isRunning(Number(holder))) throw lockedError(dir, holder);
    await rm(file, { force: true });
  }
}

function isRunning(pid: number): boolean {
  if (!Number.isSafeInteger(pid) || pid <= 0) return false;
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

function lockedError(dir: string, holder: string): EvalsError {
  const pid = /^\d+$/.test(holder.trim()) ? `process ${holder.trim()}` : "another process";
  const message = `The run ${dir} is being written by ${pid}.`;
  return new EvalsError(
    { severity: "error", message, hint: "Wait until that process has ended, or stop it." },
    exitCodes.usage,
  );
}

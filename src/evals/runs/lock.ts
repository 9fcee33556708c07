import { randomUUID } from "node:crypto";
import { type FileHandle, link, open, readFile, rm, stat, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
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
export async function lockRun(dir: string, tryLock: TryLock | null = loadTryLock()): Promise<Release> {
  const file = join(dir, "lock");
  const taken = await take(file, tryLock).catch((error: unknown) => {
    throw writeError(file, error);
  });
  if ("holder" in taken) throw lockedError(dir, taken.holder);
  return taken.release;
}

const pollMs = 20;

/**
 * Does work that reads a file and replaces it, one process after the other, so that none loses what another one added.
 * Waits for its turn. The lock is `<file>.lock`, which is removed afterwards. Rejects with what `work` rejects with, and
 * with the error of the file system.
 */
export async function inTurn<T>(
  file: string,
  work: () => Promise<T>,
  tryLock: TryLock | null = loadTryLock(),
): Promise<T> {
  const lock = `${file}.lock`;
  for (;;) {
    const taken = await take(lock, tryLock);
    if ("release" in taken) {
      try {
        // Whoever had it before may have removed the file that is locked here.
        if (await taken.isInPlace()) return await work().finally(taken.remove);
      } finally {
        await taken.release();
      }
    }
    await delay(pollMs);
  }
}

type Release = () => Promise<void>;
/**
 * `isInPlace`: whether the locked file is still the one of that name. `remove`: removes the file while it is locked.
 * `holder`: the process id, where it is known.
 */
type Taken = { release: Release; remove: Release; isInPlace(): Promise<boolean> } | { holder: string };

const take = (file: string, tryLock: TryLock | null) => (tryLock ? takeByKernel(file, tryLock) : takeByProcessId(file));

function loadTryLock(): TryLock | null {
  try {
    return (createRequire(import.meta.url)("fs-native-extensions") as { tryLock: TryLock }).tryLock;
  } catch {
    return null;
  }
}

/** The file of a run is never removed: a process could lock the removed file while another one locks the new one. */
async function takeByKernel(file: string, tryLock: TryLock): Promise<Taken> {
  const handle: FileHandle = await open(file, "a+");
  if (!tryLock(handle.fd, lockedByte, 1)) {
    const holder = await handle.readFile("utf8");
    await handle.close();
    return { holder };
  }
  try {
    await handle.truncate(0);
    await handle.write(String(process.pid));
  } catch (error) {
    await handle.close();
    throw error;
  }
  const isInPlace = async () => {
    const [own, named] = await Promise.all([handle.stat(), stat(file).catch(() => undefined)]);
    return own.ino === named?.ino && own.dev === named.dev;
  };
  return { release: () => handle.close(), remove: () => rm(file, { force: true }), isInPlace };
}

/** The file exists as long as it is locked, and always with its text: an empty one is damaged. */
async function takeByProcessId(file: string): Promise<Taken> {
  const own = `${file}.${process.pid}.${randomUUID()}`;
  await writeFile(own, String(process.pid));
  try {
    for (let attempt = 1; ; attempt++) {
      if (await isDone(link(own, file), "EEXIST")) {
        const release = once(() => rm(file, { force: true }));
        return { release, remove: release, isInPlace: async () => true };
      }
      const holder = await readFile(file, "utf8").catch(() => undefined);
      if (attempt === 3 || isRunning(Number(holder))) return { holder: holder ?? "" };
      if (holder !== undefined) await removeEnded(file, holder, own);
    }
  } finally {
    await rm(own, { force: true });
  }
}

/**
 * Removes the lock of a process that has ended. One process at a time looks and removes, because otherwise it could remove
 * the lock of one that has taken the file since. `own` is a file with the id of this process.
 */
async function removeEnded(file: string, holder: string, own: string): Promise<void> {
  const turn = `${file}.ended`;
  const read = (path: string) => readFile(path, "utf8").catch(() => undefined);
  if (await isDone(link(own, turn), "EEXIST")) {
    if ((await read(file)) === holder) await rm(file);
    await rm(turn, { force: true });
    return;
  }
  const remover = await read(turn);
  if (remover !== undefined && !isRunning(Number(remover))) await rm(turn, { force: true });
}

/** False when the call fails with this code; rejects with any other error. */
async function isDone(call: Promise<void>, code: string): Promise<boolean> {
  try {
    await call;
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === code) return false;
    throw error;
  }
}

/** A second call waits for the first: by then, the file may be another process's lock. */
function once(release: Release): Release {
  let released: Promise<void> | undefined;
  return () => (released ??= release());
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

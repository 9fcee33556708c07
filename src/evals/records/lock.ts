import { once } from "node:events";
import { fstatSync, statSync } from "node:fs";
import { type FileHandle, open, readdir, readFile, rm, stat } from "node:fs/promises";
import { createRequire } from "node:module";
import { createServer, type Server } from "node:net";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { type EvalsError, usageError } from "../base/types/errors.ts";
import { failToWrite, incompleteError } from "./disk.ts";

/** Locks a range of bytes of an open file without waiting; false when another open file has it. */
export type TryLock = (fd: number, offset: number, length: number) => boolean;

/** A byte far behind the text, because on Windows other processes cannot read a locked byte. */
const lockedByte = 2 ** 30;

/**
 * Makes this process the only writer of a run folder until the lock is released. Uses a kernel lock on the file `lock`
 * in the folder, which is released when the process ends, however it ends. Throws EvalsError with the process id if
 * another process is writing the run, and for a folder with links, through which other files would be written.
 */
export async function lockRun(dir: string, tryLock: TryLock | null = loadTryLock()): Promise<RunLock> {
  const file = join(dir, "lock");
  await refuseLinks(dir);
  const acquired = await acquire(file, tryLock).catch(failToWrite(file));
  if ("holder" in acquired) throw lockedError(dir, acquired.holder);
  const { release, isInPlace } = acquired;
  return {
    release: () => release().catch(failToWrite(file)),
    async verify() {
      if (isInPlace() || !(await stat(file).catch(() => undefined))) return;
      throw incompleteError(
        `The lock of the run ${dir} was removed, and another process writes the run now.`,
        "What this process has recorded is kept. Do not remove the file lock while a run is being written.",
      );
    },
  };
}

/** `verify` throws EvalsError if another process has locked the run since, after someone removed the lock file. */
export type RunLock = { release: Release; verify(): Promise<void> };

/** Records have no links of their own. One from elsewhere, such as an artifact of CI, may have some. */
async function refuseLinks(dir: string): Promise<void> {
  const entries = await readdir(dir, { withFileTypes: true, recursive: true }).catch(() => []);
  const odd = entries.find((entry) => !entry.isFile() && !entry.isDirectory());
  if (odd)
    throw usageError(
      "A record has no links, pipes or devices, and this one would write to another file.",
      "Remove it, if you trust the rest of the record.",
      { file: join(odd.parentPath, odd.name) },
    );
}

const pollMs = 20;

/**
 * Runs work that reads and replaces a file, in one process at a time, so that none loses what another one added. Waits
 * for the lock, `<file>.lock`, which is removed afterwards. Rejects with the error of `work` or of the file system.
 */
export async function withFileLock<T>(
  file: string,
  work: () => Promise<T>,
  tryLock: TryLock | null = loadTryLock(),
): Promise<T> {
  const lock = `${file}.lock`;
  for (;;) {
    const acquired = await acquire(lock, tryLock);
    if ("release" in acquired) {
      try {
        // The previous holder may have removed the file that is locked here.
        if (acquired.isInPlace()) return await work().finally(acquired.remove);
      } finally {
        await acquired.release();
      }
    }
    await delay(pollMs);
  }
}

type Release = () => Promise<void>;
/** `isInPlace`: the locked file still has its name. `holder`: the id of the other process, if known. */
type Acquired = { release: Release; remove: Release; isInPlace(): boolean } | { holder: string };

/** Null where the native module has no build (musl). */
function loadTryLock(): TryLock | null {
  try {
    return (createRequire(import.meta.url)("fs-native-extensions") as { tryLock: TryLock }).tryLock;
  } catch {
    return null;
  }
}

/** Synchronous, because it is called before each write of a journal, and the thread pool costs more than the calls. */
function isSameFile({ fd }: FileHandle, file: string): boolean {
  const own = fstatSync(fd);
  const named = statSync(file, { throwIfNoEntry: false });
  return own.ino === named?.ino && own.dev === named.dev;
}

/** The lock file of a run is never removed: one process could lock the removed file while another locks the new one. */
async function acquire(file: string, tryLock: TryLock | null): Promise<Acquired> {
  const handle: FileHandle = await open(file, "a+");
  let socket: Server | undefined;
  try {
    if (!tryLock) socket = await bindSocket(handle.fd);
    if (!(tryLock ? tryLock(handle.fd, lockedByte, 1) : socket)) {
      await handle.close();
      return { holder: await readHolder(file) };
    }
    await handle.truncate(0);
    await handle.write(String(process.pid));
  } catch (error) {
    socket?.close();
    await handle.close().catch(() => undefined);
    throw error;
  }
  const release = async () => {
    socket?.close();
    await handle.close();
  };
  return { release, remove: () => rm(file, { force: true }), isInPlace: () => isSameFile(handle, file) };
}

/** The text of a file that another process has locked, which writes its id right after that. */
async function readHolder(file: string): Promise<string> {
  for (let attempt = 1; ; attempt++) {
    const holder = await readFile(file, "utf8").catch(() => undefined);
    if (holder !== "" || attempt === 10) return holder ?? "";
    await delay(pollMs);
  }
}

/**
 * Locks a file without the native module: by a socket in the abstract namespace of Linux, named after the file. It is
 * free again when the process ends, too. Undefined when another process has it.
 */
async function bindSocket(fd: number): Promise<Server | undefined> {
  const { dev, ino } = fstatSync(fd);
  const server = createServer().unref();
  server.listen(`\0tool-evals-lock-${dev}-${ino}`);
  try {
    await once(server, "listening");
    return server;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EADDRINUSE") return undefined;
    throw error;
  }
}

function lockedError(dir: string, holder: string): EvalsError {
  const [pid] = /^\d+(?=( \d+)?$)/.exec(holder.trim()) ?? [];
  const message = `The run ${dir} is being written by ${pid === undefined ? "another process" : `process ${pid}`}.`;
  return usageError(message, "Wait until that process has ended, or stop it.");
}

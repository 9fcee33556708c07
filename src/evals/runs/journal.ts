import { type FileHandle, open } from "node:fs/promises";
import type { Trial } from "../types/trial.ts";

/** The append-only record of trials. */
export type Journal = {
  /** Resolves when the line is on the disk (fdatasync): only then may the trial be counted. Rejects when it cannot be. */
  append(trial: Trial): Promise<void>;
  /** Writes what is still waiting and closes the file. */
  close(): Promise<void>;
};

/** The least time between two syncs. Lines that come meanwhile share the next one (group commit). */
const syncIntervalMs = 20;

/**
 * Opens the journal for appending. Lines are written in the order of `append`, many to a sync: one sync a line would cost
 * more than all the rest of a trial.
 */
export async function openJournal(path: string): Promise<Journal> {
  const file: FileHandle = await open(path, "a");
  let waiting: { line: string; resolve: () => void; reject: (error: unknown) => void }[] = [];
  let flushing: Promise<void> | undefined;
  let closing = false;

  const pause = () => new Promise<void>((resolve) => (closing ? resolve() : setTimeout(resolve, syncIntervalMs)));

  const flush = async () => {
    await pause();
    while (waiting.length > 0) {
      const batch = waiting;
      waiting = [];
      try {
        await file.appendFile(batch.map(({ line }) => line).join(""));
        await file.datasync();
        for (const { resolve } of batch) resolve();
      } catch (error) {
        for (const { reject } of batch) reject(error);
      }
      if (waiting.length > 0) await pause();
    }
    flushing = undefined;
  };

  return {
    append: (trial) =>
      new Promise((resolve, reject) => {
        waiting.push({ line: `${JSON.stringify(trial)}\n`, resolve, reject });
        flushing ??= flush();
      }),
    async close() {
      closing = true;
      await flushing;
      await file.close();
    },
  };
}

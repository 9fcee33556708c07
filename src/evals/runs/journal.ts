import { type FileHandle, open } from "node:fs/promises";
import type { Trial } from "../types/trial.ts";

/** The append-only record of trials. */
export type Journal = {
  /** Resolves when the line is on disk (fdatasync); only then may the trial count. Rejects when it cannot be written. */
  append(trial: Trial): Promise<void>;
  /** Writes all waiting lines and closes the file. */
  close(): Promise<void>;
};

/** Lines that arrive within this time share a sync (group commit), ... */
const syncIntervalMs = 20;
/** ... which is done sooner when this many wait: objects that live longer are more expensive to collect as garbage. */
const syncLines = 16;

/**
 * Opens the journal for appending. Lines are written in the order of `append`, many per sync: one sync per line would cost
 * more than the rest of a trial.
 */
export async function openJournal(path: string): Promise<Journal> {
  const file: FileHandle = await open(path, "a");
  let waiting: { line: string; resolve: () => void; reject: (error: unknown) => void }[] = [];
  let flushing: Promise<void> | undefined;
  let closing = false;
  let hurry = () => {};

  const pause = () =>
    new Promise<void>((resolve) => {
      if (closing || waiting.length >= syncLines) return resolve();
      const timer = setTimeout(resolve, syncIntervalMs);
      hurry = () => {
        clearTimeout(timer);
        resolve();
      };
    });

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
        if (waiting.length >= syncLines) hurry();
      }),
    async close() {
      closing = true;
      hurry();
      await flushing;
      await file.close();
    },
  };
}

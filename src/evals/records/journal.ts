import { hash } from "node:crypto";
import { type FileHandle, open } from "node:fs/promises";
import { EvalsError } from "../base/types/errors.ts";
import { writeExactJson } from "../base/types/json.ts";
import type { Trial } from "../base/types/trial.ts";
import { failToWrite, writeError } from "./disk.ts";

/** The mode of files with queries, replies and results: readable for their user only. */
export const recordMode = 0o600;

/** The append-only record of trials. */
export type Journal = {
  /** Resolves when the line is on disk (fdatasync). A trial counts only after that. Rejects if it cannot be written. */
  append(trial: Trial): Promise<void>;
  /** Waits for all lines and closes the file. */
  close(): Promise<void>;
};

/** `lines`: those already in the journal. `verify` is called before each write, and throws if that is not allowed. */
type JournalOptions = { lines?: number; redact?: (text: string) => string; verify?: () => Promise<void> };

/**
 * Opens the journal of a run for appending. Lines are written in the order of `append`; those that arrive during a sync
 * share the next one (group commit). After a failed write every further append rejects with the same error, so that the
 * journal has no gap.
 */
export async function openJournal(
  path: string,
  run: string,
  { lines = 0, redact = (text) => text, verify = async () => {} }: JournalOptions = {},
): Promise<Journal> {
  const file: FileHandle = await open(path, "a", recordMode).catch(failToWrite(path));
  let sequence = lines;
  let { size } = await file.stat().catch(failToWrite(path));
  let waiting: { line: string; resolve: () => void; reject: (error: unknown) => void }[] = [];
  let flushing: Promise<void> | undefined;
  let failure: { error: unknown } | undefined;

  const write = async (text: string) => {
    if (failure) throw failure.error;
    try {
      await verify();
      await file.appendFile(text);
      await file.datasync();
      size += Buffer.byteLength(text);
      // Writing to a removed file succeeds, and so does writing to one that was cut.
      const found = await file.stat();
      if (found.nlink === 0) throw new Error("it was removed");
      if (found.size !== size) throw new Error("another program changed it");
    } catch (error) {
      failure = { error: error instanceof EvalsError ? error : writeError(path, error) };
      throw failure.error;
    }
  };

  const flush = async () => {
    while (waiting.length > 0) {
      const batch = waiting;
      waiting = [];
      try {
        await write(batch.map(({ line }) => line).join(""));
        for (const { resolve } of batch) resolve();
      } catch (error) {
        for (const { reject } of batch) reject(error);
      }
    }
    flushing = undefined;
  };

  return {
    append(trial) {
      const appended = new Promise<void>((resolve, reject) => {
        const line = formatLine(writeExactJson({ ...trial, run, seq: ++sequence }), redact);
        waiting.push({ line, resolve, reject });
        flushing ??= flush();
      });
      // Who copies a journal awaits many lines together, after the first can have failed.
      appended.catch(() => undefined);
      return appended;
    },
    async close() {
      await flushing;
      await file.close().catch(failToWrite(path));
    },
  };
}

/**
 * Formats a JSON object as a line of a journal, or as the ledger of batches. The object ends with the id of the run and
 * the line number (`seq`, from 1); the checksum of everything before it is appended as `sum`.
 */
export function formatLine(json: string, redact: (text: string) => string): string {
  const body = redact(json.slice(0, -1));
  return `${body},"sum":"${computeChecksum(body)}"}\n`;
}

/** The first 64 bits of the SHA-256, in hexadecimal. */
const computeChecksum = (body: string) => hash("sha256", body).slice(0, 16);

const checksumField = /,"sum":"([0-9a-f]{16})"\}$/;

/** Creates a check of a run's lines, called in order: what is wrong with one, in a sentence that begins with `what`. */
export function createLineCheck(
  run: string,
  what = "This line of the journal",
): (text: string, line: { run?: unknown; seq?: unknown }) => string | undefined {
  let previous = 0;
  return (text, { run: of, seq }) => {
    const sum = checksumField.exec(text.slice(-40))?.[1];
    if (sum === undefined || sum !== computeChecksum(text.slice(0, text.lastIndexOf(',"sum":"'))))
      return `${what} was edited: checksum mismatch.`;
    if (of !== run) return `${what} belongs to the run ${of}, not to ${run}.`;
    if (typeof seq !== "number" || seq <= previous)
      return `${what} is doubled or out of order: number ${seq} after number ${previous}.`;
    previous = seq;
    return undefined;
  };
}

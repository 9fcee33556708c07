import { hash } from "node:crypto";
import { type FileHandle, open } from "node:fs/promises";
import { EvalsError } from "../base/types/errors.ts";
import { markWholes, parseExactJson, unmarkWholes, writeExactJson } from "../base/types/json.ts";
import type { Trial } from "../base/types/trial.ts";
import { failToWrite, writeError } from "./disk.ts";

// A text that repeats in a journal, such as the same long result of a call in every trial, is shared. Its first
// occurrence stays where it is. The second one is stored in the `texts` of its line under an id, and the id replaces it
// there and in all later lines. So a reader only has to keep texts that do repeat.

/** Shorter texts are not shared. */
const minLength = 2_000;

/** A reader keeps the shared texts, and a writer the hashes of possible repetitions: both are limited. */
const limits = { sharedCharacters: 32_000_000, hashes: 100_000 } as const;

const prefix = "@text:";
const idForm = /^@text:[0-9a-f]{32}$/;
const createId = (text: string) => prefix + hash("sha256", text).slice(0, 32);

/** Writes trials as JSON, with repeated texts replaced by their ids. Use one writer per journal. */
export class TextWriter {
  readonly #once = new Set<string>();
  readonly #shared = new Set<string>();
  #characters = 0;

  /** Returns the JSON of an object. Texts that become shared with this line are added to it as `texts`. */
  stringify(line: object): string {
    const text = writeExactJson(line);
    if (text.length < minLength && !text.includes(`"${prefix}`)) return text;
    const texts: Record<string, string> = {};
    const shared = unmarkWholes(
      JSON.stringify(line, (_key, value) => (typeof value === "string" ? this.#share(value, texts) : value)),
    );
    return Object.keys(texts).length === 0 ? shared : `${shared.slice(0, -1)},"texts":${JSON.stringify(texts)}}`;
  }

  /** Returns the text, or its id if shared. A text that looks like an id is always shared, so it is not read as one. */
  #share(text: string, texts: Record<string, string>): string {
    const isLike = idForm.test(text);
    if (text.length < minLength && !isLike) return text;
    const id = createId(text);
    if (this.#shared.has(id)) return id;
    const isNew = !this.#once.has(id);
    if (!isLike && (isNew || this.#characters + text.length > limits.sharedCharacters)) {
      if (this.#once.size < limits.hashes) this.#once.add(id);
      return text;
    }
    this.#shared.add(id);
    this.#characters += text.length;
    texts[id] = text;
    return id;
  }
}

/** Reads the lines of a journal in order, and replaces ids by their texts. */
export class TextReader {
  readonly #texts = new Map<string, string>();

  /** Parses a line. Throws SyntaxError if it is not JSON, and MissingTextError if the line with a text is missing. */
  parse(line: string): object {
    const data = Object(parseExactJson(line)) as { texts?: Record<string, string> };
    for (const [id, text] of Object.entries(data.texts ?? {})) this.#texts.set(id, text);
    if (!line.includes(`"${prefix}`)) return data;
    const { texts, ...others } = data;
    const json = texts ? JSON.stringify(others) : markWholes(line);
    return JSON.parse(json, (_key, value) => (typeof value === "string" ? this.#find(value) : value));
  }

  #find(value: string): string {
    if (!idForm.test(value)) return value;
    const text = this.#texts.get(value);
    if (text === undefined) throw new MissingTextError();
    return text;
  }
}

/** A line refers to a text whose line is missing. */
export class MissingTextError extends Error {}

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
  const texts = new TextWriter();
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
        const line = formatLine(texts.stringify({ ...trial, run, seq: ++sequence }), redact);
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

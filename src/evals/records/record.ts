import { randomBytes } from "node:crypto";
import { createReadStream } from "node:fs";
import { mkdir, readdir, readFile, rename, rm, stat, truncate } from "node:fs/promises";
import { join } from "node:path";
import type * as z from "zod";
import { makeFolder, replaceFile, temporaryName } from "../base/files/files.ts";
import { stringifyInParts } from "../base/text/jsonParts.ts";
import { type EvalsError, formatIssues, messageOf, usageError } from "../base/types/errors.ts";
import { isNestedDeeper, jsonObjectSchema, maxRecordDepth, parseExactJson, unmarkWholes } from "../base/types/json.ts";
import { type RunManifest, type RunSummary, runManifestSchema } from "../base/types/run.ts";
import { type Trial, trialSchema } from "../base/types/trial.ts";
import { failToWrite, writeError } from "./disk.ts";
import { createLineCheck, openJournal, recordMode } from "./journal.ts";

type Redact = (text: string) => string;
const unchanged: Redact = (text) => text;

const runFiles = { manifest: "run.json", journal: "trials.jsonl", ledger: "batches.json" } as const;

/** The id of a run: its start time in milliseconds, sortable and a valid file name everywhere. */
export function newRunId(now: Date): string {
  return now.toISOString().replaceAll(":", "-").replace(".", "-").replace("Z", "");
}

/** Tells runs of two machines apart that have the same id. */
export const newNonce = (): string => randomBytes(8).toString("hex");

const idForm = /^(\d{4}-\d\d-\d\dT\d\d)-(\d\d)-(\d\d)-(\d{3})$/;

function nextRunId(id: string): string {
  const time = idForm.exec(id);
  return time ? newRunId(new Date(Date.parse(`${time[1]}:${time[2]}:${time[3]}.${time[4]}Z`) + 1)) : `${id}-2`;
}

/**
 * Creates the folder of a new run under `out`, named by the run id, and writes its manifest. The id sorts after every
 * other id under `out`, even if the clock was set back, so that the order of ids is the order of runs. Returns the
 * folder and the manifest with that id. Throws EvalsError if the folder cannot be written.
 */
export async function createRun(out: string, planned: RunManifest, redact: Redact = unchanged) {
  const others = await makeFolder(out)
    .then(() => readdir(out))
    .catch(failToWrite(out));
  const latest = others
    .filter((name) => idForm.test(name))
    .sort()
    .at(-1);
  let id = latest !== undefined && latest >= planned.id && idForm.test(planned.id) ? nextRunId(latest) : planned.id;
  while (!(await createFolder(join(out, id)))) id = nextRunId(id);
  const manifest = { ...planned, id };
  const dir = join(out, id);
  // Create these before the manifest: a record without a journal (or ledger, in batches) is then known to have lost it.
  const paths = [journalPath(dir), ...(manifest.flags.batch === true ? [ledgerPath(dir)] : [])];
  try {
    for (const path of paths) await openJournal(path, id).then((journal) => journal.close());
    await writeManifest(dir, manifest, redact);
  } catch (error) {
    // Nothing was asked yet, and a folder without a manifest is no record.
    await rm(dir, { recursive: true, force: true }).catch(() => undefined);
    throw error;
  }
  return { dir, manifest };
}

/** Creates a folder. Returns false if it already exists. */
async function createFolder(dir: string): Promise<boolean> {
  try {
    await mkdir(dir);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw writeError(dir, error);
  }
}

async function writeManifest(dir: string, manifest: RunManifest, redact: Redact): Promise<void> {
  const file = join(dir, runFiles.manifest);
  const redacted = function* () {
    for (const part of stringifyInParts(manifest, { indent: 2 })) yield unmarkWholes(redact(part));
    yield "\n";
  };
  await replaceFile(file, redacted(), { mode: recordMode }).catch(failToWrite(file));
}

/** The path of a run's journal. */
export const journalPath = (dir: string) => join(dir, runFiles.journal);

/** The path of a run's ledger: what it submitted to batch APIs. */
export const ledgerPath = (dir: string) => join(dir, runFiles.ledger);

/** Adds the totals to the manifest, and the end time of a complete run. Returns the manifest. */
export async function finishRun(
  dir: string,
  manifest: RunManifest,
  { totals }: RunSummary,
  finishedAt: Date | undefined,
  redact: Redact = unchanged,
): Promise<RunManifest> {
  const finished = { ...manifest, totals, ...(finishedAt && { finishedAt: finishedAt.toISOString() }) };
  await writeManifest(dir, finished, redact);
  return finished;
}

/** Adds the result of an experiment to its record. Returns the manifest. */
export async function recordResult(
  dir: string,
  manifest: RunManifest,
  result: object,
  redact: Redact = unchanged,
): Promise<RunManifest> {
  const { experiment } = manifest;
  if (!experiment) throw new Error("a run has no result of its own: it is made from the journal");
  const json = jsonObjectSchema.parse(JSON.parse(JSON.stringify(result)));
  const decided = { ...manifest, experiment: { ...experiment, result: json } };
  await writeManifest(dir, decided, redact);
  return decided;
}

/** Whether a folder contains the manifest of a run. */
export async function isRun(dir: string): Promise<boolean> {
  const found = await stat(join(dir, runFiles.manifest)).catch(() => undefined);
  return found?.isFile() === true;
}

/** Reads the manifest of a run. Throws a usage error that names the file if that fails. */
export async function readManifest(dir: string): Promise<RunManifest> {
  const file = join(dir, runFiles.manifest);
  // Reading a pipe would never end.
  if (!(await isRun(dir)))
    throw usageError(
      `${dir} is not a run: it has no ${runFiles.manifest}.`,
      "Give the folder of a run, as `evals run` prints it.",
    );
  const text = await readFile(file, "utf8").catch((thrown): never => {
    throw readError("The manifest", thrown, file);
  });
  let data: unknown;
  try {
    data = parseExactJson(text);
  } catch {
    throw usageError(
      "The manifest is not JSON.",
      "Restore the file, or remove its folder: it was truncated or edited by hand.",
      { file },
    );
  }
  if (isNestedDeeper(data, maxRecordDepth))
    throw usageError("The manifest is nested too deep.", restoreOrRemove, { file });
  const parsed = runManifestSchema.safeParse(data);
  if (!parsed.success) throw invalid(parsed.error, file);
  return parsed.data;
}

/**
 * Reads the trials of the run with this id one at a time, in the order they were recorded. Ignores an incomplete last
 * line, which a killed process leaves. Throws a usage error with the line number for any other line that cannot be
 * read, was edited, is duplicated or belongs to another run.
 */
export async function* readTrials(dir: string, run: string): AsyncGenerator<Trial> {
  for await (const lines of readLines(dir, run)) for (const { trial } of lines) yield trial;
}

/** Parses each line on demand: short-lived trials cost less garbage collection. */
function* parseLines(texts: readonly string[], readers: LineReaders, file: string, line: number) {
  for (const text of texts) yield parseLine(text.endsWith("\r") ? text.slice(0, -1) : text, readers, file, ++line);
}

type JournalLine = { trial: Trial; seq: unknown };

/** Yields some hundred lines at a time: awaiting each costs as much as reading it. `seq`: its number in the file. */
async function* readLines(dir: string, run: string, isOwn = false): AsyncGenerator<Iterable<JournalLine>> {
  const file = journalPath(dir);
  const complete = await measureCompleteLines(file);
  if (complete === 0) return;
  const readers = { check: createLineCheck(run), isOwn };
  let line = 0;
  // The parts of a line of several chunks are joined once: joining at each chunk would take quadratic time.
  let parts: string[] = [];
  let size = 0;
  for await (const chunk of readChunks<string>(file, { end: complete - 1, encoding: "utf8" })) {
    const end = chunk.lastIndexOf("\n");
    size = end < 0 ? size + chunk.length : chunk.length - end - 1;
    if (size > maxLineLength) throw tooLong(file, line + 1);
    if (end < 0) {
      parts.push(chunk);
      continue;
    }
    const texts = (parts.join("") + chunk.slice(0, end)).split("\n");
    parts = [chunk.slice(end + 1)];
    yield parseLines(texts, readers, file, line);
    line += texts.length;
  }
}

/** The maximum length of a line in characters, and of what follows the last line in bytes. A trial is far below it. */
const maxLineLength = 256 * 1024 * 1024;

function tooLong(file: string, line?: number): EvalsError {
  const what = line === undefined ? "The last line of the journal" : "This line of the journal";
  return usageError(`${what} is longer than 256 MiB.`, restoreHint, { file, ...(line && { line }) });
}

/** Reads a part of a journal. Throws a usage error if that fails, for example if the record was removed meanwhile. */
async function* readChunks<T>(file: string, options: Parameters<typeof createReadStream>[1]): AsyncGenerator<T> {
  try {
    yield* createReadStream(file, options);
  } catch (thrown) {
    throw readError("The journal", thrown, file);
  }
}

function readError(what: string, thrown: unknown, file: string): EvalsError {
  return usageError(`${what} cannot be read: ${messageOf(thrown)}.`, restoreOrRemove, { file });
}

const restoreOrRemove = "Restore the file, or remove its folder.";
const restoreHint = "Restore the file, or remove the line and resume the run: its trial is asked again.";

/** `isOwn`: this version wrote the journal, so a line with a valid checksum has the shape of a trial. */
type LineReaders = { check: ReturnType<typeof createLineCheck>; isOwn: boolean };

function parseLine(text: string, { check, isOwn }: LineReaders, file: string, line: number): JournalLine {
  let data: { seq?: unknown; sum?: unknown };
  try {
    data = Object(parseExactJson(text));
  } catch {
    const hint = "Remove the line, which was edited by hand, and resume the run.";
    throw usageError("This line of the journal is not JSON.", hint, { file, line });
  }
  const fault = isTooDeep(text, data) ? "This line of the journal is nested too deeply." : check(text, data);
  if (fault !== undefined) throw usageError(fault, restoreHint, { file, line });
  if (isOwn && data.sum !== undefined) return { trial: data as Trial, seq: data.seq };
  const parsed = trialSchema.safeParse(data);
  if (!parsed.success) throw invalid(parsed.error, file, line);
  return { trial: parsed.data, seq: data.seq };
}

/** Counts brackets first, which is faster: most lines have fewer than that. */
const isTooDeep = (text: string, data: unknown) =>
  countSigns(text, "{") + countSigns(text, "[") > maxRecordDepth && isNestedDeeper(data, maxRecordDepth);

function countSigns(text: string, sign: string): number {
  let found = 0;
  for (let at = text.indexOf(sign); at >= 0; at = text.indexOf(sign, at + 1)) found++;
  return found;
}

function invalid(error: z.ZodError, file: string, line?: number): EvalsError {
  const hint = "It was written by another version of tool-evals, or edited by hand.";
  const location = { file, ...(line && { line }) };
  return usageError(`Not a run record of this version: ${formatIssues(error)}.`, hint, location);
}

/** The bytes of a journal up to its last newline; 0 without one. Throws a usage error if that is not near the end. */
async function measureCompleteLines(file: string): Promise<number> {
  const found = await stat(file).catch((thrown) => {
    if ((thrown as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw readError("The journal", thrown, file);
  });
  if (found && !found.isFile()) throw usageError("The journal is not a file.", "Restore the file.", { file });
  const size = found?.size ?? 0;
  const chunk = 64 * 1024;
  for (let end = size; end > 0; end -= chunk) {
    if (size - end > maxLineLength) throw tooLong(file);
    const start = Math.max(0, end - chunk);
    const parts: Buffer[] = [];
    for await (const part of readChunks<Buffer>(file, { start, end: end - 1 })) parts.push(part);
    const newline = Buffer.concat(parts).lastIndexOf("\n");
    if (newline >= 0) return start + newline + 1;
  }
  return 0;
}

/** Whether a file was left by a killed process that was rewriting a journal or replacing a file. */
const isLeftover = (name: string) => /^trials\.jsonl\.[0-9a-f]{12}$/.test(name) || temporaryName.test(name);

/** `isOwn`: see `LineReaders`. */
type Compaction = { isOwn?: boolean; keep(trial: Trial): boolean; onKept(trial: Trial): void; redact?: Redact };

/**
 * Prepares the journal of a run for resuming: drops an incomplete last line and the trials that `keep` rejects, so that
 * every cell is in it at most once, and numbers the lines from 1. Calls `onKept` for every kept trial. Returns the
 * number of lines. A journal whose lines are all kept is not rewritten. The caller must hold the lock. Throws a usage
 * error if there is no journal.
 */
export async function compactJournal(
  dir: string,
  run: string,
  { isOwn = false, keep, onKept, redact = unchanged }: Compaction,
): Promise<number> {
  for (const name of await readdir(dir).catch(failToWrite(dir)))
    if (isLeftover(name)) await rm(join(dir, name), { force: true }).catch(failToWrite(dir));
  const file = journalPath(dir);
  await stat(file).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "ENOENT") throw readError("The journal", error, file);
    throw usageError(
      "The journal of the run is missing: it was removed, and its trials would be asked and paid for again.",
      "Restore the file, or start a new run.",
      { file },
    );
  });
  const kept: boolean[] = [];
  let isNumbered = true;
  for await (const lines of readLines(dir, run, isOwn))
    for (const { trial, seq } of lines) {
      try {
        const isKept = keep(trial);
        if (isKept) onKept(trial);
        kept.push(isKept);
      } catch (error) {
        // Someone may have edited the line and computed a valid checksum for it.
        const parsed = trialSchema.safeParse(trial);
        throw parsed.success ? error : invalid(parsed.error, file, kept.length + 1);
      }
      isNumbered &&= seq === kept.length;
    }
  if (isNumbered && !kept.includes(false)) {
    await truncate(file, await measureCompleteLines(file)).catch(failToWrite(file));
    return kept.length;
  }
  return await rewriteJournal(dir, run, kept, redact);
}

async function rewriteJournal(dir: string, run: string, isKept: readonly boolean[], redact: Redact): Promise<number> {
  const file = journalPath(dir);
  const temporary = `${file}.${randomBytes(6).toString("hex")}`;
  const journal = await openJournal(temporary, run, { redact });
  let line = 0;
  try {
    const appended: Promise<void>[] = [];
    for await (const trial of readTrials(dir, run)) {
      if (!isKept[line++]) continue;
      appended.push(journal.append(trial));
      if (appended.length >= 1000) await Promise.all(appended.splice(0));
    }
    await Promise.all(appended);
    await journal.close();
    await rename(temporary, file).catch(failToWrite(file));
  } catch (error) {
    await journal.close().catch(() => undefined);
    await rm(temporary, { force: true }).catch(() => undefined);
    throw error;
  }
  return isKept.filter(Boolean).length;
}

import { randomBytes } from "node:crypto";
import { createReadStream } from "node:fs";
import { mkdir, readdir, readFile, rename, rm, stat } from "node:fs/promises";
import { basename, join } from "node:path";
import { createInterface } from "node:readline";
import writeFileAtomic from "write-file-atomic";
import * as z from "zod";
import { type EvalsError, usageError } from "../types/errors.ts";
import { type RunManifest, type RunSummary, runManifestSchema } from "../types/run.ts";
import { type Trial, trialSchema } from "../types/trial.ts";
import { writeError } from "./disk.ts";
import { createLineCheck, openJournal } from "./journal.ts";

/** Removes known secrets from a text. */
type Redact = (text: string) => string;
const asIs: Redact = (text) => text;

/** The files of a run folder. */
const runFiles = { manifest: "run.json", journal: "trials.jsonl" } as const;

/** The id of a run: its start, to the millisecond, in a form that sorts and is a valid file name everywhere. */
export function newRunId(now: Date): string {
  return now.toISOString().replaceAll(":", "-").replace(".", "-").replace("Z", "");
}

const idForm = /^(\d{4}-\d\d-\d\dT\d\d)-(\d\d)-(\d\d)-(\d{3})$/;

/** The next id, one millisecond later. */
function nextRunId(id: string): string {
  const time = idForm.exec(id);
  return time ? newRunId(new Date(Date.parse(`${time[1]}:${time[2]}:${time[3]}.${time[4]}Z`) + 1)) : `${id}-2`;
}

/**
 * Creates the folder of a new run under `out` and writes its manifest, whose id names the folder. The id is made later
 * than every other under `out`, also when the clock was set back, so that the order of ids is the order of runs. Returns
 * the folder and the manifest with that id. Throws EvalsError when the folder cannot be written.
 */
export async function createRun(
  out: string,
  planned: RunManifest,
  redact: Redact = asIs,
): Promise<{ dir: string; manifest: RunManifest }> {
  const others = await makeFolder(out, { recursive: true }).then(() => readdir(out));
  const latest = others
    .filter((name) => idForm.test(name))
    .sort()
    .at(-1);
  let id = latest !== undefined && latest >= planned.id && idForm.test(planned.id) ? nextRunId(latest) : planned.id;
  while (!(await makeFolder(join(out, id)))) id = nextRunId(id);
  const manifest = { ...planned, id };
  const dir = join(out, id);
  await writeManifest(dir, manifest, redact);
  return { dir, manifest };
}

/** Returns false when the folder exists already. */
async function makeFolder(dir: string, options: { recursive?: true } = {}): Promise<boolean> {
  try {
    await mkdir(dir, options);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST" && !options.recursive) return false;
    throw writeError(dir, error);
  }
}

/** Replaces the manifest atomically. */
async function writeManifest(dir: string, manifest: RunManifest, redact: Redact): Promise<void> {
  const file = join(dir, runFiles.manifest);
  await writeFileAtomic(file, redact(`${JSON.stringify(manifest, null, 2)}\n`)).catch((error) => {
    throw writeError(file, error);
  });
}

/** The path of a run's journal. */
export const journalPath = (dir: string) => join(dir, runFiles.journal);

/** Writes the totals into the manifest, and the end time of a complete run. Returns the manifest. */
export async function finishRun(
  dir: string,
  manifest: RunManifest,
  { totals }: RunSummary,
  finishedAt: Date | undefined,
  redact: Redact = asIs,
): Promise<RunManifest> {
  const finished = { ...manifest, totals, ...(finishedAt && { finishedAt: finishedAt.toISOString() }) };
  await writeManifest(dir, finished, redact);
  return finished;
}

/** Reads the manifest of a run. Throws a usage error that names the file. */
export async function readManifest(dir: string): Promise<RunManifest> {
  const file = join(dir, runFiles.manifest);
  const text = await readFile(file, "utf8").catch((): never => {
    throw usageError(
      `${dir} is not a run: it has no ${runFiles.manifest}.`,
      "Give the folder of a run, as `evals run` prints it.",
    );
  });
  let data: unknown;
  try {
    data = JSON.parse(text);
  } catch {
    throw usageError("The manifest is not JSON.", "Restore the file: it was truncated or edited by hand.", { file });
  }
  const parsed = runManifestSchema.safeParse(data);
  if (!parsed.success) throw invalid(parsed.error, file);
  return parsed.data;
}

/**
 * Reads the trials of the run with this id, in the order they were recorded, one at a time. Ignores a last line without
 * its end, which a killed process leaves. Throws a usage error with the line number for any other line that cannot be
 * read, was edited, is doubled or belongs to another run.
 */
export async function* readTrials(dir: string, run: string): AsyncGenerator<Trial> {
  const file = join(dir, runFiles.journal);
  const complete = await measureCompleteLines(file);
  if (complete === 0) return;
  const lines = createInterface({
    input: createReadStream(file, { end: complete - 1 }),
    crlfDelay: Number.POSITIVE_INFINITY,
  });
  const check = createLineCheck(run);
  let line = 0;
  for await (const text of lines) {
    line++;
    yield parseTrial(text, check, file, line);
  }
}

const restoreHint = "Restore the file, or remove the line and resume the run: its trial is asked again.";

function parseTrial(text: string, check: ReturnType<typeof createLineCheck>, file: string, line: number): Trial {
  let data: object;
  try {
    data = Object(JSON.parse(text)) as object;
  } catch {
    throw usageError(
      "This line of the journal is not JSON.",
      "Remove the line, which was edited by hand, and resume the run.",
      { file, line },
    );
  }
  const fault = check(text, data);
  if (fault !== undefined) throw usageError(fault, restoreHint, { file, line });
  const parsed = trialSchema.safeParse(data);
  if (!parsed.success) throw invalid(parsed.error, file, line);
  return parsed.data;
}

function invalid(error: z.ZodError, file: string, line?: number): EvalsError {
  const hint = "It was written by another version of tool-evals, or edited by hand.";
  return usageError(`Not a run record of this version:\n${z.prettifyError(error)}`, hint, {
    file,
    ...(line && { line }),
  });
}

/** The length in bytes of a file up to and including its last newline; 0 when there is no file. */
async function measureCompleteLines(file: string): Promise<number> {
  const size = await stat(file).then(
    (found) => found.size,
    () => 0,
  );
  const chunk = 64 * 1024;
  for (let end = size; end > 0; end -= chunk) {
    const start = Math.max(0, end - chunk);
    const parts: Buffer[] = [];
    for await (const part of createReadStream(file, { start, end: end - 1 })) parts.push(part as Buffer);
    const newline = Buffer.concat(parts).lastIndexOf("\n");
    if (newline >= 0) return start + newline + 1;
  }
  return 0;
}

const compacting = /^trials\.jsonl\.[0-9a-f]{12}$/;

/**
 * Prepares the journal of a run to be resumed: drops an incomplete last line and the trials that `keep` rejects, so that
 * every cell is in it at most once, and numbers the lines from 1. Replaces the journal atomically, and removes what an
 * earlier attempt left. Calls `onKept` for every trial that stays. Returns the number of lines. The caller holds the lock.
 */
export async function compactJournal(
  dir: string,
  run: string,
  keep: (trial: Trial) => boolean,
  onKept: (trial: Trial) => void,
  redact: Redact = asIs,
): Promise<number> {
  for (const name of await readdir(dir)) if (compacting.test(name)) await rm(join(dir, name), { force: true });
  const file = join(dir, runFiles.journal);
  const temporary = `${file}.${randomBytes(6).toString("hex")}`;
  const journal = await openJournal(temporary, run, { redact });
  let lines = 0;
  try {
    const appended: Promise<void>[] = [];
    for await (const trial of readTrials(dir, run)) {
      if (!keep(trial)) continue;
      appended.push(journal.append(trial));
      onKept(trial);
      lines++;
      if (appended.length >= 1000) await Promise.all(appended.splice(0));
    }
    await Promise.all(appended);
    await journal.close();
    await rename(temporary, file);
  } catch (error) {
    await journal.close().catch(() => {});
    await rm(temporary, { force: true });
    throw error;
  }
  return lines;
}

/** The command that made a record. */
export type RecordOf = "run" | NonNullable<RunManifest["experiment"]>["command"];

/**
 * Finds the record of a command: a folder, an id under `out`, or `latest` for the newest one under `out`. Throws a usage
 * error when there is none, or when another command made it.
 */
export async function findRecord(
  of: RecordOf,
  run: string,
  out: string,
): Promise<{ dir: string; manifest: RunManifest }> {
  if (run === "latest") return latestRecord(of, out);
  const dir = await findRun(run, out);
  const manifest = await readManifest(dir);
  const maker = manifest.experiment?.command ?? "run";
  if (maker === of) return { dir, manifest };
  throw usageError(
    `The record ${manifest.id} was made by \`evals ${maker}\`, not by \`evals ${of}\`.`,
    `Give a record of \`evals ${of}\`.`,
  );
}

/** The records of a command under a folder, newest first. */
export async function* listRecords(of: RecordOf, out: string): AsyncGenerator<{ dir: string; manifest: RunManifest }> {
  const entries = await readdir(out).catch(() => []);
  for (const entry of entries.sort().reverse()) {
    const dir = join(out, entry);
    if (!(await isRun(dir))) continue;
    const manifest = await readManifest(dir);
    if ((manifest.experiment?.command ?? "run") === of) yield { dir, manifest };
  }
}

async function latestRecord(of: RecordOf, out: string): Promise<{ dir: string; manifest: RunManifest }> {
  for await (const record of listRecords(of, out)) return record;
  throw usageError(
    `There is no record of \`evals ${of}\` under ${out}.`,
    `Make one with \`evals ${of}\`, or give its folder.`,
  );
}

/**
 * The ids of the finished records under `out`, the oldest first. Folders that are no record, that are not finished (they
 * can be resumed, or are being written) or that cannot be read are left out.
 */
export async function listFinishedRuns(out: string): Promise<string[]> {
  const entries = await readdir(out, { withFileTypes: true }).catch(() => []);
  const ids = entries
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name)
    .sort();
  const manifests = await Promise.all(ids.map((id) => readManifest(join(out, id)).catch(() => undefined)));
  return ids.filter((id, at) => manifests[at]?.id === id && manifests[at]?.finishedAt !== undefined);
}

/** Finds the folder of any record: a path, or an id under `out`. */
export async function findRun(run: string, out: string): Promise<string> {
  for (const dir of [run, join(out, run)]) if (await isRun(dir)) return dir;
  const hint =
    basename(run) === run
      ? `Runs are read from ${out}; change the folder with --out.`
      : "Give the folder that contains run.json.";
  throw usageError(`There is no run "${run}".`, hint);
}

function isRun(dir: string): Promise<boolean> {
  return stat(join(dir, runFiles.manifest)).then(
    (found) => found.isFile(),
    () => false,
  );
}

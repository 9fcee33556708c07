import type { Dirent } from "node:fs";
import { readdir } from "node:fs/promises";
import { basename, join } from "node:path";
import { EvalsError, type Problem, usageError } from "../base/types/errors.ts";
import { experimentCommands, type RunManifest } from "../base/types/run.ts";
import { isRun, readManifest } from "./record.ts";

/** A record on disk: its folder and its manifest. */
export type FoundRecord = { dir: string; manifest: RunManifest };

/** Gets a warning for each unreadable record, which is else an error: an older one must not be taken silently. */
export type Warn = (warning: Problem) => void;

/** Reads a record; with `warn`, one that fails with an EvalsError is a warning and undefined. */
export async function readOrWarn<T>(read: Promise<T>, warn: Warn | undefined): Promise<T | undefined> {
  try {
    return await read;
  } catch (error) {
    if (!warn || !(error instanceof EvalsError)) throw error;
    for (const problem of error.problems)
      warn({ ...problem, severity: "warning", message: `${problem.message} The record is skipped.` });
    return undefined;
  }
}

/** The command that made a record. */
export type RecordCommand = "run" | NonNullable<RunManifest["experiment"]>["command"];

/** Finds a record of a command by folder, id under `out`, or `latest`. Throws a usage error without one. */
export async function findRecord(of: RecordCommand, run: string, out: string, warn?: Warn): Promise<FoundRecord> {
  if (run === "latest") return latestRecord(of, out, warn);
  const dir = await findRun(run, out);
  const manifest = await readManifest(dir);
  const maker = manifest.experiment?.command ?? "run";
  if (maker === of) return { dir, manifest };
  throw usageError(
    `The record ${manifest.id} was made by \`evals ${maker}\`, not by \`evals ${of}\`.`,
    `Give a record of \`evals ${of}\`.`,
  );
}

/** Finds any record by folder, id under `out`, `latest` (run) or a command's name. Throws a usage error without one. */
export async function findAnyRecord(named: string, out: string, warn?: Warn): Promise<FoundRecord> {
  const of = (["run", ...experimentCommands] as const).find((command) => command === named);
  if (named === "latest" || of !== undefined) return latestRecord(of ?? "run", out, warn);
  const dir = await findRun(named, out);
  return { dir, manifest: await readManifest(dir) };
}

/** The records of a command under a folder, newest first. */
export async function* listRecords(of: RecordCommand, out: string, warn?: Warn): AsyncGenerator<FoundRecord> {
  for (const { name } of (await listEntries(out)).reverse()) {
    const dir = join(out, name);
    if (!(await isRun(dir))) continue;
    const manifest = await readOrWarn(readManifest(dir), warn);
    if (manifest && (manifest.experiment?.command ?? "run") === of) yield { dir, manifest };
  }
}

async function latestRecord(of: RecordCommand, out: string, warn: Warn | undefined): Promise<FoundRecord> {
  for await (const record of listRecords(of, out, warn)) return record;
  throw usageError(
    `There is no record of \`evals ${of}\` under ${out}.`,
    `Make one with \`evals ${of}\`, or give its folder.`,
  );
}

/** The finished records under `out`, oldest first: others can be resumed. Warns of unreadable ones. */
export async function listFinishedRuns(out: string, warn: Warn): Promise<string[]> {
  const finished: string[] = [];
  for (const entry of await listEntries(out)) {
    if (!entry.isDirectory()) continue;
    const { name } = entry;
    const dir = join(out, name);
    const manifest = (await isRun(dir)) ? await readOrWarn(readManifest(dir), warn) : undefined;
    if (manifest?.id === name && manifest.finishedAt !== undefined) finished.push(name);
  }
  return finished;
}

/** What is in a folder of records, by name; nothing if there is none. Throws a usage error if it cannot be read. */
export async function listEntries(out: string): Promise<Dirent[]> {
  const entries = await readdir(out, { withFileTypes: true }).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT" || error.code === "ENOTDIR") return [];
    throw usageError(`The folder of the records cannot be read: ${error.message}.`, "Check the disk, and --out.");
  });
  return entries.sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** The folder under `out` for records of partial runs. `latest` and the history do not include them. */
export const partialFolder = (out: string) => join(out, "partial");

/** Finds the folder of any record by its path or its id under `out`, including partial runs. */
export async function findRun(run: string, out: string): Promise<string> {
  for (const dir of [run, join(out, run), join(partialFolder(out), run)]) if (await isRun(dir)) return dir;
  const hint =
    basename(run) === run
      ? `Runs are read from ${out}; change the folder with --out.`
      : "Give the folder that contains run.json.";
  throw usageError(`There is no run "${run}".`, hint);
}

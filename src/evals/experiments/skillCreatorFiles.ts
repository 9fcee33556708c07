import { type FileHandle, mkdir, open, readFile, rename, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { RunInput } from "../reports/run.ts";
import {
  BenchmarkFigures,
  type BenchmarkRun,
  benchmarkMetadata,
  benchmarkRun,
  evalMetadata,
  findPlace,
  gradingSchema,
  listPlaces,
  listWorkspaces,
  type ResultFolder,
  runFiles,
  type SkillCreatorWorkspace,
  timingSchema,
} from "../reports/skillCreator.ts";
import { readTrials } from "../runs/record.ts";
import type { Trial } from "../types/trial.ts";

/**
 * Writes the workspaces that skill-creator's viewer and aggregation read, for a run that measures the lift of skills.
 * Reads the journal trial by trial and makes the benchmark from the written files, so that neither is held in memory.
 * Keeps other files there, such as feedback from a reader.
 */
export async function writeSkillCreatorFiles(dir: string, { summary, manifest }: RunInput): Promise<void> {
  const workspaces = listWorkspaces(manifest);
  if (workspaces.length === 0) return;
  for (const workspace of workspaces) await writeMetadata(join(dir, workspace.folder), workspace);
  for await (const trial of readTrials(dir, manifest.id)) {
    for (const workspace of workspaces) {
      const place = findPlace(workspace, trial.cell);
      if (place) await writeRun(join(dir, workspace.folder, place.folder), trial);
    }
  }
  for (const workspace of workspaces) {
    const figures = new BenchmarkFigures();
    const file = join(dir, workspace.folder, "benchmark.json");
    const written = await open(`${file}.part`, "w");
    try {
      await written.write(`{"metadata":${JSON.stringify(benchmarkMetadata(workspace, manifest))},\n"runs":[`);
      await writeRuns(join(dir, workspace.folder), listPlaces(workspace), figures, written);
      const notes = JSON.stringify(figures.notes(workspace, summary));
      await written.write(`\n],\n"run_summary":${JSON.stringify(figures.runSummary())},\n"notes":${notes}}\n`);
    } finally {
      await written.close();
    }
    await rename(`${file}.part`, file);
  }
}

async function writeMetadata(dir: string, workspace: SkillCreatorWorkspace): Promise<void> {
  for (const { eval: one, folder, run } of listPlaces(workspace)) {
    if (run > 1) continue;
    const metadata = json(evalMetadata(one));
    const configuration = dirname(join(dir, folder));
    await mkdir(configuration, { recursive: true });
    await Promise.all(
      [configuration, dirname(configuration)].map((at) => writeFile(join(at, "eval_metadata.json"), metadata)),
    );
  }
}

async function writeRun(dir: string, trial: Trial): Promise<void> {
  const { grading, timing, output } = runFiles(trial);
  await mkdir(join(dir, "outputs"), { recursive: true });
  await Promise.all([
    ...(grading ? [writeFile(join(dir, "grading.json"), json(grading))] : []),
    writeFile(join(dir, "timing.json"), json(timing)),
    writeFile(join(dir, "outputs/answer.md"), output),
  ]);
}

async function writeRuns(dir: string, places: readonly ResultFolder[], figures: BenchmarkFigures, into: FileHandle) {
  let separator = "\n";
  for (const place of places) {
    const run = await readRun(dir, place);
    if (!run) continue;
    figures.add(run);
    await into.write(separator + JSON.stringify(run));
    separator = ",\n";
  }
}

/** Reads a graded run that was written; undefined if there is none. */
async function readRun(dir: string, place: ResultFolder): Promise<BenchmarkRun | undefined> {
  const read = async (name: string) => JSON.parse(await readFile(join(dir, place.folder, name), "utf8"));
  try {
    return benchmarkRun(
      place,
      gradingSchema.parse(await read("grading.json")),
      timingSchema.parse(await read("timing.json")),
    );
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

const json = (value: unknown) => `${JSON.stringify(value, null, 2)}\n`;

import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { replaceFile } from "../../base/files/replaceFile.ts";
import { readTrials } from "../../records/record.ts";
import type { RunInput } from "../run/report/run.ts";
import {
  benchmarkRun,
  evalMetadata,
  findPlace,
  listPlaces,
  listWorkspaces,
  makeBenchmark,
  runFiles,
  type SkillCreatorWorkspace,
} from "./skillCreatorReport.ts";

/**
 * Writes the workspaces that skill-creator's viewer and aggregation read, for a run that measures the lift of skills.
 * Keeps other files there, such as feedback from a reader.
 */
export async function writeSkillCreatorFiles(dir: string, { summary, manifest }: RunInput): Promise<void> {
  const workspaces = listWorkspaces(manifest).map((workspace) => ({
    workspace,
    folder: join(dir, workspace.folder),
    runs: new Map<string, ReturnType<typeof benchmarkRun>>(),
  }));
  if (workspaces.length === 0) return;
  for (const { workspace, folder } of workspaces) await writeMetadata(folder, workspace);
  for await (const trial of readTrials(dir, manifest.id)) {
    for (const { workspace, folder, runs } of workspaces) {
      const place = findPlace(workspace, trial.cell);
      if (!place) continue;
      const files = runFiles(trial);
      await writeRun(join(folder, place.folder), files);
      if (files.grading) runs.set(place.folder, benchmarkRun(place, files.grading, files.timing));
    }
  }
  for (const { workspace, folder, runs } of workspaces) {
    const graded = listPlaces(workspace).flatMap((place) => runs.get(place.folder) ?? []);
    await replaceFile(join(folder, "benchmark.json"), json(makeBenchmark(workspace, manifest, summary, graded)));
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

async function writeRun(dir: string, { grading, timing, output }: ReturnType<typeof runFiles>): Promise<void> {
  await mkdir(join(dir, "outputs"), { recursive: true });
  await Promise.all([
    ...(grading ? [writeFile(join(dir, "grading.json"), json(grading))] : []),
    writeFile(join(dir, "timing.json"), json(timing)),
    writeFile(join(dir, "outputs/answer.md"), output),
  ]);
}

const json = (value: unknown) => `${JSON.stringify(value, null, 2)}\n`;

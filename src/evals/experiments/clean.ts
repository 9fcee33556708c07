import { rm } from "node:fs/promises";
import { join, relative, resolve } from "node:path";
import { count } from "../reports/format.ts";
import { listFinishedRuns } from "../runs/record.ts";
import { type ExitCode, exitCodes } from "../types/errors.ts";
import type { Io } from "../types/io.ts";

export type CleanOptions = { keep: number; dryRun: boolean; out: string };

/** `evals clean`: removes all but the newest `keep` finished records under `out`, and prints their folders. */
export async function clean({ keep, dryRun, out }: CleanOptions, io: Io): Promise<ExitCode> {
  const dir = resolve(io.cwd, out);
  const finished = await listFinishedRuns(dir);
  const old = keep === 0 ? finished : finished.slice(0, -keep);
  for (const id of old) {
    if (!dryRun) await rm(join(dir, id), { recursive: true });
    io.out(`${relative(io.cwd, join(dir, id))}\n`);
  }
  const kept = finished.length - old.length;
  io.out(
    `${dryRun ? "Would remove" : "Removed"} ${count(old.length, "record")}; kept ${count(kept, "finished record")}.\n`,
  );
  return exitCodes.passed;
}

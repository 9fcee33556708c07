import { existsSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join, relative, resolve } from "node:path";
import { cacheFolder } from "../asking/models/cache.ts";
import { printableLines } from "../base/text/display.ts";
import { type ExitCode, exitCodes, messageOf, printProblem } from "../base/types/errors.ts";
import type { Io } from "../base/types/io.ts";
import { incompleteError } from "../records/disk.ts";
import { listFinishedRuns, partialFolder } from "../records/find.ts";
import { count } from "../reports/format.ts";

export type CleanOptions = { keep: number; dryRun: boolean; out: string };

/** `evals clean`: removes all but the newest `keep` finished records, and the cache of replies. */
export async function clean({ keep, dryRun, out }: CleanOptions, io: Io): Promise<ExitCode> {
  const dir = resolve(io.cwd, out);
  const old: string[] = [];
  let kept = 0;
  for (const folder of [dir, partialFolder(dir)]) {
    const finished = await listFinishedRuns(folder, printProblem(io));
    const oldest = keep === 0 ? finished : finished.slice(0, -keep);
    old.push(...oldest.map((id) => join(folder, id)));
    kept += finished.length - oldest.length;
  }
  const cache = join(dir, cacheFolder);
  const hasCache = existsSync(cache);
  const removed = [...old, ...(hasCache ? [cache] : [])];
  if (!dryRun) for (const folder of removed) await remove(folder);
  io.out(
    printableLines(
      `${dryRun ? "Would remove" : "Removed"} ${count(old.length, "record")}${hasCache ? " and the cache of replies" : ""}; kept ${count(kept, "finished record")}.`,
      ...removed.map((folder) => `  ${relative(io.cwd, folder)}`),
    ),
  );
  return exitCodes.passed;
}

async function remove(folder: string): Promise<void> {
  await rm(folder, { recursive: true }).catch((error: unknown) => {
    throw incompleteError(`${folder} cannot be removed: ${messageOf(error)}.`, "Check the disk and its permissions.");
  });
}

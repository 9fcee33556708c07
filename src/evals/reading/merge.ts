import { existsSync } from "node:fs";
import { rm } from "node:fs/promises";
import { basename, join, relative, resolve } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { assignShards, readShard, type Shard } from "../asking/trials/plan.ts";
import { SeenReplies } from "../asking/trials/runPlan.ts";
import { knownSecrets } from "../base/secrets/secrets.ts";
import { type ExitCode, usageError } from "../base/types/errors.ts";
import type { Io } from "../base/types/io.ts";
import type { RunManifest } from "../base/types/run.ts";
import { cellKey, type Trial } from "../base/types/trial.ts";
import { listChanges } from "../experiments/pipeline/record.ts";
import { PageTrialCollector } from "../experiments/run/report/page.ts";
import type { RunOptions } from "../experiments/run/runOptions.ts";
import { reportRun } from "../experiments/run/runSuites.ts";
import { summarizer } from "../experiments/run/summary.ts";
import { listEntries } from "../records/find.ts";
import { openJournal } from "../records/journal.ts";
import { lockRun } from "../records/lock.ts";
import { createRun, finishRun, journalPath, newNonce, newRunId, readManifest, readTrials } from "../records/record.ts";

export type MergeOptions = Pick<RunOptions, "accept" | "reporter" | "json" | "baselines" | "out"> & {
  runs: readonly string[];
};

/**
 * `evals merge`: writes the trials of all shards of a run into one record, then decides and reports it like any other
 * run. Throws a usage error, and leaves no record, if shards are missing, duplicated, unfinished or of another run.
 */
export async function merge(options: MergeOptions, io: Io): Promise<ExitCode> {
  const shards = await readShards(options.runs, io.cwd);
  const planned = joinManifests(shards, resolve(io.cwd, options.baselines));
  const { redact } = knownSecrets(io.env);
  const { dir, manifest } = await createRun(resolve(io.cwd, options.out), planned, redact);
  const results = summarizer(manifest, dir);
  const trials = new PageTrialCollector(manifest, { redact });
  try {
    const lock = await lockRun(dir);
    const journal = await openJournal(journalPath(dir), manifest.id, { redact });
    try {
      await copyTrials(shards, (trial) => {
        results.add(trial);
        trials.add(trial);
        return journal.append(trial);
      });
    } finally {
      await journal.close();
      await lock.release();
    }
  } catch (error) {
    await rm(dir, { recursive: true, force: true }).catch(() => undefined);
    throw error;
  }
  const summary = results.summary();
  const ends = shards.map((shard) => shard.manifest.finishedAt ?? "").sort();
  const finished = await finishRun(dir, manifest, summary, new Date(ends.at(-1) ?? Date.now()), redact);
  return await reportRun({ dir, manifest: finished, summary, trials, end: "complete", why: "" }, options, io);
}

/** A finished shard on disk. `name`: its name in messages. */
type ShardRun = { name: string; dir: string; manifest: RunManifest; shard: Shard };

/** How deep to search folders for records: `shards/<artifact>/reports/<id>`. */
const maxDepth = 3;

/** Reads the manifests of all shards, sorted by index. Throws a usage error unless each exists once and is finished. */
async function readShards(given: readonly string[], cwd: string): Promise<ShardRun[]> {
  const found = await Promise.all(given.map((path) => findShards(path, cwd)));
  const runs = [...new Map(found.flat().map((run) => [run.dir, run])).values()];
  const count = runs[0]?.shard.count ?? 0;
  const byIndex = new Map<number, ShardRun>();
  for (const run of runs) {
    const { name, shard, manifest } = run;
    if (shard.count !== count)
      throw usageError(
        `${name} is shard ${shard.index}/${shard.count}, and ${runs[0]?.name} is one of ${count}.`,
        "Give the shards of one run.",
      );
    const other = byIndex.get(shard.index);
    if (other)
      throw usageError(`Shard ${shard.index}/${count} is there twice: ${other.name} and ${name}.`, "Give one of them.");
    if (manifest.finishedAt === undefined)
      throw usageError(
        `Shard ${shard.index}/${count} in ${name} is not complete.`,
        `Complete it where it was started: \`evals run --resume ${name}\`.`,
      );
    byIndex.set(shard.index, run);
  }
  const missing = Array.from({ length: count }, (_, at) => at + 1).filter((index) => !byIndex.has(index));
  if (missing.length > 0)
    throw usageError(
      `${missing.length === 1 ? "A shard is" : "Shards are"} missing: ${missing.map((index) => `${index}/${count}`).join(", ")}.`,
      "Give the folders of all shards.",
    );
  return [...byIndex.values()].sort((a, b) => a.shard.index - b.shard.index);
}

async function findShards(path: string, cwd: string): Promise<ShardRun[]> {
  const root = resolve(cwd, path);
  const dirs = await findRecords(root, maxDepth);
  const read = await Promise.all(dirs.map(async (dir) => ({ dir, manifest: await readManifest(dir) })));
  const shards = read.flatMap(({ dir, manifest }): ShardRun[] => {
    const shard = readShard(manifest);
    return shard ? [{ name: relative(cwd, dir) || dir, dir, manifest, shard }] : [];
  });
  if (shards.length > 0) return shards;
  throw usageError(
    dirs.includes(root) ? `"${path}" is a whole run, not a shard.` : `There is no shard in "${path}".`,
    "Give the folders that `evals run --shard` printed.",
  );
}

async function findRecords(dir: string, depth: number): Promise<string[]> {
  const isRecord = existsSync(join(dir, "run.json"));
  if (isRecord || depth === 0) return isRecord ? [dir] : [];
  const folders = (await listEntries(dir)).filter((entry) => entry.isDirectory()).map(({ name }) => join(dir, name));
  return (await Promise.all(folders.map((folder) => findRecords(folder, depth - 1)))).flat().sort();
}

function joinManifests(shards: readonly ShardRun[], baselines: string): RunManifest {
  const [first, ...others] = shards;
  if (!first) throw usageError("There is no shard to merge.");
  for (const other of others) {
    const differences = listDifferences(first.manifest, other.manifest);
    if (differences.length > 0)
      throw usageError(
        `${other.name} is a shard of another run than ${first.name}: ${differences.join("; ")}.`,
        "Merge shards that were started with the same files and flags.",
      );
  }
  const { finishedAt: _, totals: __, flags, ...rest } = first.manifest;
  return {
    ...rest,
    id: newRunId(new Date()),
    nonce: newNonce(),
    startedAt: shards.map(({ manifest }) => manifest.startedAt).sort()[0] ?? rest.startedAt,
    flags: withoutShard(flags),
    mergedFrom: shards.map(({ manifest }) => manifest.id),
    suites: rest.suites.map((suite) => ({
      ...suite,
      ...(suite.checks && { checks: suite.checks.map((plan) => moveNights(plan, baselines)) }),
    })),
  };
}

type Plans = NonNullable<RunManifest["suites"][number]["checks"]>;

/** Points a plan to the local files of nights: the shards may have run in another folder or on another machine. */
function moveNights(plan: Plans[number], baselines: string): Plans[number] {
  if (plan.kind !== "unchanged" || !plan.drift) return plan;
  return { ...plan, drift: { ...plan.drift, file: join(baselines, basename(plan.drift.file)) } };
}

function withoutShard({ shard: _, given, ...flags }: RunManifest["flags"]): RunManifest["flags"] {
  return Array.isArray(given) ? { ...flags, given: given.filter((name) => name !== "shard") } : flags;
}

function listDifferences(one: RunManifest, other: RunManifest): string[] {
  const differs = (what: string, read: (manifest: RunManifest) => unknown) =>
    isDeepStrictEqual(read(one), read(other)) ? [] : [what];
  const named = [
    ...differs("another seed", ({ seed }) => seed),
    ...differs("another version of tool-evals", ({ harness }) => harness),
    ...differs("another commit", ({ git }) => git?.commit),
    ...differs("other flags", ({ flags }) => withoutShard(flags)),
    ...differs("another host", ({ host }) => host),
    ...listChanges(one, other),
    ...differs("other baselines or nights", ({ suites }) => suites.map(({ checks = [] }) => checks.map(withoutFiles))),
  ];
  return named.length > 0
    ? named
    : differs("other cases or tools", ({ suites, toolsets }) => [suites.map(({ cases }) => cases), toolsets]);
}

/** A plan without the paths of its files, which differ between machines. */
function withoutFiles(plan: Plans[number]): unknown {
  return JSON.parse(JSON.stringify(plan, (name, value) => (name === "file" ? undefined : value)));
}

/** Passes all trials to `add`, with copies marked as in a single run. Throws for a duplicate or a misplaced trial. */
async function copyTrials(shards: readonly ShardRun[], add: (trial: Trial) => Promise<void>) {
  const seen = new Set<string>();
  const replies = new SeenReplies();
  for (const { name, dir, manifest, shard } of shards) {
    const { cell: deal, isDesigned } = assignShards(manifest, shard.count);
    const waiting: Promise<void>[] = [];
    for await (const trial of readTrials(dir, manifest.id)) {
      const key = cellKey(trial.cell);
      if (deal(trial.cell) !== shard.index || seen.has(key))
        throw usageError(`${name} has a trial that is not its own: ${key}.`, "Restore the record of the shard.");
      seen.add(key);
      const isCopy = replies.add(trial) && isDesigned(trial.cell);
      waiting.push(add(isCopy ? { ...trial, copy: true } : trial));
      if (waiting.length >= 1000) await Promise.all(waiting.splice(0));
    }
    await Promise.all(waiting);
  }
}

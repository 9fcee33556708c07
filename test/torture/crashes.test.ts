import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { basename, join } from "node:path";
import { pathToFileURL } from "node:url";
import { beforeEach, describe, expect, it } from "vitest";
import { readBaselines } from "../../src/evals/records/baseline.ts";
import { type Ended, spawnEvals, timeless, trialsOf } from "../e2e/evals.ts";
import { makeFolder } from "../fakes/folder.ts";
import { writeActSuite } from "../fixtures/actSuite.ts";
import { type BatchEndpoint, startCompletionBatches, startMessageBatches } from "../fixtures/endpoints/batches.ts";

const hook = pathToFileURL(join(import.meta.dirname, "../fixtures/crash.mjs")).href;

let root: string;
let endpoint: BatchEndpoint<object>;
let completions: BatchEndpoint<object>;
beforeEach(async () => {
  root = makeFolder();
  endpoint = await startMessageBatches({ answer: () => ({ calls: [{ name: "act", id: "call", input: {} }] }) });
  completions = await startCompletionBatches({ answer: () => ({ calls: [{ name: "act", id: "call" }] }) });
});

/** A project with a suite, in which these commands were run. */
async function prepare(...before: (readonly string[])[]): Promise<string> {
  const dir = mkdtempSync(join(root, "project-"));
  writeActSuite(dir, 3, { maxTurns: 1 });
  for (const args of before) isFine(await spawnEvals(args, { cwd: dir }));
  return dir;
}

const isFine = (ended: Ended, why = "") =>
  expect(ended, `${why}${ended.err}`).toMatchObject({
    code: 0,
    err: expect.not.stringMatching(/Internal error|\n\s+at /),
  });

type Then = (dir: string, why: string) => Promise<void>;

/** Runs a command in copies of a project, with a fault at each of its changes of files until it ends in order. */
async function atEach(
  project: string,
  args: readonly string[],
  fault: Record<string, string>,
  then: (ended: Ended, dir: string, at: number) => Promise<void>,
) {
  for (let at = 1; ; at++) {
    const dir = mkdtempSync(join(root, "copy-"));
    cpSync(project, dir, { recursive: true });
    const env = { NODE_OPTIONS: `--import=${hook}`, EVALS_CRASH_AT: String(at), ...fault };
    const ended = await spawnEvals(args, { cwd: dir, env });
    if (ended.code === 0) return isFine(ended);
    await then(ended, dir, at);
    rmSync(dir, { recursive: true });
  }
}

/** Kills a command before each of its changes of files, and does each time what is to follow. */
const killAtEach = (project: string, args: readonly string[], then: Then) =>
  atEach(project, args, {}, async ({ code, err }, dir, at) => {
    expect(code, err).toBe(null);
    await then(dir, `killed before change ${at}: `);
  });

/** Runs a command on a disk that fails from each of its changes of files on, and does each time what is to follow. */
const failFromEach = (project: string, args: readonly string[], then: Then = async () => {}) =>
  atEach(project, args, { EVALS_FAULT: "EIO" }, async ({ code, err }, dir, at) => {
    const why = `failed from change ${at} on: ${err}`;
    expect(code, why).toBeOneOf([2, 3]);
    expect(err, why).toMatch(/error: .* cannot be (?:read|written|removed): EIO: \w+\.\n {2}\w.*\.\n$/);
    expect(err, why).not.toMatch(/Internal error|\n\s+at |\(node:/);
    await then(dir, why);
  });

/** The folders of the records, the oldest first. A process can be killed after it made one, and before its manifest. */
function listRecords(dir: string): string[] {
  const out = join(dir, "reports");
  const names = existsSync(out) ? readdirSync(out).sort() : [];
  return names.map((name) => join(out, name)).filter((folder) => existsSync(join(folder, "run.json")));
}

/** The trials of a record without what depends on when and how they were asked. */
const readPlain = (record = "") =>
  trialsOf(record).map((trial) => {
    const { turns, costUsd: _, ...rest } = timeless(trial) as { turns: { calls: unknown }[]; costUsd: number };
    return { ...rest, calls: turns.map(({ calls }) => calls) };
  });

/** How many trials are on a record, which are not asked again. */
function countRecorded(record: string | undefined): number {
  const journal = record && join(record, "trials.jsonl");
  return journal && existsSync(journal) ? readFileSync(journal, "utf8").split("\n").length - 1 : 0;
}

/** Starts the command again, or finishes its record if it had made one, and expects that record to be whole. */
async function finish(dir: string, args: readonly string[], why: string, earlier = 0): Promise<string> {
  const isStarted = listRecords(dir).length > earlier;
  isFine(await spawnEvals(isStarted ? ["run", "--resume", "latest"] : args, { cwd: dir }), why);
  const records = listRecords(dir);
  expect(records, why).toHaveLength(earlier + 1);
  const record = records.at(-1) ?? "";
  expect(readdirSync(record).filter((name) => name.endsWith(".tmp"))).toEqual([]);
  return record;
}

const settings = ["--seed", "7", "-n", "2", "-c", "2"];
const run = (...more: string[]) => [
  ...["run", "suite.json", "-m", "anthropic:claude-haiku-5-5", "--base-url", endpoint.url, ...settings, ...more],
];
const runOnOpenai = (...more: string[]) => [
  ...["run", "suite.json", "-m", "openai:gpt-6.1", "--base-url", `${completions.url}/v1`, ...settings, ...more],
];

describe("a command that is killed before any of its changes of files", () => {
  it("run: has the record of one that was not, and pays for no answer twice", async () => {
    const expected = readPlain(listRecords(await prepare(run()))[0]);
    let before = endpoint.paid.plain;
    await killAtEach(await prepare(), run(), async (dir, why) => {
      const killed = endpoint.paid.plain;
      const recorded = countRecorded(listRecords(dir)[0]);
      expect(killed - before - recorded, why).toBeLessThanOrEqual(2);
      expect(readPlain(await finish(dir, run(), why)), why).toEqual(expected);
      // Answers that were not on the record yet are asked for again.
      before = endpoint.paid.plain;
      expect(before - killed, why).toBe(expected.length - recorded);
    });
  });

  it.each([
    ["anthropic", run, () => endpoint],
    ["openai", runOnOpenai, () => completions],
  ] as const)("run --batch on %s: pays for no answer of a batch twice", async (_, command, service) => {
    const args = command("--batch");
    const expected = readPlain(listRecords(await prepare(args))[0]);
    let before = { ...service().paid };
    await killAtEach(await prepare(), args, async (dir, why) => {
      const record = await finish(dir, args, why);
      expect(readPlain(record), why).toEqual(expected);
      const { plain, batched } = service().paid;
      const ofBatches = trialsOf(record).filter(({ turns }) => turns[0]?.batch !== undefined).length;
      expect(batched - before.batched, why).toBe(ofBatches);
      // The first request is sent alone, and may not be on the record when the run is killed.
      expect(plain - before.plain - (expected.length - ofBatches), why).toBeOneOf([0, 1]);
      before = { plain, batched };
    });
    expect(service().refused).toEqual([]);
  });

  it("run --nightly: adds one night", async () => {
    const project = await prepare(run("--accept"));
    await killAtEach(project, run("--nightly"), async (dir, why) => {
      const record = await finish(dir, run("--nightly"), why, 1);
      const baselines = join(dir, "evals/baselines");
      const nights = readdirSync(baselines).find((name) => name.endsWith(".nights.jsonl")) ?? "";
      const lines = readFileSync(join(baselines, nights), "utf8").trimEnd().split("\n");
      expect(lines, why).toHaveLength(2);
      expect(JSON.parse(lines[1] ?? ""), why).toMatchObject({ night: basename(record) });
    });
  });

  it("baseline accept: leaves the old baseline or the new one", async () => {
    const project = await prepare(run("--accept"), run());
    const [old = "", fresh = ""] = listRecords(project).map((record) => basename(record));
    await killAtEach(project, ["baseline", "accept"], async (dir, why) => {
      const kept = await readBaselines(join(dir, "evals/baselines"));
      expect([[old], [fresh]], why).toContainEqual(kept.map(({ baseline }) => baseline.run));
      isFine(await spawnEvals(["baseline", "accept"], { cwd: dir }), why);
    });
  });

  it("merge: can be merged again, and asks nothing", async () => {
    const project = await prepare(run("--shard", "1/2"), run("--shard", "2/2"));
    const { plain } = endpoint.paid;
    await killAtEach(project, ["merge", "reports"], async (dir, why) => {
      const { code, err } = await spawnEvals(["run", "--resume", "latest"], { cwd: dir });
      const isMerge = listRecords(dir).length === 3;
      expect([0, ...(isMerge ? [2] : [])], `${why}${err}`).toContain(code);
      if (code === 2) expect(err).toMatch(/The record \S+ is of a merge that was interrupted/);
      isFine(await spawnEvals(["merge", "reports"], { cwd: dir }), why);
    });
    expect(endpoint.paid.plain).toBe(plain);
  });
});

describe("a command on a disk that fails from any of its changes of files on", () => {
  it("run: says so, asks for nothing more, and can be finished", async () => {
    const project = await prepare();
    await failFromEach(project, run(), async (dir, why) => {
      const { plain } = endpoint.paid;
      const recorded = countRecorded(listRecords(dir)[0]);
      const record = await finish(dir, run(), why);
      expect(trialsOf(record), why).toHaveLength(6);
      expect(endpoint.paid.plain - plain, why).toBe(6 - recorded);
    });
  });

  it("baseline accept, merge and clean: say so", async () => {
    const accepted = await prepare(run("--accept"), run());
    const sharded = await prepare(run("--shard", "1/2"), run("--shard", "2/2"));
    for (const [project, args] of [
      [accepted, ["baseline", "accept"]],
      [sharded, ["merge", "reports"]],
      [accepted, ["clean", "--keep", "0"]],
    ] as const)
      await failFromEach(project, args);
  });
});

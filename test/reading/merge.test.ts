import { createHash } from "node:crypto";
import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { assignShards, parseShard } from "../../src/evals/asking/trials/plan.ts";
import type { RunManifest } from "../../src/evals/base/types/run.ts";
import { cellKey, type Trial } from "../../src/evals/base/types/trial.ts";
import { accept } from "../../src/evals/experiments/baseline/accept.ts";
import { run } from "../../src/evals/experiments/run/run.ts";
import type { RunOptions } from "../../src/evals/experiments/run/runOptions.ts";
import { merge } from "../../src/evals/reading/merge.ts";
import { endpoint, project, runDefaults, toolList } from "../experiments/pipeline/project.ts";
import type { MessagesBody } from "../fixtures/endpoints/messages.ts";

/** More rounds with EVALS_TORTURE=long. */
const isLong = process.env.EVALS_TORTURE === "long";

const mergeDefaults = { json: true, out: "reports", baselines: "evals/baselines" } as const;

/** A model whose answer to a request is decided by the request: right, wrong, no call or broken. */
async function fixedModel() {
  const tools = ["read", "list", "move"];
  return await endpoint((body: MessagesBody) => {
    const hash = createHash("sha256").update(JSON.stringify(body)).digest();
    const at = hash.readUInt32BE(0);
    if (at % 7 === 0) return { fault: "body", body: { content: [] } };
    return at % 5 === 0 ? { text: "No." } : { calls: [{ name: tools[at % 3] ?? "read", input: {} }] };
  });
}

const queries = [
  ...["the text of notes.txt", "the entries of src", "rename a to b", "good morning", "read b.txt", "list lib"],
];
const suite = (name: string, cases: readonly number[], trials: number) => ({
  name,
  server: { tools: "../tools.json" },
  trials,
  maxTurns: 1,
  cases: cases.map((at) => ({
    id: `c${at}`,
    input: at % 2 === 0 ? queries[at] : [queries[at], `Please: ${queries[at]}`],
    expect: { tool: ["read", "list", "move", "none"][at % 4] },
  })),
});

/** Trials in the order of their cells, without what differs between two runs of the same plan. */
const comparable = (trials: readonly Trial[]) =>
  trials
    .map(({ startedAt: _, ms: __, turns, ...trial }) => ({
      ...trial,
      turns: turns.map(({ ms: _, requestId: __, responseId: ___, calls, ...turn }) => ({
        ...turn,
        calls: calls.map(({ id: _, ...call }) => call),
      })),
    }))
    .sort((a, b) => (cellKey(a.cell) < cellKey(b.cell) ? -1 : 1));

/** A summary without the run and its times. */
const decided = (printed: string) =>
  JSON.parse(printed, (name, value) =>
    ["run", "dir", "ms", "latencyMs", "repliedBy"].includes(name)
      ? undefined
      : name === "costUsd"
        ? Math.round(value * 1e6)
        : value,
  );

/** Runs a plan whole, and in shards that are merged. */
async function bothWays(made: ReturnType<typeof project>, options: RunOptions, count: number) {
  const whole = made.io();
  const code = await run({ ...options, out: "whole/reports" }, whole);
  for (let index = 1; index <= count; index++)
    await run({ ...options, shard: `${index}/${count}`, out: `shards/${index}/reports` }, made.io());
  const merged = made.io();
  const mergedCode = await merge({ ...mergeDefaults, runs: ["shards"] }, merged);
  const read = (folder: string, id: string): { manifest: RunManifest; trials: Trial[] } => ({
    manifest: JSON.parse(readFileSync(join(made.dir, folder, id, "run.json"), "utf8")),
    trials: readFileSync(join(made.dir, folder, id, "trials.jsonl"), "utf8")
      .split("\n")
      .filter(Boolean)
      .map((line) => JSON.parse(line)),
  });
  const strip = (line: Trial & { run?: string; seq?: number; sum?: string }) => {
    const { run: _, seq: __, sum: ___, ...trial } = line;
    return trial as Trial;
  };
  const plain = ({
    id: _,
    nonce: _____,
    startedAt: __,
    finishedAt: ___,
    mergedFrom: ____,
    totals,
    ...manifest
  }: RunManifest) => ({ ...manifest, totals: { ...totals, costUsd: Math.round(Number(totals?.costUsd) * 1e6) } });
  const one = read("whole/reports", JSON.parse(whole.printed()).run);
  const other = read("reports", JSON.parse(merged.printed()).run);
  return {
    whole: {
      code,
      summary: decided(whole.printed()),
      trials: comparable(one.trials.map(strip)),
      manifest: plain(one.manifest),
    },
    merged: {
      code: mergedCode,
      summary: decided(merged.printed()),
      trials: comparable(other.trials.map(strip)),
      manifest: plain(other.manifest),
    },
  };
}

describe("shards and evals merge", () => {
  it("give the record, the summary and the exit code of a run that was not divided", async () => {
    const { model, asked } = await fixedModel();
    let broken = 0;
    const cases = fc.uniqueArray(fc.nat({ max: 5 }), { minLength: 1, maxLength: 6 });
    await fc.assert(
      fc.asyncProperty(
        fc.array(cases, { minLength: 1, maxLength: 3 }),
        fc.integer({ min: 1, max: 4 }),
        fc.integer({ min: 1, max: 5 }),
        fc.boolean(),
        async (suites, trials, count, isBoth) => {
          const made = project();
          rmSync(join(made.dir, "evals/files.json"));
          for (const [at, ids] of suites.entries()) made.write(`evals/s${at}.json`, suite(`s${at}`, ids, trials));
          const models = isBoth ? [model, "lexical"] : [model];
          const { whole, merged } = await bothWays(
            made,
            { ...runDefaults, ...asked, model: models, concurrency: 3 },
            count,
          );
          expect(merged).toEqual(whole);
          broken += merged.summary.totals.broken;
        },
      ),
      { numRuns: isLong ? 300 : 10 },
    );
    expect(broken).toBeGreaterThan(0);
  });

  it("give the same for a resumed run and for cases in another order", async () => {
    const { model, asked } = await fixedModel();
    const ids = fc.uniqueArray(fc.nat({ max: 5 }), { minLength: 2, maxLength: 6 });
    await fc.assert(
      fc.asyncProperty(
        ids,
        fc.integer({ min: 1, max: 3 }),
        fc.integer({ min: 1, max: 8 }),
        async (cases, trials, limit) => {
          const made = project();
          const options: RunOptions = { ...runDefaults, ...asked, model: [model] };
          const ask = async (changes: Partial<RunOptions>) => {
            const io = made.io();
            await run({ ...options, ...changes }, io);
            const { run: id, suites } = JSON.parse(io.printed());
            const byId = (a: { id: string }, b: { id: string }) => (a.id < b.id ? -1 : 1);
            return {
              id,
              cases: decided(JSON.stringify(suites[0].cases.sort(byId))),
              trials: () => comparable(made.trials(id)),
            };
          };
          made.write("evals/files.json", suite("files", cases, trials));
          const whole = await ask({});
          let resumed = await ask({ maxRequests: limit });
          while (!made.manifest(resumed.id).finishedAt)
            resumed = await ask({ resume: resumed.id, maxRequests: limit, given: new Set() });
          expect({ ...resumed, id: "", trials: resumed.trials() }).toEqual({
            ...whole,
            id: "",
            trials: whole.trials(),
          });
          made.write("evals/files.json", suite("files", cases.toReversed(), trials));
          const reversed = await ask({});
          const placed = (list: readonly { line: number }[]) => list.map(({ line: _, ...one }) => one);
          expect(placed(reversed.cases)).toEqual(placed(whole.cases));
          expect(reversed.trials()).toEqual(whole.trials());
        },
      ),
      { numRuns: isLong ? 300 : 6 },
    );
  });

  it("run a check as a whole in one shard, and reach its verdict in the merged run", async () => {
    const made = project();
    made.write("evals/other.json", suite("other", [0, 1, 2], 2));
    const { model, asked } = await endpoint((body: MessagesBody) => {
      const said = JSON.stringify(body.messages);
      const isChanged = body.tools?.some(({ description }) => description === "Reads a file.") ?? false;
      const tool = said.includes("notes")
        ? isChanged
          ? "move"
          : "read"
        : said.includes("entries")
          ? "list"
          : undefined;
      return tool === undefined ? { text: "Good morning." } : { calls: [{ name: tool, input: {} }] };
    });
    const options: RunOptions = { ...runDefaults, ...asked, model: [model], concurrency: 2 };
    await run({ ...options, paths: ["evals/files.json"], trials: 5 }, made.io());
    await accept({ baselines: "evals/baselines", out: "reports", force: true }, made.io());
    made.write("tools.json", toolList({ read: "Reads a file." }));
    const { whole, merged } = await bothWays(made, options, 3);
    expect(merged).toEqual(whole);
    expect(merged.code).toBe(1);
    expect(merged.summary.suites[0].verdict).toMatchObject({ kind: "regressed", flagged: [{ case: "read" }] });
  });

  it("mark replies that another shard already had", async () => {
    const made = project();
    made.write("evals/other.json", suite("other", [0, 2, 4], 5));
    let replies = 0;
    const { model, asked } = await endpoint(() => ({ id: `reply-${replies++}`, calls: [{ name: "read", input: {} }] }));
    const options: RunOptions = { ...runDefaults, ...asked, model: [model] };
    await run({ ...options, trials: 5 }, made.io());
    await accept({ baselines: "evals/baselines", out: "reports", force: true }, made.io());
    made.write("tools.json", toolList({ read: "Reads a file." }));
    for (const shard of ["1/2", "2/2"]) {
      // As a cache in front of the model does, which each shard asks from the beginning.
      replies = 0;
      const io = made.io();
      await run({ ...options, shard, out: `shards/${shard[0]}/reports` }, io);
      expect(JSON.parse(io.printed())).toMatchObject({ shard, broken: 0 });
      expect(replies).toBeGreaterThan(0);
    }
    const io = made.io();
    await merge({ ...mergeDefaults, runs: ["shards"] }, io);
    const copied = made.trials(JSON.parse(io.printed()).run).filter(({ copy }) => copy);
    expect(new Set(copied.map(({ cell }) => cell.suite)).size).toBe(1);
    const ids = copied.map(({ turns }) => turns[0]?.responseId);
    expect(ids.length).toBeGreaterThan(0);
    expect(new Set(ids).size).toBe(ids.length);
  });

  it("add one night, in the file of the nights here", async () => {
    const made = project();
    const { model, asked } = await endpoint(() => ({ calls: [{ name: "read", input: {} }] }));
    const options: RunOptions = { ...runDefaults, ...asked, model: [model] };
    await run({ ...options, trials: 5 }, made.io());
    await accept({ baselines: "evals/baselines", out: "reports", force: true }, made.io());
    for (const shard of ["1/2", "2/2"])
      await run({ ...options, nightly: true, shard, out: `shards/${shard[0]}` }, made.io());
    const io = made.io();
    await merge({ ...mergeDefaults, runs: ["shards/1", "shards/2"] }, io);
    expect(JSON.parse(io.printed()).suites[0].drift).toMatchObject({ nightly: true, uncounted: null });
  });

  it("say what is recorded, and that nothing is decided, before they are merged", async () => {
    const made = project();
    const io = made.io();
    expect(await run({ ...runDefaults, json: false, seed: 7, shard: "1/2" }, io)).toBe(0);
    const [id = ""] = made.records();
    expect(io.printed()).toBe(
      `Shard 1/2: 2 trials recorded, 0 broken. Nothing is decided yet.\nRecord: ${join(made.dir, "reports", id)}\n` +
        "Next: when all shards are complete, `evals merge <their folders>`.\n",
    );
  });

  it("are summed up in the step summary and the comment of a workflow", async () => {
    const made = project();
    for (const shard of ["1/2", "2/2"])
      await run({ ...runDefaults, seed: 7, shard, out: `shards/${shard[0]}` }, made.io());
    const file = join(made.dir, "step.md");
    const io = made.io({ env: { GITHUB_STEP_SUMMARY: file } });
    await merge({ ...mergeDefaults, json: false, reporter: ["github"], runs: ["shards"] }, io);
    const summary = readFileSync(file, "utf8");
    expect(summary).toContain("#### files · lexical-2");
    expect(readFileSync(join(made.dir, "reports/last-result/comment.md"), "utf8")).toContain(summary.trimEnd());
  });

  it("refuse anything but all shards of one run, each once and complete", async () => {
    const made = project();
    const shard = async (text: string, changes: Partial<RunOptions> = {}, out = text.replace("/", "of")) => {
      await run({ ...runDefaults, seed: 7, shard: text, out, ...changes }, made.io());
      return out;
    };
    const refusal = async (...runs: string[]) => {
      const error = await merge({ ...mergeDefaults, runs }, made.io()).catch((thrown) => thrown);
      return String(error.message).replace(/\d{4}-\d\d-\d\dT[\d-]+/g, "ID");
    };
    const [one, two] = [await shard("1/2"), await shard("2/2")];
    const foreign = await shard("2/2", { seed: 8 }, "foreign");
    const other = await shard("1/3");
    await run({ ...runDefaults, seed: 7, out: "plain" }, made.io());
    made.write("tools.json", toolList({ read: "Reads a file." }));
    const changed = await shard("2/2", {}, "changed");
    cpSync(join(made.dir, two), join(made.dir, "again"), { recursive: true });
    const edit = (folder: string, change: (text: string) => string, name: string) => {
      cpSync(join(made.dir, two), join(made.dir, folder), { recursive: true });
      const [id = ""] = readdirSync(join(made.dir, folder));
      const file = join(made.dir, folder, id, name);
      writeFileSync(file, change(readFileSync(file, "utf8")));
      return folder;
    };
    const open = edit("open", (text) => JSON.stringify({ ...JSON.parse(text), finishedAt: undefined }), "run.json");
    expect([
      await refusal(one),
      await refusal(one, two, "again"),
      await refusal(one, foreign),
      await refusal(one, changed),
      await refusal(one, other),
      await refusal("plain"),
      await refusal(one, open),
      await refusal("nowhere"),
    ]).toMatchSnapshot();
    expect(await merge({ ...mergeDefaults, runs: [one, two] }, made.io())).toBe(0);
  });

  it("refuse flags that need a whole run", async () => {
    const made = project();
    const refusal = async (changes: Partial<RunOptions>) =>
      (await run({ ...runDefaults, ...changes }, made.io()).catch((thrown) => thrown)).message;
    expect([
      await refusal({ shard: "1/2" }),
      await refusal({ shard: "0/2", seed: 7 }),
      await refusal({ shard: "3/2", seed: 7 }),
      await refusal({ shard: "half", seed: 7 }),
      await refusal({ shard: "1/2", seed: 7, accept: true }),
      await refusal({ shard: "1/2", seed: 7, blame: true }),
    ]).toMatchSnapshot();
  });
});

it("distributes the cases of every trial evenly, and all arms of a case to one shard", () => {
  const manifest = {
    models: [{ id: "a" }, { id: "b" }],
    suites: [{ name: "s", cases: Array.from({ length: 10 }, (_, at) => ({ id: `c${at}` })) }],
  } as unknown as RunManifest;
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 12 }), fc.integer({ min: 1, max: 9 }), (count, trial) => {
      const { cell } = assignShards(manifest, count);
      for (const model of ["a", "b"]) {
        const shares = Array.from({ length: count }, () => 0);
        for (const { id } of manifest.suites[0]?.cases ?? []) {
          const index = cell({ suite: "s", case: id, arm: "head", model, trial });
          expect(cell({ suite: "s", case: id, arm: "without", model, trial })).toBe(index);
          shares[index - 1] = (shares[index - 1] ?? 0) + 1;
        }
        expect(Math.max(...shares) - Math.min(...shares)).toBeLessThanOrEqual(1);
      }
    }),
  );
  expect(parseShard(" 2/5")).toEqual({ index: 2, count: 5 });
});

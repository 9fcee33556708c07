import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { runSummarySchema } from "../../../src/evals/base/types/run.ts";
import { accept } from "../../../src/evals/experiments/baseline/accept.ts";
import { run } from "../../../src/evals/experiments/run/run.ts";
import { variants } from "../../../src/evals/experiments/variants/ask.ts";
import { endpoint, experimentDefaults, filesSuite, list, project, read, runDefaults, toolList } from "./project.ts";

const wordings = { variants: { vague: { read: "Does something." }, plain: { move: "Moves one file." } } };
const foreign = Array.from({ length: 4 }, (_, index) => ({
  name: `other_${index}`,
  description: "Reads the text of one file.",
  inputSchema: { type: "object" },
}));

describe("evals variants", () => {
  const defaults = { ...experimentDefaults, margin: 0.1, baselines: "evals/baselines" };
  const options = { ...defaults, file: "wordings.json" };

  it("asks each wording once on a deterministic model, and says which to keep", async () => {
    const { io, manifest, trials } = project({ "wordings.json": wordings });
    const world = io();
    expect(await variants(options, world)).toBe(0);
    const result = JSON.parse(world.printed());
    expect(result).toMatchObject({ kind: "keep", suite: "files", method: "deterministic", winner: null });
    expect(manifest(result.run)).toMatchObject({
      experiment: { command: "variants", arms: [{ name: "incumbent" }, { name: "vague" }, { name: "plain" }] },
      flags: { file: "wordings.json", margin: 0.1, model: "lexical" },
      totals: { trials: trials(result.run).length, missing: 0, broken: 0 },
    });
    expect(manifest(result.run).flags).not.toHaveProperty("write");
  });

  it("exits with 1 when there is no winner to write", async () => {
    const { dir, io } = project({ "wordings.json": wordings });
    const world = io();
    expect(await variants({ ...options, output: "won.json" }, world)).toBe(1);
    expect(world.warned()).toContain("No wording won, so no variants file was written.");
    expect(existsSync(join(dir, "won.json"))).toBe(false);
  });

  it("shows other names to the model, and records its calls under those of the server", async () => {
    const schema = { type: "object", properties: { path: { type: "string" } }, required: ["path"] };
    const own = { name: "read", description: "Reads the text of one file.", inputSchema: schema };
    const { io, trials } = project({
      "tools.json": [own, ...toolList().slice(1)],
      "wordings.json": { variants: { other: { read: { name: "open_file", parameters: { path: { name: "file" } } } } } },
    });
    const { model, asked } = await endpoint((body) => {
      const isRenamed = body.tools?.some(({ name }) => name === "open_file");
      const isForgetful = JSON.stringify(body.messages).includes("entries");
      return isRenamed && !isForgetful
        ? { calls: [{ name: "open_file", input: { file: "notes.txt" } }] }
        : { calls: [{ name: "read", input: { path: "notes.txt" } }] };
    });
    const world = io();
    await variants({ ...options, ...asked, model, case: ["read", "list"] }, world);
    const { run, best } = JSON.parse(world.printed());
    const calls = trials(run).map(({ cell, turns, verdict }) => {
      const [call] = turns[0]?.calls ?? [];
      return `${cell.arm} ${cell.case}: ${call?.tool} ${JSON.stringify(call?.arguments)} ${verdict?.selection}`;
    });
    expect([...new Set(calls)].sort()).toEqual([
      'incumbent list: read {"path":"notes.txt"} wrong-tool',
      'incumbent read: read {"path":"notes.txt"} right-tool',
      'other list: read (renamed) {"path":"notes.txt"} unknown-tool',
    ]);
    expect(best).toMatchObject({
      changes: [
        { label: "read: name", before: "read", after: "open_file" },
        { label: "read.path: name", before: "path", after: "file" },
      ],
      renamings: [
        {
          breaks: [
            "read was renamed to open_file: calls of the old name fail.",
            "read.path was removed.",
            "read.file is new and required: calls that were valid before now fail.",
          ],
        },
      ],
    });
  });

  it("resumes with the recorded file, and refuses when its content changed", async () => {
    const { io, write } = project({ "wordings.json": wordings });
    const world = io();
    await variants(options, world);
    const again = io();
    expect(await variants({ ...defaults, margin: 0.5, resume: "latest" }, again)).toBe(0);
    expect(again.printed()).toBe(world.printed());
    write("wordings.json", { variants: { vague: { read: "Does another thing." } } });
    await expect(variants({ ...defaults, resume: "latest" }, io())).rejects.toThrow(
      "its wordings, sizes or trials changed",
    );
    await expect(variants(defaults, io())).rejects.toThrow("There is no variants file.");
  });

  it("takes the cases with room from the accepted baseline, and keeps them for a resumed record", async () => {
    const { io, manifest } = project({ "wordings.json": wordings });
    const { asked } = await endpoint(() => ({ calls: [{ name: "read", input: {} }] }));
    const { model, ...request } = asked;
    const runOptions = { ...runDefaults, ...request, model: [model], trials: 4 };
    await run(runOptions, io());
    await accept({ baselines: "evals/baselines", out: "reports", force: true }, io());
    const world = io();
    expect(await variants({ ...options, ...asked, case: ["read"] }, world)).toBe(0);
    const result = JSON.parse(world.printed());
    expect(result).toMatchObject({ kind: "keep", method: "sampled", calls: { made: 0 } });
    expect(result.verdict).toMatchObject({ because: "no-room" });
    expect(result.reason).toBe("Every case passes already, so no wording can be better.");
    expect(manifest(result.run).experiment?.setup).toMatchObject({ bank: { read: { passed: 4, trials: 4 } } });
  });
});

describe("evals run --distractors", () => {
  const crowded = filesSuite([read, list], { distractors: [{ tools: "../foreign.json" }] });

  it("asks every case with each number of distractors, and compares them", async () => {
    const { io, manifest, trials } = project({ "foreign.json": foreign, "evals/files.json": crowded });
    const world = io();
    await run({ ...runDefaults, distractors: "0,4" }, world);
    const [suite] = runSummarySchema.parse(JSON.parse(world.printed())).suites;
    expect(suite?.totals).toMatchObject({ trials: 4, missing: 0 });
    expect(suite?.arms).toMatchObject([
      {
        axis: "distractors",
        arms: [
          { arm: "head", name: "distractors-0", passed: 2, foreign: [] },
          {
            name: "distractors-4",
            passed: 1,
            foreign: [{ expected: "read", n: 1 }],
            against: { verdict: "worse", fell: [{ case: "read" }], p: null },
          },
        ],
      },
    ]);
    const { run: id } = JSON.parse(world.printed());
    expect(manifest(id)).toMatchObject({
      suites: [{ arms: { axis: "distractors", first: "distractors-0", others: [{ name: "distractors-4" }] } }],
      flags: { distractors: "0,4" },
    });
    expect(new Set(trials(id).map(({ toolset }) => toolset)).size).toBe(2);
    const resumed = io();
    await run({ ...runDefaults, resume: id }, resumed);
    expect(JSON.parse(resumed.printed())).toEqual(JSON.parse(world.printed()));
  });

  it("compares along one axis", async () => {
    const { io } = project({ "foreign.json": foreign, "evals/files.json": crowded });
    const asked = run({ ...runDefaults, distractors: "0,4", exposure: "all,names" }, io());
    await expect(asked).rejects.toThrow("A run compares along one axis, and has several exposures and --distractors.");
  });
});

describe("an experiment that is stopped", () => {
  const options = { ...experimentDefaults, margin: 0.1, baselines: "evals/baselines", file: "wordings.json" };

  it("stops at a signal, and is resumed to its result", async () => {
    const { io, manifest, trials } = project({ "wordings.json": wordings });
    const stopped = io();
    const { started, asked } = await endpoint((_body, index) => {
      if (index === 2) stopped.stop();
      return undefined;
    });
    expect(await variants({ ...options, ...asked, case: ["read"] }, stopped)).toBe(130);
    const { run: id } = JSON.parse(stopped.printed());
    expect(manifest(id).finishedAt).toBeUndefined();
    expect(trials(id).some(({ outcome }) => outcome.kind === "broken")).toBe(true);

    const resumed = io();
    await variants({ ...experimentDefaults, ...options, resume: id, baseUrl: started.url }, resumed);
    expect(JSON.parse(resumed.printed())).toMatchObject({ run: id });
    expect(trials(id).some(({ outcome }) => outcome.kind === "broken")).toBe(false);
    expect(manifest(id)).toMatchObject({ totals: { missing: 0, broken: 0 }, finishedAt: expect.any(String) });
  });

  it("exits with 3 when the budget ends before there is a result", async () => {
    const { io, manifest } = project({ "wordings.json": wordings });
    const { asked } = await endpoint();
    const world = io();
    expect(await variants({ ...options, ...asked, budget: 2 }, world)).toBe(3);
    const result = JSON.parse(world.printed());
    expect(result).toMatchObject({ kind: "inconclusive", costUsd: expect.closeTo(2, 2) });
    expect(manifest(result.run).totals).toMatchObject({ trials: 4, costUsd: expect.closeTo(2, 2) });
  });
});

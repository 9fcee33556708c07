import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import type { ReporterInput } from "../../src/evals/base/types/custom.ts";
import { makeFolder } from "../fakes/folder.ts";
import { failed, manifest, skills } from "./samples.ts";
import { listSarifFaults } from "./sarif.ts";

// The examples of custom reporters, with the input that --reporter gives them.

const examples = join(import.meta.dirname, "../../examples/reporters");
const dir = makeFolder();

const report = async (name: string, input: Omit<ReporterInput, "dir">) =>
  (await import(join(examples, name))).default({ ...input, dir });
const json = (file: string) => JSON.parse(readFileSync(join(dir, file), "utf8"));

it("write a badge", async () => {
  await report("badge.mjs", { summary: failed, manifest });
  expect(json("badge.json")).toMatchSnapshot();
});

it("write SARIF", async () => {
  await report("sarif.mjs", { summary: failed, manifest });
  expect(listSarifFaults(json("run.sarif"))).toEqual([]);
  expect(json("run.sarif").runs[0].results[0].message.text).toMatchInlineSnapshot(`
    "read-head (lexical): 2 of 5 trials passed.
    calls read_text_file: called read_multiple_files"
  `);
});

describe("the workspace of skill-creator", () => {
  const usage = { inputTokens: 100, outputTokens: 20, cacheReadTokens: 30, cacheWriteTokens: 0 };
  const met = { what: "behavior: says hello", met: "yes", evidence: 'Hello, "you"' };
  const notMet = { what: "behavior: asks", met: "no", why: "the judge: It asks nothing." };
  const open = { what: "behavior: is brief", met: "unknown" };
  const trial = (arm: string, number: number, checks: object[]) => ({
    cell: { suite: "s", case: "hello", arm, model: "custom:m", trial: number },
    outcome: { kind: "answered" },
    turns: [{ text: "Here.", calls: [{ tool: "read", arguments: {} }], usage, ms: 1250 }],
    startedAt: "2026-11-21T09:30:01.000Z",
    verdict: { checks },
  });

  const location = {
    hash: "h",
    expectedTools: [],
    toolset: "t",
    trials: 2,
    passRate: 0.8,
    maxTurns: 1,
  };
  beforeAll(async () => {
    const trials = [trial("head", 1, [met]), trial("head", 2, [met, notMet]), trial("without", 1, [notMet, open])];
    writeFileSync(
      join(dir, "trials.jsonl"),
      [...trials, trial("without", 2, [open])].map((one) => `${JSON.stringify(one)}\n`).join(""),
    );
    const [model] = manifest.models;
    const [suite] = manifest.suites;
    if (!model || !suite) throw new Error("the sample has a model and a suite");
    const cases = [{ ...location, id: "hello", input: "Hi", expected: "(behavior)", file: "evals.json", line: 1 }];
    const suites = [{ ...suite, name: "s", lift: "greet", file: "skills/greet/evals/evals.json", cases }];
    await report("skillCreator.mjs", {
      summary: skills,
      manifest: { ...manifest, models: [{ ...model, id: "custom:m" }], suites },
    });
  });

  it("has the graded runs and their statistics in benchmark.json", () => {
    const { metadata, runs, run_summary: rates } = json("skill-creator/greet/custom-m/benchmark.json");
    expect(metadata).toMatchObject({ skill_name: "greet", skill_path: "skills/greet", evals_run: [1] });
    expect(
      runs.map((one: { configuration: string; result: object; notes: string[] }) => [
        one.configuration,
        one.result,
        one.notes,
      ]),
    ).toEqual([
      ["with_skill", { passed: 1, failed: 0, total: 1, pass_rate: 1, time_seconds: 1.25, tokens: 150 }, []],
      ["with_skill", { passed: 1, failed: 1, total: 2, pass_rate: 0.5, time_seconds: 1.25, tokens: 150 }, []],
      [
        "without_skill",
        { passed: 0, failed: 1, total: 1, pass_rate: 0, time_seconds: 1.25, tokens: 150 },
        ["not graded: is brief"],
      ],
    ]);
    expect(rates).toMatchObject({ with_skill: { pass_rate: { mean: 0.75 } }, delta: { pass_rate: "+0.75" } });
  });

  it("has the files of each run where the viewer looks for them, without a grading where nothing was graded", () => {
    const run = (name: string) => readdirSync(join(dir, "skill-creator/greet/custom-m/eval-1", name)).sort();
    expect(run("with_skill")).toEqual(["eval_metadata.json", "run-1", "run-2"]);
    expect(run("with_skill/run-1")).toEqual(["grading.json", "outputs", "timing.json"]);
    expect(run("without_skill/run-2")).toEqual(["outputs", "timing.json"]);
    expect(json("skill-creator/greet/custom-m/eval-1/with_skill/run-2/grading.json").expectations).toEqual([
      { text: "says hello", passed: true, evidence: '"Hello, \\"you\\""' },
      { text: "asks", passed: false, evidence: "the judge: It asks nothing." },
    ]);
  });
});

import { describe, expect, it } from "vitest";
import type { RunManifest } from "../../../src/evals/base/types/run.ts";
import type { Assertion, Execution, Trial, Turn } from "../../../src/evals/base/types/trial.ts";
import {
  benchmarkRun,
  evalMetadata,
  findPlace,
  listPlaces,
  listWorkspaces,
  makeBenchmark,
  runFiles,
} from "../../../src/evals/experiments/reporting/skillCreatorReport.ts";
import { manifest, skills } from "../../reports/samples.ts";

const name = "skill:release-notes behaviour";

/** A run that measures the effect of a skill, with two trials per case. */
function lifting(ids: readonly string[], lift = "release-notes", suite = name): RunManifest["suites"][number] {
  const cases = ids.map((id) => ({
    ...{ id, hash: "x", input: `Query ${id}`, expected: "(behaviour)", expectedTools: [], toolset: "x" },
    ...{ trials: 2, passRate: 0.8, maxTurns: 12, file: "evals/skills/release-notes/evals/evals.json", line: 3 },
  }));
  const file = "evals/skills/release-notes/evals/evals.json";
  return { name: suite, file, hash: "x", execute: "safe", isolate: "run", lift, cases };
}
const runOf = (...suites: RunManifest["suites"]): RunManifest => ({ ...manifest, suites });

const turn = (given: Partial<Turn>): Turn => ({
  text: "",
  calls: [],
  stop: "done",
  usage: { inputTokens: 100, outputTokens: 20, cacheReadTokens: 30, cacheWriteTokens: 0 },
  ms: 1250,
  ...given,
});

const trial = (given: Partial<Trial> & { checks?: Assertion[] }): Trial => {
  const { checks, ...rest } = given;
  return {
    cell: { suite: name, case: "notes-for-1-2-0", arm: "head", model: "anthropic:claude-sonnet-5-5", trial: 1 },
    toolset: "x",
    orderSeed: 1,
    outcome: { kind: "answered" },
    turns: [turn({ text: "Here they are." })],
    ...(checks && {
      verdict: { grade: "fail", selection: "right-tool", expected: "(behaviour)", picked: "(none)", checks },
    }),
    costUsd: 0.01,
    startedAt: "2026-11-21T09:30:01.000Z",
    ms: 9999,
    ...rest,
  };
};
const met: Assertion = { what: "behaviour: says hello", met: "yes", evidence: 'Hello, "you"' };
const notMet: Assertion = { what: "behaviour: asks", met: "no", why: "the judge: It asks nothing.", evidence: "Hello" };
const open: Assertion = { what: "behaviour: is brief", met: "unknown", why: "the judge cannot tell: cut" };

describe("skill-creator's workspaces", () => {
  it("has one per measured skill and model, with runs in display order", () => {
    const [lexical, sonnet, ...others] = listWorkspaces(
      runOf(lifting(["3", "7"]), (({ lift: _, ...trigger }) => trigger)(lifting([]))),
    );
    expect(others).toEqual([]);
    expect(lexical?.folder).toBe("skill-creator/release-notes/lexical");
    expect(lexical && listPlaces(lexical).map(({ folder }) => folder)).toEqual([
      "eval-3/with_skill/run-1",
      "eval-3/without_skill/run-1",
      "eval-7/with_skill/run-1",
      "eval-7/without_skill/run-1",
    ]);
    expect(sonnet?.folder).toBe("skill-creator/release-notes/anthropic-claude-sonnet-5-5");
    expect(sonnet && listPlaces(sonnet)).toHaveLength(8);
    const judged = { ...manifest, judge: { model: "j", settings: {} } };
    expect(sonnet && makeBenchmark(sonnet, judged, skills, []).metadata).toEqual({
      skill_name: "release-notes",
      skill_path: "evals/skills/release-notes",
      executor_model: "anthropic:claude-sonnet-5-5",
      analyzer_model: "j",
      timestamp: "2026-11-21T09:30:00.000Z",
      evals_run: [3, 7],
      runs_per_configuration: 2,
    });
  });

  it("finds the place of a trial of this suite and model only", () => {
    const [, sonnet] = listWorkspaces(runOf(lifting(["a-query", "notes-for-1-2-0"])));
    if (!sonnet) throw new Error("no workspace");
    const { cell } = trial({});
    expect(findPlace(sonnet, { ...cell, arm: "without", trial: 2 })?.folder).toBe("eval-2/without_skill/run-2");
    expect(findPlace(sonnet, cell)).toMatchObject({ configuration: "with_skill", eval: { name: "notes-for-1-2-0" } });
    expect(findPlace(sonnet, { ...cell, suite: "skill:release-notes" })).toBeUndefined();
    expect(findPlace(sonnet, { ...cell, model: "lexical" })).toBeUndefined();
    const [one] = sonnet.evals;
    expect(one && evalMetadata(one)).toEqual({ eval_id: 1, eval_name: "a-query", prompt: "Query a-query" });
  });

  it.each([
    ["..", "-"],
    ["a/../../b", "a-b"],
    ["日本語 ノート", "日本語-ノート"],
    ["x".repeat(300), "x".repeat(64)],
  ])("keeps the files of a skill named %j inside of the run's folder", (skill, folder) => {
    const [workspace] = listWorkspaces(runOf(lifting(["1"], skill)));
    expect(workspace?.folder).toBe(`skill-creator/${folder}/lexical`);
  });

  it("never puts two skills into one folder", () => {
    const all = listWorkspaces(runOf(lifting(["1"], "a b", "one"), lifting(["1"], "A-B", "two")));
    expect(new Set(all.map(({ folder }) => folder.toLowerCase())).size).toBe(4);
  });

  it.each([[["1", "two"]], [["01", "1"]], [["1234567890", "2"]]])("numbers the evals %j by position", (ids) => {
    expect(listWorkspaces(runOf(lifting(ids)))[0]?.evals.map(({ id }) => id)).toEqual([1, 2]);
  });
});

describe("the files of one run", () => {
  it("contains graded expectations, and notes the others", () => {
    const call = { id: "1", tool: "Read", arguments: { file_path: "/a" } };
    const refused: Execution = { status: "executed", ms: 1, result: { isError: true, content: [] } };
    const files = runFiles(
      trial({
        checks: [met, notMet, open],
        turns: [turn({ text: "I look.", calls: [{ ...call, execution: refused }] }), turn({ text: "Hello" })],
        judging: { model: "j", usage: turn({}).usage, costUsd: 0, ms: 400 },
      }),
    );
    expect(files).toEqual({
      grading: {
        expectations: [
          { text: "says hello", passed: true, evidence: '"Hello, \\"you\\""' },
          { text: "asks", passed: false, evidence: 'the judge: It asks nothing. "Hello"' },
        ],
        summary: { passed: 1, failed: 1, total: 2, pass_rate: 0.5 },
        execution_metrics: { tool_calls: { Read: 1 }, total_tool_calls: 1, total_steps: 2, errors_encountered: 1 },
        user_notes_summary: {
          uncertainties: [],
          needs_review: ["not graded: is brief (the judge cannot tell: cut)"],
          workarounds: [],
        },
      },
      timing: {
        total_tokens: 300,
        duration_ms: 2500,
        total_duration_seconds: 2.5,
        executor_start: "2026-11-21T09:30:01.000Z",
        executor_duration_seconds: 2.5,
        grader_duration_seconds: 0.4,
      },
      output: 'I look.\n\n-> Read {"file_path":"/a"}\n\nHello\n',
    });
  });

  it("have no grading if nothing was graded", () => {
    expect(runFiles(trial({ checks: [open] })).grading).toBeUndefined();
    expect(runFiles(trial({ checks: [] })).grading).toBeUndefined();
    expect(runFiles(trial({})).grading).toBeUndefined();
    const broken = trial({ outcome: { kind: "broken", stage: "timeout", message: "120 s" }, turns: [] });
    expect(runFiles(broken)).toMatchObject({ output: "(broken, timeout: 120 s)\n", timing: { total_tokens: 0 } });
    expect(runFiles(broken).grading).toBeUndefined();
    expect(runFiles(trial({ turns: [turn({})] })).output).toBe("(no output)\n");
  });
});

describe("the benchmark", () => {
  const [, workspace] = listWorkspaces(runOf(lifting(["notes-for-1-2-0"])));
  if (!workspace) throw new Error("no workspace");
  const told = { ...skills, suites: skills.suites.map((suite) => ({ ...suite, model: workspace.model })) };
  const benchmarkOf = (trials: readonly Trial[]) => {
    const graded = trials.flatMap((one) => {
      const place = findPlace(workspace, one.cell);
      const { grading, timing } = runFiles(one);
      return place && grading ? [benchmarkRun(place, grading, timing)] : [];
    });
    return makeBenchmark(workspace, manifest, told, graded);
  };
  const at = (arm: string, number: number, checks: Assertion[], ms = 1250) => {
    const { cell } = trial({});
    return trial({ cell: { ...cell, arm, trial: number }, checks, turns: [turn({ ms })] });
  };

  it("has the exact field names, means and sample deviations", () => {
    const { runs, run_summary, notes } = benchmarkOf([
      at("head", 1, [met, met]),
      at("head", 2, [met, notMet], 2000),
      at("without", 1, [notMet, open]),
    ]);
    expect(runs[0]).toEqual({
      eval_id: 1,
      eval_name: "notes-for-1-2-0",
      configuration: "with_skill",
      run_number: 1,
      result: {
        ...{ pass_rate: 1, passed: 2, failed: 0, total: 2 },
        ...{ time_seconds: 1.25, tokens: 150, tool_calls: 0, errors: 0 },
      },
      expectations: Array(2).fill({ text: "says hello", passed: true, evidence: '"Hello, \\"you\\""' }),
      notes: [],
    });
    expect(runs[2]).toMatchObject({ configuration: "without_skill", result: { pass_rate: 0, passed: 0, total: 1 } });
    expect(run_summary).toEqual({
      with_skill: {
        pass_rate: { mean: 0.75, stddev: 0.3536, min: 0.5, max: 1 },
        time_seconds: { mean: 1.625, stddev: 0.5303, min: 1.25, max: 2 },
        tokens: { mean: 150, stddev: 0, min: 150, max: 150 },
      },
      without_skill: {
        pass_rate: { mean: 0, stddev: 0, min: 0, max: 0 },
        time_seconds: { mean: 1.25, stddev: 0, min: 1.25, max: 1.25 },
        tokens: { mean: 150, stddev: 0, min: 150, max: 150 },
      },
      delta: { pass_rate: "+0.75", time_seconds: "+0.4", tokens: "+0" },
    });
    expect(notes).toMatchInlineSnapshot(`
      [
        "Lift +60 pp (95% CI +13 to +86 pp) over 1 case: it helps.",
        "The lift counts runs that meet all of their expectations; the pass rates are shares of expectations.",
        "Left out of the rates: 1 expectation that could not be graded.",
        "Left out of all figures: 1 run of 4, not graded, broken or missing.",
        "anthropic:claude-opus-5-5: agreement with people not measured (see \`evals judge check\`)",
      ]
    `);
  });

  it("omits a configuration without graded runs, and the difference", () => {
    const { run_summary } = benchmarkOf([at("head", 1, [notMet]), at("without", 1, [open])]);
    expect(Object.keys(run_summary)).toEqual(["with_skill"]);
    expect(benchmarkOf([]).run_summary).toEqual({});
  });

  it("signs a loss", () => {
    const { run_summary } = benchmarkOf([at("head", 1, [notMet]), at("without", 1, [met], 4000)]);
    expect(run_summary.delta).toEqual({ pass_rate: "-1.00", time_seconds: "-2.8", tokens: "+0" });
  });
});

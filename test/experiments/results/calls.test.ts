import { describe, expect, it } from "vitest";
import { createGrader } from "../../../src/evals/asking/scoring/score.ts";
import type { Call, Execution, Score, Trial, Turn } from "../../../src/evals/base/types/trial.ts";
import { ConfusionGrowth, DenialTally, MissTally } from "../../../src/evals/experiments/results/calls.ts";
import { call, caseOf, expectCalls, expectTool, toolsetOf, turn } from "../../asking/scoring/make.ts";
import { aTrial, passed } from "../../fakes/record.ts";

it("lists substitutions that got more frequent, apart from confusions", () => {
  const growth = new ConfusionGrowth("base", "head");
  const substituted: Score = { ...passed, picked: "list", substituted: ["list"] };
  const missed: Score = { ...passed, grade: "fail", selection: "wrong-tool", picked: "list" };
  const add = (arm: string, ...verdicts: Score[]) => {
    for (const [at, verdict] of verdicts.entries()) {
      const trial = aTrial("a", at + 1, { verdict });
      growth.add({ ...trial, cell: { ...trial.cell, arm } });
    }
  };
  add("base", passed, passed, passed, substituted);
  add("head", substituted, substituted, missed, passed);
  const counts = (base: number, head: number) => ({
    base: { passed: base, trials: 4 },
    head: { passed: head, trials: 4 },
  });
  expect(growth.pairs()).toEqual([
    { expected: "read", picked: "list", acceptable: true, ...counts(1, 2) },
    { expected: "read", picked: "list", ...counts(0, 1) },
  ]);
});

const inputSchema = {
  type: "object",
  properties: { path: { type: "string" }, head: { type: "integer" } },
  required: ["path"],
  additionalProperties: false,
};
const toolset = toolsetOf([
  { name: "read", inputSchema, description: "Read a note that `search` found." },
  { name: "search" },
  { name: "list" },
]);
const expectation = expectTool({ tools: ["read"], args: { path: "a", head: { $absent: true } } });

/** The summary of trials with these turns, graded as a run grades them. */
function summarize(trials: readonly Turn[][], expected: Parameters<typeof caseOf>[0] = expectation) {
  const tally = new MissTally();
  const grade = createGrader(caseOf(expected), toolset);
  for (const [at, turns] of trials.entries())
    tally.add(aTrial("a", at + 1, { turns, verdict: grade(turns) }), toolset.tools);
  return tally.summary();
}

describe("why trials missed", () => {
  it("is nothing where all passed", () => {
    expect(summarize([[turn(call("read", { path: "a" }))]])).toBeUndefined();
  });

  it("counts wrong arguments of right picks by parameter", () => {
    const args = [{ path: "a" }, { path: "b" }, {}, { path: 1 }, { path: "a", tail: 1 }, { path: "a", head: 2 }];
    expect(summarize(args.map((given) => [turn(call("read", given))]))).toEqual({
      tools: [{ expected: "read", trials: 6, picked: 6, passed: 1, wrongArguments: 5, reachedLater: 0, instead: [] }],
      parameters: [
        { tool: "read", parameter: "path", missing: 1, wrongType: 1, wrongValue: 1, invented: 0 },
        { tool: "read", parameter: "head", missing: 0, wrongType: 0, wrongValue: 0, invented: 1 },
        { tool: "read", parameter: "tail", missing: 0, wrongType: 0, wrongValue: 0, invented: 1 },
      ],
      preconditions: [],
      repeated: [],
    });
  });

  it("counts every parameter that the schema refuses in one call", () => {
    const [made] = [turn(call("read", { head: "x", tail: 1, nose: 2 }))];
    const graded = createGrader(caseOf(expectation), toolset)([made]);
    expect(graded.checks).toMatchObject([{ what: "tool" }, { what: "args (schema)", fault: { parameter: "path" } }]);
    expect(summarize([[made]])?.parameters).toEqual([
      { tool: "read", parameter: "head", missing: 0, wrongType: 1, wrongValue: 0, invented: 0 },
      { tool: "read", parameter: "nose", missing: 0, wrongType: 0, wrongValue: 0, invented: 1 },
      { tool: "read", parameter: "path", missing: 1, wrongType: 0, wrongValue: 0, invented: 0 },
      { tool: "read", parameter: "tail", missing: 0, wrongType: 0, wrongValue: 0, invented: 1 },
    ]);
  });

  it("finds a tool that is reached later, and whether its description names what came before", () => {
    const later = [turn(call("search")), turn(call("list")), turn(call("read", { path: "a" }))];
    const graded = createGrader(caseOf(expectation), toolset)(later);
    expect(graded.checks[0]?.why).toBe(
      "expected read, got search; read was reached later, as call 3 after search, list",
    );
    expect(summarize([later, later, [turn(call("list"))], [turn()]])).toMatchObject({
      tools: [
        {
          ...{ expected: "read", trials: 4, picked: 0, reachedLater: 2 },
          instead: [
            { picked: "search", n: 2 },
            { picked: "(none)", n: 1 },
            { picked: "list", n: 1 },
          ],
        },
      ],
      preconditions: [
        { tool: "read", before: "list", named: false, n: 2 },
        { tool: "read", before: "search", named: true, n: 2 },
      ],
    });
  });

  it("counts calls that are repeated after a denial or an error", () => {
    const denied: Execution = { status: "skipped", reason: "execute: never" };
    const failed: Execution = { status: "executed", ms: 1, result: { isError: true, content: [] } };
    const turns = [
      turn(call("list", {}, denied)),
      turn(call("list", {}, denied), call("list", { q: 1 }, failed)),
      turn(call("list", { q: 1 }, failed), call("search")),
      turn(call("search")),
    ];
    expect(summarize([turns], expectCalls([{ tools: ["read"] }]))).toMatchObject({
      repeated: [
        { tool: "list", after: "denial", n: 1 },
        { tool: "list", after: "error", n: 1 },
      ],
    });
  });

  it("has the faults of several calls and of user turns too", () => {
    const calls = expectCalls([{ tools: ["search"] }, { tools: ["read"], args: { path: "a" } }]);
    const made = [turn(call("search")), turn(call("read", { path: "b" }))];
    expect(summarize([made], calls)?.parameters).toMatchObject([{ tool: "read", parameter: "path", wrongValue: 1 }]);
  });
});

const denied = (tool: string, args = {}): Call => ({
  ...{ id: tool, tool, arguments: args },
  execution: { status: "skipped", reason: "no", denied: true },
});
const done = (tool: string): Call => ({
  ...{ id: tool, tool, arguments: {} },
  execution: { status: "executed", result: { isError: false, content: [] }, ms: 1 },
});
const search: Call = { ...done("find_tools"), role: "search" };

function tally(...trials: Call[][][]) {
  const counts = new DenialTally();
  for (const [at, replies] of trials.entries()) {
    const { turns } = aTrial("a", at + 1);
    const turn = turns[0] as Turn;
    const trial: Partial<Trial> = { turns: replies.map((calls) => ({ ...turn, calls })) };
    counts.add(aTrial("a", at + 1, trial));
  }
  return counts.summary();
}

it("says nothing where no call was denied, nor of calls that were skipped for another reason", () => {
  const unknown: Call = { id: "x", tool: "x", execution: { status: "skipped", reason: "there is no tool x" } };
  expect(tally([[done("read")], []], [[unknown], []])).toBeUndefined();
});

it("reads the reply after the first denial", () => {
  const summary = tally(
    [[denied("read", { a: 1 })], [denied("read", { a: 1 })], []],
    [[denied("read", { a: 1 })], [denied("read", { a: 2 })]],
    [[denied("read")], [search], [done("list")]],
    [[denied("read")], []],
    [[denied("read")]],
  );
  expect(summary).toEqual({
    ...{ calls: 7, trials: 5, retries: 2 },
    next: { sameCall: 1, otherArguments: 1, otherTool: 1, noCall: 1, ended: 1 },
  });
});

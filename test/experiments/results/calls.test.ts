import { describe, expect, it } from "vitest";
import { createGrader } from "../../../src/evals/asking/scoring/score.ts";
import type { Score, Turn } from "../../../src/evals/base/types/trial.ts";
import { ConfusionGrowth, MissTally } from "../../../src/evals/experiments/results/calls.ts";
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
  for (const [at, turns] of trials.entries()) tally.add(aTrial("a", at + 1, { turns, verdict: grade(turns) }));
  return tally.summary();
}

describe("why trials missed", () => {
  it("is nothing where all passed", () => {
    expect(summarize([[turn(call("read", { path: "a" }))]])).toBeUndefined();
  });

  it("counts wrong arguments of right picks by parameter", () => {
    const args = [{ path: "a" }, { path: "b" }, {}, { path: 1 }, { path: "a", tail: 1 }, { path: "a", head: 2 }];
    expect(summarize(args.map((given) => [turn(call("read", given))]))).toEqual({
      tools: [{ expected: "read", trials: 6, picked: 6, passed: 1, wrongArguments: 5, instead: [] }],
      parameters: [
        { tool: "read", parameter: "path", missing: 1, wrongType: 1, wrongValue: 1, invented: 0 },
        { tool: "read", parameter: "head", missing: 0, wrongType: 0, wrongValue: 0, invented: 1 },
        { tool: "read", parameter: "tail", missing: 0, wrongType: 0, wrongValue: 0, invented: 1 },
      ],
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

  it("counts what was picked instead, also where the tool is reached later", () => {
    const later = [turn(call("search")), turn(call("list")), turn(call("read", { path: "a" }))];
    const graded = createGrader(caseOf(expectation), toolset)(later);
    expect(graded.checks[0]?.why).toBe(
      "expected read, got search; read was reached later, as call 3 after search, list",
    );
    expect(summarize([later, later, [turn(call("list"))], [turn()]])).toMatchObject({
      tools: [
        {
          ...{ expected: "read", trials: 4, picked: 0 },
          instead: [
            { picked: "search", n: 2 },
            { picked: "(none)", n: 1 },
            { picked: "list", n: 1 },
          ],
        },
      ],
    });
  });

  it("has the faults of several calls and of user turns too", () => {
    const calls = expectCalls([{ tools: ["search"] }, { tools: ["read"], args: { path: "a" } }]);
    const made = [turn(call("search")), turn(call("read", { path: "b" }))];
    expect(summarize([made], calls)?.parameters).toMatchObject([{ tool: "read", parameter: "path", wrongValue: 1 }]);
  });
});

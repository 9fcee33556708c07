import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, test } from "vitest";
import { noJudge } from "../../../src/evals/asking/scoring/match.ts";
import { scoreMongodb } from "../../../src/evals/asking/scoring/mongodb.ts";
import { createGrader } from "../../../src/evals/asking/scoring/score.ts";
import type { JsonObject } from "../../../src/evals/base/types/json.ts";
import type { ExpectedCall } from "../../../src/evals/base/types/suite.ts";
import { call, caseOf, expectCalls, toolsetOf, turn } from "./make.ts";

/** What MongoDB's own scorer gave for generated calls: the expected calls, those that were made, and the points. */
type Recorded = [
  expected: { tool: string; args: JsonObject; optional?: true }[],
  made: [tool: string, args: JsonObject][],
  points: number,
];

const recorded = readFileSync(join(import.meta.dirname, "../../fixtures/mongodb/scores.jsonl"), "utf8")
  .trimEnd()
  .split("\n")
  .map((line) => JSON.parse(line) as Recorded);

describe("MongoDB's rules", () => {
  it("give the points of MongoDB's own scorer, whatever is expected and called", () => {
    for (const [expected, made, points] of recorded) {
      const own = scoreMongodb(
        expected.map(({ tool, ...one }): ExpectedCall => ({ tools: [tool], ...one })),
        made.map(([tool, args]) => call(tool, args)),
        noJudge,
      );
      expect({ expected, made, points: own.points }).toEqual({ expected, made, points });
    }
    expect(new Set(recorded.map(([, , points]) => points))).toEqual(new Set([0, 0.75, 1]));
  });

  const toolset = toolsetOf([{ name: "find" }, { name: "count" }]);
  const find: ExpectedCall = { tools: ["find"], args: { db: "test", filter: { $equals: { age: { $gte: 18 } } } } };
  const good = call("find", { db: "test", filter: { age: { $gte: 18 } } });
  const grade = (extras: boolean, ...calls: Parameters<typeof turn>) =>
    createGrader(
      caseOf(expectCalls([find], { order: "any", argsMatch: "mongodb", extras })),
      toolset,
    )([turn(...calls)]);

  test.each([
    ["one point passes", false, [good], "pass", "right-tool", 1],
    ["an additional call is 0.75", false, [call("count"), good], "fail", "several-calls", 0.75],
    ["which passes where extras are allowed", true, [call("count"), good], "pass", "right-tool", 0.75],
    [
      "an additional argument is 0",
      true,
      [call("find", { db: "test", filter: { age: { $gte: 18 } }, limit: 1 })],
      "fail",
      "wrong-arguments",
      0,
    ],
    ["another tool is 0", true, [call("count")], "fail", "wrong-tool", 0],
    ["no call is 0", true, [], "fail", "no-call", 0],
  ] as const)("%s", (_, extras, calls, result, selection, points) => {
    expect(grade(extras, ...calls)).toMatchObject({ grade: result, selection, points });
  });

  it("say what is missing", () => {
    const why = (...calls: Parameters<typeof turn>) =>
      grade(false, ...calls).checks.find(({ met }) => met === "no")?.why;
    expect(why(call("count"))).toBe("expected a call of find, got count");
    expect(why(call("find", { db: "x" }))).toBe("no call of find has the expected arguments; the calls were: find");
    expect(why(good, call("count"))).toBe("expected at most 1 calls, got 2: find + count");
  });
});

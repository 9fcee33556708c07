import fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import { noJudge } from "../../src/evals/scoring/match.ts";
import { scoreMongodb } from "../../src/evals/scoring/mongodb.ts";
import { createGrader } from "../../src/evals/scoring/score.ts";
import type { Json, JsonObject } from "../../src/evals/types/json.ts";
import type { ExpectedCall } from "../../src/evals/types/suite.ts";
import { calculateToolCallingAccuracy, Matcher } from "../fixtures/mongodb/accuracyScorer.ts";
import { call, caseOf, expectCalls, toolsetOf, turn } from "./make.ts";

/** A value as their tests write it, and as a suite does. */
type Both = { theirs: unknown; ours: Json };

const leaf: fc.Arbitrary<Json> = fc.constantFrom<Json[]>(0, 1, "a", "A", "", true, null);
const keys = fc.constantFrom("a", "b", "$gte", "$match", "type");
const json: fc.Arbitrary<Json> = fc.letrec<{ value: Json }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 2, withCrossShrink: true },
    leaf,
    fc.array(tie("value"), { maxLength: 2 }),
    fc.dictionary(keys, tie("value"), { maxKeys: 2 }),
  ),
})).value;

const matchers: fc.Arbitrary<Both> = fc.letrec<{ both: Both }>((tie) => ({
  both: fc.oneof(
    { maxDepth: 2, withCrossShrink: true },
    leaf.map((value) => ({ theirs: value, ours: value })),
    json.map((value) => ({ theirs: value, ours: { $equals: value } })),
    fc.constantFrom<Both[]>(
      { theirs: Matcher.undefined, ours: { $absent: true } },
      { theirs: Matcher.anyValue, ours: { $optional: { $any: true } } },
      { theirs: Matcher.null, ours: { $type: "null" } },
      { theirs: Matcher.number(), ours: { $type: "number" } },
      { theirs: Matcher.number((value) => value >= 1), ours: { $gte: 1 } },
      { theirs: Matcher.boolean(), ours: { $type: "boolean" } },
      { theirs: Matcher.boolean(true), ours: { $equals: true } },
      { theirs: Matcher.string(), ours: { $type: "string" } },
      { theirs: Matcher.caseInsensitiveString("a"), ours: { $ignoreCase: "a" } },
      { theirs: Matcher.emptyObjectOrUndefined, ours: { $anyOf: [null, { $equals: {} }, { $equals: [] }] } },
    ),
    fc.array(tie("both"), { minLength: 1, maxLength: 2 }).map((all) => ({
      theirs: Matcher.anyOf(...all.map(({ theirs }) => Matcher.value(theirs))),
      ours: { $anyOf: all.map(({ ours }) => ours) },
    })),
    tie("both").map(({ theirs, ours }) => ({ theirs: Matcher.not(Matcher.value(theirs)), ours: { $not: ours } })),
    fc.array(tie("both"), { maxLength: 2 }).map((all) => ({
      theirs: all.map(({ theirs }) => theirs),
      ours: all.map(({ ours }) => ours),
    })),
    fc.dictionary(keys, tie("both"), { maxKeys: 2 }).map((members) => ({
      theirs: Object.fromEntries(Object.entries(members).map(([key, { theirs }]) => [key, theirs])),
      ours: { $object: Object.fromEntries(Object.entries(members).map(([key, { ours }]) => [key, ours])) },
    })),
  ),
})).both;

const tools = fc.constantFrom("find", "count", "aggregate");
const parameters = fc.dictionary(fc.constantFrom("db", "filter", "limit"), matchers, { maxKeys: 3 });
const expectedCalls = fc.array(fc.record({ tool: tools, parameters, optional: fc.boolean() }), {
  minLength: 1,
  maxLength: 3,
});
const madeCalls = fc.array(
  fc.record({ tool: tools, args: fc.dictionary(fc.constantFrom("db", "filter", "limit"), json, { maxKeys: 3 }) }),
  { maxLength: 4 },
);

const scoreBoth = (
  expected: readonly { tool: string; parameters: Readonly<Record<string, Both>>; optional: boolean }[],
  made: readonly { tool: string; args: JsonObject }[],
) => {
  const members = (all: Readonly<Record<string, Both>>, side: keyof Both) =>
    Object.fromEntries(Object.entries(all).map(([key, both]) => [key, both[side]]));
  const theirs = calculateToolCallingAccuracy(
    expected.map((one) => ({
      toolName: one.tool,
      parameters: members(one.parameters, "theirs"),
      optional: one.optional,
    })),
    made.map(({ tool, args }, at) => ({ toolCallId: `${at}`, toolName: tool, parameters: args })),
  );
  const ours = scoreMongodb(
    expected.map((one): ExpectedCall => {
      const args = members(one.parameters, "ours") as JsonObject;
      return { tools: [one.tool], args, ...(one.optional && { optional: true }) };
    }),
    made.map(({ tool, args }) => call(tool, args)),
    noJudge,
  ).points;
  return { theirs, ours };
};

describe("MongoDB's rules", () => {
  it("give the points of MongoDB's own scorer, whatever is expected and called", () => {
    const seen = new Set<number>();
    fc.assert(
      fc.property(expectedCalls, madeCalls, (expected, made) => {
        const { theirs, ours } = scoreBoth(expected, made);
        seen.add(theirs);
        expect(ours).toBe(theirs);
      }),
      { numRuns: 3_000 },
    );
    expect([...seen].sort()).toEqual([0, 0.75, 1]);
  });

  it("give the same on arguments that are nearly what is expected", () => {
    const withEcho = fc.tuple(json, json).chain(([value, other]) =>
      fc.tuple(
        fc.constantFrom<Both[]>(
          { theirs: value, ours: { $equals: value } },
          { theirs: Matcher.anyOf(Matcher.undefined, Matcher.value(value)), ours: { $optional: { $equals: value } } },
          {
            theirs: [value, Matcher.anyOf(Matcher.undefined, Matcher.anyValue)],
            ours: [{ $equals: value }, { $optional: { $any: true } }],
          },
        ),
        fc.constantFrom<Json[]>(value, other, [value], [value, other], { a: value }),
      ),
    );
    fc.assert(
      fc.property(withEcho, ([filter, made]) => {
        const { theirs, ours } = scoreBoth(
          [{ tool: "find", parameters: { filter }, optional: false }],
          [{ tool: "find", args: { filter: made } }],
        );
        expect(ours).toBe(theirs);
      }),
      { numRuns: 2_000 },
    );
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

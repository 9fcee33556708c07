import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { findImports } from "../../src/evals/imports/find.ts";
import { createGrader } from "../../src/evals/scoring/score.ts";
import { loadInlineSuites } from "../../src/evals/suites/load.ts";
import type { JsonObject } from "../../src/evals/types/json.ts";
import { calculateToolCallingAccuracy, type ExpectedToolCall, Matcher } from "../fixtures/mongodb/accuracyScorer.ts";
import { call, toolsetOf, turn } from "../scoring/make.ts";

const source = `
const find = (filter) => [
  { toolName: "list-collections", parameters: { database: "d" }, optional: true },
  { toolName: "find", parameters: { database: "d", filter, limit: Matcher.anyOf(Matcher.undefined, Matcher.number((n) => n <= 5)) } },
];
describeAccuracyTests([
  { prompt: "required after optional", expectedToolCalls: find({ age: { $gte: 18 }, type: "string" }) },
  { prompt: "all optional", expectedToolCalls: find({}).slice(0, 1) },
  { prompt: "nothing", expectedToolCalls: [] },
  { prompt: "empty or absent", expectedToolCalls: find(Matcher.emptyObjectOrUndefined).slice(1) },
  { prompt: "null or absent", expectedToolCalls: find(undefined).slice(1) },
  { prompt: "shorter list", expectedToolCalls: find([1, Matcher.anyOf(Matcher.undefined, Matcher.value({ a: 1 }))]).slice(1) },
  { prompt: "twice", expectedToolCalls: [...find({ a: 1 }).slice(1), ...find({ a: 1 }).slice(1)] },
  { prompt: "not, ignoring case", expectedToolCalls: find({ a: Matcher.not(Matcher.boolean(true)), b: Matcher.caseInsensitiveString("Emma") }).slice(1) },
  { prompt: "one or a list of one", expectedToolCalls: find(Matcher.arrayOrSingle(Matcher.value({ a: Matcher.anyValue }))).slice(1) },
]);
`;

type Config = { prompt: string; expectedToolCalls: ExpectedToolCall[] };

/** The tests as their own harness sees them. */
function readTheirs(): Config[] {
  let found: Config[] = [];
  const describe = (configs: Config[]) => {
    found = configs;
  };
  new Function("Matcher", "describeAccuracyTests", source)(Matcher, describe);
  return found;
}

async function readOurs() {
  const cwd = mkdtempSync(join(tmpdir(), "imports-"));
  writeFileSync(join(cwd, "a.test.ts"), `import { describeAccuracyTests, Matcher } from "./sdk.js";${source}`);
  // None of the tools takes a connection, which their harness would add.
  const tools = new Map(toolset.tools.map(({ name }) => [name, new Set<string>()]));
  const { found } = await findImports(["."], { cwd, judged: false, tools });
  const imported = found.flatMap(({ files }) => files).flatMap((file) => file.cases);
  const cases = imported.flatMap((one) => (one.kind === "kept" ? [one.content] : []));
  const { suites, warnings } = await loadInlineSuites([{ cases }], { cwd });
  expect(warnings).toEqual([]);
  return suites.flatMap((suite) => suite.cases);
}

const toolset = toolsetOf([{ name: "find" }, { name: "list-collections" }, { name: "drop" }]);
const look = { tool: "list-collections", args: { database: "d" } };
const find = (filter?: unknown, others: JsonObject = {}) => ({
  tool: "find",
  args: { database: "d", ...(filter !== undefined && { filter }), ...others } as JsonObject,
});
const filters = [undefined, null, {}, [], { a: 1 }, [{ a: 1 }], [1], [1, { a: 1 }], [1, { a: 2 }], [1, 2, 3]];
const all = [...filters, { age: { $gte: 18 }, type: "string" }, { b: "EMMA" }, { a: true, b: "emma" }].map((filter) =>
  find(filter),
);
const conversations = [
  [],
  [look],
  [look, look],
  [{ tool: "drop", args: {} }],
  ...all.map((one) => [one]),
  ...all.flatMap((one) => [
    [look, one],
    [look, look, one],
  ]),
  ...all.map((one) => [one, one]),
  [find({ a: 1 }, { limit: 5 })],
  [find({ a: 1 }, { limit: 6 })],
  [find({ a: 1 }, { limit: 5 }), find({ a: 1 })],
  [find({ a: 1 }), find({ a: 1 }), find({ a: 1 })],
  [find({ a: 1 }, { skip: 1 })],
];

it("imports MongoDB's tests so that they give the points of MongoDB's own scorer", async () => {
  const [theirs, ours] = [readTheirs(), await readOurs()];
  expect(ours.map(({ messages }) => messages[0]?.content)).toEqual(theirs.map(({ prompt }) => prompt));
  const table: Record<string, Record<string, number>> = {};
  for (const [at, { prompt, expectedToolCalls }] of theirs.entries()) {
    const grade = createGrader(ours[at] ?? { expectedBehavior: [] }, toolset);
    const counts: Record<string, number> = {};
    table[prompt] = counts;
    for (const made of conversations) {
      const points = calculateToolCallingAccuracy(
        expectedToolCalls,
        made.map(({ tool, args }, i) => ({ toolCallId: `${i}`, toolName: tool, parameters: args })),
      );
      const score = grade(made.map(({ tool, args }) => turn(call(tool, args))));
      expect({ prompt, made, points: score.points }).toEqual({ prompt, made, points });
      counts[points] = (counts[points] ?? 0) + 1;
    }
  }
  // How many of the conversations get each number of points.
  expect(table).toMatchInlineSnapshot(`
    {
      "all optional": {
        "0.75": 42,
        "1": 19,
      },
      "empty or absent": {
        "0": 45,
        "0.75": 12,
        "1": 4,
      },
      "not, ignoring case": {
        "0": 57,
        "0.75": 3,
        "1": 1,
      },
      "nothing": {
        "0.75": 60,
        "1": 1,
      },
      "null or absent": {
        "0": 53,
        "0.75": 6,
        "1": 2,
      },
      "one or a list of one": {
        "0": 41,
        "0.75": 14,
        "1": 6,
      },
      "required after optional": {
        "0": 57,
        "0.75": 1,
        "1": 3,
      },
      "shorter list": {
        "0": 53,
        "0.75": 6,
        "1": 2,
      },
      "twice": {
        "0": 58,
        "0.75": 1,
        "1": 2,
      },
    }
  `);
});

import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { createGrader } from "../../../src/evals/asking/scoring/score.ts";
import type { JsonObject } from "../../../src/evals/base/types/json.ts";
import { findImports } from "../../../src/evals/input/imports/find.ts";
import { loadInlineSuites } from "../../../src/evals/input/suites/load.ts";
import { call, toolsetOf, turn } from "../../asking/scoring/make.ts";

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

/** What MongoDB's own scorer gives each test for each of the conversations, in their order. */
const recorded = JSON.parse(
  readFileSync(join(import.meta.dirname, "../../fixtures/mongodb/importScores.json"), "utf8"),
) as Readonly<Record<string, readonly number[]>>;

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
  const ours = await readOurs();
  expect(ours.map(({ messages }) => messages[0]?.content)).toEqual(Object.keys(recorded));
  for (const [at, [prompt, points]] of Object.entries(recorded).entries()) {
    const grade = createGrader(ours[at] ?? { expectedBehavior: [] }, toolset);
    const own = conversations.map((made) => grade(made.map(({ tool, args }) => turn(call(tool, args)))).points);
    expect({ prompt, points: own }).toEqual({ prompt, points });
  }
});

import { Ajv2020 } from "ajv/dist/2020.js";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { createSuiteSchema } from "../../../src/evals/input/suites/jsonSchema.ts";
import { load } from "./workspace.ts";

const example = `
name: files
server: { command: npx, args: [-y, "@modelcontextprotocol/server-filesystem", ./sandbox] }
distractors: [ { tools: distractors/github.json } ]
skills: [ ../.claude/skills ]
execute: read-only
trials: 5
cases:
  - id: read-one
    input: "Show me what is in notes.txt"
    expect: { tool: read_text_file, args: { path: { $endsWith: notes.txt } } }
  - input: "What is the weather in Oslo?"
    expect: { tool: none }
  - input: "Find the TODOs, then open the first file"
    expect: { calls: [ { tool: search_files }, { tool: read_text_file } ], order: strict, extras: false }
  - input: "Compress my photos"
    expect: { skill: image-compressor }
    expected_behavior: [ "asks for a target size before it starts" ]
`;

describe("the published schema", () => {
  const accepts = new Ajv2020({ strict: true, allowUnionTypes: true }).compile(createSuiteSchema());

  it("names itself and its dialect", () => {
    expect(createSuiteSchema()).toMatchObject({
      $schema: "https://json-schema.org/draft/2020-12/schema",
      $id: "urn:tool-evals:schema:suite",
      title: "tool-evals suite file",
      type: "object",
    });
  });

  it("accepts the worked example, and so does the loader", async () => {
    expect(accepts(parse(example)), JSON.stringify(accepts.errors)).toBe(true);
    const { suites } = await load({ "files.yaml": example });
    expect(suites[0]?.cases.map(({ id, expect: expectation }) => [id, expectation?.kind])).toEqual([
      ["read-one", "tool"],
      ["what-is-the-weather-in-oslo", "none"],
      ["find-the-todos-then-open-the-first-file", "calls"],
      ["compress-my-photos", "skill"],
    ]);
  });

  it.each([
    "{ $gte: 1, $lte: 2 }",
    "{ $equals: { $gt: 1 } }",
    "{ $object: { $match: { $any: true } } }",
    "[{ b: { $matches: a } }, { type: search, analyzer: x }, { gte: x, z: 1 }]",
    "{ $anyOf: [{ $absent: true }, { $equals: { $x: 1 } }] }",
  ])("accepts the argument %s, and so does the loader", async (value) => {
    const suite = `cases: [{ input: hi, expect: { tool: t, args: { a: ${value} } } }]`;
    expect(accepts(parse(suite)), JSON.stringify(accepts.errors)).toBe(true);
    expect((await load({ "s.yaml": suite })).warnings).toEqual([]);
  });

  it.each([
    "cases: [{ input: hi, expct: { tool: x } }]",
    "server: { command: x, url: y }",
    "trials: 0",
    "cases: [{ input: '' }]",
    ...[
      "{ $gt: 1 }",
      "{ $gte: x }",
      "{ $gte: 1, lte: 2 }",
      "[{ b: { $type: text } }]",
      "{ $anyOf: [{ $x: 1 }] }",
      "{ $unordered: [{ $x: 1 }] }",
    ].map((value) => `cases: [{ input: hi, expect: { tool: t, args: { a: ${value} } } }]`),
  ])("rejects %s", (text) => {
    expect(accepts(parse(text))).toBe(false);
  });
});

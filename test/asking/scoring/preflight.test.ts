import { describe, expect, test } from "vitest";
import { preflight } from "../../../src/evals/asking/scoring/preflight.ts";
import { formatProblem } from "../../../src/evals/base/types/errors.ts";
import type { ExecutionPolicy } from "../../../src/evals/base/types/flagValues.ts";
import type { JsonObject } from "../../../src/evals/base/types/json.ts";
import type { Expectation } from "../../../src/evals/base/types/suite.ts";
import type { Toolset } from "../../../src/evals/base/types/tool.ts";
import { caseOf, expectTool, toolsetOf } from "./make.ts";

const readOnly = { annotations: { readOnlyHint: true } };
const readSchema = {
  type: "object",
  properties: {
    path: { type: "string" },
    head: { type: "integer", minimum: 1, maximum: 100 },
    mode: { type: "string", enum: ["text", "binary"] },
    tags: { type: "array", items: { type: "string" } },
    where: { $ref: "#/$defs/where" },
    until: { anyOf: [{ type: "string" }, { type: "null" }] },
    follow: { type: "boolean" },
  },
  required: ["path"],
  additionalProperties: false,
  $defs: { where: { type: "object", properties: { city: { type: "string" }, parent: { $ref: "#/$defs/where" } } } },
};
const toolset = toolsetOf([
  { name: "read_file", inputSchema: readSchema, ...readOnly },
  { name: "write_file", inputSchema: { type: "object", properties: { path: {} } } },
  { name: "list_issues", inputSchema: { type: "object" }, origin: "distractor", server: "github", ...readOnly },
]);

const found = (expect: Expectation | undefined, tools: Toolset = toolset, policy: ExecutionPolicy = "read-only") =>
  preflight(caseOf(expect), tools, policy).map(formatProblem).join("\n");
const foundIn = (args: JsonObject, argsMode: "partial" | "exact" = "partial") =>
  found(expectTool({ tools: ["read_file"], args }, { argsMode }));

test("nothing is wrong with a case that can pass", () => {
  const args = {
    path: { $endsWith: ".txt" },
    head: { $gte: 2, $lte: 100 },
    mode: { $anyOf: ["text", "hex"] },
    tags: { $unordered: ["a", { $startsWith: "b" }] },
    where: { parent: { city: "Oslo" } },
    until: { $type: "null" },
    follow: { $judge: "sensible" },
  };
  expect(foundIn(args)).toBe("");
  expect(foundIn({ path: "a", until: { $optional: { $matches: "^2" } }, head: { $absent: true } }, "exact")).toBe("");
  expect(found(undefined)).toBe("");
  expect(found({ kind: "none", avoid: ["write_file"] })).toBe("");
  expect(found({ kind: "skill", skill: "none", avoid: [] })).toBe("");
});

describe("tools", () => {
  test("that have a name with a meaning of its own", () => {
    const odd = toolsetOf(["none", "any"].map((name) => ({ name, inputSchema: { type: "object" } })));
    expect(found({ kind: "none", avoid: [] }, odd)).toMatchInlineSnapshot(`
      "evals/files.yaml:3:5: warning: Case "read-one": "tool: none" expects that no tool is called, and the server lists a tool called none.
        Write '"none"', with both quotes, if you mean the tool."
    `);
    expect(found({ kind: "any", avoid: [] } as Expectation, odd)).toContain(
      '"tool: any" expects a call of any tool, and',
    );
  });

  test("that are not listed, with the nearest name or the list", () => {
    expect(found(expectTool({ tools: ["raed_file", "fetch"] }, { avoid: ["write_fil"] }))).toMatchInlineSnapshot(`
      "evals/files.yaml:3:5: error: Case "read-one": expected tool "raed_file" is not listed.
        Did you mean "read_file"?
      evals/files.yaml:3:5: error: Case "read-one": expected tool "fetch" is not listed.
        Use a listed tool: read_file, write_file, list_issues.
      evals/files.yaml:3:5: error: Case "read-one": avoided tool "write_fil" is not listed.
        Did you mean "write_file"?"
    `);
    expect(found(expectTool({ tools: ["x"] }), toolsetOf([]))).toMatchInlineSnapshot(`
      "evals/files.yaml:3:5: error: Case "read-one": a tool is expected, but none is listed.
        Name a server with tools in the suite: \`server:\`."
    `);
  });

  test("that are named twice, or wanted and avoided at once", () => {
    const expectation = expectTool({ tools: ["read_file", "read_file"] }, { avoid: ["read_file"] });
    expect(found(expectation)).toMatchInlineSnapshot(`
      "evals/files.yaml:3:5: error: Case "read-one": tool "read_file" is both expected and avoided: a call of it can never pass.
        Remove one of the two.
      evals/files.yaml:3:5: warning: Case "read-one": tool "read_file" is named twice in one list.
        Remove one of the two."
    `);
  });

  test("that are listed twice", () => {
    const twice = toolsetOf([{ name: "get" }, { name: "get", server: "other", origin: "distractor" }]);
    expect(found(expectTool({ tools: ["get"] }), twice)).toMatchInlineSnapshot(`
      "evals/files.yaml:3:5: error: Case "read-one": expected tool "get" is listed 2 times (files, other).
        Rename all but one of them."
    `);
    expect(found({ kind: "none", avoid: [] }, twice)).toBe("");
  });

  test("whose schema cannot be read", () => {
    const odd = toolsetOf([
      { name: "odd", inputSchema: { $defs: { a: { $id: "x" }, b: { $id: "x", type: "string" } } } },
    ]);
    expect(found(expectTool({ tools: ["odd"] }), odd)).toMatchInlineSnapshot(`
      "evals/files.yaml:3:5: warning: Case "read-one": the inputSchema of "odd" cannot be compiled: reference "x" resolves to more than one schema.
        Fix the schema in the server: until then, arguments are not checked against it."
    `);
    expect(found({ kind: "any", avoid: [] }, odd)).toBe(found(expectTool({ tools: ["odd"] }), odd));
  });
});

describe("arguments", () => {
  test("that the schema does not have", () => {
    expect(foundIn({ paht: "a", everything: 1 })).toMatchInlineSnapshot(`
      "evals/files.yaml:3:5: error: Case "read-one": "read_file" has no argument "paht".
        Did you mean "path"?
      evals/files.yaml:3:5: error: Case "read-one": "read_file" has no argument "everything".
        Use one of: path, head, mode, tags, where, until, follow."
    `);
    const open = expectTool({ tools: ["write_file"], args: { pth: "a", content: { $absent: true } } });
    expect(found(open)).toMatchInlineSnapshot(`
      "evals/files.yaml:3:5: warning: Case "read-one": "write_file" has no argument "pth".
        Did you mean "path"?
      evals/files.yaml:3:5: warning: Case "read-one": "write_file" has no argument "content".
        Use one of: path."
    `);
    const composed = toolsetOf([{ name: "a", inputSchema: { type: "object", allOf: [{ properties: { z: {} } }] } }]);
    expect(found(expectTool({ tools: ["a"], args: { z: 1 } }), composed)).toBe("");
  });

  test("that can never match", () => {
    expect(foundIn({ path: 1 })).toMatchInlineSnapshot(`
      "evals/files.yaml:3:5: error: Case "read-one": can never match: args.path must be string, got 1.
        Fit it to the inputSchema of "read_file": {"type":"string"}."
    `);
    const never: JsonObject[] = [
      { path: { $absent: true } },
      { head: 0 },
      { head: { $equals: 101 } },
      { mode: "hex" },
      { where: { parent: { parent: { city: 5 } } } },
    ];
    const reasons = never.map((args) => foundIn(args).split("\n")[0]?.split("can never match: ")[1]);
    expect(reasons).toMatchInlineSnapshot(`
      [
        "args.path must be absent, but is required.",
        "args.head must be >= 1, got 0.",
        "args.head must be <= 100, got 101.",
        "args.mode must be equal to one of the allowed values: ["text","binary"], got "hex".",
        "args.where.parent.parent.city must be string, got 5.",
      ]
    `);
  });

  test("that exact mode leaves out although they are required", () => {
    expect(foundIn({ head: 1 }, "exact")).toMatchInlineSnapshot(`
      "evals/files.yaml:3:5: error: Case "read-one": can never match: "read_file" requires path, which argsMode exact does not allow.
        Add them with { $any: true }, or set argsMode: partial."
    `);
    expect(foundIn({}, "exact")).toBe(foundIn({ head: 1 }, "exact"));
    expect(foundIn({ head: 1 })).toBe("");
  });
});

describe("results", () => {
  test("of tools that are not executed", () => {
    const expectation = expectTool({ tools: ["write_file", "list_issues", "read_file"], result: { success: true } });
    expect(found(expectation)).toMatchInlineSnapshot(`
      "evals/files.yaml:3:5: error: Case "read-one": expected a result of "write_file", but it is not executed: write_file is not annotated read-only (execute: read-only).
        Set execute: [write_file], or remove \`result\`.
      evals/files.yaml:3:5: error: Case "read-one": expected a result of "list_issues", but it is not executed: list_issues is a distractor.
        Remove \`result\`: only tools of the suite's own server are executed."
    `);
    expect(found(expectTool({ tools: ["write_file"], result: { success: true } }), toolset, "all")).toBe("");
  });

  test("of any tool, when none is executed", () => {
    const any = { kind: "any", avoid: [], result: { isError: false } } as const;
    expect(found(any, toolset, "never")).toMatchInlineSnapshot(`
      "evals/files.yaml:3:5: error: Case "read-one": expected a result, but no listed tool is executed.
        Set execute to \`all\` or to names of tools of the suite's own server, or remove \`result\`."
    `);
    expect(found(any)).toBe("");
  });
});

test("a tool behind a dispatcher is known by the catalog; without one, every name is taken", () => {
  const dispatch = { write_file: { name: "path" } };
  const about = (name: string, tools: Toolset) =>
    preflight({ ...caseOf(expectTool({ tools: [name], args: { path: 1 } })), dispatch }, tools, "read-only").map(
      formatProblem,
    );
  expect(about("find_issues", toolset)).toEqual([]);
  const behind = { name: "find_issues", inputSchema: readSchema, origin: "dispatched" } as const;
  const closed = toolsetOf([{ name: "write_file", inputSchema: { type: "object" } }, behind]);
  expect(about("find_issue", closed).join()).toContain(
    'expected tool "find_issue" is not listed.\n  Did you mean "find_issues"?',
  );
  expect(about("find_issues", closed).join()).toContain("can never match");
});

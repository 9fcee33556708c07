import { describe, expect, it } from "vitest";
import {
  checkDispatch,
  createDispatchReader,
  listDispatchedTools,
} from "../../../src/evals/asking/scoring/dispatch.ts";
import { createGrader } from "../../../src/evals/asking/scoring/score.ts";
import { formatProblem } from "../../../src/evals/base/types/errors.ts";
import type { Expectation } from "../../../src/evals/base/types/suite.ts";
import type { Call, Turn } from "../../../src/evals/base/types/trial.ts";
import { aTool, aToolset } from "../../fakes/suite.ts";
import { call, executed, expectTool, turn } from "./make.ts";

const text = { type: "string" };
const execute = aTool("execute_tool", {
  inputSchema: { type: "object", properties: { name: text, arguments: { type: "object" } } },
});
const search = aTool("search_tools", { inputSchema: { type: "object", properties: { query: text } } });
const inner = (name: string) =>
  aTool(name, {
    origin: "dispatched",
    inputSchema: { type: "object", properties: { slug: text }, required: ["slug"], additionalProperties: false },
  });
const open = aToolset(execute, search);
const closed = aToolset(execute, search, inner("find_issues"), inner("find_releases"));
const rules = { execute_tool: { name: "name", arguments: "arguments" }, search_tools: { search: "query" } };
const wants = (tool: string, args?: { slug: string }): Expectation =>
  expectTool({ tools: [tool], ...(args && { args }) });

function score(calls: Call[], expect: Expectation, toolset = closed) {
  const read = createDispatchReader(rules, expect, toolset);
  const turns = calls.map((one): Turn => {
    const done = read?.(one) ?? { call: one };
    return { ...turn(done.call), ...(done.search && { searches: [done.search] }) };
  });
  return createGrader({ expect, expectedBehavior: [] }, toolset)(
    turns,
    undefined,
    listDispatchedTools(rules, expect, toolset),
  );
}

const through = (name: string, args: Call["arguments"] = { slug: "x" }) =>
  call("execute_tool", { name, arguments: args ?? null });

describe("a call through a dispatcher", () => {
  it("is scored as the call that it makes, with its arguments and their schema", () => {
    const expected = wants("find_issues", { slug: "acme" });
    expect(score([through("find_issues", { slug: "acme" })], expected)).toMatchObject({
      grade: "pass",
      picked: "find_issues",
      expected: "find_issues",
    });
    expect(score([through("find_issues", { slug: "other" })], expected).selection).toBe("wrong-arguments");
    expect(score([through("find_issues", { team: "acme" })], expected).selection).toBe("malformed-arguments");
    expect(score([through("find_releases", { slug: "acme" })], expected)).toMatchObject({
      selection: "wrong-tool",
      picked: "find_releases",
    });
  });

  it("takes arguments that are given as text, or beside the name", () => {
    const expected = wants("find_issues", { slug: "acme" });
    expect(score([through("find_issues", '{"slug":"acme"}')], expected).grade).toBe("pass");
    expect(score([through("find_issues", "slug=acme")], expected).selection).toBe("malformed-arguments");
    const flat = createDispatchReader({ execute_tool: { name: "name" } }, expected, closed);
    expect(flat?.(call("execute_tool", { name: "find_issues", slug: "acme" })).call.inner).toEqual({
      tool: "find_issues",
      arguments: { slug: "acme" },
    });
  });

  it("of a tool that the catalog has not is unknown; without a catalog every name is taken", () => {
    expect(score([through("find_teams")], wants("find_issues"))).toMatchObject({
      selection: "unknown-tool",
      picked: "find_teams (unknown)",
    });
    expect(score([through("find_teams")], wants("find_issues"), open)).toMatchObject({
      selection: "wrong-tool",
      picked: "find_teams",
    });
    expect(score([through("find_issues")], wants("find_issues"), open).grade).toBe("pass");
  });

  it("that names no tool is one of the dispatcher itself", () => {
    expect(score([call("execute_tool", {})], wants("find_issues"))).toMatchObject({
      selection: "wrong-tool",
      picked: "execute_tool",
    });
  });

  it("does not hide that an inner tool was called directly, which no server would answer", () => {
    expect(score([call("find_issues", { slug: "x" })], wants("find_issues")).selection).toBe("unknown-tool");
  });

  it("counts for tools to avoid", () => {
    const expected = { ...wants("find_issues"), avoid: ["find_releases"] } as Expectation;
    expect(score([through("find_issues"), through("find_releases")], expected)).toMatchObject({
      grade: "fail",
      picked: "find_releases",
    });
  });
});

describe("a search for tools on the server", () => {
  const find = (result: string) => call("search_tools", { query: "issues" }, executed(result));

  it("is no pick, and its result decides whether the tool was found", () => {
    const found = find("- find_releases: lists releases\n- `find_issues`: lists issues, unlike find_issues_old");
    expect(score([found, through("find_issues")], wants("find_issues"))).toMatchObject({
      grade: "pass",
      discovery: { outcome: "chosen", rank: 2, queries: ["issues"] },
    });
    expect(score([found, through("find_releases")], wants("find_issues"))).toMatchObject({
      selection: "wrong-tool",
      discovery: { outcome: "found-not-chosen", rank: 2 },
    });
    expect(score([find("nothing")], wants("find_issues"))).toMatchObject({
      selection: "no-call",
      discovery: { outcome: "not-found" },
    });
  });

  it("is missed where none was made", () => {
    expect(score([through("find_releases")], wants("find_issues")).discovery?.outcome).toBe("not-searched");
  });
});

describe("checkDispatch", () => {
  const location = (path: readonly string[]) => ({ file: path.join(".") });

  it("finds a tool that is not listed and an argument that is not there, with the nearest", () => {
    const written = { execute_tol: { name: "name" }, execute_tool: { name: "nme", arguments: "payload" } };
    expect(checkDispatch(written, [execute, search], location).map(formatProblem)).toEqual([
      'execute_tol: error: dispatch: the tool "execute_tol" is not listed.\n  Did you mean "execute_tool"?',
      'execute_tool.name: error: dispatch.execute_tool.name: "execute_tool" has no argument "nme".\n  Did you mean "name"?',
      'execute_tool.arguments: error: dispatch.execute_tool.arguments: "execute_tool" has no argument "payload".\n  Use one of: name, arguments.',
    ]);
    expect(checkDispatch(rules, [execute, search], location)).toEqual([]);
  });

  it.each([
    ["allOf", true],
    ["anyOf", true],
    ["oneOf", true],
    ["$ref", true],
    ["patternProperties", true],
    ["title", false],
  ])("accepts any argument of a tool that only %s describes: %s", (keyword, accepted) => {
    const tool = { name: "run", inputSchema: { type: "object" as const, [keyword]: "..." } };
    const hints = checkDispatch({ run: { name: "tool" } }, [tool], location).map(({ hint }) => hint);
    expect(hints).toEqual(accepted ? [] : ['Remove it: "run" takes no arguments.']);
  });
});

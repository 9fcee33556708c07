import { expect, it } from "vitest";
import type { Expectation } from "../../src/evals/base/types/suite.ts";
import { measureCoverage, type VerifyReport, verify } from "../../src/evals/inspection/verify.ts";
import { filesSuite, list, project, read } from "../experiments/pipeline/project.ts";

const aTool = (name: string, ...parameters: string[]) => ({
  name,
  inputSchema: { type: "object", properties: Object.fromEntries(parameters.map((one) => [one, { type: "string" }])) },
});
const expects = (tools: string[], args = {}): { expect: Expectation } => ({
  expect: { ...{ kind: "tool", extras: false, argsMode: "partial", avoid: [] }, call: { tools, args } },
});

it("lists the tools that no case expects, and the parameters that no case names", () => {
  const tools = [aTool("read", "path", "head", "tail"), aTool("list", "path"), aTool("move", "from", "to")];
  const cases = [expects(["read"], { path: "a" }), expects(["read", "list"], { path: { $any: true }, head: 3 }), {}];
  expect(measureCoverage(tools, cases)).toEqual({
    tools: 3,
    uncovered: ["move"],
    parameters: [{ tool: "read", names: ["tail"] }],
  });
});

it("counts what the messages of a conversation expect", () => {
  const turns = [
    { content: "Read a", ...expects(["read"], { path: "a" }) },
    { content: "Now b", ...expects(["read"], { path: "b" }) },
  ];
  expect(measureCoverage([aTool("read", "path")], [{ turns }])).toEqual({ tools: 1, uncovered: [], parameters: [] });
});

it("covers nothing without cases", () => {
  expect(measureCoverage([aTool("read", "path")], [])).toEqual({ tools: 1, uncovered: ["read"], parameters: [] });
});

it("measures the coverage of a list of tools by all suites on it, and none of a suite without tools of a server", async () => {
  const own = { id: "own", input: "Sing", tools: [{ name: "sing", inputSchema: { type: "object" } }] };
  const io = project({
    "evals/files.json": filesSuite([read]),
    "evals/more.json": filesSuite([list], { name: "more" }),
    "evals/own.json": { name: "own", cases: [{ ...own, expect: { tool: "sing" } }] },
  }).io();
  await verify({ baselines: "evals/baselines", failOn: [], json: true }, io);
  const { suites, coverage }: VerifyReport = JSON.parse(io.printed());
  expect(suites.map(({ suite }) => suite).sort()).toEqual(["files", "more", "own"]);
  expect(coverage).toMatchObject([{ suites: ["files", "more"], tools: 3, uncovered: ["move"] }]);
});

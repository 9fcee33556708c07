import { expect, it } from "vitest";
import { type VerifyReport, verify } from "../../src/evals/inspection/verify.ts";
import { filesSuite, list, project, read } from "../experiments/pipeline/project.ts";

async function report(files: Record<string, unknown>): Promise<VerifyReport> {
  const made = project(files);
  const io = made.io();
  await verify({ baselines: "evals/baselines", failOn: [], json: true }, io);
  return JSON.parse(io.printed());
}

it("measures the coverage of a list of tools by all suites on it, and none of a suite without tools of a server", async () => {
  const own = { id: "own", input: "Sing", tools: [{ name: "sing", inputSchema: { type: "object" } }] };
  const { suites, coverage } = await report({
    "evals/files.json": filesSuite([read]),
    "evals/more.json": filesSuite([list], { name: "more" }),
    "evals/own.json": { name: "own", cases: [{ ...own, expect: { tool: "sing" } }] },
  });
  expect(suites.map(({ suite }) => suite).sort()).toEqual(["files", "more", "own"]);
  expect(coverage).toMatchObject([{ suites: ["files", "more"], tools: 3, uncovered: ["move"] }]);
});

import { expect, it } from "vitest";
import { runSummarySchema } from "../../../src/evals/base/types/run.ts";
import { runCommandLine } from "../../../src/evals/commands/index.ts";
import { project } from "../pipeline/project.ts";

const tool = (name: string, description: string) => ({ name, description, inputSchema: { type: "object" } });
const tools = [
  tool("none", "Clears the status light."),
  tool("weather_report", "Gives the weather report of a city."),
  tool("read_note", "Reads a note."),
];

/** Cases on the keyword search: one that passes, one that fails, and two about a tool with a reserved name. */
const suite = {
  cases: [
    { id: "weather", tags: ["smoke", "city"], input: "Weather report of a city", expect: { tool: "weather_report" } },
    { id: "wrong", tags: "city:north", input: "Weather report of a city please", expect: { tool: "read_note" } },
    { id: "light", input: "Clear the status light", expect: { tool: '"none"' } },
    { id: "light-calls", input: "Clear the status light!", expect: { calls: [{ tool: '"none"' }] } },
  ].map((one) => ({ ...one, tools })),
};

function world(files: Record<string, unknown> = { "evals/own.json": suite }) {
  const { io } = project(files);
  return async (...args: string[]) => {
    const one = io();
    const code = await runCommandLine(["run", "evals/own.json", "--json", ...args], one, "0.1.0");
    const printed = one.printed();
    const summary = printed === "" ? undefined : runSummarySchema.parse(JSON.parse(printed));
    const asked = summary?.suites.flatMap(({ cases }) =>
      cases.map(({ id, ok }) => `${id} ${ok ? "passed" : "failed"}`),
    );
    return { code, asked, warned: one.warned() };
  };
}

it.each<[string[], string[]]>([
  [["--filter", "smoke"], ["weather passed"]],
  [
    ["--filter", "city*"],
    ["weather passed", "wrong failed"],
  ],
  [
    ["--filter", "smoke", "--filter", "city:north"],
    ["weather passed", "wrong failed"],
  ],
  [["--filter", "city", "--case", "weather"], ["weather passed"]],
])("%j selects cases", async (args, expected) => {
  expect((await world()(...args)).asked).toEqual(expected);
});

it.each(["smok", "SMOKE", "@smoke", "!smoke"])("refuses the tag %s that no case has, with the nearest", async (tag) => {
  await expect(world()("--filter", tag)).rejects.toThrow(
    `No case has the tag "${tag}".\n  Did you mean "smoke"? The tags are: smoke, city, city:north.`,
  );
});

it.each(["null", "true", "123", "not", "*", "skill:x", "None", "constructor", "__proto__", '"any"'])(
  "expects a tool that is called %s by that name",
  async (name) => {
    const called = { name: name.replaceAll('"', ""), description: "Weather report", inputSchema: { type: "object" } };
    const cases = [{ id: "n", input: "Weather report", expect: { tool: name }, tools: [called] }];
    const { asked, warned } = await world({ "evals/own.json": { cases } })();
    expect([asked, warned]).toEqual([["n passed"], expect.not.stringContaining("expects")]);
  },
);

it("runs the cases again that did not pass in the last run, and none if all did", async () => {
  const run = world();
  expect((await run()).asked).toEqual(["weather passed", "wrong failed", "light passed", "light-calls passed"]);
  expect((await run("--failed")).asked).toEqual(["wrong failed"]);
  expect((await run("--failed")).asked).toEqual(["wrong failed"]);
  await run("--filter", "smoke");
  expect(await run("--failed")).toMatchObject({
    code: 0,
    asked: undefined,
    warned: expect.stringContaining("Every case passed in the last run"),
  });
});

it("warns that a reserved word is not the tool of that name", async () => {
  const cases = [{ id: "n", input: "Hello", expect: { tool: "none" }, tools }];
  expect((await world({ "evals/own.json": { cases } })()).warned).toContain(
    `Case "n": "tool: none" expects that no tool is called, and the server lists a tool called none.\n  Write '"none"', with both quotes, if you mean the tool.`,
  );
});

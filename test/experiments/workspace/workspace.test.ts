import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { ToolServer } from "../../../src/evals/base/types/tool.ts";
import { type Workspace, withWorkspace } from "../../../src/evals/experiments/workspace/workspace.ts";
import { project } from "../pipeline/project.ts";

const fixture = join(import.meta.dirname, "../../fixtures/servers/sdk2.mjs");
const live = {
  name: "live",
  server: { command: process.execPath, args: [fixture] },
  cases: [{ id: "echo", input: "Echo hello", expect: { tool: "echo" } }],
};
const dead = { ...live, name: "dead", server: { command: process.execPath, args: ["-e", "process.exit(1)"] } };
const options = { model: "lexical", host: "plain", out: "reports" } as const;
const never = new AbortController().signal;

/** The running server of the first suite, as its trials get it. */
async function acquire({ cases, models, context }: Workspace): Promise<ToolServer> {
  const [planned, model] = [cases[0], models[0]];
  if (!planned || !model) throw new Error("no case");
  const cell = { suite: planned.suite.name, case: planned.case.id, arm: "head", model: model.id, trial: 1 };
  const lease = await context.pool({ planned, model, cell, orderSeed: 1 })?.acquire(never);
  if (!lease || "kind" in lease) throw new Error("no server");
  return lease.server;
}

const other = { name: "list", inputSchema: { type: "object" } };

describe("withWorkspace", () => {
  it("opens what trials need, and closes the servers afterwards", async () => {
    const { io } = project({ "evals/live.json": live });
    const opened: ToolServer[] = [];
    const meanwhile: string[] = [];
    const result = await withWorkspace(
      { ...options, paths: ["evals/live.json"] },
      io(),
      async (workspace) => {
        expect(workspace.suites.map(({ name }) => name)).toEqual(["live"]);
        expect(workspace.cases[0]?.toolset.tools.map(({ name }) => name)).toContain("echo");
        expect([...workspace.servers.keys()]).toEqual(["live"]);
        expect(workspace.models[0]?.id).toBe("lexical-2");
        expect([workspace.judge, workspace.judgeFigure]).toEqual([undefined, undefined]);
        opened.push(await acquire(workspace));
        return "used";
      },
      async () => meanwhile.push("loaded"),
    );
    expect([result, meanwhile]).toEqual(["used", ["loaded"]]);
    expect(opened[0]?.alive()).toBe(false);
  });

  it("closes the servers after an error", async () => {
    const { io } = project({ "evals/live.json": live });
    let server: ToolServer | undefined;
    const failing = withWorkspace({ ...options, paths: ["evals/live.json"] }, io(), async (workspace) => {
      server = await acquire(workspace);
      throw new Error("failed while in use");
    });
    await expect(failing).rejects.toThrow("failed while in use");
    expect(server?.alive()).toBe(false);
  });

  it("continues without an unavailable server, unless it is the only suite of an experiment", async () => {
    const { io } = project({ "evals/dead.json": dead });
    const world = io();
    const cases = await withWorkspace(options, world, async (workspace) => workspace.cases);
    expect(cases.map(({ unavailable }) => unavailable?.stage)).toEqual(["server", undefined, undefined, undefined]);
    expect(world.warned()).toContain("exited with code 1");
    const only = withWorkspace({ ...options, only: { suite: "dead" } }, io(), async () => "used");
    await expect(only).rejects.toMatchObject({ exitCode: 3 });
  });

  it("excludes a case that no trial could pass, with the reason, and asks the others", async () => {
    const { io } = project({
      "evals/mixed.json": {
        name: "mixed",
        cases: [
          { id: "impossible", input: "a", tools: [other], expect: { tool: "ehco" } },
          { id: "no tools", input: "b", tools: [], expect: { tool: "none" } },
        ],
      },
    });
    const world = io();
    const given = { ...options, paths: ["evals/mixed.json"] };
    const cases = await withWorkspace(given, world, async (workspace) => workspace.cases);
    expect(cases.map(({ case: { id }, unavailable }) => [id, unavailable])).toEqual([
      [
        "impossible",
        { kind: "broken", stage: "setup", message: 'Case "impossible": expected tool "ehco" is not listed.' },
      ],
      ["no tools", undefined],
    ]);
    expect(world.warned()).toContain("warning: Case");
    expect(world.warned()).toContain("Until then the case is left out.");
    const only = await withWorkspace({ ...given, only: {} }, io(), async (workspace) => workspace.cases);
    expect(only.map(({ case: { id } }) => id)).toEqual(["no tools"]);
  });

  it("warns where a server lists no tool, so that a case without one tells nothing", async () => {
    const suite = { server: { tools: "tools.json" }, cases: [{ id: "none", input: "a", expect: { tool: "none" } }] };
    const warningsOf = async (tools: readonly object[]) => {
      const { io } = project({ "evals/empty.json": { name: "empty", ...suite }, "evals/tools.json": tools });
      const world = io();
      await withWorkspace({ ...options, paths: ["evals/empty.json"] }, world, async () => "used");
      return world.warned();
    };
    expect(await warningsOf([])).toContain('The suite "empty" is shown no tool: a case that expects none passes');
    expect(await warningsOf([other])).toBe("");
  });

  it("ignores the mocks of an excluded case", async () => {
    const mocks = { create: [{ result: "made" }] };
    const suite = (tool: string) => ({
      name: "mocked",
      server: { tools: "tools.json" },
      cases: [
        { id: "gone", input: "a", mocks, expect: { tool } },
        { id: "listed", input: "b", expect: { tool: "list" } },
      ],
    });
    const files = (tool: string) => ({ "evals/mocked.json": suite(tool), "evals/tools.json": [other] });
    const open = (tool: string) => {
      const { io } = project(files(tool));
      const given = { ...options, paths: ["evals/mocked.json"] };
      return withWorkspace(given, io(), async ({ cases }) => cases.map(({ unavailable }) => unavailable?.stage));
    };
    expect(await open("create")).toEqual(["setup", undefined]);
    await expect(open("list")).rejects.toThrow('the tool "create" is not listed');
  });

  it("merges equal problems of several cases", async () => {
    const { io } = project({
      "evals/mixed.json": {
        name: "mixed",
        cases: [
          ...["a", "b", "c", "d", "e"].map((id) => ({ id, input: id, tools: [other], expect: { tool: "ehco" } })),
          { id: "other", input: "x", tools: [other], expect: { tool: "raed" } },
          { id: "no tools", input: "y", tools: [], expect: { tool: "none" } },
        ],
      },
    });
    const world = io();
    const given = { ...options, paths: ["evals/mixed.json"] };
    const broken = await withWorkspace(given, world, async ({ cases }) => cases.map((one) => one.unavailable));
    expect(broken.at(4)).toMatchObject({ message: 'Case "e": expected tool "ehco" is not listed.' });
    expect(world.warned().match(/Case .*/g)).toEqual([
      'Case "a": expected tool "ehco" is not listed; likewise "b", "c", "d", and 1 more.',
      'Case "other": expected tool "raed" is not listed.',
    ]);
  });

  it("counts the problems of a suite that have the same remedy after the first five", async () => {
    const gone = Array.from({ length: 8 }, (_, at) => ({
      id: `${at}`,
      input: `Do ${at}`,
      expect: { tool: `gone-${at}` },
    }));
    const cases = [...gone, { id: "ok", input: "x", expect: { tool: "list" } }].map((one) => ({
      ...one,
      tools: [other],
    }));
    const { io } = project({ "evals/gone.json": { name: "gone", cases } });
    const world = io();
    const given = { ...options, paths: ["evals/gone.json"] };
    const broken = await withWorkspace(given, world, async (opened) => opened.cases.filter((one) => one.unavailable));
    expect(broken).toHaveLength(8);
    expect(
      world
        .warned()
        .match(/(?<=warning: ).*/g)
        ?.slice(4),
    ).toEqual(['Case "4": expected tool "gone-4" is not listed.', "3 more problems like these, from this one on."]);
  });

  it("takes exactly one suite for an experiment", async () => {
    const { io } = project({ "evals/live.json": live });
    const use = async ({ suites }: Workspace) => suites.map(({ name }) => name);
    expect(await withWorkspace({ ...options, only: { suite: "files" } }, io(), use)).toEqual(["files"]);
    await expect(withWorkspace({ ...options, only: {} }, io(), use)).rejects.toThrow(
      /This command takes one suite, but there are 2/,
    );
    await expect(withWorkspace({ ...options, only: { suite: "x" } }, io(), use)).rejects.toThrow(
      'There is no suite "x"; found are "files", "live".',
    );
  });

  it("throws all mistakes in the suites at once, before calling use", async () => {
    const { io, write } = project();
    write("evals/wrong.json", {
      name: "wrong",
      server: { tools: "../tools.json" },
      cases: ["raed", "lits"].map((tool) => ({ id: tool, input: tool, expect: { tool } })),
    });
    let used = false;
    const opening = withWorkspace(options, io(), async () => {
      used = true;
    });
    await expect(opening).rejects.toMatchObject({
      exitCode: 2,
      problems: [{ location: { file: "evals/wrong.json" } }, { location: { file: "evals/wrong.json" } }],
    });
    expect(used).toBe(false);
  });

  it.each([
    [{ case: ["nothing"] }, 'No case matches "nothing".\n  The ids are: '],
    [{ case: ["nnoe"] }, 'No case matches "nnoe".\n  Did you mean "none"? The ids are: '],
    [{ skill: ["csv"] }, 'No skill "csv" was found.'],
    [{ skill: ["pdf"] }, 'No eval files are in the package of "pdf".\n  Write evals/evals.json in the package: '],
    [{ judge: "lexical" }, "lexical-2 cannot be a judge"],
  ])("refuses %j", async (given, message) => {
    const { io } = project({
      "evals/long.json": { ...live, name: "long", cases: [{ ...live.cases[0], id: "echo-mention-of-gardens" }] },
      ".claude/skills/pdf/SKILL.md": "---\nname: pdf\ndescription: Reads PDF files.\n---\n",
    });
    await expect(withWorkspace({ ...options, ...given }, io(), async () => {})).rejects.toThrow(message);
  });
});

import { describe, expect, it } from "vitest";
import { createToolCache } from "../../../src/evals/asking/models/wireNames.ts";
import { converse, createConversation, createHostedTrial } from "../../../src/evals/asking/trials/conversation.ts";
import { createExecutor } from "../../../src/evals/asking/trials/execution.ts";
import type { SkillShelf } from "../../../src/evals/asking/trials/skills.ts";
import type { Message } from "../../../src/evals/base/types/model.ts";
import type { SkillForm } from "../../../src/evals/base/types/skill.ts";
import type { Case } from "../../../src/evals/base/types/suite.ts";
import { scriptedModel, turn } from "../../fakes/model.ts";
import { aSkill } from "../../fakes/skill.ts";
import { aCase, aSuite, aTool, aToolset } from "../../fakes/suite.ts";

const entry = (name: string, description = `Does ${name}.`) =>
  aTool(`skill:${name}`, { description, origin: "skill", server: "skills", inputSchema: { type: "object" } });
const toolset = aToolset(aTool("list"), entry("pdf"), entry("docx", "Writes <b> & docx."));
const never = new AbortController().signal;
const contentOf = (message?: Message) => (message && "content" in message ? message.content : undefined);
const load = (skill: string) => turn("", ["Skill", { skill }]);

function locationOf(changes: Partial<Case>, model = scriptedModel(() => turn("done"))) {
  const one = aCase("c", { maxTurns: 5, ...changes });
  const planned = { suite: aSuite("s", [one]), case: one, arm: "head", toolset };
  const cell = { suite: "s", case: "c", arm: "head", model: "scripted", trial: 1 };
  return { planned, cell, model, orderSeed: 1 };
}

function conversation(
  changes: Partial<Case>,
  form: SkillForm = "skill-tool",
  model = scriptedModel(() => turn("done")),
) {
  const shelf: SkillShelf = {
    form,
    packages: new Map([["pdf", aSkill("pdf", { body: "# Steps\n" })]]),
    read: async () => ({ problem: "none" }),
  };
  const tools = toolset.tools.filter(({ origin }) => origin !== "skill");
  const context = { show: () => ({ tools, listedName: (name: string) => name }), skills: () => shelf };
  return createConversation(locationOf(changes, model), context, createExecutor(toolset, { policy: "read-only" }));
}

const wantsPdf = { expect: { kind: "skill", skill: "pdf", avoid: [] } } as const;

it("executes at most 128 calls of a reply, and gives the reason for the others", async () => {
  let executed = 0;
  const execute = async () => {
    executed++;
    return { status: "skipped" as const, reason: "counted" };
  };
  const flood = Array.from({ length: 1_000 }, () => ["list", {}] as [string, object]);
  const model = scriptedModel(() => turn("", ...(flood as Parameters<typeof turn>[1][])));
  const context = { show: () => ({ tools: [], listedName: (name: string) => name }), skills: () => undefined };
  const made = createConversation(locationOf({ maxTurns: 1 }, model), context, { execute });
  const { turns } = await converse(made, never);
  expect(executed).toBe(128);
  expect(turns[0]?.calls).toHaveLength(1_000);
  expect(turns[0]?.calls[128]?.execution).toEqual({
    status: "skipped",
    reason: "no more than 128 calls of a reply are executed",
  });
});

describe("what a model is shown of skills", () => {
  it("a Skill tool, with the catalog in the prompt", () => {
    const { messages, tools, catalog } = conversation(wantsPdf);
    expect(messages[0]).toEqual({
      role: "system",
      content: "These skills can be loaded with the Skill tool:\n\n- pdf: Does pdf.\n- docx: Writes <b> & docx.",
    });
    expect(tools.map(({ name }) => name)).toEqual(["list", "Skill"]);
    expect(catalog?.map(({ name }) => name)).toEqual(["pdf", "docx"]);
  });

  it("and of the instructions of its servers, before the skills", () => {
    const guide = aTool("instructions:mail", { description: "Ask first.", origin: "instructions", server: "mail" });
    const location = locationOf(wantsPdf);
    const planned = { ...location.planned, toolset: aToolset(...toolset.tools, guide) };
    const context = { show: () => ({ tools: [], listedName: (name: string) => name }), skills: () => undefined };
    const executor = createExecutor(planned.toolset, { policy: "read-only" });
    const { messages } = createConversation({ ...location, planned }, context, executor);
    expect(contentOf(messages[0])).toMatch(
      /^# Instructions of the MCP servers\n\n## mail\n\nAsk first\.\n\nThese skills/,
    );
    const hosted = createHostedTrial({ ...location, planned }, undefined, executor);
    expect(hosted.instructions).toEqual([{ server: "mail", text: "Ask first." }]);
    expect(hosted.tools.map(({ name }) => name)).toEqual(["list"]);
  });

  it("or the tags, with a tool that reads SKILL.md", () => {
    const system = { role: "system" as const, content: "Be brief." };
    const { messages, tools } = conversation(
      { ...wantsPdf, messages: [system, { role: "user", content: "go" }] },
      "available-skills",
    );
    expect(contentOf(messages[0])).toMatchInlineSnapshot(`
      "Be brief.

      <available_skills>
        <skill>
          <name>pdf</name>
          <description>Does pdf.</description>
          <location>/skills/pdf/SKILL.md</location>
        </skill>
        <skill>
          <name>docx</name>
          <description>Writes &lt;b&gt; &amp; docx.</description>
          <location>/skills/docx/SKILL.md</location>
        </skill>
      </available_skills>

      A skill is a folder of instructions for one kind of task. When a task fits a skill's description, read its SKILL.md with Read before anything else, and follow it."
    `);
    expect(messages).toHaveLength(2);
    expect(tools.map(({ name }) => name)).toEqual(["list", "Read"]);
  });

  it("files of the case, and a reader where there is something to read", () => {
    const { messages, tools } = conversation({
      files: [{ path: "a/in.csv", content: "x" }],
      expectedBehavior: ["sums"],
    });
    expect(contentOf(messages[0])).toContain("The user's files, to be read with Read:\n- /project/a/in.csv");
    expect(tools.map(({ name }) => name)).toEqual(["list", "Skill", "Read", "Write"]);
  });

  it("as tools of its own where another case of the same list has none", async () => {
    const cache = createToolCache(64, ({ name }) => name);
    for (const changes of [{}, { files: [{ path: "a", content: "x" }] }, { expectedFiles: {} }, {}]) {
      const model = scriptedModel(() => turn("done"));
      await converse(conversation(changes, "skill-tool", model), never);
      const [request] = model.asked;
      if (!request) throw new Error("not asked");
      expect([...cache(request).params.keys()]).toEqual(request.tools.map(({ name }) => name));
    }
  });

  it("in an order of the trial's own", () => {
    const orders = [1, 2, 3, 4, 5, 6].map((orderSeed) => {
      const tools = toolset.tools.filter(({ origin }) => origin !== "skill");
      const context = { show: () => ({ tools, listedName: (name: string) => name }), skills: () => undefined };
      const location = { ...locationOf(wantsPdf), orderSeed };
      return createConversation(location, context, createExecutor(toolset, { policy: "read-only" })).catalog?.[0]?.name;
    });
    expect(new Set(orders)).toEqual(new Set(["pdf", "docx"]));
  });
});

describe("a trigger trial", () => {
  const askedOf = async (changes: Partial<Case>, ...answers: ReturnType<typeof turn>[]) => {
    const model = scriptedModel(({ turn: at }) => answers[at - 1] ?? turn("done"));
    const { outcome } = await converse(conversation(changes, "skill-tool", model), never);
    expect(outcome).toEqual({ kind: "answered" });
    return model.asked;
  };

  it("ends when its skill is loaded, and continues after any other call", async () => {
    const asked = await askedOf(wantsPdf, turn("", ["list", {}]), load("docx"), load("pdf"), load("docx"));
    expect(asked).toHaveLength(3);
    expect(asked[2]?.messages.at(-1)).toMatchObject({ results: [{ text: "Launching skill: docx" }] });
  });

  it("ends when a skill to avoid is loaded", async () => {
    expect(await askedOf({ expect: { kind: "avoid", avoid: ["skill:pdf"] } }, load("docx"), load("pdf"))).toHaveLength(
      2,
    );
    expect(await askedOf({ expect: { kind: "skill", skill: "none", avoid: [] } }, load("docx"))).toHaveLength(1);
  });

  it.each<[what: string, changes: Partial<Case>]>([
    ["behavior", { ...wantsPdf, expectedBehavior: ["fills in"] }],
    ["files", { ...wantsPdf, expectedFiles: {} }],
    ["what code checks", { ...wantsPdf, assertions: ["check.mjs"] }],
    ["calls", { expect: { kind: "calls", calls: [], order: "any", extras: true, argsMode: "partial", avoid: [] } }],
  ])("continues with the instructions when more than loading is expected: %s", async (_, changes) => {
    const asked = await askedOf(changes, load("pdf"));
    expect(asked).toHaveLength(2);
    expect(asked[1]?.messages.at(-1)).toMatchObject({ results: [{ text: expect.stringContaining("# Steps") }] });
  });

  it("has no reader of instructions where only one reply is asked for", () => {
    const call = { tools: ["list"] };
    const { tools } = conversation({
      maxTurns: 1,
      expect: { kind: "tool", call, extras: false, argsMode: "partial", avoid: [] },
    });
    expect(tools.map(({ name }) => name)).toEqual(["list", "Skill"]);
  });
});

describe("a trial of a host", () => {
  it("has the packages under the wording of the arm, and the tools beside them", () => {
    const { model: _, ...location } = locationOf({ files: [{ path: "a", content: "x" }] });
    const shelf = {
      packages: new Map([["pdf", aSkill("pdf", { description: "old words" })]]),
    } as unknown as SkillShelf;
    const trial = createHostedTrial(
      { ...location, model: scriptedModel(() => turn("")) },
      shelf,
      createExecutor(toolset, { policy: "read-only" }),
    );
    expect(trial.tools.map(({ name }) => name)).toEqual(["list"]);
    expect(trial.skills.map(({ name, description, dir }) => [name, description, dir])).toEqual([
      ["pdf", "Does pdf.", "/skills/pdf"],
      ["docx", "Writes <b> & docx.", ""],
    ]);
  });
});

describe("a server whose tools are searched for", () => {
  const search = aTool("search_tools");
  const execute = aTool("execute_tool");
  const result = (text: string) => ({ isError: false, content: [{ type: "text", text }] });

  it("gets search turns in addition to those of the case, and records the dispatched calls", async () => {
    const replies = [
      turn("", ["search_tools", { query: "issues" }]),
      turn("", ["execute_tool", { name: "find_issues" }]),
    ];
    const model = scriptedModel(({ turn: number }) => replies[number - 1] ?? turn("done"));
    const location = locationOf(
      { maxTurns: 1, dispatch: { execute_tool: { name: "name" }, search_tools: { search: "query" } } },
      model,
    );
    const offered = aToolset(search, execute, aTool("find_issues", { origin: "dispatched" }));
    const planned = { ...location.planned, toolset: offered };
    const context = {
      show: () => ({ tools: [search, execute], listedName: (name: string) => name }),
      skills: () => undefined,
    };
    const executor = {
      execute: async ({ tool }: { tool: string }) =>
        ({ status: "executed", ms: 1, result: result(tool === "search_tools" ? "1. find_issues" : "none") }) as const,
      close: async () => {},
    };
    const { turns } = await converse(createConversation({ ...location, planned }, context, executor), never);
    expect(
      turns.map(({ calls, searches }) => ({ calls: calls.map(({ role, inner }) => ({ role, inner })), searches })),
    ).toEqual([
      { calls: [{ role: "search", inner: undefined }], searches: [{ query: "issues", found: ["find_issues"] }] },
      { calls: [{ role: undefined, inner: { tool: "find_issues", arguments: {} } }], searches: undefined },
    ]);
  });
});

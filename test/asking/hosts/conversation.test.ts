import { describe, expect, it } from "vitest";
import {
  countsAsTurn,
  describeShown,
  readTurns,
  selectConversation,
} from "../../../src/evals/asking/hosts/conversation.ts";
import type { HostWording } from "../../../src/evals/asking/hosts/host.ts";
import type { Exchange } from "../../../src/evals/asking/hosts/passThrough.ts";
import type { RelayedCall } from "../../../src/evals/asking/hosts/relay.ts";
import { listLoadedSkills } from "../../../src/evals/asking/scoring/activity.ts";
import type { Json } from "../../../src/evals/base/types/json.ts";
import { noUsage } from "../../../src/evals/base/types/model.ts";
import type { Call, Execution, StopReason } from "../../../src/evals/base/types/trial.ts";

const wording: HostWording = {
  searchTools: new Set(["find"]),
  skillTools: new Set(["Skill"]),
  readRefusal: ({ text }) => (text.startsWith("denied") ? text : undefined),
};
const offer = {
  toListed: (name: string) => name.replace(/^s__/, ""),
  toListedArguments: (_: string, args: Json | undefined) => args,
  shown: ["s__get", "s__put", "s__cut"],
  relayed: [] as RelayedCall[],
  skills: new Set(["x"]),
};
const executed: Execution = {
  status: "executed",
  ms: 1,
  result: { isError: false, content: [{ type: "text", text: "got" }] },
};

let clock = 0;
type Part = Partial<Exchange["request"]> & { calls?: Call[]; text?: string; stop?: StopReason; silent?: boolean };
function exchange({ calls = [], text = "", stop, silent, ...request }: Part): Exchange {
  clock += 100;
  const asked = { model: "m", tools: [], texts: [], opening: "Do it.", outputs: [], notes: [], ...request };
  const end = stop ?? (calls.length > 0 ? "calls" : "done");
  const reply = { id: "r", model: "", text, calls, answered: [], usage: noUsage, stop: end };
  return { bytes: 10, sentAt: clock, ms: 50, request: asked, ...(!silent && { reply }) };
}
const tool = (name: string, description = `${name} it.`, deferred = false) => ({ name, description, deferred });

describe("selectConversation", () => {
  it("leaves out sub-agents and side requests", () => {
    const main = [1, 2].map(() => exchange({ tools: [tool("s__get")], opening: "env\nDo it." }));
    const agent = exchange({ tools: [tool("s__get")], opening: "Look around." });
    const title = exchange({ opening: "A title for: Do it." });
    expect(selectConversation([title, ...main, agent], "Do it.\n")).toEqual(main);
    expect(selectConversation([title], "Do it.")).toEqual([title]);
    expect(selectConversation([agent], "Do it.")).toEqual([]);
  });
});

describe("countsAsTurn", () => {
  it("does not count searches, nor requests without a reply", () => {
    const call = (name: string): Call => ({ id: "1", tool: name, arguments: {} });
    const counted = [[call("find")], [call("find"), call("s__get")], []].map((calls) =>
      countsAsTurn(exchange({ calls }), wording),
    );
    expect(counted).toEqual([false, true, true]);
    expect(countsAsTurn(exchange({ silent: true }), wording)).toBe(false);
  });
});

describe("readTurns", () => {
  it("has searches, executions of the relay, results of the host's own tools, and bodies of skills", () => {
    const builtIns = [tool("find"), tool("Bash"), tool("Skill")];
    const conversation = [
      exchange({ tools: builtIns, calls: [{ id: "1", tool: "find", arguments: { query: "get" } }] }),
      exchange({
        tools: [...builtIns, tool("s__get")],
        outputs: [{ callId: "1", text: "", isError: false, found: ["s__get", "s__put"] }],
        calls: [
          { id: "2", tool: "s__get", arguments: { b: 1, a: 2 } },
          { id: "3", tool: "Bash", arguments: { command: "rm" } },
          { id: "4", tool: "Skill", arguments: { skill: "x" } },
          { id: "5", tool: "nothing", arguments: {} },
        ],
      }),
      exchange({
        tools: builtIns,
        outputs: [
          { callId: "2", text: "got", isError: false },
          { callId: "3", text: "denied", isError: true },
          { callId: "4", text: "Launching x", isError: false },
        ],
        notes: ["# Body of x"],
        text: "Done.",
      }),
    ];
    const relayed = [{ id: "", tool: "get", arguments: { a: 2, b: 1 }, execution: executed, at: clock - 20 }];
    const turns = readTurns(conversation, { ...offer, relayed }, wording);
    expect(turns[0]).toMatchObject({
      searches: [{ query: "get", found: ["get", "put"] }],
      calls: [{ role: "search" }],
    });
    expect(turns[1]?.calls).toMatchObject([
      { id: "2", tool: "get", execution: executed },
      { id: "3", tool: "Bash", role: "built-in", execution: { status: "skipped", reason: "denied" } },
      {
        id: "4",
        tool: "Skill",
        execution: { result: { content: [{ text: "Launching x" }, { text: "# Body of x" }] } },
      },
      { id: "5", tool: "nothing" },
    ]);
    expect(turns[1]?.calls[3]).not.toHaveProperty("role");
    expect(turns[2]).toMatchObject({ text: "Done.", calls: [], stop: "done" });
  });

  it.each([
    ["skill", { skill: "x" }],
    ["load_skill", { name: "x" }],
  ])("has the skill that a host loads with %s %j", (name, args) => {
    const conversation = [exchange({ tools: [tool(name)], calls: [{ id: "1", tool: name, arguments: args }] })];
    const turns = readTurns(conversation, offer, { ...wording, skillTools: new Set([name]) });
    expect(turns[0]?.calls).toEqual([{ id: "1", tool: "Skill", arguments: { skill: "x" } }]);
    expect(listLoadedSkills(turns[0]?.calls ?? [])).toEqual(["x"]);
  });

  it("has a skill that the host brings along as one of its own tools, once it is loaded", () => {
    const call = (id: string, skill: string): Call => ({ id, tool: "Skill", arguments: { skill } });
    const output = (callId: string, isError = false) => ({ callId, text: "", isError });
    const calls = [call("1", "/x"), call("2", "own"), call("3", "made-up")];
    const outputs = [output("1"), output("2"), output("3", true)];
    const conversation = [exchange({ tools: [tool("Skill")], calls }), exchange({ outputs, text: "Done." })];
    const roles = readTurns(conversation, offer, wording)[0]?.calls.map(({ role }) => role);
    expect(roles).toEqual([undefined, "built-in", undefined]);
  });

  it("adds the calls of code to the turn in which it was written", () => {
    const code: Call = { id: "1", tool: "exec", arguments: { input: "get()" } };
    const conversation = [exchange({ tools: [tool("exec")], calls: [code] })];
    const at = clock + 60;
    conversation.push(exchange({ tools: [tool("exec")], text: "Done." }));
    const relayed = [{ id: "", tool: "get", arguments: {}, execution: executed, at }];
    expect(readTurns(conversation, { ...offer, relayed }, wording)[0]?.calls).toMatchObject([
      { tool: "exec", role: "built-in" },
      { id: "1/1", tool: "get", execution: executed },
    ]);
  });

  it("matches calls by their ids where the host passes them on", () => {
    const call = (id: string): Call => ({ id, tool: "s__get", arguments: {} });
    const failed: Execution = { status: "skipped", reason: "no" };
    const relayed = [
      { id: "b", tool: "get", arguments: {}, execution: failed, at: 0 },
      { id: "a", tool: "get", arguments: {}, execution: executed, at: 0 },
    ];
    const conversation = [exchange({ tools: [tool("s__get")], calls: [call("a"), call("b")] })];
    const calls = readTurns(conversation, { ...offer, relayed }, wording)[0]?.calls;
    expect(calls?.map(({ execution }) => execution)).toEqual([executed, failed]);
  });

  it("matches calls of one tool at once by their arguments, each execution to one call", () => {
    const call = (id: string, at: number): Call => ({ id, tool: "s__get", arguments: { at } });
    const relayed = [2, 1, 1].map((at): RelayedCall => {
      return { id: "", tool: "get", arguments: { at }, execution: { ...executed, ms: at }, at: clock };
    });
    const conversation = [exchange({ tools: [tool("s__get")], calls: [call("a", 1), call("b", 2), call("c", 3)] })];
    const calls = readTurns(conversation, { ...offer, relayed }, wording)[0]?.calls;
    expect(calls?.map(({ id, execution }) => [id, execution && "ms" in execution && execution.ms])).toEqual([
      ["a", 1],
      ["b", 2],
      ["c", undefined],
      // The model did not write it.
      ["a/3", 1],
    ]);
  });

  it("drops the calls of a reply that was cut off", () => {
    const conversation = [exchange({ calls: [{ id: "1", tool: "s__get", arguments: {} }], stop: "cut" })];
    expect(readTurns(conversation, offer, wording)).toMatchObject([{ calls: [], stop: "cut" }]);
  });
});

describe("describeShown", () => {
  it("sorts tools and skills by how the first request shows them", () => {
    const description = "Makes a table of contents for a long document.";
    const skills = ["whole", "cut", "name", "none"].map((name) => ({
      name: `skill-${name}`,
      description: `${description} ${name}`,
    }));
    const listing = `- skill-whole: ${description} whole\n- skill-cut: ${description.slice(0, 30)}...\n- skill-name\n`;
    skills.push({ name: "quoted", description: `Use it for "a & b's" <tags>, and for no other request.` });
    const escaped =
      "<name>quoted</name><description>Use it for &quot;a &amp; b&#39;s&quot; &lt;tags&gt;, and for no other request.";
    const conversation = [
      exchange({
        tools: [tool("s__get"), tool("find"), tool("Bash")],
        texts: ["Deferred:\ns__put\ns__cutter", listing, "Be  kind.", escaped],
      }),
      exchange({ tools: [tool("s__get"), tool("find"), tool("s__put", "Puts.", true)] }),
    ];
    const trial = { skills: skills as never, instructions: [{ server: "s", text: "Be kind." }] };
    expect(describeShown([...conversation, exchange({})], conversation, trial, offer, wording)).toEqual({
      tools: { full: ["get"], deferred: [], named: ["put"], hidden: ["cut"] },
      loaded: ["put"],
      skills: { full: ["skill-whole", "quoted"], cut: ["skill-cut"], named: ["skill-name"], hidden: ["skill-none"] },
      builtIns: ["find", "Bash"],
      search: "find",
      instructions: true,
      requests: 3,
      firstRequestBytes: 10,
    });
    expect(describeShown([], [], trial, offer, wording)).toBeUndefined();
  });
});

import { describe, expect, it } from "vitest";
import { createGrader } from "../../../src/evals/asking/scoring/score.ts";
import { converse, createConversation } from "../../../src/evals/asking/trials/conversation.ts";
import { createExecutor, isolatedPool, sharedPool } from "../../../src/evals/asking/trials/execution.ts";
import { indexTools } from "../../../src/evals/asking/trials/toolSearch.ts";
import type { ModelRequest } from "../../../src/evals/base/types/model.ts";
import type { Case } from "../../../src/evals/base/types/suite.ts";
import type { OfferedTool, ToolServer, Toolset } from "../../../src/evals/base/types/tool.ts";
import { scriptedModel, turn } from "../../fakes/model.ts";
import { scriptedServer, text } from "../../fakes/server.ts";
import { aCase, aSuite, aTool, aToolset } from "../../fakes/suite.ts";

const never = new AbortController().signal;
const [open, read, close] = [aTool("open"), aTool("read"), aTool("close")];
const start = [open, read, close];

/** A server with `start`: a call of `open` changes its list to `after`, any other one leaves it. */
function changing(after: readonly OfferedTool[] | undefined, notifies = true): ToolServer {
  let [list, changes] = [start as readonly OfferedTool[], 0];
  const server = scriptedServer((tool) => {
    if (tool === "open") {
      list = after ?? list;
      if (notifies) changes++;
    }
    return text(`did ${tool}`);
  });
  return Object.assign(server, { list: async () => list, listChanges: () => changes });
}

/** Asks a model that opens, then calls `then`, one call a reply. */
async function ask(
  pool: ReturnType<typeof sharedPool>,
  then: readonly string[],
  {
    toolset = aToolset(...start),
    one = {},
    names = false,
  }: { toolset?: Toolset; one?: Partial<Case>; names?: boolean } = {},
) {
  const calls = ["open", ...then];
  const model = scriptedModel((request) =>
    calls[request.turn - 1] ? turn("", [calls[request.turn - 1] ?? "", {}]) : turn("done"),
  );
  const planned = { suite: aSuite("s", []), case: aCase("c", { maxTurns: 8, ...one }), arm: "head", toolset };
  const context = {
    show: ({ planned: { toolset } }: { planned: { toolset: Toolset } }) => ({
      tools: toolset.tools,
      listedName: (name: string) => name,
      ...(names && { index: indexTools(toolset.tools, "bm25") }),
    }),
    skills: () => undefined,
  };
  const executor = createExecutor(toolset, { policy: "read-only", pool });
  const cell = { suite: "s", case: "c", arm: "head", model: "scripted", trial: 1 };
  const answer = await converse(createConversation({ planned, cell, model, orderSeed: 3 }, context, executor), never);
  await executor.close();
  return { ...answer, asked: model.asked.map(listNames), requests: model.asked };
}

const listNames = ({ tools }: ModelRequest) => tools.map(({ name }) => name);
const shared = (server: ToolServer, open = async () => server) => sharedPool(server, open, start);

describe("a list that changes in a conversation", () => {
  const pin = aTool("pin");
  const reworded = aTool("read", { description: "Reads one note." });

  it("shows a new tool after the others, executes its calls, and records it with the reply", async () => {
    const { asked, turns } = await ask(shared(changing([pin, ...start])), ["pin"]);
    const [first = []] = asked;
    expect(asked).toEqual([first, [...first, "pin"], [...first, "pin"]]);
    expect(turns.map(({ listChange }) => listChange)).toEqual([undefined, { added: [pin], removed: [] }, undefined]);
    expect(turns[1]?.calls[0]?.execution).toMatchObject({ status: "executed", result: { isError: false } });
  });

  it.each<[string, OfferedTool[], string[], { added: string[]; removed: string[] } | undefined]>([
    ["a removed tool is shown no more", start.slice(0, 2), ["open", "read"], { added: [], removed: ["close"] }],
    [
      "a new definition takes the place of the old one",
      [open, reworded, close],
      ["open", "read", "close"],
      { added: ["read"], removed: [] },
    ],

    ["an empty list shows nothing", [], [], { added: [], removed: ["open", "read", "close"] }],
    [
      "another title is another definition",
      [open, aTool("read", { title: "Read a note" }), close],
      ["open", "read", "close"],
      { added: ["read"], removed: [] },
    ],
    ["another order changes nothing", [...start].reverse(), ["open", "read", "close"], undefined],
  ])("%s", async (_, after, shown, change) => {
    const { asked, requests, turns } = await ask(shared(changing(after)), []);
    expect(asked[1]?.toSorted()).toEqual(shown.toSorted());
    const { added = [], removed } = turns[1]?.listChange ?? {};
    expect(change).toEqual(removed && { added: added.map(({ name }) => name), removed });
    for (const tool of added) expect(requests[1]?.tools).toContainEqual(tool);
  });

  it("executes no calls of a tool that is read-only no more", async () => {
    const writing = aTool("read", { annotations: { readOnlyHint: false } });
    const { turns } = await ask(shared(changing([open, writing, close])), ["read"]);
    expect(turns[1]?.calls[0]?.execution).toMatchObject({
      status: "skipped",
      reason: "read is not annotated read-only (execute: read-only)",
    });
  });

  it("reads the list once for many notifications, also after a call that failed", async () => {
    const server = changing([...start, pin]);
    let [changes, lists] = [0, 0];
    const listAll = server.list;
    server.list = (signal) => {
      lists++;
      return listAll(signal);
    };
    server.listChanges = () => changes;
    const call = server.call.bind(server);
    server.call = async (...args) => {
      await call(...args);
      changes += 50;
      return { kind: "result", result: { isError: true, content: [{ type: "text", text: "no" }] } };
    };
    const { turns } = await ask(shared(server), []);
    expect(turns[1]?.listChange?.added).toEqual([pin]);
    expect(lists).toBe(1);
  });

  it("keeps the wording of an arm, other tools of the arm, and the tools of others", async () => {
    const own = aTool("read", { description: "Wording of the arm." });
    const arm = aToolset(open, own, aTool("pin", { origin: "distractor", server: "other" }));
    const { requests, turns } = await ask(shared(changing([open, reworded, pin])), [], { toolset: arm });
    expect(requests[1]?.tools.toSorted((a, b) => (a.name < b.name ? -1 : 1))).toEqual(
      arm.tools.toSorted((a, b) => (a.name < b.name ? -1 : 1)),
    );
    expect(turns[1]?.listChange).toBeUndefined();
  });

  it("finds new tools by a search where only names are shown, and keeps what is loaded", async () => {
    const { requests } = await ask(
      shared(changing([...start, aTool("pin", { _meta: { "anthropic/alwaysLoad": true } })])),
      [],
      { names: true },
    );
    expect(requests.map(listNames)).toEqual([["ToolSearch"], ["pin", "ToolSearch"]]);
  });

  it("breaks the trial if the new list cannot be read", async () => {
    const server = changing([pin]);
    server.list = async () => Promise.reject(new Error("no list today"));
    expect((await ask(shared(server), ["pin"])).outcome).toEqual({
      kind: "broken",
      stage: "server",
      message: "no list today",
    });
  });
});

describe("trials that share a server", () => {
  it("get processes of their own after one has changed its list", async () => {
    let opened = 0;
    const pool = shared(changing([...start, aTool("pin")]), async () => {
      opened++;
      return changing(undefined);
    });
    expect((await ask(pool, ["pin"])).asked[1]).toContain("pin");
    expect((await ask(pool, ["read"])).asked[1]).not.toContain("pin");
    expect(opened).toBe(1);
  });

  it("go on sharing it if it says so without a change", async () => {
    const pool = shared(changing(undefined), () => Promise.reject(new Error("opened")));
    await ask(pool, ["read"]);
    expect((await ask(pool, ["read"])).outcome).toEqual({ kind: "answered" });
  });

  it("leave it for their own if another trial changes its list meanwhile", async () => {
    const server = changing([aTool("open")]);
    const own = changing(undefined);
    const pool = shared(server, async () => own);
    const executor = createExecutor(aToolset(...start), { policy: "read-only", pool });
    await executor.execute({ id: "1", tool: "read", arguments: {} }, never);
    await ask(pool, []);
    await executor.execute({ id: "2", tool: "close", arguments: {} }, never);
    expect(await executor.readList(never)).toBeUndefined();
    expect("calls" in own && own.calls).toEqual([["close", {}]]);
  });

  it("each have their own list with isolate: trial", async () => {
    const pool = { ...isolatedPool(async () => changing([...start, aTool("pin")])), tools: start };
    for (let trial = 0; trial < 2; trial++)
      expect((await ask(pool, ["pin"])).turns[1]?.listChange?.added).toHaveLength(1);
  });
});

describe("the grade of a call", () => {
  const added = { listChange: { added: [aTool("pin")], removed: [] } };
  const removed = { listChange: { added: [], removed: ["read"] } };
  const expectPin = { kind: "tool", call: { tools: ["pin"] }, extras: false, argsMode: "partial", avoid: [] } as const;

  it.each([
    ["shown for the reply", "pin", [turn("thinking"), { ...turn("", ["pin", {}]), ...added }], "right-tool", "pin"],
    ["shown later", "pin", [turn("", ["pin", {}]), { ...turn("done"), ...added }], "unknown-tool", "pin (unknown)"],
    ["gone", "read", [turn("thinking"), { ...turn("", ["read", {}]), ...removed }], "unknown-tool", "read (unknown)"],
    ["not gone yet", "read", [turn("", ["read", {}]), { ...turn("done"), ...removed }], "right-tool", "read"],
  ])("of a tool that is %s", (_, tool, turns, selection, picked) => {
    const expected = { ...expectPin, call: { tools: [tool] } };
    const grade = createGrader({ expect: expected, expectedBehavior: [] }, aToolset(...start));
    expect(grade(turns)).toMatchObject({ selection, picked });
  });
});

import { getEventListeners } from "node:events";
import { expect, it } from "vitest";
import { cacheReplies, openReplyCache } from "../../src/evals/asking/models/cache.ts";
import type { AskedModel, ModelRequest, Reply } from "../../src/evals/base/types/model.ts";
import { turnSchema } from "../../src/evals/base/types/trial.ts";
import { cell, followUp, requestOf, tool } from "../asking/models/request.ts";
import { makeFolder } from "../fakes/folder.ts";

/**
 * What an implementation brings to the contract: a model that knows these cases (and is asked with their inputs).
 * `echo` calls `echo` and is done after its result; `read` calls the tool `files.read`; `two` calls `echo` twice where
 * it can; `unknown` calls a tool that is not listed; `hang` never answers, and `underway` resolves once it was asked.
 */
export type Subject = {
  open(): Promise<{ model: AskedModel; underway(): Promise<void>; refused(): string[]; close(): Promise<void> }>;
  /** Whether it can write any name, make several calls, and be kept waiting. */
  generates: boolean;
  waits: boolean;
};

const tools = [
  tool("echo", "Echoes the text back.", { text: "the text to echo" }),
  tool("files.read", "Reads a file.", { path: "path of the file" }),
];
const inputs = {
  echo: "Echo: hello",
  read: "Read the file notes.txt",
  two: "Echo: hello",
  unknown: "Echo: hello",
  hang: "Echo: hello",
};
type CaseId = keyof typeof inputs;

function request(id: CaseId, trial = 1): ModelRequest {
  return requestOf(inputs[id], tools, { cell: { ...cell, case: id, trial } });
}

function answered(reply: Reply) {
  if (reply.kind !== "turn") throw new Error(`broken: ${reply.message}`);
  return reply;
}

/** The contract of `Model`, run for every implementation. */
export function modelContract({ open, generates, waits }: Subject): void {
  const never = new AbortController().signal;
  const using = async (use: (opened: Awaited<ReturnType<Subject["open"]>>) => Promise<void>) => {
    const opened = await open();
    try {
      await use(opened);
      expect(opened.refused()).toEqual([]);
    } finally {
      await opened.close();
    }
  };

  it("answers with a turn that the journal can hold", () =>
    using(async ({ model }) => {
      const { turn } = answered(await model.ask(request("echo"), never));
      expect(turnSchema.parse(JSON.parse(JSON.stringify(turn)))).toEqual(turn);
      expect(turn).toMatchObject({ stop: "calls", calls: [{ tool: "echo", arguments: { text: "hello" } }] });
      expect(Math.min(turn.ms, ...Object.values(turn.usage))).toBeGreaterThanOrEqual(0);
      const cost = model.cost(turn.usage);
      expect(cost === "unknown" || cost >= 0).toBe(true);
    }));

  it("ends when the results come back", () =>
    using(async ({ model }) => {
      const first = answered(await model.ask(request("echo"), never));
      const second = answered(await model.ask(followUp(request("echo"), first), never));
      expect(second.turn).toMatchObject({ stop: "done", calls: [] });
    }));

  it("gives every call of a turn its own id", () =>
    using(async ({ model }) => {
      const { calls } = answered(await model.ask(request("two"), never)).turn;
      expect(calls).toHaveLength(generates ? 2 : 1);
      expect(new Set(calls.map(({ id }) => id)).size).toBe(calls.length);
    }));

  it("repeats a whole conversation from a cache", () =>
    using(async ({ model }) => {
      const dir = makeFolder();
      const talk = async (own: AskedModel) => {
        const cached = cacheReplies(own, await openReplyCache(dir, String), "1");
        const first = answered(await cached.ask(request("echo"), never));
        return [first, answered(await cached.ask(followUp(request("echo"), first), never))];
      };
      const before = await talk(model);
      const silent = { ...model, ask: () => Promise.reject(new Error("it was asked")) };
      const after = await talk(silent);
      const said = ({ turn: { usage: _, ms: __, cached: ___, ...turn }, native }: (typeof before)[number]) => {
        return JSON.parse(JSON.stringify({ turn, native }));
      };
      expect(after.map(said)).toEqual(before.map(said));
      expect(after.every(({ turn }) => turn.cached)).toBe(true);
    }));

  it("calls a tool by the name it was shown under, dots and all", () =>
    using(async ({ model }) => {
      const first = answered(await model.ask(request("read"), never));
      expect(first.turn.calls).toMatchObject([{ tool: "files.read", arguments: { path: "notes.txt" } }]);
      expect((await model.ask(followUp(request("read"), first), never)).kind).toBe("turn");
    }));

  it("does not mind an empty list of tools", () =>
    using(async ({ model }) => {
      const reply = await model.ask({ ...request("echo"), tools: [], toolset: "empty" }, never);
      expect(reply.kind).toBe("turn");
    }));

  it("keeps concurrent asks apart", () =>
    using(async ({ model }) => {
      const ids = Array.from({ length: 30 }, (_, i): CaseId => (i % 2 ? "echo" : "read"));
      const replies = await Promise.all(ids.map((id) => model.ask(request(id), never)));
      const picked = replies.map((reply) => answered(reply).turn.calls[0]?.tool);
      expect(picked).toEqual(ids.map((id) => (id === "echo" ? "echo" : "files.read")));
      expect(getEventListeners(never, "abort")).toEqual([]);
    }));

  it("gives the same pick whatever the order of tools", () =>
    using(async ({ model }) => {
      const reversed = { ...request("read"), tools: [...tools].reverse() };
      const replies = [await model.ask(request("read"), never), await model.ask(reversed, never)];
      expect(replies.map((reply) => answered(reply).turn.calls[0]?.tool)).toEqual(["files.read", "files.read"]);
    }));

  it("is cancelled at once when the signal has aborted", () =>
    using(async ({ model }) => {
      const reply = await model.ask(request("echo"), AbortSignal.abort());
      expect(reply).toMatchObject({ kind: "broken", stage: "cancelled" });
    }));

  it("does not reject, whatever it is asked", async () => {
    const { model, close } = await open();
    const bare = { ...tool("bare", ""), inputSchema: { properties: [], required: "all" } };
    const odd: ModelRequest = { ...request("echo"), messages: [], tools: [bare, bare], toolset: "odd" };
    await expect(model.ask(odd, never)).resolves.toHaveProperty("kind");
    await close();
  });

  it("says of itself what a report needs, and no secret", () =>
    using(async ({ model }) => {
      expect(JSON.parse(JSON.stringify(model.settings))).toEqual(model.settings);
      expect(JSON.stringify(model.settings)).not.toContain("secret");
    }));

  if (generates) {
    it("passes on a name that no tool has", () =>
      using(async ({ model }) => {
        const { turn } = answered(await model.ask(request("unknown"), never));
        expect(turn.calls).toMatchObject([{ tool: "no_such_tool" }]);
      }));
  }

  if (waits) {
    it("is cancelled soon after the signal aborts", () =>
      using(async ({ model, underway }) => {
        const controller = new AbortController();
        const reply = model.ask(request("hang"), controller.signal);
        await underway();
        controller.abort();
        expect(await reply).toEqual({ kind: "broken", stage: "cancelled", message: "the request was cancelled" });
      }));
  }
}

import { readdirSync, readFileSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { cacheReplies, openReplyCache } from "../../../src/evals/asking/models/cache.ts";
import type { AskedModel, ModelRequest, Reply } from "../../../src/evals/base/types/model.ts";
import { makeFolder } from "../../fakes/folder.ts";
import { cell, followUp, requestOf, tool } from "./request.ts";

const never = new AbortController().signal;
const reading = tool("read", "Reads a file.");
const tools = [tool("echo", "Echoes the text.", { text: "the text" }), reading];
const usage = { inputTokens: 10, outputTokens: 2, cacheReadTokens: 1, cacheWriteTokens: 3 };

let dir: string;
beforeEach(() => {
  dir = makeFolder();
});

/** A model that numbers its replies, and the number of times that it was asked. */
function counting(change: Partial<AskedModel> = {}, answer?: (at: number) => Reply) {
  const asked: ModelRequest[] = [];
  const model: AskedModel = {
    ...{ id: "anthropic:m", kind: "language model", settings: { effort: "low" } },
    ...{ maxOutputTokens: 10, deterministic: false },
    cost: () => "unknown",
    ask: async (request) => {
      asked.push(request);
      if (answer) return answer(asked.length);
      const calls = [{ id: `c${asked.length}`, tool: "echo", arguments: { text: "hello" } }];
      const turn = { text: `reply ${asked.length}`, calls, stop: "calls" as const, usage, ms: 5, responseId: "r" };
      return { kind: "turn", turn, native: { content: [`native ${asked.length}`] }, lost: usage };
    },
    ...change,
  };
  return { model, asked };
}

async function open(change: Partial<AskedModel> = {}, harness = "1") {
  const { model, asked } = counting(change);
  return { asked, model: cacheReplies(model, await openReplyCache(dir, String), harness) };
}

const textOf = (reply: Reply) => (reply.kind === "turn" ? reply.turn.text : reply.message);

describe("the cache of replies", () => {
  it("repeats the reply to the same request, without usage, cost and time, also in a later process", async () => {
    const first = await open();
    const fresh = await first.model.ask(requestOf("Say it", tools), never);
    const later = await open();
    const again = await later.model.ask(requestOf("Say it", tools), never);
    expect(first.asked).toHaveLength(1);
    expect(later.asked).toEqual([]);
    if (fresh.kind !== "turn" || again.kind !== "turn") throw new Error("broken");
    const noUsage = { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 };
    expect(again).toEqual({
      kind: "turn",
      turn: { ...fresh.turn, usage: noUsage, ms: 0, cached: true },
      native: fresh.native,
    });
    expect(later.model.cost(again.turn.usage)).toBe(0);
    expect(later.model.cost(fresh.turn.usage)).toBe("unknown");
  });

  const base = requestOf("Say it", tools);
  it.each<[string, ModelRequest]>([
    ["another message", requestOf("Say that", tools)],
    ["another order of the tools", requestOf("Say it", tools.toReversed())],
    ["another description", requestOf("Say it", [tool("echo", "Repeats the text.", { text: "the text" }), reading])],
    ["another schema", requestOf("Say it", [tool("echo", "Echoes the text.", { text: "a text" }), reading])],
    ["another trial", { ...base, cell: { ...cell, trial: 2 } }],
    ["another attempt", { ...base, cell: { ...cell, attempt: 2 } }],
    ["another turn", { ...base, turn: 2 }],
    ["a schema of the answer", { ...base, answerSchema: { type: "object" } }],
    ["deferred tools", { ...base, deferred: { names: new Set(["read"]), search: "bm25" } }],
    ["a loader", { ...base, loader: { tool: "read", ranker: "bm25" } }],
    ["skills", { ...base, catalog: [{ name: "s", description: "d", load: { tool: "Skill", arguments: {} } }] }],
  ])("asks for %s", async (_, request) => {
    const { model, asked } = await open();
    await model.ask(base, never);
    expect(textOf(await model.ask(request, never))).toBe("reply 2");
    expect(asked).toHaveLength(2);
  });

  it("asks another model, with other settings, and for another version of tool-evals", async () => {
    await (await open()).model.ask(base, never);
    for (const { model, asked } of [
      await open({ id: "anthropic:n" }),
      await open({ settings: { effort: "high" } }),
      await open({ settings: { effort: "low", baseUrl: "http://localhost:1" } }),
      await open({}, "2"),
    ]) {
      await model.ask(base, never);
      expect(asked).toHaveLength(1);
    }
  });

  it("repeats a case of another name, and a later turn of a repeated conversation", async () => {
    const { model, asked } = await open();
    const talk = async (name: string) => {
      const request = { ...base, cell: { ...cell, case: name } };
      const reply = await model.ask(request, never);
      if (reply.kind !== "turn") throw new Error(reply.message);
      return model.ask(followUp(request, reply), never);
    };
    const before = await talk("one");
    expect(textOf(await talk("two"))).toBe(textOf(before));
    expect(asked).toHaveLength(2);
  });

  it("keeps nothing that broke, and does not answer after an abort", async () => {
    const broken: Reply = { kind: "broken", stage: "model", message: "500" };
    const { model: failing, asked } = counting({}, () => broken);
    const model = cacheReplies(failing, await openReplyCache(dir, String), "1");
    expect(await model.ask(base, never)).toEqual(broken);
    expect(await model.ask(base, never)).toEqual(broken);
    expect(asked).toHaveLength(2);
    expect(readdirSync(dir)).toEqual([]);
    const kept = await open();
    await kept.model.ask(base, never);
    await kept.model.ask(base, AbortSignal.abort());
    expect(kept.asked).toHaveLength(2);
  });

  it("writes files for their owner only, and asks again where one cannot be read", async () => {
    const { model, asked } = await open();
    await model.ask(base, never);
    const [name = ""] = readdirSync(dir);
    expect(name).toMatch(/^[0-9a-f]{64}\.json$/);
    expect(statSync(join(dir, name)).mode & 0o777).toBe(0o600);
    expect(readFileSync(join(dir, name), "utf8")).not.toContain("Say it");
    for (const damage of ["", "{", '{"turn":{"text":1}}']) {
      writeFileSync(join(dir, name), damage);
      await model.ask(base, never);
    }
    expect(asked).toHaveLength(4);
  });

  it("keeps no reply that repeats a secret", async () => {
    const { asked, model: own } = counting();
    const redact = (text: string) => text.replace("native 1", "[redacted: KEY]");
    const model = cacheReplies(own, await openReplyCache(dir, redact), "1");
    for (let time = 1; time <= 3; time++) await model.ask(requestOf("Say it", tools), never);
    expect(asked).toHaveLength(2);
    expect(readdirSync(dir)).toHaveLength(1);
  });

  it("removes the oldest replies where there are too many", async () => {
    const cache = await openReplyCache(dir, String, 4_000);
    const turn = { text: "x".repeat(800), calls: [], stop: "done" as const, usage, ms: 1 };
    for (const [at, key] of ["a", "b", "c", "d", "e"].entries()) {
      await cache.write(key, { turn });
      utimesSync(join(dir, `${key}.json`), at, at);
    }
    await cache.write("f", { turn });
    const left = readdirSync(dir);
    expect(left).toContain("f.json");
    expect(left).not.toContain("a.json");
    expect(left.reduce((sum, name) => sum + statSync(join(dir, name)).size, 0)).toBeLessThanOrEqual(4_000);
    await openReplyCache(dir, String, 100);
    expect(readdirSync(dir)).toEqual([]);
  });
});

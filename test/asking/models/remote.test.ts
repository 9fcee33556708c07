import { expect, it } from "vitest";
import { aiSdk } from "../../../src/evals/asking/models/aiSdk.ts";
import { openai } from "../../../src/evals/asking/models/openai.ts";
import { askRemote, createLimits, jitteredDelay, nameRefused } from "../../../src/evals/asking/models/remote.ts";
import { startLoopback } from "../../../src/evals/base/network.ts";
import type { Attempt, Fault } from "../../../src/evals/base/types/model.ts";
import { requestOf } from "./request.ts";

const never = new AbortController().signal;
const cell = { suite: "s", case: "c", arm: "head", model: "m", trial: 1 };
const fault: Fault = { kind: "fault", stage: "model", message: "busy", isTransient: true };

it("waits longer each time, and no longer than a minute", async () => {
  const waits: number[] = [];
  const delay = async (ms: number) => {
    waits.push(ms);
  };
  const asked: Attempt[] = [{ ...fault, retryAfterMs: 90_000 }];
  const reply = await askRemote(cell, async () => asked[waits.length - 6] ?? fault, createLimits(7, delay), never);
  expect(waits).toEqual([500, 1000, 2000, 4000, 8000, 8000, 60_000]);
  expect(reply).toEqual({ kind: "broken", stage: "model", message: "busy (after 8 attempts)" });
});

it.each<[string, typeof openai | typeof aiSdk]>([
  ["openai:m", openai],
  ["ai:google/m", aiSdk],
])("waits as a service of Google asks in its refusal: %s", async (id, open) => {
  const details = [{ "@type": "type.googleapis.com/google.rpc.Help" }, { retryDelay: "17.5s" }];
  const refusal = { error: { code: 429, message: "Quota exceeded", status: "RESOURCE_EXHAUSTED", details } };
  let asked = 0;
  const { http, url } = await startLoopback((_, res) => {
    const headers = { "content-type": "application/json", ...(asked++ === 0 && { "retry-after": "2" }) };
    res.writeHead(429, headers).end(JSON.stringify([refusal]));
  });
  const waits: number[] = [];
  const delay = async (ms: number) => void waits.push(ms);
  const env = { OPENAI_API_KEY: "k", GOOGLE_GENERATIVE_AI_API_KEY: "k" };
  const model = await open(id, id.replace(/^\w+:/, ""), { env, baseUrl: `${url}/v1`, delay, retries: 2 });
  const message = expect.stringContaining("429 RESOURCE_EXHAUSTED: Quota exceeded");
  expect(await model.ask(requestOf("Hi", []), never)).toMatchObject({ kind: "broken", message });
  expect(waits).toEqual([2_000, 17_500]);
  http.close();
});

it("turns what an attempt throws into a broken reply", async () => {
  const attempt = async () => {
    throw new TypeError("no such thing");
  };
  expect(
    await askRemote(
      cell,
      attempt,
      createLimits(3, async () => {}),
      never,
    ),
  ).toEqual({ kind: "broken", stage: "model", message: "the request could not be made: no such thing" });
});

it("stops waiting when the signal aborts", async () => {
  const controller = new AbortController();
  const waiting = jitteredDelay(3_600_000, controller.signal);
  controller.abort();
  await expect(waiting).resolves.toBeUndefined();
});

it.each([
  ["an error of the server", { status: 500 }, 1],
  ["a reply that was cut off", {}, 1],
  ["no time to answer", { stage: "timeout" as const }, 1],
  ["too many requests", { status: 429 }, undefined],
  ["an overloaded service", { status: 529 }, undefined],
  ["a service that is away", { status: 503 }, undefined],
  ["no connection", { message: "the connection failed: connect ECONNREFUSED 127.0.0.1:1" }, undefined],
])("counts that it sent a request again after %s", async (_, more, resent) => {
  const usage = { inputTokens: 1, outputTokens: 1, cacheReadTokens: 0, cacheWriteTokens: 0 };
  const turn = { text: "", calls: [], stop: "done" as const, usage };
  const attempts: Attempt[] = [
    { ...fault, ...more },
    { kind: "turn", turn, native: undefined },
  ];
  const limits = createLimits(3, async () => {});
  const reply = await askRemote(cell, async () => attempts.shift() ?? fault, limits, never);
  expect(reply.kind === "turn" && reply.turn.resent).toBe(resent);
});

it.each([
  ["Invalid 'tools[1].function.name'", "tools.1"],
  ["tools.1.custom.input_schema: bad", "tools.1"],
  ["tools.1.function.name: String should match pattern", "tools.1"],
  ["Value at 'toolConfig.tools.2.member.toolSpec.name' failed", "tools.2.member"],
  ["* GenerateContentRequest.tools[0].function_declarations[1].name: Invalid function name", "function_declarations.1"],
  ["Unknown name at 'request.tools[0].functionDeclarations[1].parameters'", "functionDeclarations.1"],
  ["Schema validation failed at /tools/1/input_schema", "tools.1"],
  ["Invalid 'tools[3].tools[1].parameters'", "tools.3.tools.1"],
])("names the tool of %j", (message, part) => {
  const tools = ["read", "write", "list"].map((name) => ({ name }));
  const named = nameRefused({ ...fault, message }, [...tools, { name: "space", tools }]);
  expect(named.message).toBe(`${message} (${part} is "write")`);
});

it.each(["tools[0].function_declarations: At most 512", "tools: too many", "tools.7.name"])(
  "names no tool where %j means none",
  (message) => {
    expect(nameRefused({ ...fault, message }, [{ name: "read" }]).message).toBe(message);
  },
);

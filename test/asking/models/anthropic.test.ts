import { describe, expect, it } from "vitest";
import { anthropic } from "../../../src/evals/asking/models/anthropic.ts";
import type { EndpointOptions } from "../../../src/evals/base/types/endpoint.ts";
import type { AskedModel, Reply } from "../../../src/evals/base/types/model.ts";
import type { Fault, Script } from "../../fixtures/endpoints/endpoint.ts";
import { type MessageAnswer, type MessagesBody, startMessagesEndpoint } from "../../fixtures/endpoints/messages.ts";
import { followUp, requestOf, tool } from "./request.ts";

const tools = [tool("files.read", "Reads a file.", { path: "the path" }), tool("echo", "", { text: "the text" })];
const signal = new AbortController().signal;

/** A model against an endpoint that answers by the script; `waits` are the delays it asked for, none of which is slept. */
async function modelOn(script: Script<MessagesBody, MessageAnswer>, options: Partial<EndpointOptions> = {}) {
  const endpoint = await startMessagesEndpoint(script);
  const waits: number[] = [];
  const model = anthropic("anthropic:claude-haiku-5-5", "claude-haiku-5-5", {
    env: { ANTHROPIC_API_KEY: "k" },
    baseUrl: endpoint.url,
    delay: async (ms) => {
      waits.push(ms);
    },
    ...options,
  });
  return { model, endpoint, waits };
}

const ask = (model: AskedModel): Promise<Reply> => model.ask(requestOf("read notes.txt", tools), signal);

/** Answers the listed things in turn, and then with a text. */
const inTurn =
  (...answers: (MessageAnswer | Fault)[]): Script<MessagesBody, MessageAnswer> =>
  (_, index) =>
    answers[index] ?? { text: "ok" };

describe("the request", () => {
  it("holds what the service wants, and nothing that it refuses", async () => {
    const { model, endpoint } = await modelOn(inTurn(), { effort: "low" });
    const messages = [
      { role: "system" as const, content: "Be brief." },
      { role: "user" as const, content: "hello" },
      { role: "system" as const, content: "And kind." },
    ];
    await model.ask({ ...requestOf("", tools), messages }, signal);
    expect(endpoint.requests[0]?.body).toEqual({
      model: "claude-haiku-5-5",
      max_tokens: 4096,
      output_config: { effort: "low" },
      system: "Be brief.\n\nAnd kind.",
      messages: [{ role: "user", content: "hello" }],
      tool_choice: { type: "auto" },
      tools: [
        { name: "files_read", description: "Reads a file.", input_schema: tools[0]?.inputSchema },
        { name: "echo", input_schema: tools[1]?.inputSchema, cache_control: { type: "ephemeral" } },
      ],
    });
  });

  it("asks for an answer of a form, beside the effort, and without it if the service refuses that form", async () => {
    const { model, endpoint } = await modelOn(inTurn(), { effort: "high" });
    const answerSchema = {
      type: "object",
      properties: { ok: { type: "boolean" } },
      required: ["ok"],
      additionalProperties: false,
    };
    await model.ask({ ...requestOf("hello", []), answerSchema }, signal);
    expect(endpoint.requests[0]?.body).toEqual({
      model: "claude-haiku-5-5",
      max_tokens: 4096,
      output_config: { effort: "high", format: { type: "json_schema", schema: answerSchema } },
      messages: [{ role: "user", content: "hello" }],
    });
    const open = { ...answerSchema, additionalProperties: true };
    await model.ask({ ...requestOf("hello", []), answerSchema: open }, signal);
    expect(endpoint.requests[1]?.refused).toBe(
      "output_config.format.schema: 'additionalProperties' is required to be supplied and to be false",
    );
    expect(endpoint.requests[2]?.body).toMatchObject({ output_config: { effort: "high" } });
  });

  it("hands back the reply unchanged and all results in one message, in the order of calls", async () => {
    const content = [
      { type: "thinking", thinking: "hm", signature: "s" },
      { type: "text", text: "Both." },
      { type: "tool_use", id: "a", name: "echo", input: { text: "1" } },
      { type: "tool_use", id: "b", name: "files_read", input: { path: "2" } },
    ];
    const { model, endpoint } = await modelOn(inTurn({ content }));
    const request = requestOf("go", tools);
    const first = await model.ask(request, signal);
    if (first.kind !== "turn") throw new Error(first.message);
    await model.ask(followUp(request, first), signal);
    expect(first.turn).toMatchObject({
      text: "Both.",
      stop: "calls",
      requestId: "req_1",
      calls: [
        { id: "a", tool: "echo", arguments: { text: "1" } },
        { id: "b", tool: "files.read", arguments: { path: "2" } },
      ],
    });
    expect(endpoint.requests[1]).toMatchObject({ body: { messages: [{}, { role: "assistant", content }, {}] } });
    expect(endpoint.requests[1]?.body.messages[2]?.content).toEqual([
      { type: "tool_result", tool_use_id: "a", content: "done" },
      { type: "tool_result", tool_use_id: "b", content: "done" },
    ]);
    expect(endpoint.requests[1]?.refused).toBeUndefined();
  });

  const call = { type: "tool_use", id: "a", name: "echo", input: { text: "1" } };
  const text = { type: "text", text: "I will." };
  const thought = { type: "thinking", thinking: "hm", signature: "s" };
  it.each<[string, MessageAnswer, object[]]>([
    ["a call that was cut off", { content: [text, thought, call], stopReason: "max_tokens" }, [text]],
    ["two calls with one id", { content: [call, call] }, [call, { ...call, id: "call_1_2" }]],
    ["an input as text", { content: [{ ...call, input: '{"text":"1"}' }] }, [call]],
    ["no input", { content: [{ ...call, input: null }] }, [{ ...call, input: {} }]],
  ])("hands back a reply with %s as the service accepts it", async (_, answer, content) => {
    const { model, endpoint } = await modelOn(inTurn(answer));
    const request = requestOf("go", tools);
    const first = await model.ask(request, signal);
    if (first.kind !== "turn") throw new Error(first.message);
    const { messages, ...next } = followUp(request, first);
    const isCut = first.turn.calls.length === 0;
    const following = isCut ? [...messages.slice(0, -1), { role: "user" as const, content: "And?" }] : messages;
    await model.ask({ ...next, messages: following }, signal);
    expect(endpoint.requests[1]?.refused).toBeUndefined();
    expect(endpoint.requests[1]?.body.messages[1]).toEqual({ role: "assistant", content });
  });

  it("reads usage, cached tokens apart, and prices it", async () => {
    const usage = { input_tokens: 1_000_000, output_tokens: 0, cache_read_input_tokens: 7 };
    const { model } = await modelOn(inTurn({ text: "ok", usage }));
    const reply = await ask(model);
    if (reply.kind !== "turn") throw new Error(reply.message);
    expect(reply.turn.usage).toEqual({
      inputTokens: 1_000_000,
      outputTokens: 0,
      cacheReadTokens: 7,
      cacheWriteTokens: 0,
    });
    expect(model.cost(reply.turn.usage)).toBeCloseTo(0.5, 5);
  });
});

it("a reply without usage is read", async () => {
  const body = { content: [{ type: "text", text: "So." }], stop_reason: "end_turn", usage: null };
  const { model } = await modelOn(() => ({ fault: "body", body }));
  expect(await ask(model)).toMatchObject({ kind: "turn", turn: { text: "So.", usage: { inputTokens: 0 } } });
});

it("a stream that was not asked for is read", async () => {
  const headers = { "content-type": "text/event-stream" };
  const message = { id: "msg_1", model: "m", content: [], usage: { input_tokens: 1, output_tokens: 1 } };
  const events = [
    { type: "message_start", message },
    { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
    { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "So." } },
    { type: "message_delta", delta: { stop_reason: "end_turn" } },
    { type: "message_stop" },
  ];
  const text = events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join("");
  const { model } = await modelOn(() => ({ fault: "text", text, headers }));
  expect(await ask(model)).toMatchObject({ kind: "turn", turn: { text: "So.", stop: "done" } });
});

describe("why it stopped", () => {
  it.each<[string, MessageAnswer, string]>([
    ["end_turn", { text: "ok" }, "done"],
    ["stop_sequence", { text: "ok", stopReason: "stop_sequence" }, "done"],
    ["tool_use", { calls: [{ name: "echo" }] }, "calls"],
    ["end_turn with a call", { calls: [{ name: "echo" }], stopReason: "end_turn" }, "calls"],
    ["refusal", { stopReason: "refusal" }, "refused"],
    ["max_tokens", { text: "ok", stopReason: "max_tokens" }, "cut"],
    ["model_context_window_exceeded", { stopReason: "model_context_window_exceeded" }, "cut"],
  ])("%s is a turn", async (_, answer, stop) => {
    const { model } = await modelOn(inTurn(answer));
    expect(await ask(model)).toMatchObject({ kind: "turn", turn: { stop } });
  });

  it("leaves out the calls of a reply that was cut off, and keeps what it cost", async () => {
    const { model } = await modelOn(inTurn({ calls: [{ name: "echo" }], stopReason: "max_tokens" }));
    const turn = { calls: [], stop: "cut", usage: { outputTokens: 10 }, responseId: "msg_1" };
    expect(await ask(model)).toMatchObject({ kind: "turn", turn });
  });

  it.each<[string | null, string]>([
    ["pause_turn", "unknown stop reason: pause_turn"],
    ["sunspots", "unknown stop reason: sunspots"],
    [null, "unknown stop reason: none"],
  ])("%s is broken, and is not asked again", async (stopReason, message) => {
    const { model, endpoint } = await modelOn(inTurn({ calls: [{ name: "echo" }], stopReason }));
    expect(await ask(model)).toMatchObject({ kind: "broken", stage: "model", message });
    expect(endpoint.requests).toHaveLength(1);
  });
});

describe("faults", () => {
  it.each<[string, Fault]>([
    ["429", { fault: "status", status: 429, headers: { "retry-after": "7" } }],
    ["529", { fault: "status", status: 529 }],
    ["500", { fault: "status", status: 500 }],
    ["a reset connection", { fault: "reset" }],
    ["a truncated body", { fault: "truncated" }],
    ["invalid JSON", { fault: "invalid-json" }],
    ["an empty 200", { fault: "empty" }],
    ["no content", { fault: "body", body: { type: "message", content: null, usage: {} } }],
    ["a page instead of a reply", { fault: "body", body: "<html>" }],
  ])("%s is tried again", async (_, fault) => {
    const { model, endpoint, waits } = await modelOn(inTurn(fault));
    expect(await ask(model)).toMatchObject({ kind: "turn", turn: { text: "ok" } });
    expect(endpoint.requests).toHaveLength(2);
    expect(waits).toEqual([fault.fault === "status" && fault.status === 429 ? 7_000 : 500]);
  });

  it.each([
    ["of the response", { date: "Sun, 06 Nov 1994 08:49:30 GMT" }],
    ["of the machine, if the response has none", {}],
  ])("a date in retry-after is waited for, by the clock %s", async (_, date) => {
    const after = "date" in date ? "Sun, 06 Nov 1994 08:49:37 GMT" : new Date(Date.now() + 300_000).toUTCString();
    const headers = { ...date, "retry-after": after };
    const { model, waits } = await modelOn(inTurn({ fault: "status", status: 429, headers }));
    expect(await ask(model)).toMatchObject({ kind: "turn" });
    expect(waits).toEqual(["date" in date ? 7_000 : 60_000]);
  });

  it.each<[Fault, string]>([
    [
      { fault: "status", status: 429, message: "Too many requests", headers: { "retry-after": "600" } },
      "429 rate_limit_error: Too many requests (request req_5) (after 5 attempts)",
    ],
    [{ fault: "empty" }, "the reply is empty (status 200, no body) (after 5 attempts)"],
    [{ fault: "truncated" }, "the connection failed: the reply was cut off (after 5 attempts)"],
    [
      { fault: "switched" },
      "the connection failed: the service switched to another protocol (101 Switching Protocols) (after 5 attempts)",
    ],
    [
      { fault: "body", body: { type: "error", error: { type: "overloaded_error", message: "Overloaded" } } },
      "the reply is not a message: Overloaded (after 5 attempts)",
    ],
    [
      { fault: "body", body: "<html>Sign in to the proxy</html>" },
      'the reply is not a message but the text "<html>Sign in to the proxy</html>" (after 5 attempts)',
    ],
  ])("%j that lasts is broken with its cause, within bounds", async (fault, message) => {
    const { model, endpoint, waits } = await modelOn(() => fault);
    expect(await ask(model)).toMatchObject({ kind: "broken", stage: "model", message });
    expect(endpoint.requests).toHaveLength(5);
    expect(waits).toEqual(fault.fault === "status" ? Array(4).fill(60_000) : [500, 1000, 2000, 4000]);
  });

  it.each<[Fault, string]>([
    [{ fault: "status", status: 400, message: "bad" }, "400 invalid_request_error: bad (request req_1)"],
    [
      { fault: "status", status: 401, message: "who?" },
      "401 authentication_error: who?; check ANTHROPIC_API_KEY (request req_1)",
    ],
    [
      { fault: "status", status: 500, message: "never", headers: { "x-should-retry": "false" } },
      "500 api_error: never (request req_1)",
    ],
  ])("%j is not tried again", async (fault, message) => {
    const { model, endpoint } = await modelOn(() => fault);
    expect(await ask(model)).toMatchObject({ kind: "broken", stage: "model", message });
    expect(endpoint.requests).toHaveLength(1);
  });

  it("is not asked again when it asks for a wait of more than ten minutes", async () => {
    const headers = { "retry-after": "3600" };
    const { model, endpoint, waits } = await modelOn(() => ({ fault: "status", status: 429, headers }));
    expect(await ask(model)).toMatchObject({ kind: "broken", stage: "model", again: true });
    expect(await ask(model)).toMatchObject({
      kind: "broken",
      stage: "cancelled",
      message: expect.stringContaining("; it asks to wait 60 minutes"),
      again: true,
    });
    expect(endpoint.requests).toHaveLength(1);
    expect(waits).toEqual([]);
  });

  it.each(["hang", "stalled"] as const)(
    "a reply that never ends (%s) is a time-out, tried once more",
    async (fault) => {
      const { model, endpoint } = await modelOn(() => ({ fault }), { timeoutMs: 500 });
      const message = "no reply within 0.5 s (or no connection within 10 s); --timeout allows more (after 2 attempts)";
      expect(await ask(model)).toEqual({ kind: "broken", stage: "timeout", message });
      expect(endpoint.requests).toHaveLength(2);
    },
  );

  it("a service that is not there is named with the address", async () => {
    const { model, endpoint } = await modelOn(inTurn(), { retries: 0 });
    await endpoint.close();
    const address = endpoint.url.replace("http://", "");
    const message = `the connection failed: connect ECONNREFUSED ${address}; no server listens there`;
    expect(await ask(model)).toMatchObject({ kind: "broken", stage: "model", message });
  });

  it("a cancelled wait ends at once", async () => {
    const controller = new AbortController();
    const { model } = await modelOn(() => ({ fault: "status", status: 529 }), {
      delay: async () => controller.abort(),
    });
    const reply = await model.ask(requestOf("hi", tools), controller.signal);
    expect(reply).toMatchObject({ kind: "broken", stage: "cancelled" });
  });
});

describe("the API's tool search", () => {
  const deferred = { names: new Set(["files.read"]), search: "tool_search_tool_bm25_20251119" };
  const searching = (query: string, ...found: string[]) => [
    { type: "server_tool_use", id: "srv_1", name: "tool_search_tool_bm25", input: { query } },
    {
      type: "tool_search_tool_result",
      tool_use_id: "srv_1",
      content: {
        type: "tool_search_tool_search_result",
        tool_references: found.map((tool_name) => ({ type: "tool_reference", tool_name })),
      },
    },
  ];
  const reads = { type: "tool_use", id: "toolu_1", name: "files_read", input: { path: "notes.txt" } };
  const request = requestOf("read notes.txt", tools, { deferred });

  it("gets deferred definitions, and the search last, where the cached part of the prompt ends", async () => {
    const { model, endpoint } = await modelOn(inTurn());
    await model.ask(request, signal);
    const { tools: sent = [] } = endpoint.requests[0]?.body ?? {};
    expect(sent.map(({ input_schema: _, description: __, ...rest }) => rest)).toEqual([
      { name: "files_read", defer_loading: true },
      { name: "echo" },
      { type: "tool_search_tool_bm25_20251119", name: "tool_search_tool_bm25", cache_control: { type: "ephemeral" } },
    ]);
  });

  it("is read from the reply under the names that were shown, and goes back unchanged", async () => {
    const content = [...searching("read a file", "files_read", "echo"), reads];
    const { model, endpoint } = await modelOn(inTurn({ content }));
    const first = await model.ask(request, signal);
    if (first.kind !== "turn") throw new Error(first.message);
    expect(first.turn).toMatchObject({
      searches: [{ query: "read a file", found: ["files.read", "echo"] }],
      calls: [{ tool: "files.read", arguments: { path: "notes.txt" } }],
    });
    expect((await model.ask(followUp(request, first), signal)).kind).toBe("turn");
    expect(endpoint.requests[1]?.body.messages[1]?.content).toEqual(content);
    expect(endpoint.requests.map(({ refused }) => refused)).toEqual([undefined, undefined]);
  });

  it("reads the pattern of a regular expression, and a query that the service rejected as one that found nothing", async () => {
    const error = { type: "tool_search_tool_result_error", error_code: "invalid_tool_input" };
    const { model, endpoint } = await modelOn(
      inTurn({
        content: [
          { type: "server_tool_use", id: "srv_1", name: "tool_search_tool_regex", input: { pattern: "(" } },
          { type: "tool_search_tool_result", tool_use_id: "srv_1", content: error },
          { type: "text", text: "No tool fits." },
        ],
      }),
    );
    const search = "tool_search_tool_regex_20251119";
    const reply = await model.ask({ ...request, deferred: { ...deferred, search } }, signal);
    expect(reply).toMatchObject({ turn: { searches: [{ query: "(", found: [] }], stop: "done" } });
    expect(endpoint.requests[0]?.body.tools?.at(-1)).toMatchObject({ type: search, name: "tool_search_tool_regex" });
  });

  it("breaks, and is retried, when the service could not search", async () => {
    const [use] = searching("a");
    const error = { type: "tool_search_tool_result_error", error_code: "unavailable" };
    const failed = { content: [use, { type: "tool_search_tool_result", tool_use_id: "srv_1", content: error }] };
    const { model, waits } = await modelOn(inTurn(failed as MessageAnswer, failed as MessageAnswer), { retries: 1 });
    expect(await model.ask(request, signal)).toEqual({
      kind: "broken",
      stage: "model",
      message: "the tool search of the API failed: unavailable (after 2 attempts)",
      lost: { inputTokens: 200, outputTokens: 20, cacheReadTokens: 0, cacheWriteTokens: 0 },
    });
    expect(waits).toHaveLength(1);
  });

  it("is continued after a pause, as one reply with all that it used", async () => {
    const { model, endpoint } = await modelOn(
      inTurn({ content: searching("read a file", "files_read"), stopReason: "pause_turn" }, { content: [reads] }),
    );
    expect(await model.ask(request, signal)).toMatchObject({
      turn: {
        searches: [{ query: "read a file", found: ["files.read"] }],
        calls: [{ tool: "files.read" }],
        stop: "calls",
        usage: { inputTokens: 200, outputTokens: 20 },
      },
    });
    expect(endpoint.requests).toHaveLength(2);
  });

  it("is asked for without a model call, and refused by a model that has none", async () => {
    const { model, endpoint } = await modelOn(inTurn());
    expect(await model.refusesSearch?.(deferred.search, signal)).toBeUndefined();
    expect([endpoint.requests.length, endpoint.counted.map(({ refused }) => refused)]).toEqual([0, [undefined]]);
    const old = anthropic("anthropic:claude-3-opus", "claude-3-opus", {
      env: { ANTHROPIC_API_KEY: "k" },
      baseUrl: endpoint.url,
    });
    expect(await old.refusesSearch?.(deferred.search, signal)).toBe(
      "'claude-3-opus' does not support tool types: tool_search_tool_bm25_20251119",
    );
    await endpoint.close();
    expect(await old.refusesSearch?.(deferred.search, signal)).toBeUndefined();
  });
});

import { describe, expect, it } from "vitest";
import { openai } from "../../../src/evals/asking/models/openai.ts";
import type { EndpointOptions } from "../../../src/evals/base/types/endpoint.ts";
import { parseExactJson } from "../../../src/evals/base/types/json.ts";
import type { AskedModel, Reply } from "../../../src/evals/base/types/model.ts";
import {
  type CompletionAnswer,
  type CompletionsBody,
  startCompletionsEndpoint,
} from "../../fixtures/endpoints/completions.ts";
import type { Fault, Script } from "../../fixtures/endpoints/endpoint.ts";
import { followUp, requestOf, tool } from "./request.ts";

const bigNumber = '{"n": 12345678901234567890}';
const objectSchema = { type: "object", properties: { ok: { type: "boolean" } }, additionalProperties: false };
const tools = [tool("files.read", "Reads a file.", { path: "the path" }), tool("echo", "", { text: "the text" })];
const signal = new AbortController().signal;

async function modelOn(script: Script<CompletionsBody, CompletionAnswer>, options: Partial<EndpointOptions> = {}) {
  const endpoint = await startCompletionsEndpoint(script);
  const baseUrl = `${endpoint.url}/v1`;
  const model = openai("openai:qwen3", "qwen3", { env: {}, baseUrl, delay: async () => {}, ...options });
  return { model, endpoint };
}

const ask = (model: AskedModel): Promise<Reply> => model.ask(requestOf("read notes.txt", tools), signal);

async function turnOf(answer: CompletionAnswer) {
  const { model } = await modelOn(() => answer);
  const reply = await ask(model);
  if (reply.kind !== "turn") throw new Error(reply.message);
  return reply.turn;
}

describe("the request", () => {
  it("holds the tools as functions, and max_tokens for a server that is not OpenAI's", async () => {
    const { model, endpoint } = await modelOn(() => ({ text: "ok" }), { maxTokens: 99, effort: "low" });
    await ask(model);
    expect(endpoint.requests[0]?.body).toEqual({
      model: "qwen3",
      max_tokens: 99,
      reasoning_effort: "low",
      messages: [{ role: "user", content: "read notes.txt" }],
      tool_choice: "auto",
      tools: [
        {
          type: "function",
          function: { name: "files_read", description: "Reads a file.", parameters: tools[0]?.inputSchema },
        },
        { type: "function", function: { name: "echo", parameters: tools[1]?.inputSchema } },
      ],
    });
  });

  it.each([
    [["X-Team=search"], { "x-team": "search", authorization: "Bearer no-key-needed" }],
    [["api-key=azure"], { "api-key": "azure", authorization: undefined }],
    [["x-litellm-tags=a", "X-LiteLLM-Tags=b"], { "x-litellm-tags": "b", authorization: "Bearer no-key-needed" }],
  ])("has the headers %j", async (headers, expected) => {
    const { model, endpoint } = await modelOn(() => ({ text: "ok" }), { headers });
    await ask(model);
    const sent = endpoint.requests[0]?.headers ?? {};
    expect(Object.fromEntries(Object.keys(expected).map((name) => [name, sent[name]]))).toEqual(expected);
  });

  it.each([
    "This response_format type is unavailable now",
    "json_schema is not supported by this model",
    "Structured output is not available",
    "This model does not support response format `json_object`",
    "Model does not support formatted output.",
    "The provided JSON schema contains features not supported by xgrammar.",
    "Failed to parse grammar",
    "Controlled generation is not supported with google_search tool.",
    "guided_json is not enabled",
    "JSON mode is not enabled for models/gemma-3-27b-it",
    "output_format: Extra inputs are not permitted",
    "Invalid value for format: grammar could not be compiled",
  ])("leaves out the form of an answer once it is refused: %s", async (message) => {
    const refuse: Script<CompletionsBody, CompletionAnswer> = ({ response_format }) =>
      response_format ? { fault: "status", status: 400, message } : { text: "{}" };
    const { model, endpoint } = await modelOn(refuse);
    const request = { ...requestOf("Judge it.", []), answerSchema: { type: "object" } };
    for (let asked = 0; asked < 2; asked++) {
      expect(await model.ask(request, signal)).toMatchObject({ kind: "turn", turn: { text: "{}" } });
    }
    expect(endpoint.requests.map(({ body }) => "response_format" in body)).toEqual([true, false, false]);
  });

  it("reads an answer of a form among the thoughts, where the reply has no text", async () => {
    const message = { role: "assistant", content: "", reasoning_content: '{"ok": true}' };
    const body = { id: "r", choices: [{ finish_reason: "stop", message }], usage: { completion_tokens: 9 } };
    const { model } = await modelOn(() => ({ fault: "body", body }));
    const request = requestOf("Judge it.", []);
    const read = async (one: typeof request) => (await model.ask(one, signal)) as { turn: { text: string } };
    expect((await read({ ...request, answerSchema: { type: "object" } })).turn.text).toBe('{"ok": true}');
    expect((await read(request)).turn.text).toBe("");
  });

  it("asks for an answer of a form, strictly", async () => {
    const { model, endpoint } = await modelOn(() => ({ text: '{"ok": true}' }));
    const answerSchema = { ...objectSchema, required: ["ok"] };
    expect(await model.ask({ ...requestOf("hello", []), answerSchema }, signal)).toMatchObject({ kind: "turn" });
    expect(endpoint.requests[0]?.body).toEqual({
      model: "qwen3",
      max_tokens: 4096,
      messages: [{ role: "user", content: "hello" }],
      response_format: { type: "json_schema", json_schema: { name: "answer", strict: true, schema: answerSchema } },
    });
    const optional = { ...answerSchema, required: [] };
    await model.ask({ ...requestOf("hello", []), answerSchema: optional }, signal);
    expect(endpoint.requests[1]?.refused).toContain("schema: 'required' must include every key in properties: 'ok'");
    expect(endpoint.requests[2]?.body).not.toHaveProperty("response_format");
  });

  it("hands back the calls, and each result after them", async () => {
    const call = { name: "files_read", arguments: '{"path": "a"}' };
    const { model, endpoint } = await modelOn((_, i) => (i === 0 ? { calls: [call, call] } : { text: "ok" }));
    const request = requestOf("go", tools);
    const first = await model.ask(request, signal);
    if (first.kind !== "turn") throw new Error(first.message);
    expect(await model.ask(followUp(request, first), signal)).toMatchObject({ kind: "turn", turn: { stop: "done" } });
    expect(endpoint.requests[1]?.body.messages.slice(1)).toEqual([
      {
        role: "assistant",
        content: null,
        refusal: null,
        tool_calls: [
          { id: "call_1_1", type: "function", function: call },
          { id: "call_1_2", type: "function", function: call },
        ],
      },
      { role: "tool", tool_call_id: "call_1_1", content: "done" },
      { role: "tool", tool_call_id: "call_1_2", content: "done" },
    ]);
  });

  it("hands back fields of a message that are not read, such as the reasoning before a call", async () => {
    const call = { id: "c", type: "function", extra: 1, function: { name: "echo", arguments: { text: "a" } } };
    const message = { role: "assistant", content: "So.", reasoning_content: "Hm.", tool_calls: [call] };
    const { model, endpoint } = await modelOn((_, i) =>
      i === 0 ? { fault: "body", body: { choices: [{ message }] } } : { text: "ok" },
    );
    const request = requestOf("go", tools);
    const first = await model.ask(request, signal);
    if (first.kind !== "turn") throw new Error(first.message);
    await model.ask(followUp(request, first), signal);
    expect(endpoint.requests[1]?.body.messages[1]).toEqual({
      ...message,
      tool_calls: [{ ...call, function: { name: "echo", arguments: '{"text":"a"}' } }],
    });
  });

  it("sends names of at most 64 characters, and maps them back", async () => {
    const long = tool(`server.${"x".repeat(80)}`, "Long.");
    const { model, endpoint } = await modelOn(({ tools: sent }) => ({
      calls: [{ name: sent?.[0]?.function.name ?? "", arguments: "{}" }],
    }));
    const reply = await model.ask(requestOf("go", [long]), signal);
    expect(reply).toMatchObject({ kind: "turn", turn: { calls: [{ tool: long.name }] } });
    expect(endpoint.requests[0]?.body.tools?.[0]?.function.name).toMatch(/^server_x{48}_[0-9a-f]{8}$/);
  });
});

describe("arguments", () => {
  it.each<[string, string]>([
    ['{"n": 5.0}', '{"n": 5.0}'],
    ['{"path": ', "{}"],
    ['["a"]', "{}"],
    ["", "{}"],
  ])("%j go back as %s", async (written, sent) => {
    const script = (_: unknown, at: number) =>
      at > 0 ? { text: "ok" } : { calls: [{ name: "echo", arguments: written }] };
    const { model, endpoint } = await modelOn(script);
    const request = requestOf("go", tools);
    const first = await model.ask(request, signal);
    if (first.kind === "turn") await model.ask(followUp(request, first), signal);
    const calls = [expect.objectContaining({ function: { name: "echo", arguments: sent } })];
    expect(endpoint.requests[1]?.body.messages[1]).toMatchObject({ tool_calls: calls });
  });

  it.each<[unknown, object]>([
    ['{"path": "a"}', { arguments: { path: "a" } }],
    ['{"n": 5.0}', { arguments: { n: 5 }, argumentsText: '{"n": 5.0}' }],
    [bigNumber, { arguments: parseExactJson(bigNumber), argumentsText: bigNumber }],
    ['{"s": "5.0", "n": -1.5}', { arguments: { s: "5.0", n: -1.5 } }],
    ['{"path": ', { argumentsText: '{"path": ' }],
    ["", { arguments: {}, argumentsText: "" }],
    [{ path: "a" }, { arguments: { path: "a" } }],
  ])("%j", async (written, expected) => {
    const { calls } = await turnOf({ calls: [{ name: "echo", arguments: written }] });
    expect(calls).toEqual([{ id: "call_1_1", tool: "echo", ...expected }]);
  });

  it("get ids where a server gives none, or one for all", async () => {
    const none = await turnOf({ calls: [{ name: "echo", id: null }] });
    const same = await turnOf({
      calls: [
        { name: "echo", id: "0" },
        { name: "echo", id: "0" },
      ],
    });
    expect([none, same].map(({ calls }) => calls.map(({ id }) => id))).toEqual([["call_1_1"], ["0", "call_1_2"]]);
  });
});

/** What gateways and servers send beside OpenAI's own form, as a whole body. */
describe("a reply in another form", () => {
  const fn = { name: "echo", arguments: '{"text":"a"}' };
  const call = { id: "c", type: "function", function: fn };
  const choice = (finish_reason: string, message: object, more: object = {}) => ({ finish_reason, message, ...more });
  const echoed = { text: "", calls: [{ id: expect.any(String), tool: "echo", arguments: { text: "a" } }] };
  const event = (delta: object, finish_reason: string | null = null) =>
    `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason }] })}\n\n`;
  const stream = `${event({ tool_calls: [{ index: 0, ...call }] })}${event({}, "tool_calls")}data: [DONE]\n\n`;

  const reply = (...choices: object[]): Fault => ({ fault: "body", body: { choices } });
  it.each<[string, Fault, object]>([
    [
      "parts of a content",
      reply(choice("stop", { content: [{ type: "thinking", thinking: [] }, { text: "A" }] })),
      { text: "A", calls: [] },
    ],
    [
      "text and calls in two choices",
      reply(choice("tool_calls", { content: "I will." }), choice("tool_calls", { content: null, tool_calls: [call] })),
      { ...echoed, text: "I will." },
    ],
    ["a call of the old form", reply(choice("function_call", { function_call: fn })), echoed],
    [
      "a call of a custom tool",
      reply(choice("tool_calls", { tool_calls: [{ id: "c", type: "custom", custom: { name: "echo", input: "a" } }] })),
      { calls: [{ id: "c", tool: "echo", argumentsText: "a" }] },
    ],
    ["a stream unasked for", { fault: "text", text: stream, headers: { "content-type": "text/event-stream" } }, echoed],
  ])("%s", async (_, answer, turn) => {
    const { model, endpoint } = await modelOn((_body, i) => (i === 0 ? answer : { text: "ok" }));
    const request = requestOf("go", tools);
    const first = await model.ask(request, signal);
    if (first.kind !== "turn") throw new Error(first.message);
    expect(first.turn).toMatchObject(turn);
    // The endpoint refuses custom tools, since none was offered.
    if (!first.turn.calls.some(({ arguments: args }) => args)) return;
    await model.ask(followUp(request, first), signal);
    const sent = endpoint.requests[1]?.body.messages[1] as { tool_calls?: { id: string }[] };
    expect(sent.tool_calls?.map(({ id }) => id)).toEqual(first.turn.calls.map(({ id }) => id));
  });

  it.each([
    [{ code: 502, message: "Provider disconnected" }, 2],
    [{ code: 400, message: "Bad schema" }, 1],
    ["Provider gone", 2],
  ])("an error in a choice: %j", async (error, requests) => {
    const body = { choices: [choice("error", { content: "" }, { error })] };
    const { model, endpoint } = await modelOn(() => ({ fault: "body", body }), { retries: 1 });
    const words = typeof error === "string" ? error : `${error.code} ${error.message}`;
    const message = expect.stringContaining(`the reply reports an error: ${words}`);
    expect(await ask(model)).toMatchObject({ kind: "broken", message });
    expect(endpoint.requests).toHaveLength(requests);
  });
});

it("a content that is neither a text nor a list is no reply", async () => {
  const { model } = await modelOn(
    () => ({ fault: "body", body: { choices: [{ finish_reason: "stop", message: { content: 5 } }] } }),
    {
      retries: 0,
    },
  );
  const message = "the reply is not a completion: choices[0].message.content must be text or a list, got a number";
  expect(await ask(model)).toMatchObject({ kind: "broken", message });
});

it("names the tool that a refusal means by its position, and the URL that is not there", async () => {
  const refused = (status: number, message: string) =>
    modelOn(() => ({ fault: "status", status, message }), { retries: 0 });
  const { model } = await refused(400, "tools.1.function.parameters: oneOf is not supported");
  expect(await ask(model)).toMatchObject({ message: expect.stringContaining('(tools.1 is "echo")') });
  const { endpoint } = await refused(404, "no such page");
  const lost = openai("openai:x", "x", { env: {}, baseUrl: endpoint.url, retries: 0 });
  expect(await ask(lost)).toMatchObject({
    message: expect.stringContaining(`(asked for ${endpoint.url}/chat/completions; most base URLs end in /v1)`),
  });
});

describe("why it stopped", () => {
  const calls = [{ name: "echo", arguments: "{}" }];

  it.each<[string, CompletionAnswer, object]>([
    ["stop", { text: "ok" }, { stop: "done", text: "ok" }],
    ["a reason of its own after a text", { text: "ok", finishReason: "eos" }, { stop: "done", text: "ok" }],
    ["stop without a word", { text: "" }, { stop: "done", text: "" }],
    ["tool_calls", { calls }, { stop: "calls" }],
    ["stop with calls", { calls, finishReason: "stop" }, { stop: "calls" }],
    ["content_filter with calls", { calls, finishReason: "content_filter" }, { stop: "refused", calls: [] }],
    ["no reason with calls", { calls, finishReason: null }, { stop: "calls" }],
    ["content_filter", { text: "", finishReason: "content_filter" }, { stop: "refused" }],
    ["length", { calls, finishReason: "length" }, { stop: "cut", calls: [], responseId: "chatcmpl-1" }],
    ["a refusal", { refusal: "I will not." }, { stop: "refused", text: "I will not." }],
    ["Gemini's MAX_TOKENS", { text: "o", finishReason: "MAX_TOKENS" }, { stop: "cut" }],
    ["Mistral's model_length", { text: "o", finishReason: "model_length" }, { stop: "cut" }],
    ["Gemini's SAFETY", { text: "", finishReason: "SAFETY" }, { stop: "refused" }],
    ["Gemini's STOP", { text: "", finishReason: "STOP" }, { stop: "done" }],
    ["Bedrock's guardrail_intervened", { text: "", finishReason: "guardrail_intervened" }, { stop: "refused" }],
    ["Anthropic's tool_use", { calls, finishReason: "tool_use" }, { stop: "calls" }],
  ])("%s is a turn", async (_, answer, turn) => {
    expect(await turnOf(answer)).toMatchObject(turn);
  });

  it("a refusal among the parts of its text is a turn", async () => {
    const message = { role: "assistant", content: [{ type: "refusal", refusal: "I will not." }] };
    const { model } = await modelOn(() => ({ fault: "body", body: { choices: [{ finish_reason: "stop", message }] } }));
    expect(await ask(model)).toMatchObject({ turn: { stop: "refused", text: "I will not." } });
  });

  const twice = "(after 2 attempts)";
  it.each<[CompletionAnswer | Fault, string]>([
    [{ text: "The fi", finishReason: "error" }, `the reply has finish reason error and a part of its text ${twice}`],
    [
      { text: "The fi", finishReason: "insufficient_system_resource" },
      `the reply has finish reason insufficient_system_resource and a part of its text ${twice}`,
    ],
    [
      { text: "Let me see.", finishReason: "function_call_filter: MALFORMED_FUNCTION_CALL" },
      `the reply has finish reason function_call_filter: MALFORMED_FUNCTION_CALL and a part of its text ${twice}`,
    ],
    [
      { fault: "body", body: { choices: [{ finish_reason: "stop", message: { role: "assistant" } }] } },
      `the reply has neither a text nor a call, and no output tokens ${twice}`,
    ],
    [{ text: "", finishReason: "function_call" }, `the reply has finish reason function_call but no call ${twice}`],
    [{ text: "", finishReason: "sunspots" }, "the reply has finish reason sunspots and no content"],
    [{ text: "", finishReason: "tool_calls" }, "the reply has finish reason tool_calls but no call (after 2 attempts)"],
    [
      { fault: "body", body: { error: { message: "Provider returned error", code: 502 } } },
      "the reply is not a completion: Provider returned error (after 2 attempts)",
    ],
    [
      { fault: "status", status: 503, message: "loading model" },
      `503 server_error: loading model (request req_2) ${twice}`,
    ],
    [{ fault: "empty" }, "the reply is empty (status 200, no body) (after 2 attempts)"],
  ])("%j is broken", async (answer, message) => {
    const { model } = await modelOn(() => answer, { retries: 1 });
    expect(await ask(model)).toMatchObject({ kind: "broken", stage: "model", message });
  });
});

it("counts cached tokens apart, and knows no price that it was not given", async () => {
  const usage = { prompt_tokens: 100, completion_tokens: 10, prompt_tokens_details: { cached_tokens: 60 } };
  const prices = { qwen3: { input: 1, output: 2 } };
  const { model } = await modelOn(() => ({ text: "ok", usage }), { prices });
  const reply = await ask(model);
  if (reply.kind !== "turn") throw new Error(reply.message);
  expect(reply.turn.usage).toEqual({ inputTokens: 40, outputTokens: 10, cacheReadTokens: 60, cacheWriteTokens: 0 });
  expect(model.cost(reply.turn.usage)).toBeCloseTo((40 + 20 + 6) / 1e6, 12);
  const { model: unpriced } = await modelOn(() => ({ text: "ok" }));
  expect(unpriced.cost(reply.turn.usage)).toBe("unknown");
});

it("leaves usage at nothing where a server reports none", async () => {
  const { usage } = await turnOf({ text: "ok", usage: null });
  expect(usage).toEqual({ inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 });
});

import { describe, expect, it } from "vitest";
import { openaiResponses } from "../../../src/evals/asking/models/openaiResponses.ts";
import type { EndpointOptions } from "../../../src/evals/base/types/endpoint.ts";
import type { Fault, Script } from "../../fixtures/endpoints/endpoint.ts";
import { type ResponseAnswer, type ResponsesBody, startResponsesEndpoint } from "../../fixtures/endpoints/responses.ts";
import { followUp, requestOf, tool } from "./request.ts";

const tools = [
  tool("files.read", "Reads a file.", { path: "the path" }),
  { ...tool("issues", "Lists issues."), server: "git hub" },
  tool("echo", "", { text: "the text" }),
];
const signal = new AbortController().signal;

async function modelOn(
  script: Script<ResponsesBody, ResponseAnswer>,
  options: Partial<EndpointOptions> = {},
  name = "gpt-6.1",
) {
  const endpoint = await startResponsesEndpoint(script);
  const model = openaiResponses(`openai:${name}`, name, {
    env: { OPENAI_API_KEY: "k" },
    baseUrl: `${endpoint.url}/v1`,
    delay: async () => {},
    ...options,
  });
  return { model, endpoint };
}

const inTurn =
  (...answers: (ResponseAnswer | Fault)[]): Script<ResponsesBody, ResponseAnswer> =>
  (_, index) =>
    answers[index] ?? { text: "ok" };

const deferred = { names: new Set(["files.read", "issues"]), search: "tool_search" };
const request = requestOf("read notes.txt", tools, { deferred });
const found = { type: "function", name: "files_read", description: "", parameters: {}, strict: false };
const searching: NonNullable<ResponseAnswer["output"]> = [
  {
    id: "ts_1",
    type: "tool_search_call",
    call_id: null,
    execution: "server",
    status: "completed",
    arguments: { paths: ["demo"] },
  },
  {
    id: "tso_1",
    type: "tool_search_output",
    call_id: null,
    execution: "server",
    status: "completed",
    tools: [{ type: "namespace", name: "demo", description: "", tools: [found] }],
  },
  {
    id: "fc_1",
    type: "function_call",
    call_id: "call_1",
    status: "completed",
    namespace: "demo",
    name: "files_read",
    arguments: '{"path":"notes.txt"}',
  },
];

describe("tool search of the Responses API", () => {
  it("gets deferred definitions in a namespace for each server, and others as functions", async () => {
    const { model, endpoint } = await modelOn(inTurn(), { effort: "low" });
    await model.ask(request, signal);
    expect(endpoint.requests[0]?.refused).toBeUndefined();
    const { tools: sent, ...rest } = endpoint.requests[0]?.body ?? {};
    expect(rest).toEqual({
      model: "gpt-6.1",
      max_output_tokens: 4096,
      store: false,
      include: ["reasoning.encrypted_content"],
      reasoning: { effort: "low" },
      tool_choice: "auto",
      input: [{ role: "user", content: "read notes.txt" }],
    });
    const fn = (at: number, name: string) => ({
      type: "function",
      name,
      strict: false,
      parameters: tools[at]?.inputSchema,
    });
    const namespace = (name: string, server: string, at: number, tool: string) => ({
      ...{ type: "namespace", name, description: `The tools of the MCP server "${server}".` },
      tools: [{ ...fn(at, tool), description: tools[at]?.description, defer_loading: true }],
    });
    expect(sent).toEqual([
      fn(2, "echo"),
      namespace("demo", "demo", 0, "files_read"),
      namespace("git_hub", "git hub", 1, "issues"),
      { type: "tool_search" },
    ]);
  });

  it("is read from the reply under the names that were shown, and goes back unchanged", async () => {
    const { model, endpoint } = await modelOn(inTurn({ output: searching, usage: { cached: 40 } }));
    const first = await model.ask(request, signal);
    if (first.kind !== "turn") throw new Error(first.message);
    expect(first.turn).toMatchObject({
      searches: [{ query: '{"paths":["demo"]}', found: ["files.read"] }],
      calls: [{ id: "call_1", tool: "files.read", arguments: { path: "notes.txt" } }],
      stop: "calls",
      usage: { inputTokens: 60, outputTokens: 10, cacheReadTokens: 40, cacheWriteTokens: 0 },
      responseId: "resp_1",
    });
    expect(await model.ask(followUp(request, first), signal)).toMatchObject({ turn: { text: "ok", stop: "done" } });
    expect(endpoint.requests[1]?.body.input).toEqual([
      { role: "user", content: "read notes.txt" },
      ...searching,
      { type: "function_call_output", call_id: "call_1", output: "done" },
    ]);
  });

  it("shows all definitions as functions where none is deferred", async () => {
    const { model, endpoint } = await modelOn(inTurn());
    await model.ask(requestOf("hello", tools), signal);
    expect(endpoint.requests[0]?.body.tools?.map(({ type, name }) => [type, name])).toEqual([
      ["function", "files_read"],
      ["function", "issues"],
      ["function", "echo"],
    ]);
  });

  it("is asked for without a model call, and refused by a model that has none", async () => {
    const { model, endpoint } = await modelOn(inTurn());
    expect(await model.refusesSearch?.("tool_search", signal)).toBeUndefined();
    expect([endpoint.requests.length, endpoint.counted.map(({ refused }) => refused)]).toEqual([0, [undefined]]);
    const { model: old } = await modelOn(inTurn(), {}, "gpt-5");
    expect(await old.refusesSearch?.("tool_search", signal)).toBe("Tool 'tool_search' is not supported with gpt-5.");
  });
});

const item = { type: "function_call", call_id: "c", name: "echo", arguments: '{"text":"a"}' };
const said = { type: "message", role: "assistant", content: [{ type: "output_text", text: "I will." }] };
const blank = { ...said, content: [{ type: "output_text", text: " " }] };

describe("the reply of the Responses API", () => {
  it.each<[string, ResponseAnswer | Fault, object]>([
    ["a refusal", { refusal: "No." }, { turn: { stop: "refused", text: "No." } }],
    [
      "cut off",
      { calls: [{ name: "echo", input: '{"te' }], incomplete: "max_output_tokens" },
      { turn: { stop: "cut", calls: [] } },
    ],
    ["filtered", { text: "", incomplete: "content_filter" }, { turn: { stop: "refused" } }],
    ["arguments not in JSON", { calls: [{ name: "echo", input: "{" }] }, { turn: { calls: [{ argumentsText: "{" }] } }],
    [
      "failed for good",
      { status: "failed", error: { code: "invalid_prompt", message: "too odd" }, output: [] },
      { kind: "broken", message: "the response failed: invalid_prompt: too odd" },
    ],
    [
      "failed for a while",
      { status: "failed", error: { code: "server_error", message: "sorry" }, output: [] },
      { kind: "turn", turn: { text: "ok" } },
    ],
    [
      "failed with a text",
      { status: "failed", error: "out of memory" as never, output: [] },
      { kind: "turn", turn: { text: "ok" } },
    ],
    [
      "failed with a number",
      { status: "failed", error: { code: 400 as never, message: "too odd" }, output: [] },
      { kind: "broken", message: "the response failed: 400: too odd" },
    ],
    ["a content as text", { output: [{ type: "message", content: "So." }] }, { turn: { text: "So.", stop: "done" } }],
    ["without a status", { fault: "body", body: { output: [said] } }, { turn: { text: "I will.", stop: "done" } }],
    ["unknown", { text: "", status: "queued" }, { kind: "broken", message: "unknown status of the response: queued" }],
    ["something else", { fault: "body", body: { object: "list" } }, { kind: "turn", turn: { text: "ok" } }],
  ])("%s", async (_, answer, expected) => {
    const { model } = await modelOn(inTurn(answer));
    expect(await model.ask(requestOf("hello", tools), signal)).toMatchObject(expected);
  });
});

const thought = { type: "reasoning", summary: [], encrypted_content: "e" };
const whole = { status: "completed", output: [item], usage: null };
const streamed = `data: ${JSON.stringify({ type: "response.completed", response: whole })}\n\n`;
it.each<[string, ResponseAnswer | Fault, object[]]>([
  ["a stream unasked for", { fault: "text", text: streamed, headers: { "content-type": "text/event-stream" } }, [item]],
  ["no ids", { output: [{ ...item, call_id: null }] }, [{ ...item, call_id: "call_1_1" }]],
  ["one id for two calls", { output: [item, item] }, [item, { ...item, call_id: "call_1_2" }]],
  ["arguments as an object", { output: [{ ...item, arguments: { text: "a" } }] }, [item]],
  ["a blank text before a call", { output: [blank, item] }, [item]],
  ["a call that was cut off", { output: [said, thought, item], incomplete: "max_output_tokens" }, [said]],
])("is asked again with %s as the service accepts it", async (_, answer, sent) => {
  const { model, endpoint } = await modelOn(inTurn(answer));
  const asked = requestOf("go", tools);
  const first = await model.ask(asked, signal);
  if (first.kind !== "turn") throw new Error(first.message);
  await model.ask(followUp(asked, first), signal);
  expect(endpoint.requests[1]?.refused).toBeUndefined();
  expect(endpoint.requests[1]?.body.input.slice(1, 1 + sent.length)).toEqual(sent);
  expect(endpoint.requests[1]?.body.input).toHaveLength(1 + sent.length + first.turn.calls.length);
});

it("names the tool that the service refuses by its position in a namespace", async () => {
  const message = "Invalid 'tools[1].tools[0].name'";
  const { model } = await modelOn(() => ({ fault: "status", status: 400, message }));
  const reply = await model.ask(request, signal);
  expect(reply).toMatchObject({
    message: expect.stringMatching(/tools\[0\].name'.*\(tools\.1\.tools\.0 is "files_read"\)/),
  });
});

it("is not asked again after the service refused a request that all would share", async () => {
  const { model, endpoint } = await modelOn(inTurn({ fault: "status", status: 401, message: "no such key" }));
  expect(await model.ask(request, signal)).toMatchObject({ kind: "broken", stage: "model" });
  expect(await model.ask(request, signal)).toMatchObject({ kind: "broken", stage: "cancelled" });
  expect(endpoint.requests).toHaveLength(1);
});

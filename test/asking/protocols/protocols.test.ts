import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { findProtocol } from "../../../src/evals/asking/hosts/passThrough.ts";
import type { Protocol } from "../../../src/evals/asking/protocols/protocol.ts";

const paths = { messages: "/v1/messages", responses: "/v1/responses", completions: "/v1/chat/completions" };
const protocol = (name: keyof typeof paths): Protocol => {
  const found = findProtocol(paths[name]);
  if (!found) throw new Error(name);
  return found;
};
const stream = (...events: object[]) => events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join("");

describe("findProtocol", () => {
  it("recognizes model requests by their path, and no others", () => {
    for (const [name, path] of Object.entries(paths)) expect(findProtocol(path)?.name).toBe(name);
    expect(["/v1/messages/count_tokens", "/v1/models", "/"].map(findProtocol)).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
  });
});

describe("a Messages request", () => {
  it("is read with deferred tools, every text, results and what a search returned", () => {
    const reference = { type: "tool_reference", tool_name: "mcp__s__get" };
    expect(
      protocol("messages").readRequest(
        {
          model: "m",
          system: [{ type: "text", text: "You help." }],
          tools: [
            { name: "ToolSearch", description: "Finds.", input_schema: { type: "object" } },
            { name: "mcp__s__get", description: "Gets.", input_schema: { type: "object" }, defer_loading: true },
          ],
          messages: [
            { role: "user", content: [{ type: "text", text: "Get it." }] },
            { role: "system", content: "Deferred: mcp__s__get" },
            { role: "assistant", content: [{ type: "tool_use", id: "t1", name: "ToolSearch", input: {} }] },
            {
              role: "user",
              content: [
                { type: "tool_result", tool_use_id: "t1", content: [reference] },
                { type: "tool_result", tool_use_id: "t2", content: "no", is_error: true },
                { type: "text", text: "Body of the skill." },
              ],
            },
          ],
        },
        paths.messages,
      ),
    ).toEqual({
      model: "m",
      tools: [
        { name: "ToolSearch", description: "Finds.", deferred: false },
        { name: "mcp__s__get", description: "Gets.", deferred: true },
      ],
      texts: ["You help.", "Get it.", "Deferred: mcp__s__get", "Body of the skill."],
      opening: "Get it.",
      outputs: [
        { callId: "t1", text: "", isError: false, found: ["mcp__s__get"] },
        { callId: "t2", text: "no", isError: true },
      ],
      notes: ["Body of the skill."],
    });
  });

  it("is answered by a stream whose last counts are the totals", () => {
    const body = stream(
      {
        type: "message_start",
        message: {
          id: "msg_1",
          model: "m",
          content: [],
          usage: { input_tokens: 5, output_tokens: 1, cache_read_input_tokens: 3 },
        },
      },
      { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
      { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "So: " } },
      { type: "content_block_start", index: 1, content_block: { type: "tool_use", id: "t1", name: "get", input: {} } },
      { type: "content_block_delta", index: 1, delta: { type: "input_json_delta", partial_json: '{"a"' } },
      { type: "content_block_delta", index: 1, delta: { type: "input_json_delta", partial_json: ":1}" } },
      { type: "message_delta", delta: { stop_reason: "tool_use" }, usage: { output_tokens: 9 } },
      { type: "message_stop" },
    );
    expect(protocol("messages").readReply(body)).toEqual({
      id: "msg_1",
      model: "m",
      text: "So: ",
      calls: [{ id: "t1", tool: "get", arguments: { a: 1 } }],
      answered: [],
      usage: { inputTokens: 5, outputTokens: 9, cacheReadTokens: 3, cacheWriteTokens: 0 },
      stop: "calls",
    });
    expect(protocol("messages").readReply(body.replace(/data: \{"type":"message_stop"\}\s*$/, ""))).toMatchObject({
      kind: "fault",
      message: "the reply was cut off",
    });
  });
});

describe("a Responses request", () => {
  it("is read with namespaces, added tools, and tools that a search returned", () => {
    const inner = { type: "function", name: "get", description: "Gets." };
    const namespace = { type: "namespace", name: "mcp__s", description: "Tools of s.", tools: [inner] };
    const request = protocol("responses").readRequest(
      {
        model: "m",
        instructions: "You help.",
        tools: [{ type: "function", name: "exec_command", description: "Runs." }, { type: "web_search" }],
        input: [
          { type: "additional_tools", tools: [{ type: "namespace", name: "functions", tools: [{ name: "exec" }] }] },
          { type: "message", role: "developer", content: [{ type: "input_text", text: "Skills: none." }] },
          { type: "message", role: "user", content: [{ type: "input_text", text: "Get it." }] },
          { type: "tool_search_call", call_id: "c1", arguments: { query: "get" } },
          { type: "tool_search_output", call_id: "c1", tools: [namespace] },
          { type: "function_call_output", call_id: "c2", output: "got" },
        ],
      },
      paths.responses,
    );
    expect(request).toEqual({
      model: "m",
      tools: [
        { name: "exec_command", description: "Runs.", deferred: false },
        { name: "web_search", description: "", deferred: false },
        { name: "exec", description: "", deferred: false },
        { name: "mcp__s__get", description: "Gets.", deferred: true },
      ],
      texts: ["You help.", "Skills: none.", "Get it."],
      opening: "Get it.",
      outputs: [
        { callId: "c1", text: "", isError: false, found: ["mcp__s__get"] },
        { callId: "c2", text: "got", isError: false },
      ],
      notes: [],
    });
  });

  it("is answered by items: functions in namespaces, searches and code", () => {
    const items = [
      { type: "message", content: [{ type: "output_text", text: "So." }] },
      { type: "function_call", call_id: "c1", name: "get", namespace: "mcp__s", arguments: '{"a":1}' },
      { type: "tool_search_call", call_id: "c2", arguments: { query: "get" } },
      { type: "custom_tool_call", call_id: "c3", name: "exec", namespace: "functions", input: "text(1)" },
    ];
    const usage = { input_tokens: 10, input_tokens_details: { cached_tokens: 4 }, output_tokens: 3 };
    const end = {
      type: "response.completed",
      response: { id: "r1", model: "m", status: "completed", output: [], usage },
    };
    const done = items.map((item) => ({ type: "response.output_item.done", item }));
    expect(protocol("responses").readReply(stream(...done, end))).toEqual({
      id: "r1",
      model: "m",
      text: "So.",
      calls: [
        { id: "c1", tool: "mcp__s__get", arguments: { a: 1 } },
        { id: "c2", tool: "tool_search", arguments: { query: "get" }, role: "search" },
        { id: "c3", tool: "exec", arguments: { input: "text(1)" } },
      ],
      answered: [],
      usage: { inputTokens: 6, outputTokens: 3, cacheReadTokens: 4, cacheWriteTokens: 0 },
      stop: "calls",
    });
    expect(protocol("responses").readReply(stream(...done))).toMatchObject({
      kind: "fault",
      message: "the reply was cut off",
    });
    const failed = { type: "response.failed", response: { error: { message: "overloaded" } } };
    expect(protocol("responses").readReply(stream(failed))).toMatchObject({ kind: "fault", message: "overloaded" });
  });
});

describe("a chat completions request", () => {
  it("is read, and its stream of deltas is joined", () => {
    const request = protocol("completions").readRequest(
      {
        model: "m",
        tools: [{ type: "function", function: { name: "s__get", description: "Gets.", parameters: {} } }],
        messages: [
          { role: "system", content: "You help." },
          { role: "user", content: "Get it." },
          { role: "assistant", content: null, tool_calls: [] },
          { role: "tool", tool_call_id: "c1", content: "got" },
        ],
      },
      paths.completions,
    );
    expect(request).toMatchObject({
      tools: [{ name: "s__get", description: "Gets.", deferred: false }],
      texts: ["You help.", "Get it."],
      opening: "Get it.",
      outputs: [{ callId: "c1", text: "got" }],
    });
    const call = (index: number, more: object) => ({ choices: [{ delta: { tool_calls: [{ index, ...more }] } }] });
    const body = stream(
      { id: "x", model: "m", choices: [{ delta: { role: "assistant", content: "So." } }] },
      call(0, { id: "c1", function: { name: "s__get", arguments: '{"a"' } }),
      call(0, { function: { arguments: ":1}" } }),
      call(1, { id: "c2", function: { name: "s__get", arguments: "" } }),
      { choices: [{ delta: {}, finish_reason: "tool_calls" }] },
      { choices: [], usage: { prompt_tokens: 7, completion_tokens: 2 } },
    );
    expect(protocol("completions").readReply(`${body}data: [DONE]\n\n`)).toMatchObject({
      text: "So.",
      calls: [
        { id: "c1", tool: "s__get", arguments: { a: 1 } },
        { id: "c2", tool: "s__get", arguments: {} },
      ],
      usage: { inputTokens: 7, outputTokens: 2 },
      stop: "calls",
    });
  });
});

describe("a stream that was not asked for", () => {
  it("keeps what a service of chat completions wants back", () => {
    const signature = { extra_content: { google: { thought_signature: "s" } } };
    const [first, second] = ['{"a"', ":1}"].map((part) => ({ function: { arguments: part } }));
    const chunks = [
      { role: "assistant", content: null, reasoning_content: "I " },
      { role: "assistant", reasoning_content: "think", reasoning_details: [{ type: "encrypted", data: "d" }] },
      { tool_calls: [{ index: 1, id: "c", type: "function", function: { name: "get", ...first?.function } }] },
      { tool_calls: [{ index: 1, id: "c", type: "function", ...second, ...signature }] },
      JSON.parse('{"__proto__":{"polluted":1},"constructor":{"polluted":1}}'),
    ];
    const body = stream(...chunks.map((delta) => ({ choices: [{ delta }] })), { choices: [{ finish_reason: "stop" }] });
    const whole = protocol("completions").parseReply(body) as { body: { choices: [{ message: object }] } };
    expect(whole.body.choices[0].message).toMatchObject({
      reasoning_content: "I think",
      reasoning_details: [{ type: "encrypted", data: "d" }],
      tool_calls: [{ id: "c", type: "function", function: { name: "get", arguments: '{"a":1}' }, ...signature }],
    });
    expect(whole.body.choices[0].message).not.toHaveProperty("tool_calls[0].index");
    expect({}).not.toHaveProperty("polluted");
  });

  it("keeps the thoughts of the Messages API, with their signature", () => {
    const delta = (more: object) => ({ type: "content_block_delta", index: 0, delta: more });
    const body = stream(
      { type: "message_start", message: { content: [] } },
      { type: "content_block_start", index: 0, content_block: { type: "thinking", thinking: "", signature: "" } },
      delta({ type: "thinking_delta", thinking: "I " }),
      delta({ type: "thinking_delta", thinking: "think" }),
      delta({ type: "signature_delta", signature: "s" }),
      { type: "message_stop" },
    );
    const content = [{ type: "thinking", thinking: "I think", signature: "s" }];
    expect(protocol("messages").parseReply(body)).toMatchObject({ body: { content } });
  });
});

describe("a body of any content", () => {
  const all = Object.keys(paths) as (keyof typeof paths)[];

  it("is read without an error", () => {
    fc.assert(
      fc.property(fc.constantFrom(...all), fc.jsonValue(), (name, body) => {
        const request = protocol(name).readRequest({ tools: body, messages: body, input: body } as never, paths[name]);
        protocol(name).readReply(stream({ type: "message_start", message: body }, { choices: body }));
        protocol(name).readReply(JSON.stringify(body));
        expect(Array.isArray(request.tools)).toBe(true);
      }),
    );
  });

  it("is a fault when it is empty or no JSON", () => {
    for (const name of all) {
      expect(protocol(name).readReply("")).toMatchObject({
        kind: "fault",
        message: expect.stringContaining("the reply is empty"),
      });
      expect(protocol(name).readReply("data: {oops\n\n")).toMatchObject({
        kind: "fault",
        message: "the reply is not JSON",
      });
      expect(protocol(name).readReply("<html>")).toMatchObject({
        kind: "fault",
        message: expect.stringContaining('text "<html>"'),
      });
    }
  });
});

it.each([
  [
    "messages",
    { type: "message", content: [], stop_reason: "end_turn", usage: { input_tokens: -3, output_tokens: 1e308 } },
  ],
  [
    "completions",
    {
      choices: [{ message: { content: "" }, finish_reason: "stop" }],
      usage: { prompt_tokens: -3, completion_tokens: 1e308 },
    },
  ],
] as const)("usage in %s is bounded", (name, body) => {
  const { usage } = protocol(name).readReply(JSON.stringify(body)) as { usage?: object };
  expect(usage).toMatchObject({ inputTokens: 0, outputTokens: 1e12 });
});

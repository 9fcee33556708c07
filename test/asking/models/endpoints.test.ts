import { describe, expect, it } from "vitest";
import { startCompletionsEndpoint } from "../../fixtures/endpoints/completions.ts";
import { startMessagesEndpoint } from "../../fixtures/endpoints/messages.ts";

/** What the endpoint says of a body that is `valid` but for `change`. */
async function answerTo(url: string, valid: object, change: object) {
  const response = await fetch(url, {
    method: "POST",
    headers: { authorization: "Bearer k", "anthropic-version": "2026-10-21" },
    body: JSON.stringify({ ...valid, ...change }),
  });
  const { error } = (await response.json()) as { error?: { message: string } };
  return error ? `${response.status} ${error.message}` : response.status;
}

describe("the Messages endpoint", () => {
  const schema = { type: "object" };
  const user = { role: "user", content: "hi" };
  const valid = { model: "m", max_tokens: 1, messages: [user], tools: [{ name: "a", input_schema: schema }] };
  const use = { role: "assistant", content: [{ type: "tool_use", id: "t", name: "a", input: {} }] };
  const result = { role: "user", content: [{ type: "tool_result", tool_use_id: "t", content: "x" }] };

  it.each<[object, string | number]>([
    [{}, 200],
    [{ messages: [user, use, result] }, 200],
    [{ messages: [user, use, result, user] }, 200],
    [{ temperature: 0 }, "400 temperature: Extra inputs are not permitted"],
    [{ max_tokens: undefined }, "400 max_tokens: Field required"],
    [{ messages: [] }, "400 messages: at least one message is required"],
    [
      { tools: [{ name: "a.b", input_schema: schema }] },
      "400 tools.0.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'",
    ],
    [{ tools: [...valid.tools, ...valid.tools] }, "400 tools: Tool names must be unique."],
    [{ messages: [user, result] }, "400 messages.0: unexpected tool_use_id found in tool_result blocks: t"],
    [{ messages: [user, use, user] }, "400 messages.1: tool_use ids were found without tool_result blocks: t"],
    [{ messages: [user, use] }, "400 messages: the conversation must end with a user message"],
  ])("%j", async (change, expected) => {
    const endpoint = await startMessagesEndpoint(() => ({ text: "ok" }));
    expect(await answerTo(`${endpoint.url}/v1/messages`, valid, change)).toBe(expected);
  });
});

describe("the chat-completions endpoint", () => {
  const user = { role: "user", content: "hi" };
  const fn = (name: string) => ({ type: "function", function: { name, parameters: { type: "object" } } });
  const valid = { model: "m", messages: [user], tools: [fn("a")] };
  const call = { id: "t", type: "function", function: { name: "a", arguments: "{}" } };
  const use = { role: "assistant", content: null, tool_calls: [call] };
  const result = { role: "tool", tool_call_id: "t", content: "x" };

  it.each<[object, string | number]>([
    [{}, 200],
    [{ messages: [user, use, result] }, 200],
    [{ temperature: 0 }, "400 Unsupported parameter: 'temperature' is not supported with this model."],
    [{ messages: [] }, "400 [] is too short - 'messages'"],
    [
      { tools: [fn("a.b")] },
      "400 Invalid 'tools[0].function.name': string does not match pattern '^[a-zA-Z0-9_-]{1,64}$'.",
    ],
    [{ tools: [fn("a"), fn("a")] }, "400 Invalid 'tools': duplicate function name 'a'."],
    [
      { messages: [user, result] },
      "400 messages.[1]: messages with role 'tool' must be a response to a preceding message with 'tool_calls'.",
    ],
    [{ messages: [user, use, user] }, "400 messages.[2]: tool_call_ids without response messages: t"],
  ])("%j", async (change, expected) => {
    const endpoint = await startCompletionsEndpoint(() => ({ text: "ok" }));
    expect(await answerTo(`${endpoint.url}/v1/chat/completions`, valid, change)).toBe(expected);
  });
});

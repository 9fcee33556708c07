import * as z from "zod";
import { isJsonObject, isNestedDeeper, type JsonObject, maxDepth } from "../../base/types/json.ts";
import { type Fault, permanentFault, transientFault } from "../../base/types/model.ts";
import type { Call, StopReason } from "../../base/types/trial.ts";
import {
  addDelta,
  anyJson,
  count,
  cutStream,
  defineProtocol,
  listOf,
  listOrText,
  maybe,
  type ReceivedReply,
  readArguments,
  streamFault,
  type ToolOutput,
  text,
  unreadableReply,
} from "./protocol.ts";

const part = z.object({ type: text, text, tool_name: text });
const parts = listOrText(part, (value) => part.parse({ type: "text", text: value }));
const block = z.object({ type: text, text, tool_use_id: text, is_error: z.boolean().catch(false), content: parts });
const request = z.object({
  model: text,
  system: parts,
  tools: listOf(z.object({ name: text, description: text, defer_loading: z.boolean().catch(false) })),
  messages: listOf(
    z.object({ role: text, content: listOrText(block, (value) => block.parse({ type: "text", text: value })) }),
  ),
});

/** Anthropic's Messages API. */
export const messages = defineProtocol({
  name: "messages",
  matches: (path) => path.endsWith("/messages"),
  readRequest(body) {
    const { model, system, tools, messages: all } = request.parse(body);
    const others = all.filter(({ role }) => role !== "assistant");
    const outputs = others.flatMap(({ content }) => content.filter(({ type }) => type === "tool_result").map(toOutput));
    const last = others.findLastIndex(({ content }) => content.some(({ type }) => type === "tool_result"));
    return {
      model,
      tools: tools.map(({ name, description, defer_loading }) => ({ name, description, deferred: defer_loading })),
      texts: [...textsOf(system), ...others.flatMap(({ content }) => textsOf(content))],
      opening: textsOf(all.find(({ role }) => role === "user")?.content ?? []).join("\n"),
      outputs,
      notes: last < 0 ? [] : others.slice(last).flatMap(({ content }) => textsOf(content)),
    };
  },
  assemble: (events) => assembleMessage(events.map((one) => event.parse(one))),
  readBody: readMessage,
  sendBack,
});

const textsOf = (content: readonly { type: string; text: string }[]) =>
  content.flatMap((one) => (one.type === "text" ? [one.text] : []));

function toOutput({ tool_use_id, content, is_error }: z.infer<typeof block>): ToolOutput {
  const found = content.flatMap(({ type, tool_name }) => (type === "tool_reference" ? [tool_name] : []));
  const output = { callId: tool_use_id, text: textsOf(content).join("\n"), isError: is_error };
  return { ...output, ...(found.length > 0 && { found }) };
}

const anyObject = z.looseObject({}).transform((value) => value as JsonObject);
const event = z.object({
  type: text,
  message: maybe(anyObject),
  index: count,
  content_block: maybe(anyObject),
  delta: maybe(z.looseObject({ partial_json: text, stop_reason: maybe(z.string()) })),
  usage: maybe(anyObject),
  error: maybe(z.object({ message: text })),
});

/** The whole message of a stream. Usage counts are running totals. */
function assembleMessage(events: readonly z.infer<typeof event>[]): { body: JsonObject } | Fault {
  const error = events.find(({ type }) => type === "error");
  if (error) return streamFault(error.error?.message);
  const start = events.find(({ type }) => type === "message_start")?.message;
  if (!start || !events.some(({ type }) => type === "message_stop")) return cutStream;
  const blocks = new Map<number, { block: JsonObject; json: string }>();
  let { usage = {}, stop_reason = null } = start;
  for (const { type, index, content_block, delta, usage: more = {} } of events) {
    if (type === "content_block_start" && content_block) blocks.set(index, { block: content_block, json: "" });
    const known = blocks.get(index);
    if (type === "content_block_delta" && known && delta) {
      for (const key of ["text", "thinking", "signature"])
        if (typeof delta[key] === "string") addDelta(known.block, { [key]: delta[key] });
      known.json += delta.partial_json;
    }
    if (type !== "message_delta") continue;
    stop_reason = delta?.stop_reason ?? stop_reason;
    usage = { ...Object(usage), ...more };
  }
  const content = [...blocks.values()].map(({ block: one, json }) => (json === "" ? one : { ...one, input: json }));
  return { body: { ...start, content, stop_reason, usage } };
}

/** The fields read of a reply. Blocks of other types (thinking) are only sent back. */
const message = z.object({
  id: text,
  model: text,
  content: z.array(
    z.union([
      z.object({ type: z.literal("tool_use"), id: z.string().min(1), name: z.string(), input: anyJson }),
      z.object({ type: z.literal("text"), text: z.string() }),
      z.object({
        type: z.literal("server_tool_use"),
        id: z.string(),
        name: z.string().startsWith("tool_search_tool_"),
        input: anyJson.optional(),
      }),
      z.object({
        type: z.literal("tool_search_tool_result"),
        tool_use_id: z.string(),
        content: z.union([
          z.object({ tool_references: z.array(z.object({ tool_name: z.string() })) }),
          z.object({ error_code: z.string() }),
        ]),
      }),
      z.object({ type: z.string().refine((type) => type !== "tool_use" && type !== "text", { abort: true }) }),
    ]),
  ),
  stop_reason: z.string().nullish(),
  usage: maybe(
    z.object({
      input_tokens: count,
      output_tokens: count,
      cache_read_input_tokens: count,
      cache_creation_input_tokens: count,
    }),
  ),
});

/** Reads a whole message. A search of the API that failed for lack of resources is a problem of the reply. */
function readMessage(body: unknown): ReceivedReply | Fault {
  const { data, error } = message.safeParse(body);
  if (!data) return unreadableReply("a message", body, error);
  const { id, model, content, stop_reason, usage } = data;
  const calls: Call[] = [];
  const answered: ToolOutput[] = [];
  let failedSearch: Fault | undefined;
  for (const one of content) {
    if ("name" in one) {
      const isSearch = one.type === "server_tool_use";
      calls.push({ id: one.id, tool: one.name, ...readArguments(one.input), ...(isSearch && { role: "search" }) });
    } else if ("tool_use_id" in one) {
      const found = "tool_references" in one.content ? one.content.tool_references : [];
      answered.push({ callId: one.tool_use_id, text: "", isError: false, found: found.map((tool) => tool.tool_name) });
      // A search with an invalid query found nothing.
      if ("error_code" in one.content && one.content.error_code !== "invalid_tool_input")
        failedSearch = transientFault(`the tool search of the API failed: ${one.content.error_code}`);
    }
  }
  const own = calls.filter(({ role }) => role !== "search").length;
  const { stop, problem = failedSearch } = readStop(stop_reason, own);
  return {
    id,
    model,
    text: content.map((one) => ("text" in one ? one.text : "")).join(""),
    calls,
    answered,
    usage: {
      inputTokens: usage?.input_tokens ?? 0,
      outputTokens: usage?.output_tokens ?? 0,
      cacheReadTokens: usage?.cache_read_input_tokens ?? 0,
      cacheWriteTokens: usage?.cache_creation_input_tokens ?? 0,
    },
    stop,
    ...(problem && { problem }),
  };
}

/**
 * A reply that was cut off at a token limit is a bad answer, but an answer. Every other stop that is not the model's
 * choice is a problem, such as a `pause_turn`, after which a reply has to be continued.
 */
function readStop(reason: string | null | undefined, calls: number): { stop: StopReason; problem?: Fault } {
  if (reason === "refusal") return { stop: "refused" };
  if (reason === "max_tokens" || reason === "model_context_window_exceeded") return { stop: "cut" };
  const stop = calls > 0 ? "calls" : "done";
  if (reason === "end_turn" || reason === "stop_sequence" || (reason === "tool_use" && calls > 0)) return { stop };
  const lacksCall = transientFault("the reply has stop reason tool_use but no tool call");
  const unknown = permanentFault(`unknown stop reason: ${reason ?? "none"}`);
  return { stop, problem: reason === "tool_use" ? lacksCall : unknown };
}

/**
 * The blocks to send back, without texts of white space alone, thoughts at the end, and calls without results, of a
 * reply that was cut off. Each call has an id of its own, and an object as input: an empty one if it has none, or one
 * that is too deep.
 */
function sendBack(body: unknown, calls: readonly Call[]): JsonObject[] {
  const { content: blocks } = body as { content: readonly JsonObject[] };
  const ids = calls.map(({ id }) => id);
  const kept = blocks.flatMap((block): JsonObject[] => {
    if (block.type === "text" && String(block.text).trim() === "") return [];
    const whole = isNestedDeeper(block, maxDepth + 1) ? { ...block, input: {} } : block;
    if (block.type !== "tool_use") return [whole];
    const { arguments: input } = readArguments(whole.input);
    const id = ids.shift();
    return id === undefined ? [] : [{ ...whole, id, input: isJsonObject(input) ? input : {} }];
  });
  return kept.slice(0, kept.findLastIndex(({ type }) => !/thinking$/.test(String(type))) + 1);
}

import * as z from "zod";
import type { Call } from "../../base/types/trial.ts";
import {
  anyJson,
  count,
  cutStream,
  defineWire,
  listOf,
  maybe,
  parseArguments,
  type ReceivedReply,
  type ToolOutput,
  text,
} from "./wire.ts";

const part = z.object({ type: text, text, tool_name: text });
const parts = z
  .union([z.string().transform((value) => [part.parse({ type: "text", text: value })]), listOf(part)])
  .catch([]);
const block = z.object({ type: text, text, tool_use_id: text, is_error: z.boolean().catch(false), content: parts });
const request = z.object({
  model: text,
  system: parts,
  tools: listOf(z.object({ name: text, description: text, defer_loading: z.boolean().catch(false) })),
  messages: listOf(
    z.object({
      role: text,
      content: z
        .union([z.string().transform((value) => [block.parse({ type: "text", text: value })]), listOf(block)])
        .catch([]),
    }),
  ),
});

const usage = z
  .object({
    input_tokens: count.optional(),
    output_tokens: count.optional(),
    cache_read_input_tokens: count.optional(),
    cache_creation_input_tokens: count.optional(),
  })
  .catch({});
const replyBlock = z.object({ type: text, id: text, name: text, text, input: anyJson.catch({}) });
const message = z.object({ id: text, model: text, content: listOf(replyBlock), stop_reason: text, usage });
const event = z.object({
  type: text,
  message: maybe(message),
  index: count,
  content_block: maybe(replyBlock),
  delta: maybe(z.object({ text, partial_json: text, stop_reason: text })),
  usage: usage.optional(),
  error: maybe(z.object({ message: text })),
});

/** Anthropic's Messages API. */
export const messages = defineWire({
  name: "messages",
  matches: (path) => path.endsWith("/messages"),
  readRequest(body) {
    const { model, system, tools, messages: all } = request.parse(body);
    const others = all.filter(({ role }) => role !== "assistant");
    const outputs = others.flatMap(({ content }) => content.filter(({ type }) => type === "tool_result").map(toOutput));
    const last = others.findLastIndex(({ content }) => content.some(({ type }) => type === "tool_result"));
    const textsOf = (content: readonly { type: string; text: string }[]) =>
      content.flatMap((one) => (one.type === "text" ? [one.text] : []));
    return {
      model,
      tools: tools.map(({ name, description, defer_loading }) => ({ name, description, deferred: defer_loading })),
      texts: [...textsOf(system), ...others.flatMap(({ content }) => textsOf(content))],
      opening: textsOf(all.find(({ role }) => role === "user")?.content ?? []).join("\n"),
      outputs,
      notes: last < 0 ? [] : others.slice(last).flatMap(({ content }) => textsOf(content)),
    };
  },
  readEvents(events) {
    const [whole] = events;
    const single = whole?.type === "message" ? message.safeParse(whole).data : undefined;
    return single ? toReply(single) : assemble(events.map((one) => event.parse(one)));
  },
});

function toOutput({ tool_use_id, content, is_error }: z.infer<typeof block>): ToolOutput {
  const found = content.flatMap(({ type, tool_name }) => (type === "tool_reference" ? [tool_name] : []));
  const texts = content.flatMap((one) => (one.type === "text" ? [one.text] : []));
  return { callId: tool_use_id, text: texts.join("\n"), isError: is_error, ...(found.length > 0 && { found }) };
}

/** Assembles the reply of a stream. Usage counts are running totals. */
function assemble(events: readonly z.infer<typeof event>[]): ReceivedReply | { fault: string } {
  const error = events.find(({ type }) => type === "error");
  if (error) return { fault: error.error?.message || "the stream reported an error" };
  const start = events.find(({ type }) => type === "message_start")?.message;
  if (!start || !events.some(({ type }) => type === "message_stop")) return cutStream;
  const blocks = new Map<number, z.infer<typeof replyBlock> & { written: string }>();
  let { usage: total, stop_reason } = start;
  for (const { type, index, content_block, delta, usage: more } of events) {
    if (type === "content_block_start" && content_block) blocks.set(index, { ...content_block, written: "" });
    const known = blocks.get(index);
    if (type === "content_block_delta" && known && delta) {
      known.text += delta.text;
      known.written += delta.partial_json;
    }
    if (type !== "message_delta") continue;
    stop_reason = delta?.stop_reason || stop_reason;
    total = { ...total, ...dropUndefined(more ?? {}) };
  }
  const content = [...blocks.values()].map(({ written, ...one }) => {
    return written === "" ? one : { ...one, written };
  });
  return toReply({ ...start, content, stop_reason, usage: total });
}

type Block = z.infer<typeof replyBlock> & { written?: string };

function toReply(reply: Omit<z.infer<typeof message>, "content"> & { content: readonly Block[] }): ReceivedReply {
  const calls = reply.content.flatMap(({ type, id, name, input, written }): Call[] =>
    type === "tool_use"
      ? [{ id, tool: name, ...(written === undefined ? { arguments: input } : parseArguments(written)) }]
      : [],
  );
  const stops: Record<string, ReceivedReply["stop"]> = { refusal: "refused", max_tokens: "cut" };
  const {
    input_tokens = 0,
    output_tokens = 0,
    cache_read_input_tokens = 0,
    cache_creation_input_tokens = 0,
  } = reply.usage;
  return {
    id: reply.id,
    ...(reply.model !== "" && { model: reply.model }),
    text: reply.content.map((one) => (one.type === "text" ? one.text : "")).join(""),
    calls,
    usage: {
      inputTokens: input_tokens,
      outputTokens: output_tokens,
      cacheReadTokens: cache_read_input_tokens,
      cacheWriteTokens: cache_creation_input_tokens,
    },
    stop: stops[reply.stop_reason] ?? (calls.length > 0 ? "calls" : "done"),
  };
}

function dropUndefined<T extends object>(value: T): T {
  return Object.fromEntries(Object.entries(value).filter(([, one]) => one !== undefined)) as T;
}

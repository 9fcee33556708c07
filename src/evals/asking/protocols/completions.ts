import * as z from "zod";
import {
  count,
  cutStream,
  defineWire,
  emptyStream,
  listOf,
  maybe,
  parseArguments,
  type ReceivedReply,
  text,
  toUsage,
} from "./wire.ts";

const content = z.union([z.string().transform((value) => [{ text: value }]), listOf(z.object({ text }))]).catch([]);
const request = z.object({
  model: text,
  tools: listOf(z.object({ function: z.object({ name: text, description: text }) })),
  messages: listOf(z.object({ role: text, content, tool_call_id: text })),
});

const delta = maybe(
  z.object({
    content: text,
    refusal: text,
    tool_calls: listOf(z.object({ index: count, id: text, function: z.object({ name: text, arguments: text }) })),
  }),
);
const chunk = z.object({
  id: text,
  model: text,
  choices: listOf(z.object({ delta, message: delta, finish_reason: text })),
  error: maybe(z.object({ message: text })),
  usage: maybe(
    z.object({
      prompt_tokens: count,
      completion_tokens: count,
      prompt_tokens_details: z.object({ cached_tokens: count }).catch({ cached_tokens: 0 }),
    }),
  ),
});

/** OpenAI's chat completions API, which many providers support. */
export const completions = defineWire({
  name: "completions",
  matches: (path) => path.endsWith("/chat/completions"),
  readRequest(body) {
    const { model, tools, messages } = request.parse(body);
    const textOf = (list: readonly { text: string }[]) => list.map((one) => one.text).join("\n");
    const prompts = messages.filter(({ role }) => role !== "assistant" && role !== "tool");
    const lastOutput = messages.findLastIndex(({ role }) => role === "tool");
    return {
      model,
      tools: tools.map(({ function: { name, description } }) => ({ name, description, deferred: false })),
      texts: prompts.map((one) => textOf(one.content)),
      opening: textOf(messages.find(({ role }) => role === "user")?.content ?? []),
      outputs: messages
        .filter(({ role }) => role === "tool")
        .map((one) => ({ callId: one.tool_call_id, text: textOf(one.content), isError: false })),
      notes: lastOutput < 0 ? [] : messages.slice(lastOutput + 1).map((one) => textOf(one.content)),
    };
  },
  readEvents(events) {
    const chunks = events.map((one) => chunk.parse(one));
    const error = chunks.find((one) => one.error)?.error;
    if (error) return { fault: error.message || "the stream reported an error" };
    const choices = chunks.flatMap((one) => one.choices.slice(0, 1));
    const finish = choices.findLast(({ finish_reason }) => finish_reason !== "")?.finish_reason;
    if (choices.length === 0) return emptyStream;
    if (finish === undefined) return cutStream;
    const deltas = choices.flatMap((one) => one.delta ?? one.message ?? []);
    const calls = new Map<number, { id: string; name: string; written: string }>();
    for (const one of deltas.flatMap(({ tool_calls }) => tool_calls.map((call, at) => ({ ...call, at })))) {
      // A whole message has no indices.
      const index = one.index || one.at;
      const known = calls.get(index) ?? { id: one.id, name: "", written: "" };
      known.name += one.function.name;
      known.written += one.function.arguments;
      calls.set(index, known);
    }
    const usage = chunks.findLast((one) => one.usage)?.usage;
    const cached = usage?.prompt_tokens_details.cached_tokens ?? 0;
    const refusal = deltas.map((one) => one.refusal).join("");
    const stops: Record<string, ReceivedReply["stop"]> = { length: "cut", content_filter: "refused" };
    return {
      id: chunks[0]?.id ?? "",
      ...(chunks[0]?.model && { model: chunks[0].model }),
      text: deltas.map((one) => one.content).join("") || refusal,
      calls: [...calls.values()].map(({ id, name, written }) => ({ id, tool: name, ...parseArguments(written) })),
      usage: toUsage(usage?.prompt_tokens ?? 0, usage?.completion_tokens ?? 0, cached),
      stop: stops[finish] ?? (refusal !== "" ? "refused" : calls.size > 0 ? "calls" : "done"),
    };
  },
});

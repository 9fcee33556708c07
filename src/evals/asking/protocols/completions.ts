import * as z from "zod";
import { isJsonObject, type Json, type JsonObject } from "../../base/types/json.ts";
import { type Fault, permanentFault, transientFault } from "../../base/types/model.ts";
import type { Call } from "../../base/types/trial.ts";
import {
  addDelta,
  count,
  cutStream,
  defineProtocol,
  listOf,
  maybe,
  type ReceivedReply,
  readArguments,
  readFinish,
  streamFault,
  text,
  toUsage,
  unreadableReply,
  writeArguments,
} from "./protocol.ts";

const part = z.object({ text, refusal: text });
const toPart = (value: string) => [{ text: value, refusal: "" }];
const written = z.union([z.string().transform(toPart), z.array(z.unknown()).pipe(listOf(part))]);
const content = written.catch([]);
const joinTexts = (list: readonly { text: string }[]) => list.map((one) => one.text).join("\n");
const request = z.object({
  model: text,
  tools: listOf(z.object({ function: z.object({ name: text, description: text }) })),
  messages: listOf(z.object({ role: text, content, tool_call_id: text })),
});

/** OpenAI's chat completions API, which many providers support. */
export const completions = defineProtocol({
  name: "completions",
  matches: (path) => path.endsWith("/chat/completions"),
  readRequest(body) {
    const { model, tools, messages } = request.parse(body);
    const prompts = messages.filter(({ role }) => role !== "assistant" && role !== "tool");
    const lastOutput = messages.findLastIndex(({ role }) => role === "tool");
    return {
      model,
      tools: tools.map(({ function: { name, description } }) => ({ name, description, deferred: false })),
      texts: prompts.map((one) => joinTexts(one.content)),
      opening: joinTexts(messages.find(({ role }) => role === "user")?.content ?? []),
      outputs: messages
        .filter(({ role }) => role === "tool")
        .map((one) => ({ callId: one.tool_call_id, text: joinTexts(one.content), isError: false })),
      notes: lastOutput < 0 ? [] : messages.slice(lastOutput + 1).map((one) => joinTexts(one.content)),
    };
  },
  assemble: (events) => assembleCompletion(events.map((one) => chunk.parse(one))),
  readBody: readCompletion,
  sendBack,
});

const delta = maybe(z.custom<JsonObject>(isJsonObject));
const chunk = z.object({
  id: text,
  model: text,
  choices: listOf(z.object({ delta, finish_reason: text })),
  error: maybe(z.object({ message: text })),
  usage: maybe(z.looseObject({}).transform((value) => value as JsonObject)),
});

/** The whole completion of a stream: the first choice, its deltas joined. */
function assembleCompletion(chunks: readonly z.infer<typeof chunk>[]): { body: JsonObject } | Fault {
  const error = chunks.find((one) => one.error)?.error;
  if (error) return streamFault(error.message);
  const choices = chunks.flatMap((one) => one.choices.slice(0, 1));
  const finish_reason = choices.findLast((one) => one.finish_reason !== "")?.finish_reason;
  if (finish_reason === undefined) return cutStream;
  const message = choices.reduce((whole, one) => addDelta(whole, one.delta ?? {}), {} as JsonObject);
  for (const call of [message.tool_calls].flat()) delete (Object(call) as JsonObject).index;
  const { id = "", model = "" } = chunks[0] ?? {};
  const usage = chunks.findLast((one) => one.usage)?.usage ?? null;
  return { body: { id, model, choices: [{ finish_reason, message }], usage } };
}

const writtenArguments = z.union([z.string(), z.custom<JsonObject>(isJsonObject)]).nullish();
const called = z.object({ name: z.string(), arguments: writtenArguments });
/** A call of a function, or of a custom tool, which takes text. */
const toolCall = z.union([
  z.object({ id: text, function: called }),
  z
    .object({ id: text, custom: z.object({ name: z.string(), input: text }) })
    .transform(({ id, custom: { name, input } }) => ({ id, function: { name, arguments: input } })),
]);
const reported = maybe(z.union([z.string(), z.object({ message: text, code: z.coerce.string().optional() })]));

const cached = maybe(z.object({ cached_tokens: count }));

/** The fields read of a reply. Local servers omit ids, usage and finish reasons, and send arguments as objects. */
const completion = z.object({
  id: text,
  model: text,
  choices: z
    .array(
      z.object({
        finish_reason: z.string().nullish(),
        error: reported,
        message: z.object({
          content: written.nullish(),
          refusal: text,
          // Some servers leave the only text of a reasoning model among its thoughts.
          reasoning_content: text,
          reasoning: text,
          tool_calls: z.array(toolCall).nullish(),
          // What tool_calls replaced in 2023, which some gateways still send.
          function_call: maybe(called.nullable()),
        }),
      }),
    )
    .min(1),
  usage: z
    .object({ prompt_tokens: count, completion_tokens: count, prompt_tokens_details: cached })
    .catch({ prompt_tokens: 0, completion_tokens: 0, prompt_tokens_details: undefined }),
});

/** Reads a whole completion. */
function readCompletion(body: unknown): ReceivedReply | Fault {
  const { data, error } = completion.safeParse(body);
  if (!data) return unreadableReply("a completion", body, error);
  const { id, model, usage, choices } = data;
  const failed = choices.find((one) => one.error)?.error;
  if (failed) return choiceFault(failed);
  // Some gateways send the text and the calls of one reply as two choices.
  const messages = choices.map(({ message }) => message);
  const parts = messages.flatMap((one) => one.content ?? []);
  const answer = parts.map((one) => one.text).join("");
  const refusal = [...messages, ...parts].map((one) => one.refusal).join("");
  const calls = messages.flatMap(({ tool_calls, function_call }) => {
    const old = function_call && { id: "", function: function_call };
    return tool_calls ?? (old ? [old] : []);
  });
  const thoughts = messages.map((one) => one.reasoning_content || one.reasoning).join("");
  const reason = choices.find(({ finish_reason }) => finish_reason)?.finish_reason;
  return {
    id,
    model,
    text: answer || refusal,
    thoughts,
    calls: calls.map(({ id: call, function: { name, arguments: args } }) => {
      return { id: call, tool: name, ...readArguments(args ?? "") };
    }),
    answered: [],
    // Writing the cache is not billed.
    usage: toUsage(usage.prompt_tokens, usage.completion_tokens, usage.prompt_tokens_details?.cached_tokens),
    ...(refusal ? { stop: "refused" } : readFinish(reason, calls.length, answer !== "")),
  };
}

/** The error that a router reports in place of a provider's reply: transient, but for the statuses of bad requests. */
function choiceFault(error: NonNullable<z.infer<typeof reported>>): Fault {
  const { message, code } = typeof error === "string" ? { message: error, code: undefined } : error;
  const status = Number(code);
  const isPermanent = status >= 400 && status < 500 && ![408, 409, 429].includes(status);
  const why = `the reply reports an error: ${code === undefined ? "" : `${code} `}${message}`;
  return isPermanent ? permanentFault(why) : transientFault(why);
}

/**
 * The message of a completion, with all fields that the server gave it. Of several choices the first, with the calls of
 * all. `body` is one that `readCompletion` read.
 */
function pickMessage(body: unknown): JsonObject {
  const { choices } = body as { choices: [{ message: JsonObject }, ...{ message: JsonObject }[]] };
  const [{ message }, ...others] = choices;
  const calls = choices.flatMap((one) => (Array.isArray(one.message.tool_calls) ? one.message.tool_calls : []));
  const { function_call: old, ...rest } = message;
  if (calls.length === 0 && isJsonObject(old)) return { ...rest, tool_calls: [{ type: "function", function: old }] };
  return others.length > 0 && calls.length > 0 ? { ...rest, tool_calls: calls } : rest;
}

/**
 * The message to send back, with all fields that the server gave it: some models need their reasoning. Each call has an
 * id of its own, and its arguments as text.
 */
function sendBack(body: unknown, calls: readonly Call[]): object {
  const message = pickMessage(body);
  const { tool_calls: written, ...rest } = message;
  const content = message.content ?? (calls.length > 0 ? null : "");
  if (calls.length === 0) return { ...rest, role: "assistant", content };
  const toolCalls = calls.map(({ id }, at) => {
    const one = (written as { function?: { name: string; arguments?: Json } }[])[at];
    if (!one?.function) return { ...one, id };
    const called = { ...one.function, arguments: writeArguments(one.function.arguments) };
    return { ...one, id, type: "function", function: called };
  });
  return { ...rest, role: "assistant", content, tool_calls: toolCalls };
}

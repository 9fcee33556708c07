import * as z from "zod";
import type { Json } from "../../types/json.ts";
import { noUsage } from "../../types/model.ts";
import type { Call, StopReason, Turn, Usage } from "../../types/trial.ts";

// The events read of Claude Code's stream-json, one per line. Other fields and lines are ignored, because versions differ
// in what they add. As of 2.1.197 and 2.1.328.

/** Any value: it comes from a JSON parser, so it need not be validated again. */
const parsedJson = z.custom<Json>((value) => value !== undefined);

const count = z.number().nullish();
const usageSchema = z.object({
  input_tokens: count,
  output_tokens: count,
  cache_read_input_tokens: count,
  cache_creation_input_tokens: count,
});
type HostUsage = z.infer<typeof usageSchema>;

const initSchema = z.object({
  type: z.literal("system"),
  subtype: z.literal("init"),
  tools: z.array(z.string()).catch([]),
  skills: z.array(z.string()).catch([]),
  mcp_servers: z.array(z.object({ name: z.string(), status: z.string() })).catch([]),
  mcp_server_errors: parsedJson.optional(),
});

const resultSchema = z.object({
  type: z.literal("result"),
  subtype: z.string(),
  is_error: z.boolean().catch(false),
  result: z.string().optional().catch(undefined),
  errors: z.array(z.string()).optional().catch(undefined),
  stop_reason: z.string().nullish().catch(undefined),
  total_cost_usd: z.number().optional().catch(undefined),
  modelUsage: z.record(z.string(), z.object({ costBasis: z.string().optional() })).catch({}),
  permission_denials: z.array(z.object({ tool_use_id: z.string() })).catch([]),
});

/** A part of a reply: the host sends one event per block, all with the reply's id and the same usage. */
const assistantSchema = z.object({
  type: z.literal("assistant"),
  parent_tool_use_id: z.null().optional(),
  request_id: z.string().optional().catch(undefined),
  message: z.object({
    id: z.string(),
    model: z.string().optional(),
    content: z.array(
      z.union([
        z.object({ type: z.literal("text"), text: z.string() }),
        z.object({ type: z.literal("tool_use"), id: z.string(), name: z.string(), input: parsedJson }),
        z.object({ type: z.string().refine((type) => type !== "text" && type !== "tool_use") }),
      ]),
    ),
    usage: usageSchema.nullish(),
  }),
});

/** The final usage and the stop reason of a reply come at the end of its stream. */
const streamSchema = z.object({
  type: z.literal("stream_event"),
  parent_tool_use_id: z.null().optional(),
  event: z.discriminatedUnion("type", [
    z.object({ type: z.literal("message_start"), message: z.object({ id: z.string(), usage: usageSchema.nullish() }) }),
    z.object({
      type: z.literal("message_delta"),
      delta: z.object({ stop_reason: z.string().nullish() }),
      usage: usageSchema.nullish(),
    }),
  ]),
});

const block = z.object({
  type: z.string(),
  text: z.string().optional(),
  tool_use_id: z.string().optional(),
  content: z.union([z.string(), z.array(z.object({ type: z.string(), text: z.string().optional() }))]).optional(),
  is_error: z.boolean().nullish(),
});
const userSchema = z.object({
  type: z.literal("user"),
  parent_tool_use_id: z.null().optional(),
  isSynthetic: z.boolean().optional(),
  message: z.object({ content: z.array(block) }),
});

const eventSchema = z.union([initSchema, resultSchema, assistantSchema, streamSchema, userSchema]);

type InitEvent = z.infer<typeof initSchema>;
type ResultEvent = z.infer<typeof resultSchema>;
type AssistantEvent = z.infer<typeof assistantSchema>;
type StreamEvent = z.infer<typeof streamSchema>;
type UserEvent = z.infer<typeof userSchema>;

/** Parses a line; undefined when it is not a known event. Does not throw. */
function parseEvent(line: string): z.infer<typeof eventSchema> | undefined {
  let data: unknown;
  try {
    data = JSON.parse(line);
  } catch {
    return undefined;
  }
  return eventSchema.safeParse(data).data;
}

/** The host's answer to a call, its own or that of a tool server. */
type Result = { text: string; isError: boolean; ms: number };
type Reply = { text: string; calls: Call[]; usage: Usage; stop?: string; requestId?: string; from: number; to: number };

/** The content of a stream so far. Calls have the names that the model wrote. */
export type StreamSummary = { init?: InitEvent; result?: ResultEvent; turns: Turn[] };

/** The model name of messages that the host writes itself, such as an API error. */
const synthetic = "<synthetic>";

/** Reads a stream line by line, each with its time in ms. Does not throw, whatever a line contains. */
export class StreamReader {
  readonly #replies = new Map<string, Reply>();
  readonly #results = new Map<string, Result>();
  readonly #called = new Map<string, { tool: string; at: number }>();
  /** Results of skills whose bodies have not arrived yet. */
  readonly #loading: Result[] = [];
  #init: InitEvent | undefined;
  #result: ResultEvent | undefined;
  #current: Reply | undefined;
  /** The time of the last event before a reply, which is when the request was sent. */
  #requestedAt: number;

  constructor(startedAt: number) {
    this.#requestedAt = startedAt;
  }

  read(line: string, at: number): void {
    const event = parseEvent(line);
    if (event?.type === "assistant") this.#readAssistant(event, at);
    if (event?.type === "stream_event") this.#readStream(event, at);
    if (event?.type === "user") this.#readUser(event, at);
    if (event?.type === "result") this.#result = event;
    if (event?.type === "system") {
      this.#init ??= event;
      this.#requestedAt = at;
    }
  }

  summarize(): StreamSummary {
    const init = this.#init && { init: this.#init };
    const result = this.#result && { result: this.#result };
    const denied = new Set(this.#result?.permission_denials.map(({ tool_use_id }) => tool_use_id));
    const turns = [...this.#replies.values()].map((reply) => toTurn(reply, this.#results, denied));
    return { ...init, ...result, turns };
  }

  #getReply(id: string, usage: HostUsage | null | undefined, at: number): Reply {
    const fresh = () => ({ text: "", calls: [], usage: updateUsage(noUsage, usage), from: this.#requestedAt, to: at });
    const reply = this.#replies.get(id) ?? fresh();
    this.#replies.set(id, reply);
    reply.to = at;
    return reply;
  }

  #readAssistant({ message, request_id }: AssistantEvent, at: number): void {
    if (message.model === synthetic) return;
    const reply = this.#getReply(message.id, message.usage, at);
    if (request_id !== undefined) reply.requestId = request_id;
    for (const part of message.content) {
      if ("text" in part) reply.text += part.text;
      if (!("input" in part) || this.#called.has(part.id)) continue;
      reply.calls.push({ id: part.id, tool: part.name, arguments: part.input });
      this.#called.set(part.id, { tool: part.name, at });
    }
  }

  #readStream({ event }: StreamEvent, at: number): void {
    if (event.type === "message_start") {
      this.#current = this.#getReply(event.message.id, event.message.usage, at);
    } else if (this.#current) {
      this.#current.usage = updateUsage(this.#current.usage, event.usage);
      this.#current.to = at;
      if (event.delta.stop_reason) this.#current.stop = event.delta.stop_reason;
    }
  }

  #readUser({ message, isSynthetic }: UserEvent, at: number): void {
    for (const { type, text = "", tool_use_id: id = "", content = "", is_error } of message.content) {
      const call = this.#called.get(id);
      if (type === "tool_result" && call) {
        const result = { text: joinTexts(content), isError: is_error === true, ms: at - call.at };
        this.#results.set(id, result);
        if (call.tool === "Skill" && !result.isError) this.#loading.push(result);
      } else if (type === "text" && isSynthetic) {
        // The body of a skill comes as a separate message; the result of the call only announces it.
        const loaded = this.#loading.shift();
        if (loaded) loaded.text += `\n\n${text}`;
      }
    }
    this.#requestedAt = at;
  }
}

function toTurn(
  { text, calls, usage, stop, requestId, from, to }: Reply,
  results: ReadonlyMap<string, Result>,
  denied: ReadonlySet<string>,
): Turn {
  const done = calls.map((call) => withExecution(call, results.get(call.id), denied.has(call.id)));
  const id = requestId !== undefined && { requestId };
  return { text, calls: done, stop: readStop(stop, calls.length), usage, ms: to - from, ...id };
}

function readStop(reason: string | undefined, calls: number): StopReason {
  if (reason === "refusal") return "refused";
  if (reason === "max_tokens") return "cut";
  return calls > 0 ? "calls" : "done";
}

/** A call that the host denied, or has no tool for, was skipped; the reason is the first sentence of its answer. */
function withExecution(call: Call, result: Result | undefined, denied: boolean): Call {
  if (!result) return call;
  const { isError, ms } = result;
  const text = result.text.replace(/^<tool_use_error>([\s\S]*)<\/tool_use_error>$/, "$1");
  if (denied || (isError && /^(Error: )?No such tool available/.test(text))) {
    const [reason = text] = text.replace(/^Error: /, "").split(/(?<=\.)\s/);
    return { ...call, execution: { status: "skipped", reason } };
  }
  return { ...call, execution: { status: "executed", result: { isError, content: [{ type: "text", text }] }, ms } };
}

/** A later count of the same reply replaces an earlier one, because counts are running totals. */
function updateUsage(known: Usage, latest: HostUsage | null | undefined): Usage {
  return {
    inputTokens: latest?.input_tokens ?? known.inputTokens,
    outputTokens: latest?.output_tokens ?? known.outputTokens,
    cacheReadTokens: latest?.cache_read_input_tokens ?? known.cacheReadTokens,
    cacheWriteTokens: latest?.cache_creation_input_tokens ?? known.cacheWriteTokens,
  };
}

function joinTexts(content: string | readonly { text?: string | undefined }[]): string {
  return typeof content === "string" ? content : content.map(({ text }) => text ?? "").join("\n");
}

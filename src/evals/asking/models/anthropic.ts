import { Anthropic, APIConnectionError, APIConnectionTimeoutError, BadRequestError } from "@anthropic-ai/sdk";
import type {
  ContentBlockParam,
  MessageCreateParamsNonStreaming,
  MessageParam,
  OutputConfig,
  Tool as ToolParam,
} from "@anthropic-ai/sdk/resources/messages";
import * as z from "zod";
import { createFetch } from "../../base/network/fetch.ts";
import type { Attempt, Fault } from "../../base/types/attempt.ts";
import { type EndpointOptions, priceUsage, resolveEndpoint } from "../../base/types/endpoint.ts";
import { isNestedDeeper, type Json, maxDepth } from "../../base/types/json.ts";
import type { AskedModel, Message, ModelRequest } from "../../base/types/model.ts";
import type { OfferedTool } from "../../base/types/tool.ts";
import type { Call, StopReason } from "../../base/types/trial.ts";
import { createProbeTools, createSearchTool, readSearches, searches } from "./anthropicSearch.ts";
import {
  askRemote,
  boundArguments,
  boundText,
  createLimits,
  permanentFault,
  readOrigin,
  toFault,
  tokenCount,
  transientFault,
  unreadableReply,
} from "./remote.ts";
import { createToolCache, jsonRequest, type WireNames } from "./wireNames.ts";

const provider = {
  name: "anthropic",
  keyVariable: "ANTHROPIC_API_KEY",
  baseUrlVariable: "ANTHROPIC_BASE_URL",
  baseUrl: "https://api.anthropic.com",
  efforts: ["low", "medium", "high", "xhigh", "max"],
  // The service requires streaming if a reply could take over ten minutes, at 128,000 tokens an hour.
  maxTokensLimit: 21_333,
};

/** The deprecated models of the SDK, with their last day. */
export const endOfLife: Readonly<Record<string, string>> = {
  "claude-sonnet-4-5": "November 30th, 2026",
  "claude-sonnet-4-5-20250929": "November 30th, 2026",
};

/**
 * A model behind Anthropic's Messages API, or a compatible server. One whole reply per ask, automatic tool choice, no
 * sampling parameters (the service rejects them). Throws a usage error for options that cannot work.
 */
export function anthropic(id: string, name: string, options: EndpointOptions): AskedModel {
  const { apiKey, baseUrl, maxTokens, timeoutMs, retries, effort, record } = resolveEndpoint(options, provider);
  const clientOptions = {
    apiKey,
    authToken: null,
    baseURL: baseUrl,
    maxRetries: 0,
    logLevel: "off",
    openTelemetry: false,
  } as const;
  const client = new Anthropic({ ...clientOptions, fetch: createFetch(options.env), timeout: timeoutMs });
  const lastDay = endOfLife[name];
  if (lastDay) options.warn?.(`${id} is deprecated and will be shut down on ${lastDay}.`);

  // Like `client.messages.create`, which would also print a warning per call of a deprecated model.
  const post = (body: MessageCreateParamsNonStreaming, signal: AbortSignal) =>
    client.post<unknown>("/v1/messages", jsonRequest(body, signal));

  const prepare = createToolCache(128, writeTool);
  const build = (request: ModelRequest): MessageCreateParamsNonStreaming => ({
    model: name,
    max_tokens: maxTokens,
    ...outputConfig(effort, request.answerSchema),
    ...toolParams(request, prepare(request).params),
    ...conversation(request.messages),
  });
  const read = (reply: unknown, request: ModelRequest) => readReply(reply, prepare(request).names);

  const attempt = async (request: ModelRequest, signal: AbortSignal): Promise<Attempt> => {
    const body = build(request);
    try {
      const reply = await post(body, signal);
      return read(request.deferred ? await finishSearches(reply, body, (more) => post(more, signal)) : reply, request);
    } catch (thrown) {
      const isTimeout = thrown instanceof APIConnectionTimeoutError;
      return toFault(thrown, { isTimeout, isConnection: thrown instanceof APIConnectionError }, timeoutMs);
    }
  };
  const limits = createLimits(retries, options.delay);

  return {
    id,
    kind: "language model",
    settings: record,
    maxOutputTokens: maxTokens,
    deterministic: false,
    searches,
    refusesSearch: async (search, signal) => {
      const body = { model: name, messages: [{ role: "user", content: "." }], tools: createProbeTools(search) };
      const refusal = await client.post("/v1/messages/count_tokens", { body, signal }).catch((thrown) => thrown);
      return refusal instanceof BadRequestError ? describeRefusal(refusal) : undefined;
    },
    ask: (request, signal) => askRemote(request.cell, (own) => attempt(request, own), limits, signal),
    batches: async () => {
      const { anthropicBatches } = await import("./anthropicBatches.ts");
      return anthropicBatches({ ...clientOptions, env: options.env }, { build, read }, limits);
    },
    cost: (usage, by) => priceUsage(usage, name, options.prices, by),
  };
}

function outputConfig(effort: string | undefined, schema: ModelRequest["answerSchema"]) {
  const config: OutputConfig = {
    ...(effort !== undefined && { effort: effort as NonNullable<OutputConfig["effort"]> }),
    ...(schema && { format: { type: "json_schema", schema } }),
  };
  return Object.keys(config).length > 0 ? { output_config: config } : {};
}

const maxPauses = 8;

/** Continues a reply that paused for searches until it is done. Returns it with all content and usage. */
async function finishSearches(
  first: unknown,
  body: MessageCreateParamsNonStreaming,
  post: (body: MessageCreateParamsNonStreaming) => Promise<unknown>,
): Promise<unknown> {
  let reply = first;
  for (let pauses = 0; pauses < maxPauses; pauses++) {
    const paused = pausedSchema.safeParse(reply);
    if (!paused.success) return reply;
    const { content, usage } = paused.data;
    const held: MessageParam = { role: "assistant", content: content as ContentBlockParam[] };
    const next = await post({ ...body, messages: [...body.messages, held] });
    const { data } = continuedSchema.safeParse(next);
    reply = data ? { ...data, content: [...content, ...data.content], usage: addUsage(usage, data.usage) } : next;
  }
  return reply;
}

const usageSchema = z.record(z.string(), z.unknown());
const continuedSchema = z.looseObject({ content: z.array(z.unknown()), usage: usageSchema });
const pausedSchema = continuedSchema.extend({ stop_reason: z.literal("pause_turn") });

function addUsage(one: Record<string, unknown>, other: Record<string, unknown>): Record<string, unknown> {
  const keys = Object.keys({ ...one, ...other });
  return Object.fromEntries(keys.map((key) => [key, (Number(one[key]) || 0) + (Number(other[key]) || 0)]));
}

function describeRefusal({ error, message }: BadRequestError): string {
  const reported = (error as { error?: { message?: unknown } } | undefined)?.error?.message;
  return typeof reported === "string" ? reported : message;
}

/** A tool in the service's format. `last` marks the end of the part of the prompt that the service may cache. */
function writeTool({ description, inputSchema }: OfferedTool, name: string) {
  const plain: ToolParam = {
    name,
    ...(description && { description }),
    input_schema: { ...inputSchema, type: "object" },
  };
  return { plain, last: { ...plain, ...cached }, deferred: { ...plain, defer_loading: true } };
}

function toolParams({ tools, deferred }: ModelRequest, params: ReadonlyMap<string, ReturnType<typeof writeTool>>) {
  if (tools.length === 0) return {};
  const search = deferred && deferred.names.size > 0 ? [{ ...createSearchTool(deferred.search), ...cached }] : [];
  const ordered = tools.flatMap(({ name }, i) => {
    const param = params.get(name);
    if (!param) return [];
    if (deferred?.names.has(name)) return [param.deferred];
    return [i === tools.length - 1 && search.length === 0 ? param.last : param.plain];
  });
  return { tools: [...ordered, ...search], tool_choice: { type: "auto" as const } };
}

const cached = { cache_control: { type: "ephemeral" as const } };

/** The system messages joined into one prompt, and the others in order. The service merges adjacent messages of one role. */
function conversation(messages: readonly Message[]): { system?: string; messages: MessageParam[] } {
  const system = messages.flatMap((message) => (message.role === "system" ? [message.content] : [])).join("\n\n");
  return { ...(system && { system }), messages: messages.flatMap(messageParam) };
}

function messageParam(message: Message): MessageParam[] {
  if (message.role === "results") {
    const content = message.results.map(({ callId, text, isError }) => ({
      type: "tool_result" as const,
      tool_use_id: callId,
      content: text,
      ...(isError && { is_error: true }),
    }));
    return [{ role: "user", content }];
  }
  if (message.role === "assistant") {
    const { native, content } = message;
    // Sent back unchanged, because the service verifies thinking blocks.
    return [{ role: "assistant", content: Array.isArray(native) ? (native as ContentBlockParam[]) : content }];
  }
  return message.role === "user" ? [{ role: "user", content: message.content }] : [];
}

/** Any JSON value. It comes from a parser, so it is not validated again. */
const parsedJson = z.custom<Json>((value) => value !== undefined);

/** The fields read of a reply. Blocks of other types (thinking) are only sent back. */
const replySchema = z.object({
  id: z.string().nullish(),
  model: z.string().nullish(),
  content: z.array(
    z.union([
      z.discriminatedUnion("type", [
        z.object({ type: z.literal("tool_use"), id: z.string().min(1), name: z.string(), input: parsedJson }),
        z.object({ type: z.literal("text"), text: z.string() }),
      ]),
      z.object({ type: z.string().refine((type) => type !== "tool_use" && type !== "text") }),
    ]),
  ),
  stop_reason: z.string().nullish(),
  usage: z.object({
    input_tokens: tokenCount,
    output_tokens: tokenCount,
    cache_read_input_tokens: tokenCount,
    cache_creation_input_tokens: tokenCount,
  }),
});

function readReply(body: unknown, names: WireNames): Attempt {
  const parsed = replySchema.safeParse(body);
  if (!parsed.success) return unreadableReply("a message", body, parsed.error);
  const { content, stop_reason, usage } = parsed.data;
  const searches = readSearches((body as { content: readonly unknown[] }).content, names);
  if ("kind" in searches) return searches;
  const written = content.flatMap((block): Call[] =>
    "input" in block
      ? [{ id: block.id, tool: names.toShown(block.name), ...boundArguments({ arguments: block.input }) }]
      : [],
  );
  const paid = {
    inputTokens: usage.input_tokens ?? 0,
    outputTokens: usage.output_tokens ?? 0,
    cacheReadTokens: usage.cache_read_input_tokens ?? 0,
    cacheWriteTokens: usage.cache_creation_input_tokens ?? 0,
  };
  const stop = readStop(stop_reason, written.length);
  if (typeof stop !== "string") return { ...stop, usage: paid };
  const calls = stop === "cut" ? [] : written;
  return {
    kind: "turn",
    native: withoutDeepInputs((body as { content: readonly unknown[] }).content),
    turn: {
      text: boundText(content.map((block) => ("text" in block ? block.text : "")).join("")),
      calls,
      ...(searches.length > 0 && { searches }),
      stop,
      usage: paid,
      ...readOrigin(body, parsed.data),
    },
  };
}

/** The blocks to send back. An input that is nested too deeply to be written as JSON is replaced with an empty one. */
function withoutDeepInputs(blocks: readonly unknown[]): unknown[] {
  return blocks.map((block) => (isNestedDeeper(block, maxDepth + 1) ? { ...(block as object), input: {} } : block));
}

/**
 * A reply that was cut off at a token limit is a bad answer, but an answer. Every other stop that is not the model's choice
 * is broken. So is a remaining `pause_turn`: it belongs to searches of the service, which `finishSearches` continued.
 */
function readStop(reason: string | null | undefined, calls: number): StopReason | Fault {
  switch (reason) {
    case "end_turn":
    case "stop_sequence":
      return calls > 0 ? "calls" : "done";
    case "tool_use":
      return calls > 0 ? "calls" : transientFault("the reply has stop reason tool_use but no tool call");
    case "refusal":
      return "refused";
    case "max_tokens":
    case "model_context_window_exceeded":
      return "cut";
    default:
      return permanentFault(`unknown stop reason: ${reason ?? "none"}`);
  }
}

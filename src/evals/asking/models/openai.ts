import { APIConnectionError, APIConnectionTimeoutError, OpenAI } from "openai";
import type {
  ChatCompletionAssistantMessageParam,
  ChatCompletionCreateParamsNonStreaming,
  ChatCompletionFunctionTool,
  ChatCompletionMessageParam,
} from "openai/resources/chat/completions";
import type { ReasoningEffort } from "openai/resources/shared";
import * as z from "zod";
import { createFetch } from "../../base/network/fetch.ts";
import type { Attempt, Fault } from "../../base/types/attempt.ts";
import { type EndpointOptions, priceUsage, resolveEndpoint } from "../../base/types/endpoint.ts";
import { isJsonObject, isNestedDeeper, type Json, type JsonObject } from "../../base/types/json.ts";
import type { AskedModel, Message, ModelRequest } from "../../base/types/model.ts";
import type { OfferedTool } from "../../base/types/tool.ts";
import type { Call, StopReason, Usage } from "../../base/types/trial.ts";
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

/** The names, defaults and limits of OpenAI, for all of its APIs. */
const provider = {
  name: "openai",
  keyVariable: "OPENAI_API_KEY",
  baseUrlVariable: "OPENAI_BASE_URL",
  baseUrl: "https://api.openai.com/v1",
  efforts: ["none", "minimal", "low", "medium", "high", "xhigh", "max"],
  maxTokensLimit: 100_000,
};

/**
 * A client with its settings, the limits of all its requests, and a function that reads its errors, for every API of the
 * service. Throws a usage error for options that cannot work.
 */
export function connectOpenai(options: EndpointOptions) {
  const { apiKey, timeoutMs, retries, ...endpoint } = resolveEndpoint(options, provider);
  const clientOptions = { apiKey, baseURL: endpoint.baseUrl, maxRetries: 0, logLevel: "off" } as const;
  const client = new OpenAI({ ...clientOptions, fetch: createFetch(options.env), timeout: timeoutMs });
  const readFault = (thrown: unknown): Fault => {
    const isTimeout = thrown instanceof APIConnectionTimeoutError;
    return toFault(thrown, { isTimeout, isConnection: thrown instanceof APIConnectionError }, timeoutMs);
  };
  return { client, clientOptions, limits: createLimits(retries, options.delay), readFault, ...endpoint };
}

/**
 * A model behind a chat-completions API: OpenAI's or a compatible one (vLLM, llama.cpp, LM Studio, OpenRouter). The
 * output limit is sent as `max_completion_tokens` to api.openai.com, whose newer models reject `max_tokens`, and as
 * `max_tokens` to all others, some of which accept nothing else. Throws a usage error for options that cannot work.
 */
export function openai(id: string, name: string, options: EndpointOptions): AskedModel {
  const { client, clientOptions, limits, readFault, baseUrl, maxTokens, effort, record } = connectOpenai(options);
  const isOfficial = new URL(baseUrl).hostname === "api.openai.com";
  const limit = isOfficial ? { max_completion_tokens: maxTokens } : { max_tokens: maxTokens };

  const prepare = createToolCache(64, writeTool);
  const build = (request: ModelRequest): ChatCompletionCreateParamsNonStreaming => ({
    model: name,
    ...limit,
    ...(effort !== undefined && { reasoning_effort: effort as NonNullable<ReasoningEffort> }),
    ...toolParams(request, prepare(request).params),
    ...responseFormat(request),
    messages: request.messages.flatMap(messageParams),
  });
  const read = (reply: unknown, request: ModelRequest) => readReply(reply, prepare(request).names, request.turn);

  const attempt = async (request: ModelRequest, signal: AbortSignal): Promise<Attempt> => {
    try {
      return read(await client.post("/chat/completions", jsonRequest(build(request), signal)), request);
    } catch (thrown) {
      return readFault(thrown);
    }
  };
  return {
    id,
    kind: "language model",
    settings: record,
    maxOutputTokens: maxTokens,
    deterministic: false,
    ask: (request, signal) => askRemote(request.cell, (own) => attempt(request, own), limits, signal),
    batches: async () => {
      const { openaiBatches } = await import("./openaiBatches.ts");
      return openaiBatches({ ...clientOptions, env: options.env }, { build, read }, limits);
    },
    cost: (usage, by) => priceUsage(usage, name, options.prices, by),
  };
}

function writeTool({ description, inputSchema }: OfferedTool, name: string): ChatCompletionFunctionTool {
  const parameters = { type: "object", ...inputSchema };
  return { type: "function", function: { name, ...(description && { description }), parameters } };
}

function toolParams({ tools }: ModelRequest, params: ReadonlyMap<string, ChatCompletionFunctionTool>) {
  if (tools.length === 0) return {};
  return { tools: tools.flatMap(({ name }) => params.get(name) ?? []), tool_choice: "auto" as const };
}

function responseFormat({ answerSchema }: ModelRequest) {
  if (!answerSchema) return {};
  const format = { name: "answer", strict: true, schema: answerSchema };
  return { response_format: { type: "json_schema" as const, json_schema: format } };
}

function messageParams(message: Message): ChatCompletionMessageParam[] {
  if (message.role === "results") {
    return message.results.map(({ callId, text }) => ({ role: "tool", tool_call_id: callId, content: text }));
  }
  if (message.role !== "assistant") return [{ role: message.role, content: message.content }];
  const { native, content } = message;
  return [native ? (native as ChatCompletionAssistantMessageParam) : { role: "assistant", content }];
}

/** Any JSON object. It comes from a parser, so it is not validated again. */
const parsedObject = z.custom<JsonObject>(isJsonObject);

/** The fields read of a reply. Local servers omit ids, usage and finish reasons, and send arguments as objects. */
const replySchema = z.object({
  id: z.string().nullish(),
  model: z.string().nullish(),
  choices: z
    .array(
      z.object({
        finish_reason: z.string().nullish(),
        message: z.object({
          content: z.string().nullish(),
          refusal: z.string().nullish(),
          tool_calls: z
            .array(
              z.object({
                id: z.string().nullish(),
                function: z.object({ name: z.string(), arguments: z.union([z.string(), parsedObject]).nullish() }),
              }),
            )
            .nullish(),
        }),
      }),
    )
    .min(1),
  usage: z
    .object({
      prompt_tokens: tokenCount,
      completion_tokens: tokenCount,
      prompt_tokens_details: z.object({ cached_tokens: tokenCount }).nullish(),
    })
    .nullish(),
});
type Body = z.infer<typeof replySchema>;
type ToolCall = NonNullable<Body["choices"][number]["message"]["tool_calls"]>[number];

function readReply(body: unknown, names: WireNames, turn: number): Attempt {
  const parsed = replySchema.safeParse(body);
  const choice = parsed.data?.choices[0];
  if (!choice) return unreadableReply("a completion", body, parsed.error);
  const { finish_reason, message } = choice;
  const written = withIds(message.tool_calls ?? [], turn);
  const stop = message.refusal ? "refused" : readStop(finish_reason, written.length);
  if (typeof stop !== "string") return { ...stop, usage: readUsage(parsed.data?.usage) };
  const toolCalls = stop === "cut" ? [] : written;
  return {
    kind: "turn",
    native: {
      role: "assistant",
      content: message.content ?? (toolCalls.length > 0 ? null : ""),
      ...(toolCalls.length > 0 && { tool_calls: toolCalls.map(toolCallParam) }),
    },
    turn: {
      text: boundText(message.content ?? message.refusal ?? ""),
      calls: toolCalls.map(({ id, function: { name, arguments: args } }) => ({
        id,
        tool: names.toShown(name),
        ...boundArguments(typeof args === "object" && args !== null ? { arguments: args } : readArguments(args ?? "")),
      })),
      stop,
      usage: readUsage(parsed.data?.usage),
      ...readOrigin(body, parsed.data ?? {}),
    },
  };
}

/** Gives every call a unique id: some local servers send none, or the same one for all. */
function withIds(calls: readonly ToolCall[], turn: number): (ToolCall & { id: string })[] {
  const taken = new Set<string>();
  return calls.map((call, i) => {
    const id = call.id && !taken.has(call.id) ? call.id : `call_${turn}_${i + 1}`;
    taken.add(id);
    return { ...call, id };
  });
}

function toolCallParam({ id, function: { name, arguments: args } }: ToolCall & { id: string }) {
  const text = typeof args === "string" ? args : JSON.stringify(isNestedDeeper(args) ? {} : (args ?? {}));
  return { id, type: "function" as const, function: { name, arguments: text } };
}

/** Reads a call's arguments. The text is kept when it is not JSON, or when parsing changes how a number is written. */
export function readArguments(text: string): Pick<Call, "arguments" | "argumentsText"> {
  if (text.trim() === "") return { arguments: {}, argumentsText: text };
  try {
    const value = JSON.parse(text) as Json;
    const numbers = text.replace(/"(?:[^"\\]|\\.)*"/g, '""').match(/-?\d[\d.eE+-]*/g) ?? [];
    const lost = numbers.some((number) => String(Number(number)) !== number);
    return lost ? { arguments: value, argumentsText: text } : { arguments: value };
  } catch {
    return { argumentsText: text };
  }
}

/** Calls override the finish reason, which local servers often send as `stop`, unless the reply was cut off. */
function readStop(reason: string | null | undefined, calls: number): StopReason | Fault {
  if (reason === "length") return "cut";
  if (reason === "content_filter") return "refused";
  if (calls > 0) return "calls";
  if (reason === "stop") return "done";
  if (reason === "tool_calls") return transientFault("the reply has finish reason tool_calls but no tool call");
  return permanentFault(`unknown finish reason: ${reason ?? "none"}`);
}

/** The API includes cached tokens in the prompt's; here they are separate. Writing the cache is not billed. */
function readUsage(usage: Body["usage"]): Usage {
  const cached = usage?.prompt_tokens_details?.cached_tokens ?? 0;
  return {
    inputTokens: Math.max(0, (usage?.prompt_tokens ?? 0) - cached),
    outputTokens: usage?.completion_tokens ?? 0,
    cacheReadTokens: cached,
    cacheWriteTokens: 0,
  };
}

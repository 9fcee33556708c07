import {
  Anthropic,
  APIConnectionError,
  APIConnectionTimeoutError,
  BadRequestError,
  type ClientOptions,
} from "@anthropic-ai/sdk";
import type {
  ContentBlockParam,
  MessageCreateParamsNonStreaming,
  MessageParam,
  OutputConfig,
  Tool as ToolParam,
  ToolSearchToolBm25_20251119,
  ToolSearchToolRegex20251119,
} from "@anthropic-ai/sdk/resources/messages";
import type { BatchCreateParams } from "@anthropic-ai/sdk/resources/messages/batches";
import * as z from "zod";
import { type Delay, type EndpointOptions, priceUsage, resolveEndpoint, services } from "../../base/types/endpoint.ts";
import {
  type AskedModel,
  type BatchResult,
  type BatchService,
  type BatchState,
  type Fault,
  type Message,
  type ModelRequest,
  transientFault,
} from "../../base/types/model.ts";
import type { OfferedTool } from "../../base/types/tool.ts";
import { messages } from "../protocols/messages.ts";
import { createServiceFetch } from "../protocols/refusals.ts";
import {
  asFile,
  type BatchForm,
  batchTimeoutMs,
  catchFaults,
  createBatchFetch,
  readResultLines,
  takeNewer,
} from "./batchFiles.ts";
import { askRemote, createFaultReader, createLimits, nameRefused, readAttempt, withoutRefusedForm } from "./remote.ts";
import { createToolCache, jsonRequest } from "./wireNames.ts";

const provider = {
  ...services.anthropic,
  name: "anthropic",
  efforts: ["low", "medium", "high", "xhigh", "max"],
  // The service requires streaming if a reply could take over ten minutes, at 128,000 tokens an hour.
  maxTokensLimit: 21_333,
};

type SearchTool = ToolSearchToolBm25_20251119 | ToolSearchToolRegex20251119;

/** The tool searches of the Messages API, by their names in `--ranker`. */
const searches = { bm25: "tool_search_tool_bm25_20251119", regex: "tool_search_tool_regex_20251119" } as const;

/** The search tool with this versioned name. */
const createSearchTool = (search: string) => ({ type: search, name: search.replace(/_\d+$/, "") }) as SearchTool;

/** With a search, the smallest list that shows whether a model accepts it. */
const probe = { name: "probe", description: "Does nothing.", input_schema: { type: "object" }, defer_loading: true };

/**
 * A model behind Anthropic's Messages API, or a compatible server. One whole reply per ask, automatic tool choice, no
 * sampling parameters (the service rejects them). Throws a usage error for options that cannot work.
 */
export function anthropic(id: string, name: string, options: EndpointOptions): AskedModel {
  const resolved = resolveEndpoint(options, provider);
  const { apiKey, credentials, headers, maxTokens, timeoutMs, retries, effort, record, ...endpoint } = resolved;
  const clientOptions = {
    apiKey,
    authToken: null,
    baseURL: endpoint.baseUrl,
    defaultQuery: Object.fromEntries(new URLSearchParams(endpoint.search)),
    // The SDK leaves its key out beside another authorization, as of a proxy before the service.
    defaultHeaders: { "x-api-key": apiKey, ...headers },
    maxRetries: 0,
    logLevel: "off",
    openTelemetry: false,
  } as const;
  const fetch = createServiceFetch(options.env, credentials);
  const client = new Anthropic({ ...clientOptions, fetch, timeout: timeoutMs });

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
  const read = (reply: unknown, request: ModelRequest) => readAttempt(messages, reply, prepare(request).names, request);

  const attempt = withoutRefusedForm(async (request, signal, written) => {
    const body = build(written);
    try {
      const reply = await post(body, signal);
      return read(request.deferred ? await finishSearches(reply, body, (more) => post(more, signal)) : reply, request);
    } catch (thrown) {
      return nameRefused(readFault(thrown, timeoutMs), request.tools);
    }
  });
  const limits = createLimits(retries, options.delay);

  return {
    id,
    kind: "language model",
    settings: record,
    maxOutputTokens: maxTokens,
    deterministic: false,
    searches,
    refusesSearch: async (search, signal) => {
      const tools = [probe, createSearchTool(search)];
      const body = { model: name, messages: [{ role: "user", content: "." }], tools };
      const refusal = await client.post("/v1/messages/count_tokens", { body, signal }).catch((thrown) => thrown);
      if (!(refusal instanceof BadRequestError)) return undefined;
      const { message } = (refusal.error as { error?: { message?: unknown } } | undefined)?.error ?? {};
      return typeof message === "string" ? message : refusal.message;
    },
    ask: (request, signal) => askRemote(request.cell, (own) => attempt(request, own), limits, signal),
    batches: async () => anthropicBatches({ ...clientOptions, env: options.env }, { build, read }, limits),
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

const readFault = createFaultReader(APIConnectionTimeoutError, APIConnectionError);

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

/** A tool in the service's format. `last` marks the end of the part of the prompt that the service may cache. */
function writeTool({ description, inputSchema }: OfferedTool, name: string) {
  const input_schema = { ...inputSchema, type: "object" as const };
  const plain: ToolParam = { name, ...(description && { description }), input_schema };
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

/** The system messages as one prompt, and the others in order. The service merges adjacent messages of one role. */
function conversation(messages: readonly Message[]): { system?: string; messages: MessageParam[] } {
  const system = messages.flatMap((message) => (message.role === "system" ? [message.content] : [])).join("\n\n");
  return { ...(system.trim() !== "" && { system }), messages: messages.flatMap(messageParam) };
}

function messageParam(message: Message): MessageParam[] {
  if (message.role === "results") {
    const content = message.results.map(({ callId, text, isError }) => ({
      type: "tool_result" as const,
      tool_use_id: callId,
      // The service refuses an error without a text.
      content: isError && text.trim() === "" ? "The tool reported an error without a message." : text,
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

const request_counts = z.record(z.string(), z.number()).nullish();
const batchSchema = z.object({ id: z.string().min(1), processing_status: z.string(), request_counts });

const resultSchema = z.object({
  custom_id: z.string(),
  result: z.union([
    z.object({ type: z.literal("succeeded"), message: z.unknown() }),
    z.object({
      type: z.literal("errored"),
      error: z.object({ error: z.object({ type: z.string(), message: z.string() }) }),
    }),
    z.object({ type: z.enum(["canceled", "expired"]) }),
  ]),
});

/** Errors of the service itself; all others are caused by the request. */
const transientErrors = new Set(["api_error", "overloaded_error", "rate_limit_error", "timeout_error"]);

/**
 * Anthropic's Message Batches API. A batch cannot have a label, so ours are recognized by the ids of their results.
 * Limits: https://platform.claude.com/docs/en/build-with-claude/batch-processing
 */
export function anthropicBatches(
  { env, ...options }: ClientOptions & { env: Readonly<Record<string, string | undefined>> },
  { build, read }: BatchForm<MessageCreateParamsNonStreaming>,
  { retries, delay }: { retries: number; delay: Delay },
): BatchService {
  const client = new Anthropic({ ...options, fetch: createBatchFetch(env), timeout: batchTimeoutMs });
  const { batches } = client.messages;
  const attempt = catchFaults(readFault);
  return {
    keepsLabels: false,
    retries,
    delay,
    write: (custom_id, request) => ({ custom_id, params: build(request) }),
    read: ({ body }, request) => read(body, request),
    submit: (entries, _, signal) =>
      attempt(async () => {
        const requests = entries as BatchCreateParams.Request[];
        const created = readState(await batches.create({ requests }, { signal }));
        return "kind" in created ? created : created.id;
      }),
    list: (after, most, signal) =>
      attempt(() => takeNewer(batches.list({ limit: Math.min(most, 100) }, { signal }), readState, after, most)),
    retrieve: (id, signal) => attempt(async () => readState(await batches.retrieve(id, {}, { signal }))),
    readResults: (id, onResult, signal) =>
      attempt(async () => {
        // The URL in the batch is not used, because it could send the API key to another host.
        const path = `/v1/messages/batches/${encodeURIComponent(id)}/results`;
        const file = await client.get(path, { ...asFile, signal }).asResponse();
        return await readResultLines(file, (line) => {
          const { data } = resultSchema.safeParse(line);
          if (data) onResult(data.custom_id, readResult(data.result));
        });
      }),
  };
}

function readState(batch: unknown): BatchState | Fault {
  const { data } = batchSchema.safeParse(batch);
  if (!data) return transientFault("the reply is not a message batch");
  const counts = Object.values(data.request_counts ?? {});
  const status = data.processing_status === "ended" ? "ended" : "running";
  return { id: data.id, status, ...(counts.length > 0 && { requests: counts.reduce((sum, count) => sum + count, 0) }) };
}

function readResult(result: z.infer<typeof resultSchema>["result"]): BatchResult {
  if (result.type === "succeeded") return { kind: "reply", body: result.message };
  if (result.type !== "errored") return { kind: result.type };
  const { type, message } = result.error.error;
  return { kind: "errored", message: `${type}: ${message}`, isTransient: transientErrors.has(type) };
}

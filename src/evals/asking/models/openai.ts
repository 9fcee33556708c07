import { APIConnectionError, APIConnectionTimeoutError, type ClientOptions, OpenAI, toFile } from "openai";
import type {
  ChatCompletionAssistantMessageParam,
  ChatCompletionCreateParamsNonStreaming,
  ChatCompletionFunctionTool,
  ChatCompletionMessageParam,
} from "openai/resources/chat/completions";
import type { ReasoningEffort } from "openai/resources/shared";
import * as z from "zod";
import { type Delay, type EndpointOptions, priceUsage, resolveEndpoint, services } from "../../base/types/endpoint.ts";
import type { Json } from "../../base/types/json.ts";
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
import { completions } from "../protocols/completions.ts";
import { createServiceFetch, findRefusal, hintVersion } from "../protocols/refusals.ts";
import {
  type BatchForm,
  batchTimeoutMs,
  catchFaults,
  createBatchFetch,
  readResultLines,
  takeNewer,
} from "./batchFiles.ts";
import { askRemote, createFaultReader, createLimits, nameRefused, readAttempt, withoutRefusedForm } from "./remote.ts";
import { createToolCache, jsonRequest } from "./wireNames.ts";

/** The names, defaults and limits of OpenAI, for all of its APIs. */
const efforts = ["none", "minimal", "low", "medium", "high", "xhigh", "max"];
const provider = { ...services.openai, name: "openai", efforts, maxTokensLimit: 100_000 };

/**
 * A client with its settings, the limits of all its requests, and a function that reads its errors, for every API of
 * the service. Throws a usage error for options that cannot work.
 */
export function connectOpenai(options: EndpointOptions) {
  const { apiKey, credentials, headers, timeoutMs, retries, ...endpoint } = resolveEndpoint(options, provider);
  // Azure takes the version of its API in the query, and a key of its own in a header of its own.
  const isAzure = /\.azure\.(?:com|us|cn)\/|\bapi-version=/i.test(endpoint.baseUrl + endpoint.search);
  const clientOptions = {
    apiKey,
    baseURL: endpoint.baseUrl,
    defaultQuery: Object.fromEntries(new URLSearchParams(endpoint.search)),
    defaultHeaders: { ...(isAzure && { "api-key": apiKey }), ...headers },
    maxRetries: 0,
    logLevel: "off",
  } as const;
  const fetch = createServiceFetch(options.env, credentials);
  const client = new OpenAI({ ...clientOptions, fetch, timeout: timeoutMs });
  const limits = createLimits(retries, options.delay);
  return { client, clientOptions, limits, readFault: (thrown: unknown) => readFault(thrown, timeoutMs), ...endpoint };
}

const readFault = createFaultReader(APIConnectionTimeoutError, APIConnectionError);

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
    ...(request.tools.length > 0 && {
      tools: request.tools.flatMap((tool) => prepare(request).params.get(tool.name) ?? []),
      tool_choice: "auto",
    }),
    ...(request.answerSchema && {
      response_format: {
        type: "json_schema",
        json_schema: { name: "answer", strict: true, schema: request.answerSchema },
      },
    }),
    messages: request.messages.flatMap(messageParams),
  });
  const read = (reply: unknown, request: ModelRequest) =>
    readAttempt(completions, reply, prepare(request).names, request);

  const attempt = withoutRefusedForm(async (request, signal, written) => {
    const result = await client
      .post("/chat/completions", jsonRequest(build(written), signal))
      .then((reply) => read(reply, request))
      .catch((thrown: unknown) => nameRefused(readFault(thrown), request.tools));
    // At another path, LM Studio and web interfaces answer with status 200.
    if (result.kind !== "fault" || !result.message.startsWith("the reply is not ")) return result;
    const asked = / but the text "|not JSON/.test(result.message) ? ` (asked at ${record.baseUrl})` : "";
    return { ...result, message: result.message + asked + hintVersion(baseUrl) };
  });
  return {
    id,
    kind: "language model",
    settings: record,
    maxOutputTokens: maxTokens,
    deterministic: false,
    ask: (request, signal) => askRemote(request.cell, (own) => attempt(request, own), limits, signal),
    batches: async () => openaiBatches({ ...clientOptions, env: options.env }, { build, read }, limits),
    cost: (usage, by) => priceUsage(usage, name, options.prices, by),
  };
}

function writeTool({ description, inputSchema }: OfferedTool, name: string): ChatCompletionFunctionTool {
  const parameters = { type: "object", properties: {}, ...inputSchema };
  return { type: "function", function: { name, ...(description && { description }), parameters } };
}

function messageParams(message: Message): ChatCompletionMessageParam[] {
  if (message.role === "results")
    return message.results.map(({ callId, text }) => ({ role: "tool", tool_call_id: callId, content: text }));
  if (message.role !== "assistant") return [{ role: message.role, content: message.content }];
  const { native, content } = message;
  return [native ? (native as ChatCompletionAssistantMessageParam) : { role: "assistant", content }];
}

const endpoint = "/v1/chat/completions";
/** The key of a batch's metadata that holds its label. */
const labelKey = "tool_evals";

const text = z.string().nullish();
const batchSchema = z.object({
  id: z.string().min(1),
  status: z.string(),
  metadata: z.record(z.string(), z.unknown()).nullish(),
  errors: z.object({ data: z.array(z.object({ code: text, message: text })).nullish() }).nullish(),
  request_counts: z.object({ total: z.number() }).nullish(),
  output_file_id: text,
  error_file_id: text,
});

const resultSchema = z.object({
  custom_id: z.string(),
  response: z.object({ status_code: z.number(), request_id: text, body: z.unknown() }).nullish(),
  error: z.object({ code: text, message: text }).nullish(),
});

/**
 * OpenAI's batch API, which compatible services have too: a file of requests, a batch of it, and one file each of
 * replies and errors. Limits: https://platform.openai.com/docs/guides/batch
 */
export function openaiBatches(
  { env, ...options }: ClientOptions & { env: Readonly<Record<string, string | undefined>> },
  { build, read }: BatchForm<ChatCompletionCreateParamsNonStreaming>,
  { retries, delay }: { retries: number; delay: Delay },
): BatchService {
  const client = new OpenAI({ ...options, fetch: createBatchFetch(env), timeout: batchTimeoutMs });
  const attempt = catchFaults(readFault);
  return {
    keepsLabels: true,
    retries,
    delay,
    write: (custom_id, request) => ({ custom_id, method: "POST", url: endpoint, body: build(request) }),
    read: ({ body, requestId }, request) =>
      read(requestId === undefined ? body : { ...Object(body), _request_id: requestId }, request),
    submit: (entries, label, signal) =>
      attempt(async () => {
        const lines = entries.map((entry) => `${JSON.stringify(entry)}\n`);
        const file = await toFile(Buffer.from(lines.join("")), "requests.jsonl", { type: "application/jsonl" });
        const { id } = await client.files.create({ file, purpose: "batch" }, { signal });
        const metadata = { [labelKey]: label };
        const params = { input_file_id: id, endpoint, completion_window: "24h", metadata } as const;
        const created = readState(await client.batches.create(params, { signal }));
        return "kind" in created ? created : created.id;
      }),
    list: (after, most, signal) =>
      attempt(() => takeNewer(client.batches.list({ limit: Math.min(most, 100) }, { signal }), readState, after, most)),
    retrieve: (id, signal) => attempt(async () => readState(await client.batches.retrieve(id, { signal }))),
    readResults: (id, onResult, signal) =>
      attempt(async () => {
        const { data } = batchSchema.safeParse(await client.batches.retrieve(id, { signal }));
        if (!data) return transientFault("the reply is not a batch");
        for (const fileId of [data.output_file_id, data.error_file_id]) {
          if (!fileId) continue;
          const file = await client.files.content(fileId, { signal });
          const fault = await readResultLines(file, (line) => {
            const result = resultSchema.safeParse(line);
            if (result.data) onResult(result.data.custom_id, readResult(result.data));
          });
          if (fault) return fault;
        }
        return undefined;
      }),
  };
}

/** The outcome of a request that is missing in the files of an ended batch, by the status of the batch. */
const absentIn: Readonly<Record<string, BatchState["absent"]>> = { expired: "expired", cancelled: "canceled" };

function readState(batch: unknown): BatchState | Fault {
  const { data } = batchSchema.safeParse(batch);
  if (!data) return transientFault("the reply is not a batch");
  const { id, status, metadata, errors, request_counts: counts } = data;
  const label = metadata?.[labelKey];
  const [problem] = errors?.data ?? [];
  const absent = absentIn[status];
  const isEnded = ["completed", "expired", "cancelled"].includes(status);
  return {
    id,
    status: status === "failed" ? "failed" : isEnded ? "ended" : "running",
    ...(problem && { problem: [problem.code, problem.message].filter(Boolean).join(": ") }),
    ...(counts && { requests: counts.total }),
    ...(typeof label === "string" && { label }),
    ...(absent && { absent }),
  };
}

function readResult({ response, error }: z.infer<typeof resultSchema>): BatchResult {
  if (error?.code === "batch_expired") return { kind: "expired" };
  if (error?.code && /^batch_cancell?ed$/.test(error.code)) return { kind: "canceled" };
  if (!response || error) {
    const message = [error?.code, error?.message].filter(Boolean).join(": ") || "no response and no error";
    return { kind: "errored", message, isTransient: true };
  }
  const { status_code: status, request_id: requestId, body } = response;
  if (status === 200) return { kind: "reply", body, ...(requestId && { requestId }) };
  const message = `${status}: ${findRefusal(body as Json)?.message ?? "no message"}`;
  const isTransient = status < 400 || status >= 500 || [408, 409, 429].includes(status);
  return { kind: "errored", message, isTransient };
}

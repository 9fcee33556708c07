import { BadRequestError } from "openai";
import type {
  FunctionTool,
  NamespaceTool,
  ResponseCreateParamsNonStreaming,
  ResponseInputItem,
  Tool,
} from "openai/resources/responses/responses";
import type { ReasoningEffort } from "openai/resources/shared";
import * as z from "zod";
import type { Attempt } from "../../base/types/attempt.ts";
import { type EndpointOptions, priceUsage } from "../../base/types/endpoint.ts";
import type { AskedModel, Message, ModelRequest } from "../../base/types/model.ts";
import type { OfferedTool } from "../../base/types/tool.ts";
import type { StopReason, ToolSearch, Usage } from "../../base/types/trial.ts";
import { connectOpenai, readArguments } from "./openai.ts";
import {
  askRemote,
  boundArguments,
  boundText,
  permanentFault,
  readOrigin,
  tokenCount,
  transientFault,
  unreadableReply,
} from "./remote.ts";
import { createToolCache, jsonRequest, type WireNames } from "./wireNames.ts";

/** The tool search of the API, which does not name its ranking. */
const hostedSearch = "tool_search";

/**
 * A model behind OpenAI's Responses API, which unlike chat completions has tool search. Deferred tools are in one namespace
 * per server. The service stores nothing. Throws a usage error for options that cannot work.
 */
export function openaiResponses(id: string, name: string, options: EndpointOptions): AskedModel {
  const { client, limits, readFault, maxTokens, effort, record } = connectOpenai(options);
  const prepare = createToolCache(64, writeTool);

  const attempt = async (request: ModelRequest, signal: AbortSignal): Promise<Attempt> => {
    const { names, params } = prepare(request);
    const body: ResponseCreateParamsNonStreaming = {
      model: name,
      max_output_tokens: maxTokens,
      store: false,
      // Reasoning is sent back with the results; only the service can read it.
      include: ["reasoning.encrypted_content"],
      ...(effort !== undefined && { reasoning: { effort: effort as NonNullable<ReasoningEffort> } }),
      ...toolParams(request, params),
      ...textFormat(request),
      input: request.messages.flatMap(inputItems),
    };
    try {
      return readReply(await client.post("/responses", jsonRequest(body, signal)), names);
    } catch (thrown) {
      return readFault(thrown);
    }
  };
  return {
    id,
    kind: "language model",
    settings: { ...record, api: "responses" },
    maxOutputTokens: maxTokens,
    deterministic: false,
    searches: { hosted: hostedSearch },
    refusesSearch: async (_, signal) => {
      const body = { model: name, input: ".", tools: probeTools };
      const refusal = await client.responses.inputTokens.count(body, { signal }).catch((thrown) => thrown);
      return refusal instanceof BadRequestError ? refusal.message.replace(/^400 /, "") : undefined;
    },
    ask: (request, signal) => askRemote(request.cell, (own) => attempt(request, own), limits, signal),
    cost: (usage) => priceUsage(usage, name, options.prices),
  };
}

const deferredProbe: NamespaceTool.Function = { type: "function", name: "probe", defer_loading: true };

/** A search with one deferred tool: the smallest list that shows whether a model accepts it. */
const probeTools: Tool[] = [
  { type: "namespace", name: "probe", description: "Does nothing.", tools: [deferredProbe] },
  { type: hostedSearch },
];

function writeTool({ description, inputSchema }: OfferedTool, name: string): FunctionTool {
  const parameters = { type: "object", ...inputSchema };
  return { type: "function", name, strict: false, ...(description && { description }), parameters };
}

function toolParams({ tools, deferred }: ModelRequest, functions: ReadonlyMap<string, FunctionTool>) {
  if (tools.length === 0) return {};
  const shown = tools.filter(({ name }) => !deferred?.names.has(name)).flatMap(({ name }) => functions.get(name) ?? []);
  const spaces = new Map<string, NamespaceTool>();
  for (const { name, server } of tools) {
    const fn = functions.get(name);
    if (!fn || !deferred?.names.has(name)) continue;
    const space = server.replace(/[^a-zA-Z0-9_-]/g, "_").slice(0, 64) || "tools";
    const known = spaces.get(space) ?? createNamespace(space, server);
    known.tools.push({ ...fn, defer_loading: true });
    spaces.set(space, known);
  }
  const searched: Tool[] = spaces.size > 0 ? [...spaces.values(), { type: hostedSearch }] : [];
  return { tools: [...shown, ...searched], tool_choice: "auto" as const };
}

function createNamespace(name: string, server: string): NamespaceTool {
  return { type: "namespace", name, description: `The tools of the MCP server "${server}".`, tools: [] };
}

function textFormat({ answerSchema }: ModelRequest) {
  if (!answerSchema) return {};
  return { text: { format: { type: "json_schema" as const, name: "answer", strict: true, schema: answerSchema } } };
}

function inputItems(message: Message): ResponseInputItem[] {
  if (message.role === "results") {
    return message.results.map(({ callId, text }) => ({ type: "function_call_output", call_id: callId, output: text }));
  }
  // Sent back unchanged, because reasoning and searches belong to the calls that follow them.
  if (message.role === "assistant" && Array.isArray(message.native)) return message.native as ResponseInputItem[];
  return [{ role: message.role, content: message.content }];
}

const part = z.union([
  z.object({ type: z.literal("output_text"), text: z.string() }),
  z.object({ type: z.literal("refusal"), refusal: z.string() }),
  z.object({ type: z.string() }),
]);
const named = z.object({ name: z.string() });
const foundTool = z.union([z.object({ tools: z.array(named) }), named]);

/** The fields read of an output item. Items of other types (reasoning) are only sent back. */
const itemSchema = z.union([
  z.object({ type: z.literal("function_call"), call_id: z.string().min(1), name: z.string(), arguments: z.string() }),
  z.object({ type: z.literal("message"), content: z.array(part) }),
  z.object({ type: z.literal("tool_search_call"), call_id: z.string().nullish(), arguments: z.unknown() }),
  z.object({ type: z.literal("tool_search_output"), call_id: z.string().nullish(), tools: z.array(foundTool) }),
  z.object({ type: z.string() }),
]);
type Item = z.infer<typeof itemSchema>;

const replySchema = z.object({
  id: z.string().nullish(),
  model: z.string().nullish(),
  status: z.string().nullish(),
  error: z.object({ code: z.string().nullish(), message: z.string().nullish() }).nullish(),
  incomplete_details: z.object({ reason: z.string().nullish() }).nullish(),
  output: z.array(itemSchema),
  usage: z
    .object({
      input_tokens: tokenCount,
      output_tokens: tokenCount,
      input_tokens_details: z.object({ cached_tokens: tokenCount, cache_write_tokens: tokenCount }).nullish(),
    })
    .nullish(),
});
type Body = z.infer<typeof replySchema>;

function readReply(body: unknown, names: WireNames): Attempt {
  const { data, error } = replySchema.safeParse(body);
  if (!data) return unreadableReply("a response", body, error);
  const parts = data.output.flatMap((item) => ("content" in item ? item.content : []));
  const text = parts.map((one) => ("text" in one ? one.text : "refusal" in one ? one.refusal : "")).join("");
  const written = data.output.flatMap((item) =>
    item.type === "function_call" && "name" in item
      ? [{ id: item.call_id, tool: names.toShown(item.name), ...boundArguments(readArguments(item.arguments)) }]
      : [],
  );
  const stop = readStop(
    data,
    parts.some((one) => "refusal" in one),
    written.length,
  );
  if (typeof stop !== "string") return stop;
  const searches = readSearches(data.output, names);
  return {
    kind: "turn",
    native: (body as { output: unknown }).output,
    turn: {
      text: boundText(text),
      // The last call of a reply that was cut off may be incomplete.
      calls: stop === "cut" ? [] : written,
      ...(searches.length > 0 && { searches }),
      stop,
      usage: readUsage(data.usage),
      ...readOrigin(body, data),
    },
  };
}

/** The searches, each with the output that follows it, because hosted searches have no id that connects the two. */
function readSearches(output: readonly Item[], names: WireNames): ToolSearch[] {
  const searches: ToolSearch[] = [];
  for (const item of output) {
    if (item.type === "tool_search_call" && "arguments" in item)
      searches.push({ query: describeSearch(item.arguments), found: [] });
    if (item.type !== "tool_search_output" || !("tools" in item)) continue;
    const found = item.tools.flatMap((tool) => ("tools" in tool ? tool.tools : [tool]));
    searches.at(-1)?.found.push(...found.map(({ name }) => names.toShown(name)));
  }
  return searches;
}

/** What was searched for: the text of the query, or all arguments if there is no query. */
function describeSearch(given: unknown): string {
  const { data } = z.object({ query: z.string() }).safeParse(given);
  return boundText(data?.query ?? (typeof given === "string" ? given : (JSON.stringify(given) ?? "")));
}

function readStop(
  { status, error, incomplete_details: incomplete }: Body,
  isRefused: boolean,
  calls: number,
): StopReason | Attempt {
  if (status === "failed" || error) {
    const message = `the response failed: ${error?.code ?? "unknown"}: ${error?.message ?? "no message"}`;
    const isTransient = ["server_error", "rate_limit_exceeded"].includes(error?.code ?? "");
    return isTransient ? transientFault(message) : permanentFault(message);
  }
  if (incomplete?.reason === "max_output_tokens") return "cut";
  if (isRefused || incomplete?.reason === "content_filter") return "refused";
  if (status !== "completed") return permanentFault(`unknown status of the response: ${status ?? "none"}`);
  return calls > 0 ? "calls" : "done";
}

/** The API includes cached tokens in the prompt's; here they are separate. */
function readUsage(usage: Body["usage"]): Usage {
  const { cached_tokens: read, cache_write_tokens: written } = usage?.input_tokens_details ?? {};
  const [cacheReadTokens, cacheWriteTokens] = [read ?? 0, written ?? 0];
  return {
    inputTokens: Math.max(0, (usage?.input_tokens ?? 0) - cacheReadTokens - cacheWriteTokens),
    outputTokens: usage?.output_tokens ?? 0,
    cacheReadTokens,
    cacheWriteTokens,
  };
}

import { BadRequestError } from "openai";
import type {
  FunctionTool,
  NamespaceTool,
  ResponseCreateParamsNonStreaming,
  ResponseInputItem,
  Tool,
} from "openai/resources/responses/responses";
import type { ReasoningEffort } from "openai/resources/shared";
import { getOrAdd } from "../../base/collections.ts";
import { type EndpointOptions, priceUsage } from "../../base/types/endpoint.ts";
import type { AskedModel, Attempt, Message, ModelRequest } from "../../base/types/model.ts";
import type { OfferedTool } from "../../base/types/tool.ts";
import type { Protocol } from "../protocols/protocol.ts";
import { readResponse, responses } from "../protocols/responses.ts";
import { connectOpenai } from "./openai.ts";
import { askRemote, nameRefused, readAttempt, type SentTools } from "./remote.ts";
import { createToolCache, jsonRequest } from "./wireNames.ts";

/** The API, with the names of tools without their namespaces, since they are unique. */
const service: Protocol = { ...responses, readBody: (body) => readResponse(body, (_, name) => name) };

/** The tool search of the API, which does not name its ranking. */
const hostedSearch = "tool_search";

/**
 * A model behind OpenAI's Responses API, which unlike chat completions has tool search. Deferred tools are in one
 * namespace per server. The service stores nothing. Throws a usage error for options that cannot work.
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
      ...(request.answerSchema && {
        text: { format: { type: "json_schema", name: "answer", strict: true, schema: request.answerSchema } },
      }),
      input: request.messages.flatMap(inputItems),
    };
    try {
      return readAttempt(service, await client.post("/responses", jsonRequest(body, signal)), names, request);
    } catch (thrown) {
      return nameRefused(readFault(thrown), (body.tools ?? []) as SentTools);
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
  const parameters = { type: "object", properties: {}, ...inputSchema };
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
    const description = `The tools of the MCP server "${server}".`;
    const known = getOrAdd(spaces, space, () => ({ type: "namespace" as const, name: space, description, tools: [] }));
    known.tools.push({ ...fn, defer_loading: true });
  }
  const searched: Tool[] = spaces.size > 0 ? [...spaces.values(), { type: hostedSearch }] : [];
  return { tools: [...shown, ...searched], tool_choice: "auto" as const };
}

function inputItems(message: Message): ResponseInputItem[] {
  if (message.role === "results")
    return message.results.map(({ callId, text }) => ({ type: "function_call_output", call_id: callId, output: text }));
  // Sent back unchanged, because reasoning and searches belong to the calls that follow them.
  if (message.role === "assistant" && Array.isArray(message.native)) return message.native as ResponseInputItem[];
  return [{ role: message.role, content: message.content }];
}

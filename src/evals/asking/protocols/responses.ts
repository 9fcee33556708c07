import * as z from "zod";
import { isJsonObject, type JsonObject } from "../../base/types/json.ts";
import { type Fault, permanentFault, transientFault } from "../../base/types/model.ts";
import type { Call, StopReason } from "../../base/types/trial.ts";
import {
  anyJson,
  count,
  cutStream,
  type DefinedTool,
  defineProtocol,
  listOf,
  listOrText,
  maybe,
  type ReceivedReply,
  readArguments,
  streamFault,
  type ToolOutput,
  text,
  toUsage,
  unreadableReply,
  writeArguments,
} from "./protocol.ts";

const single = z.object({ type: text, name: text, description: text, defer_loading: z.boolean().catch(false) });
const tools = listOf(single.extend({ tools: listOf(single).optional() }));
const content = listOrText(z.object({ text }), (value) => ({ text: value }));
const item = z.object({ type: text, role: text, content, call_id: text, output: content, tools });
const input = listOrText(item, (value) => item.parse({ type: "message", role: "user", content: value }));
const request = z.object({ model: text, instructions: text, tools, input });

/** OpenAI's Responses API. A tool in a namespace is named `<namespace>__<name>`, unless its name starts so already. */
export const responses = defineProtocol({
  name: "responses",
  matches: (path) => path.endsWith("/responses"),
  readRequest(body) {
    const { model, instructions, tools: given, input } = request.parse(body);
    const others = input.filter(({ role, type }) => role !== "assistant" && type !== "reasoning");
    const textsOf = (list: readonly { text: string }[]) => list.map((one) => one.text).filter((one) => one !== "");
    const lastOutput = input.findLastIndex(({ type }) => isOutput(type));
    const added = input.filter(({ type }) => type === "additional_tools").flatMap((one) => one.tools);
    const found = input.filter(({ type }) => type === "tool_search_output").flatMap((one) => one.tools);
    const opening = input.filter(({ role }) => role === "user").map((one) => textsOf(one.content).join("\n"));
    return {
      model,
      tools: [
        ...listTools([...given, ...added], joinName),
        // The results of a search on the client are part of the input that the model reads.
        ...listTools(found, joinName).map((tool) => ({ ...tool, deferred: true })),
      ],
      // The description of a namespace has the instructions of its server.
      texts: [
        instructions,
        ...others.flatMap((one) => textsOf(one.content)),
        ...[...given, ...added].flatMap((one) => (one.type === "namespace" ? one.description || [] : [])),
      ],
      opening: opening.join("\n"),
      outputs: input.filter(({ type }) => isOutput(type)).map(toOutput),
      notes: lastOutput < 0 ? [] : input.slice(lastOutput + 1).flatMap((one) => textsOf(one.content)),
    };
  },
  assemble: (events) => assembleResponse(events.map((one) => event.parse(one))),
  readBody: (body) => readResponse(body, joinName),
  sendBack,
});

const isOutput = (type: string) => /_output$/.test(type);

/** How a tool in a namespace is named. */
type NameTool = (namespace: string, name: string) => string;

/** Tools without a namespace are in the namespace `functions`. */
function joinName(namespace: string, name: string): string {
  const isWhole = namespace === "" || namespace === "functions" || name.startsWith(namespace);
  return isWhole ? name : `${namespace}__${name}`;
}

function listTools(given: z.infer<typeof tools>, nameTool: NameTool): DefinedTool[] {
  return given.flatMap((tool) => {
    const inner = tool.tools ?? [];
    if (tool.type === "namespace") return inner.map((one) => define(nameTool(tool.name, one.name), one));
    return [define(tool.name || tool.type, tool)];
  });
}

function define(name: string, { description, defer_loading }: z.infer<typeof single>): DefinedTool {
  return { name, description, deferred: defer_loading };
}

function toOutput({ call_id, output, type, tools: found }: z.infer<typeof item>): ToolOutput {
  const text = output.map((one) => one.text).join("\n");
  const names = listTools(found, joinName).map(({ name }) => name);
  return { callId: call_id, text, isError: false, ...(type === "tool_search_output" && { found: names }) };
}

const anyObject = z.custom<JsonObject>(isJsonObject);
const event = z.object({ type: text, message: text, item: maybe(anyObject), response: maybe(anyObject) });

/** The whole response of a stream. */
function assembleResponse(events: readonly z.infer<typeof event>[]): { body: JsonObject } | Fault {
  const failed = events.find(({ type }) => type === "error" || type === "response.failed");
  if (failed) return streamFault(failure.safeParse(failed.response?.error).data?.message || failed.message);
  const end = events.find(({ type }) => type === "response.completed" || type === "response.incomplete")?.response;
  if (!end) return cutStream;
  // Providers may leave the output of the last event empty.
  const items = events.flatMap((one) => (one.type === "response.output_item.done" && one.item ? [one.item] : []));
  return { body: items.length > 0 ? { ...end, output: items } : end };
}

const failure = z.union([
  z.string().transform((message) => ({ code: "", message })),
  z.object({ code: z.union([z.string(), z.number().transform(String)]).catch(""), message: text }),
]);
const part = z.object({ type: text, text, refusal: text });

/** The fields read of an output item. Items of other types (reasoning) are only sent back. */
const outputItem = z.object({
  type: z.string(),
  id: text,
  call_id: text,
  name: text,
  namespace: text,
  input: text,
  arguments: anyJson.catch(""),
  content: listOrText(part, (value) => part.parse({ text: value })),
  tools,
});
type OutputItem = z.infer<typeof outputItem>;

const cached = maybe(z.object({ cached_tokens: count, cache_write_tokens: count }));
const response = z.object({
  id: text,
  model: text,
  status: z.string().nullish(),
  error: maybe(failure),
  incomplete_details: maybe(z.object({ reason: text })),
  output: z.array(outputItem),
  usage: maybe(z.object({ input_tokens: count, output_tokens: count, input_tokens_details: cached })),
});

/** Reads a whole response. The calls are those that the host executes, and the searches. */
export function readResponse(body: unknown, nameTool: NameTool): ReceivedReply | Fault {
  const { data, error } = response.safeParse(body);
  if (!data) return unreadableReply("a response", body, error);
  const calls = data.output.flatMap((one) => toCall(one, nameTool));
  const answered = readSearches(data.output, calls, nameTool);
  const texts = data.output.flatMap((one) => (one.type === "message" ? one.content : []));
  const isRefused = texts.some(({ type }) => type === "refusal");
  const { input_tokens = 0, output_tokens = 0, input_tokens_details: details } = data.usage ?? {};
  const usage = toUsage(input_tokens, output_tokens, details?.cached_tokens, details?.cache_write_tokens);
  if (data.status === "failed" || data.error) return { ...describeFailure(data.error), usage };
  return {
    id: data.id,
    model: data.model,
    text: texts.map((one) => one.text || one.refusal).join(""),
    calls,
    answered,
    usage,
    ...readStop(data, isRefused, calls.length > answered.length),
  };
}

function describeFailure({ code, message }: z.infer<typeof failure> = { code: "", message: "" }): Fault {
  const why = [code, message].filter(Boolean).join(": ") || "the service does not say why";
  const isTransient = /^(?:|server_error|rate_limit_exceeded|429|5\d\d)$/.test(code);
  return (isTransient ? transientFault : permanentFault)(`the response failed: ${why}`);
}

/** What the searches of the provider found. Outputs follow their calls, and do not always have their ids. */
function readSearches(output: readonly OutputItem[], calls: readonly Call[], nameTool: NameTool): ToolOutput[] {
  const searches = calls.filter(({ role }) => role === "search");
  const found = output.filter(({ type }) => type === "tool_search_output");
  return found.flatMap(({ call_id, tools: list }, at) => {
    const search = searches.find(({ id }) => id === call_id) ?? searches[at];
    const names = listTools(list, nameTool).map(({ name }) => name);
    return search ? [{ callId: search.id, text: "", isError: false, found: names }] : [];
  });
}

/** `exec` and other free-form tools take text, which becomes the argument `input`. */
function toCall(one: OutputItem, nameTool: NameTool): Call[] {
  const { type, name, namespace } = one;
  const id = one.call_id || one.id;
  const tool = nameTool(namespace, name);
  if (type === "function_call") return [{ id, tool, ...readArguments(one.arguments) }];
  if (type === "custom_tool_call") return [{ id, tool, arguments: { input: one.input } }];
  if (type === "tool_search_call")
    return [{ id, tool: "tool_search", ...readArguments(one.arguments), role: "search" }];
  return type === "local_shell_call" ? [{ id, tool: "local_shell", ...readArguments(one.arguments) }] : [];
}

function readStop(
  { status, incomplete_details: incomplete, output }: z.infer<typeof response>,
  isRefused: boolean,
  isCalling: boolean,
): { stop: StopReason; problem?: Fault } {
  const stop = isCalling ? "calls" : "done";
  if (incomplete?.reason === "max_output_tokens") return { stop: "cut" };
  if (isRefused || incomplete?.reason === "content_filter") return { stop: "refused" };
  // Some gateways leave the status out.
  if (status === "completed" || (!status && output.length > 0)) return { stop };
  const unknown = permanentFault(`unknown status of the response: ${status ?? "none"}`);
  return { stop: status === "incomplete" ? "cut" : stop, problem: unknown };
}

/**
 * The output to send back: each call with an id of its own and its arguments as text, no calls of a reply that was cut
 * off, no messages of white space alone, and no reasoning that nothing follows.
 */
function sendBack(body: unknown, calls: readonly Call[]): JsonObject[] {
  const { output } = body as { output: readonly JsonObject[] };
  const ids = calls.map(({ id }) => id);
  const kept = output.flatMap((item) => {
    const { type, content, arguments: args } = item;
    const texts = [content].flat().map((one) => (Object(one) as JsonObject).text ?? one);
    if (type === "message" && texts.every((one) => typeof one === "string" && one.trim() === "")) return [];
    if (type !== "function_call") return [item];
    const call_id = ids.shift();
    return call_id === undefined ? [] : [{ ...item, call_id, arguments: writeArguments(args) }];
  });
  return kept.slice(0, kept.findLastIndex(({ type }) => type !== "reasoning") + 1);
}

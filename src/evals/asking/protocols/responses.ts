import * as z from "zod";
import type { Call } from "../../base/types/trial.ts";
import {
  anyJson,
  count,
  cutStream,
  type DefinedTool,
  defineWire,
  listOf,
  maybe,
  parseArguments,
  type ReceivedReply,
  type ToolOutput,
  text,
  toUsage,
} from "./wire.ts";

const single = z.object({ type: text, name: text, description: text, defer_loading: z.boolean().catch(false) });
const tools = listOf(single.extend({ tools: listOf(single).optional() }));
const content = z.union([z.string().transform((value) => [{ text: value }]), listOf(z.object({ text }))]).catch([]);
const item = z.object({ type: text, role: text, content, call_id: text, output: content, tools });
const request = z.object({
  model: text,
  instructions: text,
  tools,
  input: z
    .union([
      z.string().transform((value) => [item.parse({ type: "message", role: "user", content: value })]),
      listOf(item),
    ])
    .catch([]),
});

const outputItem = z.object({
  type: text,
  id: text,
  call_id: text,
  name: text,
  namespace: text,
  input: text,
  arguments: anyJson.catch(""),
  content: listOf(z.object({ type: text, text, refusal: text })),
  tools,
});
const response = z.object({
  id: text,
  model: text,
  status: text,
  output: listOf(outputItem),
  error: maybe(z.object({ message: text })),
  incomplete_details: maybe(z.object({ reason: text })),
  usage: z
    .object({
      input_tokens: count,
      output_tokens: count,
      input_tokens_details: z.object({ cached_tokens: count }).catch({ cached_tokens: 0 }),
    })
    .catch({ input_tokens: 0, output_tokens: 0, input_tokens_details: { cached_tokens: 0 } }),
});
const event = z.object({ type: text, message: text, item: maybe(outputItem), response: maybe(response) });

/** OpenAI's Responses API. A tool in a namespace is named `<namespace>__<name>`, unless its name starts so already. */
export const responses = defineWire({
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
        ...listTools([...given, ...added]),
        // The results of a search on the client are part of the input that the model reads.
        ...listTools(found).map((tool) => ({ ...tool, deferred: true })),
      ],
      // The description of a namespace has the instructions of its server.
      texts: [
        instructions,
        ...others.flatMap((one) => textsOf(one.content)),
        ...[...given, ...added].flatMap(describeSpace),
      ],
      opening: opening.join("\n"),
      outputs: input.filter(({ type }) => isOutput(type)).map(toOutput),
      notes: lastOutput < 0 ? [] : input.slice(lastOutput + 1).flatMap((one) => textsOf(one.content)),
    };
  },
  readEvents(events) {
    const [whole] = events;
    if (whole?.object === "response") return toReply(response.parse(whole));
    const read = events.map((one) => event.parse(one));
    const failed = read.find(({ type }) => type === "error" || type === "response.failed");
    if (failed) return { fault: failed.response?.error?.message || failed.message || "the stream reported an error" };
    const end = read.find(({ type }) => type === "response.completed" || type === "response.incomplete")?.response;
    if (!end) return cutStream;
    // Providers may leave the output of the last event empty.
    const items = read.flatMap((one) => (one.type === "response.output_item.done" && one.item ? [one.item] : []));
    return toReply({ ...end, output: items.length > 0 ? items : end.output });
  },
});

const isOutput = (type: string) => /_output$/.test(type);

function listTools(given: z.infer<typeof tools>): DefinedTool[] {
  return given.flatMap((tool) => {
    const inner = tool.tools ?? [];
    if (tool.type === "namespace") return inner.map((one) => define(joinName(tool.name, one.name), one));
    return [define(tool.name || tool.type, tool)];
  });
}

function describeSpace({ type, description }: z.infer<typeof tools>[number]): string[] {
  return type === "namespace" && description !== "" ? [description] : [];
}

function define(name: string, { description, defer_loading }: z.infer<typeof single>): DefinedTool {
  return { name, description, deferred: defer_loading };
}

/** Tools without a namespace are in the namespace `functions`. */
function joinName(namespace: string, name: string): string {
  const isWhole = namespace === "" || namespace === "functions" || name.startsWith(namespace);
  return isWhole ? name : `${namespace}__${name}`;
}

function toOutput({ call_id, output, type, tools: found }: z.infer<typeof item>): ToolOutput {
  const isSearch = type === "tool_search_output";
  const names = listTools(found).map(({ name }) => name);
  return {
    callId: call_id,
    text: output.map((one) => one.text).join("\n"),
    isError: false,
    ...(isSearch && { found: names }),
  };
}

function toReply({ id, model, status, output, usage, incomplete_details, error }: z.infer<typeof response>) {
  if (status === "failed") return { fault: error?.message || "the reply failed" };
  const calls = output.flatMap(toCall);
  const answered = readSearches(output, calls);
  const texts = output.flatMap((one) => (one.type === "message" ? one.content : []));
  const isRefused = texts.some(({ type }) => type === "refusal") || incomplete_details?.reason === "content_filter";
  const isCut = status === "incomplete" && !isRefused;
  const reply: ReceivedReply = {
    id,
    ...(model !== "" && { model }),
    text: texts.map((one) => one.text || one.refusal).join(""),
    calls,
    ...(answered.length > 0 && { answered }),
    usage: toUsage(usage.input_tokens, usage.output_tokens, usage.input_tokens_details.cached_tokens),
    stop: isCut ? "cut" : isRefused ? "refused" : calls.length > answered.length ? "calls" : "done",
  };
  return reply;
}

/** What the searches of the provider found. Outputs follow their calls, and do not always have their ids. */
function readSearches(output: readonly z.infer<typeof outputItem>[], calls: readonly Call[]): ToolOutput[] {
  const searches = calls.filter(({ tool }) => tool === "tool_search");
  const found = output.filter(({ type }) => type === "tool_search_output");
  return found.flatMap(({ call_id, tools: list }, at) => {
    const search = searches.find(({ id }) => id === call_id) ?? searches[at];
    const names = listTools(list).map(({ name }) => name);
    return search ? [{ callId: search.id, text: "", isError: false, found: names }] : [];
  });
}

/** The calls that the host executes. `exec` and other free-form tools take text, which becomes the argument `input`. */
function toCall(one: z.infer<typeof outputItem>): Call[] {
  const { type, name, namespace } = one;
  const id = one.call_id || one.id;
  switch (type) {
    case "function_call":
      return [{ id, tool: joinName(namespace, name), ...parseArguments(one.arguments) }];
    case "custom_tool_call":
      return [{ id, tool: joinName(namespace, name), arguments: { input: one.input } }];
    case "tool_search_call":
    case "local_shell_call":
      return [{ id, tool: type.replace(/_call$/, ""), ...parseArguments(one.arguments) }];
    default:
      return [];
  }
}

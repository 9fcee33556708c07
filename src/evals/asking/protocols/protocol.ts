import * as z from "zod";
import { quote } from "../../base/text/text.ts";
import { formatIssues } from "../../base/types/errors.ts";
import {
  isJsonObject,
  isNestedDeeper,
  type Json,
  type JsonObject,
  parseExactJson,
  parseJsonText,
  writeExactJson,
} from "../../base/types/json.ts";
import { type Fault, permanentFault, transientFault } from "../../base/types/model.ts";
import { boundTokens, type Call, type StopReason, type Usage } from "../../base/types/trial.ts";
import { findRefusal } from "./refusals.ts";

// The APIs of providers: what models are asked with here, and what hosts send through the recording proxy. A request is
// read leniently, because hosts add to these APIs every week: a field of another shape is treated as absent.

/** A tool as a request defines it. `deferred`: the provider shows it to the model only after a search. */
export type DefinedTool = { name: string; description: string; deferred: boolean };

/** The result of a call, as the host sent it to the model. `found`: the names of tools that a search returned. */
export type ToolOutput = { callId: string; text: string; isError: boolean; found?: readonly string[] };

/** What a request shows to the model. */
export type SentRequest = {
  model: string;
  tools: readonly DefinedTool[];
  /** Instructions and messages that are not the model's, in order. */
  texts: readonly string[];
  /** The user's first message, by which the requests of one conversation are recognized. */
  opening: string;
  outputs: readonly ToolOutput[];
  /** The texts that follow the last outputs, for example the body of a skill that was loaded. */
  notes: readonly string[];
};

/** A complete reply. Calls have the names of the wire; searches are calls with that role, with or without an output. */
export type ReceivedReply = {
  id: string;
  /** The model that replied; empty if the provider does not report it. */
  model: string;
  text: string;
  /** What a model thought, where a service tells. */
  thoughts?: string;
  calls: readonly Call[];
  /** The outputs of calls that the provider executed itself, which are searches. */
  answered: readonly ToolOutput[];
  usage: Usage;
  stop: StopReason;
  /** Why this is no answer to a request that was made here. A host may go on from such a reply. */
  problem?: Fault;
};

/** One API. None of its functions throws. */
export type Protocol = {
  name: string;
  /** Whether a POST to this path asks a model. */
  matches(path: string): boolean;
  readRequest(body: JsonObject, path: string): SentRequest;
  /** The whole body of a reply: of a value as it is, or of the text of one that came whole or as a stream. */
  parseReply(reply: unknown): { body: unknown } | Fault;
  readBody(body: unknown): ReceivedReply | Fault;
  /** The text of a response with status 200. */
  readReply(text: string): ReceivedReply | Fault;
  /** A body that was read as it is sent back, with these calls, which have ids of their own. */
  sendBack(body: unknown, calls: readonly Call[]): unknown;
};

/** An API. `assemble` makes the whole body of the events of a stream, or says why there is none. */
export function defineProtocol({
  assemble,
  ...protocol
}: Omit<Protocol, "parseReply" | "readReply"> & {
  assemble(events: readonly JsonObject[]): { body: JsonObject } | Fault;
}): Protocol {
  const parseReply: Protocol["parseReply"] = (reply) => {
    if (typeof reply !== "string") return { body: reply };
    if (!isStream(reply)) return { body: parseJsonText(reply) ?? reply };
    try {
      const events = listData(reply).map((data) => JSON.parse(data) as Json);
      return events.length === 0 ? { body: "" } : assemble(events.filter(isJsonObject));
    } catch (error) {
      if (error instanceof SyntaxError) return transientFault("the reply is not JSON");
      throw error;
    }
  };
  return {
    ...protocol,
    parseReply,
    readReply(text) {
      const whole = parseReply(text);
      return "body" in whole ? protocol.readBody(whole.body) : whole;
    },
  };
}

const isStream = (body: string) => /^\s*(event|data|id|retry|:)/.test(body);

function listData(stream: string): string[] {
  const events = stream.split(/\r?\n\r?\n/).map((event) => {
    const lines = event.split(/\r?\n/).filter((line) => line.startsWith("data:"));
    return lines.map((line) => line.slice(5).trimStart()).join("\n");
  });
  return events.filter((data) => data !== "" && data !== "[DONE]");
}

/** A stream that ended before its last event. */
export const cutStream = transientFault("the reply was cut off");

/** Members of a delta that are repeated, and not continued. */
const repeated = new Set(["index", "type", "id", "role", "format"]);

/** Adds a delta of a stream to what came before. Texts continue, and entries of lists by their index. */
export function addDelta(whole: JsonObject, delta: JsonObject): JsonObject {
  for (const [key, value] of Object.entries(delta)) {
    const known = Object.hasOwn(whole, key) ? whole[key] : undefined;
    if (Array.isArray(value)) {
      const list = Array.isArray(known) ? known : [];
      for (const entry of value) {
        const { index = key === "tool_calls" ? 0 : undefined } = Object(entry) as JsonObject;
        const same = list.find((one) => index !== undefined && (Object(one) as JsonObject).index === index);
        if (isJsonObject(same) && isJsonObject(entry)) addDelta(same, entry);
        else list.push(isJsonObject(entry) && index !== undefined ? { ...entry, index } : entry);
      }
      whole[key] = list;
    } else if (isJsonObject(value) && isJsonObject(known)) addDelta(known, value);
    else if (typeof value === "string" && typeof known === "string")
      whole[key] = repeated.has(key) ? known || value : known + value;
    else if (value !== null || known === undefined) whole[key] = value;
  }
  return whole;
}

/** The fault that a stream reports itself. */
export const streamFault = (message: string | undefined) => transientFault(message || "the stream reported an error");

/**
 * The transient fault of a body with status 200 that is not a reply. Its message is the error that the service reports
 * in the body, the start of a text such as a login page, or what is wrong with the body. `what`: what a reply would be.
 */
export function unreadableReply(what: string, body: unknown, error: z.ZodError | undefined): Fault {
  if (body === undefined || body === null || String(body).trim() === "")
    return transientFault("the reply is empty (status 200, no body)");
  if (typeof body === "string") return transientFault(`the reply is not ${what} but the text ${quote(body)}`);
  const why = findRefusal(body as Json)?.message ?? (error ? formatIssues(error) : "it has no content");
  return transientFault(`the reply is not ${what}: ${why.replace(/\s+/g, " ")}`);
}

/** A value of unknown JSON. It comes from a parser, so it is not validated again. */
export const anyJson = z.custom<Json>((value) => value !== undefined);
/** A text; anything else counts as empty. */
export const text = z.string().catch("");
/** A count of tokens, which some gateways write as text; anything else counts as 0. */
export const count = z.coerce.number().catch(0).transform(boundTokens);
/** A value of a given shape; anything else counts as absent. */
export const maybe = <T extends z.ZodType>(shape: T) => shape.optional().catch(undefined);
/** A list whose items of another shape are dropped; anything else counts as empty. */
export const listOf = <T extends z.ZodType>(item: T) =>
  z
    .array(item.nullable().catch(null))
    .catch([])
    .transform((items) => items.filter((one) => one !== null));

/** A list, or a text in place of one with this only item; anything else counts as empty. */
export const listOrText = <T extends z.ZodType>(item: T, toItem: (text: string) => z.infer<T>) =>
  z.union([z.string().transform((value) => [toItem(value)]), listOf(item)]).catch([]);

/** The usage in an API that counts cached tokens among the input tokens. */
export function toUsage(input: number, outputTokens: number, cacheReadTokens = 0, cacheWriteTokens = 0): Usage {
  const inputTokens = Math.max(0, input - cacheReadTokens - cacheWriteTokens);
  return { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens };
}

/** Reads a call's arguments. The text is kept when it is not JSON, or when parsing changes how a number is written. */
export function readArguments(written: Json | undefined): Pick<Call, "arguments" | "argumentsText"> {
  if (typeof written !== "string") {
    const value = written ?? {};
    // What is too deep to be written is cut where it is recorded.
    if (isNestedDeeper(value)) return { arguments: value };
    const text = writeExactJson(value);
    return { arguments: value, ...(text !== JSON.stringify(value) && { argumentsText: text }) };
  }
  if (written.trim() === "") return { arguments: {}, argumentsText: written };
  try {
    const value = parseExactJson(written);
    const numbers = written.replace(/"(?:[^"\\]|\\.)*"/g, '""').match(/-?\d[\d.eE+-]*/g) ?? [];
    if (numbers.some((one) => /e/i.test(one) && !Number.isFinite(Number(one)))) return { argumentsText: written };
    const isLost = numbers.some((number) => String(Number(number)) !== number);
    return isLost ? { arguments: value, argumentsText: written } : { arguments: value };
  } catch {
    return { argumentsText: written };
  }
}

/** The arguments of a call as text. Services refuse what is no object in JSON, though a model may write it. */
export function writeArguments(args: Json | undefined): string {
  const { arguments: read } = readArguments(args);
  if (!isJsonObject(read)) return "{}";
  return typeof args === "string" && args !== "" ? args : JSON.stringify(isNestedDeeper(read) ? {} : read);
}

/** Gives every call an id of its own: some local servers send none, or the same one for all. `turn` counts from 1. */
export function numberCalls(calls: readonly Call[], turn: number): Call[] {
  const taken = new Set<string>();
  return calls.map((call, at) => {
    const id = call.id !== "" && !taken.has(call.id) ? call.id : `call_${turn}_${at + 1}`;
    taken.add(id);
    return { ...call, id };
  });
}

/** What was searched for: the query or the pattern, or all arguments if there is neither. */
export function readQuery({ arguments: args, argumentsText }: Pick<Call, "arguments" | "argumentsText">): string {
  if (!isJsonObject(args)) return argumentsText ?? (args === undefined ? "" : String(args));
  return String(args.query ?? args.pattern ?? JSON.stringify(args));
}

/** Why replies end, in the words of OpenAI, Gemini, Mistral, Cohere, Bedrock and the AI SDK. */
const finishReasons: readonly [StopReason, RegExp][] = [
  ["done", /^(?:stop|stop_sequence|end_turn|eos|complete)$/],
  ["cut", /^(?:length|model_length|max_(?:output_)?tokens)$/],
  [
    "refused",
    /^(?:content_filter(?:ed)?|refusal|safety|recitation|prohibited_content|blocklist|guardrail_intervened)$/,
  ],
  ["calls", /^(?:tool_calls?|tool_use|function_call)$/],
];

/** Of OpenRouter, DeepSeek, vLLM and Gemini (`MALFORMED_FUNCTION_CALL`, `UNEXPECTED_TOOL_CALL` and the like). */
const failedReasons = /^(?:error|abort(?:ed)?|insufficient_system_resource)$|malformed|tool_call/i;

/**
 * Why a reply of a chat completion or of the AI SDK ended. Calls override the finish reason, which local servers often
 * send as `stop`, unless the reply was cut off; and a text is an answer, whatever a service calls the end of it. `raw`:
 * the reason in the service's own word.
 */
export function readFinish(
  reason: string | null | undefined,
  calls: number,
  hasText: boolean,
  raw = reason,
): { stop: StopReason; problem?: Fault } {
  const word = (reason ?? "").toLowerCase().replaceAll("-", "_");
  const [stop] = finishReasons.find(([, words]) => words.test(word)) ?? [];
  if (stop === "cut" || stop === "refused") return { stop };
  if (calls > 0) return { stop: "calls" };
  if (stop === "calls")
    return { stop: "done", problem: transientFault(`the reply has finish reason ${raw} but no call`) };
  // A provider that fails within a reply leaves the start of its text, and one that cannot read a call the text before
  // it.
  const isFailed = [word, raw ?? ""].some((one) => failedReasons.test(one));
  if (stop === "done" || (hasText && !isFailed)) return { stop: "done" };
  const message = `the reply has finish reason ${raw || reason || "none"} and ${hasText ? "a part of its text" : "no content"}`;
  const isTransient = /error|malformed|unknown|tool|resource|abort/i.test(message);
  return { stop: "done", problem: isTransient ? transientFault(message) : permanentFault(message) };
}

import * as z from "zod";
import { isJsonObject, type Json, type JsonObject } from "../../base/types/json.ts";
import { boundTokens, type Call, type StopReason, type Usage } from "../../base/types/trial.ts";

// The APIs that hosts speak to their providers, read from captured traffic. Reading is lenient: a field of another shape
// is treated as absent, because hosts and providers add to these APIs every week.

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

/** A complete reply. `model` is the one that replied, if the provider reports it. */
export type ReceivedReply = {
  id: string;
  model?: string;
  text: string;
  calls: readonly Call[];
  /** The outputs of calls that the provider executed itself, for example searches. */
  answered?: readonly ToolOutput[];
  usage: Usage;
  stop: StopReason;
};

/** An incomplete reply, with the reason. */
export type Unreadable = { fault: string };

/** One API. `readReply` gets the body of a response with status 200. Neither throws. */
export type Wire = {
  name: "messages" | "responses" | "completions" | "gemini";
  /** Whether a POST to this path asks a model. */
  matches(path: string): boolean;
  readRequest(body: JsonObject, path: string): SentRequest;
  readReply(body: string): ReceivedReply | Unreadable;
};

/** An API whose replies are read from their events: those of a stream, or the one object of a body. */
export function defineWire({
  readEvents,
  ...wire
}: Omit<Wire, "readReply"> & { readEvents(events: readonly JsonObject[]): ReceivedReply | Unreadable }): Wire {
  return {
    ...wire,
    readReply(body) {
      if (body.trim() === "") return emptyStream;
      const events = parseEvents(body);
      if (!events) return { fault: "the reply is not JSON" };
      return events.length === 0 ? emptyStream : readEvents(events);
    },
  };
}

/** A value of unknown JSON. */
export const anyJson = z.custom<Json>((value) => value !== undefined);
/** A text; anything else counts as empty. */
export const text = z.string().catch("");
/** A count of tokens; anything else counts as 0. */
export const count = z.number().catch(0).transform(boundTokens);
/** A value of a given shape; anything else counts as absent. */
export const maybe = <T extends z.ZodType>(shape: T) => shape.optional().catch(undefined);
/** A list whose items of another shape are dropped; anything else counts as empty. */
export const listOf = <T extends z.ZodType>(item: T) =>
  z
    .array(item.nullable().catch(null))
    .catch([])
    .transform((items) => items.filter((one) => one !== null));

/** The objects in a stream of server-sent events, or in a JSON body; undefined if there is anything else in it. */
function parseEvents(body: string): JsonObject[] | undefined {
  const isStream = /^\s*(event|data|id|retry|:)/.test(body);
  try {
    const values = (isStream ? listData(body) : [body]).flatMap((data) => JSON.parse(data) as Json | Json[]);
    const objects = values.filter(isJsonObject);
    return objects.length === values.length ? objects : undefined;
  } catch {
    return undefined;
  }
}

function listData(stream: string): string[] {
  const events = stream.split(/\r?\n\r?\n/).map((event) => {
    const lines = event.split(/\r?\n/).filter((line) => line.startsWith("data:"));
    return lines.map((line) => line.slice(5).trimStart()).join("\n");
  });
  return events.filter((data) => data !== "" && data !== "[DONE]");
}

/** The usage in an API that counts cached tokens among the input tokens. */
export function toUsage(inputTokens: number, outputTokens: number, cacheReadTokens: number): Usage {
  return {
    inputTokens: Math.max(0, inputTokens - cacheReadTokens),
    outputTokens,
    cacheReadTokens,
    cacheWriteTokens: 0,
  };
}

/** The arguments of a call: JSON, or the text that the model wrote, which is kept if it is not JSON. */
export function parseArguments(written: Json): Pick<Call, "arguments" | "argumentsText"> {
  if (typeof written !== "string") return { arguments: written };
  if (written.trim() === "") return { arguments: {} };
  try {
    return { arguments: JSON.parse(written) as Json };
  } catch {
    return { argumentsText: written };
  }
}

export const emptyStream: Unreadable = { fault: "the reply was empty" };
export const cutStream: Unreadable = { fault: "the reply was cut off" };

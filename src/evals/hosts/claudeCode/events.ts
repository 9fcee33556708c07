import * as z from "zod";
import type { Json } from "../../types/json.ts";

// What is read of Claude Code's stream-json: one event a line. Anything else in it, and any line that is not such an
// event, is passed over, for its versions differ in what they add. Seen in 2.1.197 and 2.1.328.

/** Any value but none: it comes from a JSON parser, so it need not be walked again. */
const parsedJson = z.custom<Json>((value) => value !== undefined);

const count = z.number().nullish();
const usageSchema = z.object({
  input_tokens: count,
  output_tokens: count,
  cache_read_input_tokens: count,
  cache_creation_input_tokens: count,
});
export type HostUsage = z.infer<typeof usageSchema>;

const initSchema = z.object({
  type: z.literal("system"),
  subtype: z.literal("init"),
  tools: z.array(z.string()).catch([]),
  skills: z.array(z.string()).catch([]),
  mcp_servers: z.array(z.object({ name: z.string(), status: z.string() })).catch([]),
  mcp_server_errors: parsedJson.optional(),
});

const resultSchema = z.object({
  type: z.literal("result"),
  subtype: z.string(),
  is_error: z.boolean().catch(false),
  result: z.string().optional().catch(undefined),
  errors: z.array(z.string()).optional().catch(undefined),
  stop_reason: z.string().nullish().catch(undefined),
  total_cost_usd: z.number().optional().catch(undefined),
  modelUsage: z.record(z.string(), z.object({ costBasis: z.string().optional() })).catch({}),
  permission_denials: z.array(z.object({ tool_use_id: z.string() })).catch([]),
});

/** A part of a reply: the host sends one event for each block, all with the id of the reply and the same usage. */
const assistantSchema = z.object({
  type: z.literal("assistant"),
  parent_tool_use_id: z.null().optional(),
  request_id: z.string().optional().catch(undefined),
  message: z.object({
    id: z.string(),
    model: z.string().optional(),
    content: z.array(
      z.union([
        z.object({ type: z.literal("text"), text: z.string() }),
        z.object({ type: z.literal("tool_use"), id: z.string(), name: z.string(), input: parsedJson }),
        z.object({ type: z.string().refine((type) => type !== "text" && type !== "tool_use") }),
      ]),
    ),
    usage: usageSchema.nullish(),
  }),
});

/** The true usage and the stop reason of a reply come with the end of its stream. */
const streamSchema = z.object({
  type: z.literal("stream_event"),
  parent_tool_use_id: z.null().optional(),
  event: z.discriminatedUnion("type", [
    z.object({ type: z.literal("message_start"), message: z.object({ id: z.string(), usage: usageSchema.nullish() }) }),
    z.object({
      type: z.literal("message_delta"),
      delta: z.object({ stop_reason: z.string().nullish() }),
      usage: usageSchema.nullish(),
    }),
  ]),
});

const block = z.object({
  type: z.string(),
  text: z.string().optional(),
  tool_use_id: z.string().optional(),
  content: z.union([z.string(), z.array(z.object({ type: z.string(), text: z.string().optional() }))]).optional(),
  is_error: z.boolean().nullish(),
});
const userSchema = z.object({
  type: z.literal("user"),
  parent_tool_use_id: z.null().optional(),
  isSynthetic: z.boolean().optional(),
  message: z.object({ content: z.array(block) }),
});

const eventSchema = z.union([initSchema, resultSchema, assistantSchema, streamSchema, userSchema]);

export type InitEvent = z.infer<typeof initSchema>;
export type ResultEvent = z.infer<typeof resultSchema>;
export type AssistantEvent = z.infer<typeof assistantSchema>;
export type StreamEvent = z.infer<typeof streamSchema>;
export type UserEvent = z.infer<typeof userSchema>;

/** The event of a line; undefined when there is none in it that is known here. Does not throw. */
export function eventOf(line: string): z.infer<typeof eventSchema> | undefined {
  let data: unknown;
  try {
    data = JSON.parse(line);
  } catch {
    return undefined;
  }
  return eventSchema.safeParse(data).data;
}

import * as z from "zod";
import { jsonObjectSchema } from "./json.ts";

/** A tool as a server lists it. Unknown fields of the protocol are dropped: a model is never shown them. */
export const toolSchema = z.object({
  name: z.string().min(1),
  title: z.string().optional(),
  description: z.string().optional(),
  inputSchema: jsonObjectSchema,
  outputSchema: jsonObjectSchema.optional(),
  annotations: z
    .object({
      title: z.string().optional(),
      readOnlyHint: z.boolean().optional(),
      destructiveHint: z.boolean().optional(),
      idempotentHint: z.boolean().optional(),
      openWorldHint: z.boolean().optional(),
    })
    .optional(),
});
export type Tool = z.infer<typeof toolSchema>;

/**
 * A tool in a toolset. `server` is the name of the server it came from. Only tools with origin `server` are ever
 * executed: `distractor` and `static` tools are shown to the model and no more. An entry of origin `skill` is a skill of
 * the catalogue, named by `skillEntryName`: so a list's hash covers it, and a variant or a baseline words it as a tool.
 */
export const offeredToolSchema = toolSchema.extend({
  server: z.string(),
  origin: z.enum(["server", "static", "distractor", "skill"]),
});
export type OfferedTool = z.infer<typeof offeredToolSchema>;

/**
 * A frozen list of tools, in the order of the list it came from (trials shuffle it). `hash` is the SHA-256 (hex) of the
 * canonical JSON of its tools sorted by name, so it does not depend on the order.
 */
export type Toolset = { hash: string; tools: readonly OfferedTool[] };

/** One item of a tool's result. Items that are not text (images, audio, resources) are kept as type and size only. */
const contentItemSchema = z.object({
  type: z.string(),
  text: z.string().optional(),
  mimeType: z.string().optional(),
  bytes: z.number().optional(),
});
export type ContentItem = z.infer<typeof contentItemSchema>;

/** What a tool returned. */
export const toolResultSchema = z.object({
  isError: z.boolean(),
  content: z.array(contentItemSchema),
  structuredContent: jsonObjectSchema.optional(),
});
export type ToolResult = z.infer<typeof toolResultSchema>;

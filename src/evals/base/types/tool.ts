import * as z from "zod";
import { type JsonObject, jsonObjectSchema, parseExactText, sameJson, writeExactJson } from "./json.ts";

/** The keys of a tool's `_meta` that hosts obey. A value of another type is ignored, as hosts do. */
const hostMetaSchema = z.object({
  "anthropic/alwaysLoad": z.literal(true).optional().catch(undefined),
  "anthropic/searchHint": z.string().min(1).optional().catch(undefined),
});

/** A tool as a server lists it, without unknown fields: neither a model nor a host sees them. */
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
  _meta: hostMetaSchema.optional().catch(undefined),
});
export type Tool = z.infer<typeof toolSchema>;

/**
 * A tool in a toolset. `server` is the name of its server. Only tools with origin `server` are executed; `distractor`
 * and `static` tools are only shown to the model. An entry with origin `skill` is a skill of the catalog, named by
 * `skillEntryName`, and one with origin `instructions` holds the instructions of a server as its description, named by
 * `instructionsEntryName`: so hashes, variants, baselines and blame cover them as they do a tool. One with origin
 * `dispatched` is not shown: it is called through a tool that is (see `Dispatch`).
 */
export const offeredToolSchema = toolSchema.extend({
  server: z.string(),
  origin: z.enum(["server", "static", "distractor", "skill", "instructions", "dispatched"]),
  ownName: z.string().optional().describe("its name on its server, in a list of several servers; absent: `name`"),
  shownAs: z
    .object({ name: z.string().optional(), parameters: z.record(z.string(), z.string()).optional() })
    .optional()
    .describe("in a variant that renames it: what models see instead of its own name, and of those of its parameters"),
});
export type OfferedTool = z.infer<typeof offeredToolSchema>;

/** The name of a tool on its server, which is how hosts know it. */
export function readOwnName({ ownName, name }: Pick<OfferedTool, "ownName" | "name">): string {
  return ownName ?? name;
}

/** Whether an entry of a toolset is a tool that is shown and can be called by its name. */
export function isCallable({ origin }: Pick<OfferedTool, "origin">): boolean {
  return origin !== "skill" && origin !== "instructions" && origin !== "dispatched";
}

/** Whether a tool is one of the server under test, shown or dispatched, and not of another that only distracts. */
export function isOwnTool({ origin }: Pick<OfferedTool, "origin">): boolean {
  return origin === "server" || origin === "static" || origin === "dispatched";
}

/** Tokens of a list in a request: names, descriptions and input schemas, about four bytes each. */
export function countListTokens(tools: readonly Tool[]): number {
  const shown = tools.map(({ name, description, inputSchema }) => ({ name, description, inputSchema }));
  return Math.round(new TextEncoder().encode(JSON.stringify(shown)).length / 4);
}

/** Whether hosts never defer this tool. */
export function isAlwaysLoaded({ _meta }: Pick<Tool, "_meta">): boolean {
  return _meta?.["anthropic/alwaysLoad"] === true;
}

/** The name of a server's instructions in a toolset, a variants file and every report. */
export function instructionsEntryName(server: string): string {
  return `instructions:${server}`;
}

/** A list of tools. `hash`: SHA-256 (hex) of the canonical JSON of its tools sorted by name, so of no order. */
export type Toolset = { hash: string; tools: readonly OfferedTool[] };

/** The hash of a toolset on a record. It is looked up in objects, where `__proto__` and the like mean other things. */
export const toolsetHashSchema = z.string().refine((hash) => !(hash in Object.prototype), "not a hash");

/** One item of the result of a tool. Binary data (images, audio, blobs) is kept as type and size only. */
const contentItemSchema = z.object({
  type: z.string(),
  text: z.string().optional(),
  mimeType: z.string().optional(),
  bytes: z.number().optional(),
  uri: z.string().optional().describe("of a resource, or of a link to one"),
  name: z.string().optional().describe("of a linked resource"),
  description: z.string().optional().describe("of a linked resource"),
});
export type ContentItem = z.infer<typeof contentItemSchema>;

export const toolResultSchema = z.object({
  isError: z.boolean(),
  content: z.array(contentItemSchema),
  structuredContent: jsonObjectSchema.optional(),
  omitted: z
    .string()
    .optional()
    .describe("why a part of the result was not kept: expectations of JSON are not gradable"),
});
export type ToolResult = z.infer<typeof toolResultSchema>;

/** The items of a result as a model reads them. What is not text is described in brackets: `[image image/png]`. */
export function listResultTexts({ content }: Pick<ToolResult, "content">): string[] {
  return content.map(({ type, text, mimeType, uri, name, description }) => {
    if (type === "text" && text !== undefined) return text;
    const head = `[${[type, mimeType, uri].filter(Boolean).join(" ")}]`;
    if (text !== undefined) return `${head}\n${text}`;
    return [head, [name, description].filter(Boolean).join(": ")].filter(Boolean).join(" ");
  });
}

/** The texts among the items of a result, those of embedded resources included. */
export function joinText({ content }: Pick<ToolResult, "content">): string {
  return content.flatMap(({ text }) => text ?? []).join("\n");
}

/** A result as one text: its items, and the structured content unless one of their texts is the same JSON. */
export function joinResult(result: Pick<ToolResult, "content" | "structuredContent">, indent?: number): string {
  const { content, structuredContent = {} } = result;
  const isKnown =
    Object.keys(structuredContent).length === 0 ||
    content.some(({ text = "" }) => sameJson(parseExactText(text), structuredContent));
  const structured = isKnown ? "" : writeExactJson(structuredContent, indent);
  return [...listResultTexts(result), structured].filter((text) => text !== "").join("\n");
}

/** The outcome of a call to a live server. `unknown-tool`: the server has no tool of that name. */
export type CallOutcome =
  | { kind: "result"; result: ToolResult }
  | { kind: "unknown-tool"; message: string }
  | { kind: "broken"; stage: "setup" | "server" | "timeout" | "cancelled"; message: string };

/** Answers what a server asks the user, by its message; undefined if there is no answer. */
export type AnswerElicitation = (message: string) => { action: string; content?: JsonObject | undefined } | undefined;

/** A connected tool server. All servers, the reference server included, are used through this interface only. */
export type ToolServer = {
  readonly name: string;
  /** The name and version of the server, protocol revision and transport, for the record. */
  readonly about: JsonObject;
  /** The instructions that the server gives hosts at initialization, if any. */
  readonly instructions?: string | undefined;
  /** Every tool, all pages; those of a configuration with their server. Throws EvalsError if the server cannot list. */
  list(signal: AbortSignal): Promise<readonly (Tool & Partial<Pick<OfferedTool, "ownName" | "server">>)[]>;
  /** How often its list changed, as it says, since it was first listed. Absent: it never does. */
  listChanges?(): number;
  /** How long after an answer it can still say so, in ms. */
  readonly settleMs?: number;
  /** Does not throw: a server that died, does not answer or sends invalid messages is a broken outcome. */
  call(tool: string, args: JsonObject, signal: AbortSignal, elicit?: AnswerElicitation): Promise<CallOutcome>;
  /** False after the server process or its connection has ended; then a new one must be opened. */
  alive(): boolean;
  /** Ends the connection and the whole process group. Does not throw; safe to call twice. */
  close(): Promise<void>;
};

import * as z from "zod";
import { type Json, jsonSchema } from "./json.ts";
import type { RunManifest, RunSummary } from "./run.ts";
import type { Tool } from "./tool.ts";

// The default exports of users' files: models, code assertions, matchers and reporters.

/** What a custom model gets: the conversation so far, and the tools as they are shown. */
export type CustomRequest = {
  messages: readonly CustomMessage[];
  tools: readonly Pick<Tool, "name" | "description" | "inputSchema">[];
  case: string;
  /** From 1. */
  trial: number;
  /** Aborts when the request takes too long, or the run is stopped. */
  signal: AbortSignal;
};

/** An item of the conversation. `results` are those of the calls before them, in their order. */
export type CustomMessage =
  | { role: "system" | "user"; content: string }
  | { role: "assistant"; content: string; calls: readonly { id: string; tool: string; arguments?: Json }[] }
  | { role: "results"; results: readonly { callId: string; tool: string; text: string; isError: boolean }[] };

const countSchema = z.number().int().nonnegative().optional();
export const customReplySchema = z.strictObject({
  text: z.string().optional(),
  calls: z.array(z.strictObject({ tool: z.string(), arguments: jsonSchema.optional() })).optional(),
  usage: z
    .strictObject({
      inputTokens: countSchema,
      outputTokens: countSchema,
      cacheReadTokens: countSchema,
      cacheWriteTokens: countSchema,
    })
    .optional(),
});
/** What a custom model returns: text, tool calls, or both. An error that it throws breaks the trial. */
export type CustomReply = z.input<typeof customReplySchema>;

/** The default export of the file. */
export type CustomModel = (request: CustomRequest) => CustomReply | Promise<CustomReply>;

/** What a code assertion gets. `result` is absent for a call that was not executed, with the reason in `skipped`. */
export type AssertionInput = {
  case: string;
  model: string;
  /** From 1. */
  trial: number;
  /** The user's last message. */
  input: string;
  /** The text of the model, over all turns. */
  text: string;
  calls: readonly {
    tool: string;
    arguments?: Json;
    result?: { text: string; isError: boolean; structuredContent?: Json };
    skipped?: string;
  }[];
  /** The folder with the files of the case after the trial; without files that of the server or the suite. */
  workspace: string;
};

const decisionSchema = z.strictObject({ pass: z.boolean(), reason: z.string().optional() });
export const assertionResultSchema = z.union([z.boolean(), decisionSchema]);
/** What a code assertion and a custom matcher return. */
export type AssertionResult = z.input<typeof assertionResultSchema>;

/** What a custom matcher gets: the argument with its path, and what the suite passes to it. */
export type MatcherInput = { value: Json; at: string; with?: Json };

/** What a custom reporter gets once a run is complete or stopped. `dir` is the folder of its record. */
export type ReporterInput = { summary: RunSummary; manifest: RunManifest; dir: string };

/** The default export of a reporter's file. The text that it returns is printed. */
export type Reporter = (input: ReporterInput) => string | undefined | Promise<string | undefined>;

import * as z from "zod";
import { costSchema } from "./trial.ts";

const count = z.number().int().min(0);

/** Of one tool: how often it was wanted, how often it was picked, and how often both. */
const toolPicksSchema = z.object({ tool: z.string(), wanted: count, picked: count, right: count });
export type ToolPicks = z.infer<typeof toolPicksSchema>;

/** Two tools of which one was picked for the other `n` times, and the words that their texts share. */
const worstPairSchema = z.object({
  wanted: z.string(),
  picked: z.string(),
  n: count,
  shared: z.array(z.string()).readonly(),
});
export type WorstPair = z.infer<typeof worstPairSchema>;

const pickedSchema = z.object({ passed: count, trials: count });

/** The result of `evals try`. A query is right when its tool is picked, whatever its arguments are. */
export const tryResultSchema = z.object({
  server: z.string(),
  model: z.string(),
  note: z.string().optional().describe("how the model's figures must be read"),
  tools: count,
  listTokens: count.describe("tokens of the tool list in a request, about four bytes each"),
  writer: z
    .object({ model: z.string(), prompt: z.string() })
    .optional()
    .describe("who wrote the queries, with the hash of what it was asked; absent where they are the tools' own words"),
  queries: count,
  dropped: z.array(z.object({ input: z.string(), why: z.string() })).readonly(),
  left: z.array(z.string()).readonly().describe("tools that no query was written for"),
  right: pickedSchema,
  quiet: pickedSchema.describe("of the queries that need no tool, those in which none was called"),
  broken: count,
  perTool: z.array(toolPicksSchema).readonly(),
  confusions: z.array(z.object({ expected: z.string(), picked: z.string(), n: count })).readonly(),
  worst: z.array(worstPairSchema).readonly(),
  costUsd: costSchema,
  suite: z.string(),
  run: z.string(),
  exitCode: z.number().int(),
});
export type TryResult = z.infer<typeof tryResultSchema>;

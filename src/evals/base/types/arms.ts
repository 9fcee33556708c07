import * as z from "zod";
import { countsSchema, intervalSchema } from "./check.ts";
import { discoverySummarySchema, exposureSchema } from "./exposure.ts";
import { costSchema } from "./trial.ts";

// A run can ask its cases in several arms along one axis: how tools are shown, on which surface, among how many
// distractors, or with and without a skill. All are counted, compared and reported in the same way.

const count = z.number().int();
const pairSchema = z.object({ expected: z.string(), picked: z.string(), n: count });
const movedCaseSchema = z.object({ case: z.string(), base: countsSchema, head: countsSchema });

/** An arm against the first. `mixed`: better and worse; `equal`: a difference of the margin is ruled out. */
const armComparisonSchema = z.object({
  verdict: z.enum(["better", "worse", "mixed", "equal", "open"]),
  margin: z.number(),
  comparisons: count.describe("tests that share the error rate of 5 %: two directions for each further arm"),
  net: z.object({ change: z.number(), interval: intervalSchema }).nullable().describe("mean over cases"),
  p: z
    .object({ worse: z.number(), better: z.number() })
    .nullable()
    .describe("one-sided; null: nothing was left to chance"),
  notAsked: z.array(z.string()).optional().describe("cases of the first that were not asked in this one"),
  chosen: z
    .object({ own: countsSchema, first: countsSchema })
    .describe("how often an expected tool was called, in the cases of both"),
  fell: z.array(movedCaseSchema),
  rose: z.array(movedCaseSchema),
});
export type ArmComparison = z.infer<typeof armComparisonSchema>;

const armSummarySchema = z.object({
  arm: z.string().describe("of its trials on the record"),
  name: z.string().describe("what is compared, such as names (keyword 1), distractors-20 or with the skill"),
  exposure: exposureSchema,
  passed: count,
  trials: count.describe("graded"),
  broken: count,
  notGradable: count,
  chosen: countsSchema.describe("graded trials that expect a tool; passed: an expected tool was called"),
  foreign: z
    .array(pairSchema)
    .optional()
    .describe("with distractors: trials that called a tool of another server instead, ranked"),
  discovery: discoverySummarySchema.optional(),
  tokensPerRequest: z.number().nullable().describe("input tokens, cached ones included; null: none were counted"),
  requestsPerTrial: z.number().nullable(),
  msPerTrial: z.number().nullable().describe("of waiting for the model"),
  costUsd: costSchema.describe("of the model, without the judge"),
  against: armComparisonSchema
    .optional()
    .describe("the first arm; absent for that one, and if nothing was graded in both"),
});
export type ArmSummary = z.infer<typeof armSummarySchema>;

/** The arms of one axis of a suite on one model, side by side. */
export const armsSummarySchema = z.object({
  axis: z.enum(["exposure", "surface", "distractors", "skill"]),
  skill: z.string().optional().describe("where arms with and without it are compared"),
  arms: z.array(armSummarySchema),
  behaviors: z
    .array(z.object({ case: z.string(), text: z.string(), met: z.array(countsSchema) }))
    .optional()
    .describe("each expected behavior: in how many decided trials of each arm it was met; absent: none expected"),
});
export type ArmsSummary = z.infer<typeof armsSummarySchema>;
export type ArmAxis = ArmsSummary["axis"];

const intervalOrNull = intervalSchema.nullable().describe("95 % Wilson score interval; null without trials");

/** Some of n trials: `passed` are those that the name of the field counts. */
const shareSchema = countsSchema.extend({ interval: intervalOrNull });

/**
 * The servers of a host's configuration beside each other. A case belongs to the server whose tools it expects. A
 * graded trial is lost to another server if no expected tool was picked and a tool of that server was called.
 */
export const serversSummarySchema = z.object({
  servers: z.array(
    z.object({
      name: z.string(),
      failure: z.string().optional().describe("why it could not be listed; its cases break"),
      tools: count,
      tokens: count.describe("of its definitions and instructions in every request, about four bytes each"),
      cases: count,
      right: shareSchema.describe("of the graded trials of its cases: an expected tool was picked"),
      lost: shareSchema.describe("of the same: lost to another server"),
      broken: count.describe("trials of its cases that broke"),
      taken: shareSchema.describe("of the graded trials of all other cases: lost to this server"),
    }),
  ),
  lost: z
    .array(
      z.object({
        from: z.string().nullable().describe("the server of the cases; null: they expect no tool"),
        to: z.string(),
        share: shareSchema,
        confusions: z.array(z.object({ expected: z.string(), picked: z.string(), n: count })).describe("ranked"),
      }),
    )
    .describe("ranked by their share"),
  clashes: z
    .array(z.object({ name: z.string(), servers: z.array(z.string()) }))
    .describe("names that several servers give to a tool"),
  several: count.describe("cases that expect tools of several servers: they are excluded from the rows"),
});
export type ServersSummary = z.infer<typeof serversSummarySchema>;

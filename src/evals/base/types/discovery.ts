import * as z from "zod";
import { countsSchema, intervalSchema } from "./check.ts";
import { exposureSchema } from "./exposure.ts";
import { discoveryOutcomes } from "./trial.ts";

const count = z.number().int();

/** How expected tools were found and chosen, of the graded trials that expect one whose definition may be deferred. */
export const discoverySummarySchema = z.object({
  trials: count,
  found: count.describe("a search found it, or it was shown from the start and not chosen"),
  chosen: count.describe("of these"),
  outcomes: z.partialRecord(z.enum(discoveryOutcomes), count),
  notFound: z.array(z.object({ expected: z.string(), query: z.string(), n: count })).describe("ranked"),
  notChosen: z
    .array(z.object({ expected: z.string(), picked: z.string(), rank: count.optional(), n: count }))
    .describe("ranked; rank: best of the expected tool in a search; absent: shown from the start"),
  builtIns: z
    .array(z.object({ expected: z.string(), tool: z.string(), n: count }))
    .describe("tools of the host that were called where nothing was searched for, ranked"),
});
export type DiscoverySummary = z.infer<typeof discoverySummarySchema>;

/**
 * An exposure against the first of the run. `better`, `worse`: shown for the suite or for single cases; `mixed`: both;
 * `equal`: a difference of the margin is ruled out; `open`: neither.
 */
const exposureComparisonSchema = z.object({
  verdict: z.enum(["better", "worse", "mixed", "equal", "open"]),
  margin: z.number(),
  comparisons: count.describe("tests that share the error rate of 5 %: two directions for each further exposure"),
  net: z.object({ change: z.number(), interval: intervalSchema }).nullable().describe("mean over cases"),
  p: z
    .object({ worse: z.number(), better: z.number() })
    .nullable()
    .describe("one-sided; null: nothing was left to chance"),
  left: z.array(z.string()).optional().describe("cases of the first that were not asked in this one"),
  chosen: z
    .object({ own: countsSchema, first: countsSchema })
    .optional()
    .describe("how often an expected tool was called, in the cases of both"),
  fell: z.array(z.object({ case: z.string(), base: countsSchema, head: countsSchema })),
  rose: z.array(z.object({ case: z.string(), base: countsSchema, head: countsSchema })),
});
export type ExposureComparison = z.infer<typeof exposureComparisonSchema>;

/** The results of the trials of one exposure. */
export const exposureSummarySchema = z.object({
  exposure: exposureSchema,
  surface: z.string().optional().describe("where surfaces are compared: its name; `default` for the suite's own"),
  passed: count,
  trials: count.describe("graded"),
  broken: count,
  chosen: countsSchema.describe("graded trials that expect a tool; passed: an expected tool was called"),
  discovery: discoverySummarySchema.optional(),
  tokensPerRequest: z.number().nullable().describe("input tokens, cached ones included; null: none were counted"),
  requestsPerTrial: z.number().nullable(),
  against: exposureComparisonSchema.optional().describe("the first exposure of the run; absent for that one"),
});
export type ExposureSummary = z.infer<typeof exposureSummarySchema>;

/** How often the tools of one expectation were chosen under each exposure, in their order. */
export const choiceByExposureSchema = z.object({ expected: z.string(), chosen: z.array(countsSchema) });
export type ChoiceByExposure = z.infer<typeof choiceByExposureSchema>;

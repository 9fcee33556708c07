import * as z from "zod";
import { driftPlanSchema } from "./drift.ts";
import { allDefinitions, exposureSchema, nameExposure } from "./exposure.ts";
import { changeClassSchema } from "./finding.ts";
import { gates } from "./flagValues.ts";
import { jsonObjectSchema } from "./json.ts";
import { offeredToolSchema, toolsetHashSchema } from "./tool.ts";

export const baselineFormat = "tool-evals baseline 1";

export const placeboSchema = z.strictObject({
  run: z.string().describe("the id of the run"),
  moved: z.array(z.string()).describe("ids of cases whose rate differed, in either direction"),
  cases: z.number().int().min(0),
  isMore: z.boolean().describe("whether these are more than chance explains"),
});
/** What harmless edits of the tools did to the cases of a suite on a model (`run --check placebo`). */
export type PlaceboResult = z.infer<typeof placeboSchema>;

/** `evals/baselines/<suite>.<model>.json`: the accepted tools, and how often the model passed each case. */
export const baselineSchema = z.strictObject({
  format: z.literal(baselineFormat),
  checksum: z.string().describe("SHA-256 (hex) of the canonical JSON of all the rest: an edited baseline is none"),
  suite: z.string(),
  model: z.strictObject({
    id: z.string(),
    kind: z.enum(["language model", "retrieval baseline", "recorded answers"]),
    settings: jsonObjectSchema,
    deterministic: z.boolean(),
    repliedBy: z.string().optional().describe("the model that the replies name; `id` may be an alias of it"),
  }),
  host: z.string().describe("how tool names were shown"),
  exposure: exposureSchema.optional().describe("how tools were shown; absent: all definitions"),
  harness: z.string().describe("version of tool-evals"),
  node: z.string().optional(),
  acceptedAt: z.string().describe("ISO 8601"),
  run: z.string().describe("id of the run that it was made from"),
  git: z.strictObject({ commit: z.string(), dirty: z.boolean() }).optional(),
  placebo: placeboSchema.optional().describe("what harmless edits move; kept when a new baseline is accepted"),
  cases: z
    .array(
      z.strictObject({
        id: z.string(),
        hash: z.string(),
        passed: z.number().int().min(0),
        trials: z.number().int().min(0).describe("graded trials"),
        toolset: toolsetHashSchema,
      }),
    )
    .describe("sorted by id"),
  toolsets: z
    .record(z.string(), z.array(offeredToolSchema))
    .describe("hash -> the list that was sent, sorted by name; only those that the cases name"),
});
export type Baseline = z.infer<typeof baselineSchema>;

/** What decides whether a baseline can be compared with a run, as the comparison takes it. */
export function toComparedRun(baseline: Baseline) {
  const { suite, model, host, harness, cases } = baseline;
  const exposure = nameExposure(baseline.exposure ?? allDefinitions);
  const { id, repliedBy, settings } = model;
  const named = { model: id, ...(repliedBy !== undefined && { repliedBy }) };
  return { suite, ...named, settings, host, exposure, harness, cases };
}

const count = z.number().int();
export const countsSchema = z.object({ passed: z.int().nonnegative(), trials: z.int().nonnegative() });
export const intervalSchema = z.tuple([z.number(), z.number()]).readonly();

export const gateSchema = z.enum(gates);
export type Gate = z.infer<typeof gateSchema>;

const lostSchema = z
  .array(
    z.object({
      case: z.string(),
      reason: z.string(),
    }),
  )
  .describe("cases that are not comparable, because no trial of them can be asked with the tools as they are now");
export type LostCases = z.infer<typeof lostSchema>;

const ofSchema = count.optional().describe("cases of the suite, where not all of them are compared");

/** What one suite on one model is compared with, fixed before the first request. */
export const checkPlanSchema = z.discriminatedUnion("kind", [
  z.object({
    kind: z.literal("compare"),
    model: z.string(),
    cap: count.describe("most trials per case and arm"),
    families: count.describe("checks of the run, which share its error rate"),
    margin: z.number().describe("a mean drop below this is no regression"),
    ownOrders: z.literal(true).optional().describe("no provider keeps the lists: no two pairs share a tool order"),
    baseline: z.object({
      file: z.string(),
      run: z.string(),
      acceptedAt: z.string(),
      commit: z.string().optional(),
    }),
    cases: z
      .array(
        z.object({
          id: z.string(),
          bank: countsSchema,
          toolset: z.string().describe("the list of the base arm"),
          requests: count.optional().describe("different tool orders; absent: more than any check asks"),
          wordings: count.optional().describe("of the query, which take turns; absent: one"),
        }),
      )
      .describe("the comparable cases"),
    of: ofSchema,
    lost: lostSchema.optional(),
    isPlacebo: z.literal(true).optional().describe("the base list is today's, with harmless edits"),
    placebo: placeboSchema.optional().describe("what harmless edits moved, if that was measured"),
    notes: z.array(z.string()).describe("what is not compared, and why"),
  }),
  z.object({
    kind: z.literal("unchanged"),
    model: z.string(),
    notes: z.array(z.string()),
    drift: driftPlanSchema.optional().describe("absent for a deterministic model"),
  }),
  z.object({ kind: z.literal("not comparable"), model: z.string(), reasons: z.array(z.string()) }),
]);
export type CheckPlan = z.infer<typeof checkPlanSchema>;
export type ComparePlan = Extract<CheckPlan, { kind: "compare" }>;

export const namedCaseSchema = z.object({
  case: z.string(),
  base: countsSchema,
  head: countsSchema,
  selected: z
    .object({ base: countsSchema, head: countsSchema })
    .optional()
    .describe(
      "selections of the right tool, whether they pass or not, where these changed more surely than the passes",
    ),
  wordings: z
    .array(z.object({ base: countsSchema, head: countsSchema }))
    .optional()
    .describe("the same rate by wording of its query; absent: it has one"),
  inSome: z.literal(true).optional().describe("it fell in some wordings of its query, so that the case is not named"),
  p: z.number().describe("one-sided exact p of this case alone"),
});
/** A case that a verdict names: its passes in both arms over as many trials as it was tested with, and its p. */
export type NamedCase = z.infer<typeof namedCaseSchema>;

const toolChangeSchema = z.object({
  label: z.string().describe("what changed: a tool, or tool.parameter"),
  class: changeClassSchema.optional().describe("what it does to those who call the tool"),
  before: z.string().optional().describe("absent for what was added"),
  after: z.string().optional().describe("absent for what was removed"),
});

const sentence = z.string().optional().describe("text for people, in --json");
const armCounts = z.object({ base: count, head: count });

const rateSchema = z.enum(["pass", "selection"]);
const netSchema = z
  .object({ change: z.number(), interval: intervalSchema, standardError: z.number(), z: z.number(), cases: count })
  .nullable();

/** The result of a comparison of two lists. Rates are 0 to 1. */
export const comparedSchema = z.object({
  kind: z.enum(["regressed", "changed", "no-regression", "inconclusive"]),
  by: z.enum(["cases", "suite"]).nullable().describe("what a regression was shown by"),
  rate: rateSchema.nullable().describe("the rate that a regression was shown in"),
  because: z
    .enum(["cap", "missing", "nothing-can-fall", "answers-repeat", "copies", "few-compared", "stopped"])
    .nullable()
    .describe("why a check is inconclusive"),
  headline: sentence,
  reason: sentence,
  next: sentence,
  method: z
    .enum(["pairs", "exhausted", "placebo", "records", "unpaired-records"])
    .describe(
      "pairs: a sequential check; exhausted: every different request was asked; placebo: of harmless edits, so that flagged, rose and flips name what moved; records: finished records, with and without the same tool orders",
    ),
  repeats: count
    .optional()
    .describe(
      "of exhausted: this many repeated requests got the same answers, so the model is taken for deterministic; absent if it is known to be",
    ),
  look: count,
  looks: count,
  trials: count.describe("pairs per case at the deciding look"),
  tested: count.describe("the fewest pairs of a case, after those that were tested further"),
  cap: count.describe("most trials per case and arm"),
  margin: z.number(),
  families: count.describe("checks that share the error rate of 5 %"),
  cases: count,
  of: ofSchema,
  net: netSchema.describe(
    "head - base of the pass rate, mean over the cases that can fall; the interval holds at whatever look a check stops",
  ),
  selection: netSchema.describe("the same of selections of the right tool, whether they pass or not"),
  canFall: z
    .object({ pass: count, selection: count })
    .describe("how many cases can fall in a rate: an answer had it in either arm"),
  suite: z
    .object({
      down: count.nullable(),
      up: count.nullable(),
      p: z.number(),
      level: z.number(),
      rate: rateSchema,
      hasFallen: z.boolean().describe("whether the suite as a whole dropped"),
    })
    .nullable()
    .describe("the sign test over the pairs that differ in a rate: better in base, and better in head"),
  flagged: z.array(namedCaseSchema).describe("cases that dropped, worst first"),
  rose: z.array(namedCaseSchema),
  suspects: z.array(namedCaseSchema).describe("cases that look worse, possibly by chance"),
  flips: z
    .array(
      z.object({
        case: z.string(),
        down: count,
        up: count,
        pairs: count,
        selection: z
          .literal(true)
          .optional()
          .describe("these pairs differ in the selected tool, and fail in both arms"),
      }),
    )
    .describe("of a changed verdict: pairs that are better in base, and in head"),
  missing: armCounts
    .extend({ recovered: armCounts })
    .nullable()
    .describe("trials without an answer, and those that were missing at first"),
  resent: armCounts
    .extend({ isCounted: z.boolean().describe("whether they count both ways: many, or more with one list") })
    .optional()
    .describe("answers that came after an error to the same request; absent: none"),
  dependence: z
    .object({ score: z.number(), correlation: z.number() })
    .optional()
    .describe("consecutive answers depend on each other: a normal score, and their correlation; absent if not found"),
  reach: count.nullable().describe("the least loss of one case, in points, that is caught 8 times in 10"),
  advice: z
    .object({ likely: count, safe: count, atLeast: z.boolean() })
    .nullable()
    .describe("further trials per case and arm until a verdict is as likely as not, and 8 times in 10"),
  grew: z
    .array(
      z.object({
        expected: z.string(),
        picked: z.string(),
        base: countsSchema,
        head: countsSchema,
        acceptable: z.literal(true).optional().describe("the pick passes as a substitute, so this is no confusion"),
      }),
    )
    .describe("confusion pairs that got more frequent; passed counts the confusions"),
  changes: z.array(toolChangeSchema).describe("what changed in the list"),
  calls: armCounts.extend({
    copies: count.describe("replies that were seen before, dropped"),
    missing: count.describe("requests without an answer"),
  }),
  lost: lostSchema.optional(),
  placebo: placeboSchema.optional().describe("what harmless edits moved, if that was measured"),
  notes: z.array(z.string()),
  exitCode: count,
});
export type ComparedCheck = z.infer<typeof comparedSchema>;

/** The verdict of a regression check, with everything that a report shows. */
export const checkSummarySchema = z.discriminatedUnion("kind", [
  comparedSchema,
  z.object({ kind: z.literal("unchanged"), headline: sentence, notes: z.array(z.string()), exitCode: count }),
  z.object({
    kind: z.literal("not-comparable"),
    headline: sentence,
    reasons: z.array(z.string()).describe("empty: no case is the same as in the baseline"),
    notes: z.array(z.string()),
    exitCode: count,
  }),
]);
export type CheckSummary = z.infer<typeof checkSummarySchema>;

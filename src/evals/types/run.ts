import * as z from "zod";
import { exposureSchema } from "./exposure.ts";
import { jsonObjectSchema } from "./json.ts";
import { changeClassSchema } from "./lint.ts";
import { executionPolicySchema } from "./suite.ts";
import { offeredToolSchema } from "./tool.ts";
import { costSchema } from "./trial.ts";

/** The arm of a case that is asked without the skill whose effect is measured. */
export const withoutArm = "without";

const interval = z.tuple([z.number(), z.number()]).readonly();

const totalsSchema = z.object({
  trials: z.number().int().describe("planned"),
  passed: z.number().int(),
  broken: z.number().int(),
  missing: z.number().int().describe("planned and not on the record"),
  calls: z.number().int().describe("requests answered by the model"),
  executed: z.number().int().describe("tool calls that were executed on a server"),
  toolErrors: z.number().int().describe("of these, answered with an error by the server"),
  inputTokens: z.number().describe("with those from a provider's cache"),
  outputTokens: z.number(),
  costUsd: costSchema,
});

const countsSchema = z.object({ passed: z.number().int(), trials: z.number().int() });

/** What one suite on one model is compared with, fixed before the first question is asked. */
const checkPlanSchema = z.discriminatedUnion("kind", [
  z.object({
    kind: z.literal("compare"),
    model: z.string(),
    design: z.enum(["screen", "thorough", "anytime"]),
    margin: z.number().describe("a mean drop below this is no regression"),
    baseline: z.object({ file: z.string(), run: z.string(), acceptedAt: z.string(), commit: z.string().optional() }),
    cases: z
      .array(z.object({ id: z.string(), bank: countsSchema, toolset: z.string().describe("the list of the base arm") }))
      .describe("the comparable cases"),
    notes: z.array(z.string()).describe("what is not compared, and why"),
  }),
  z.object({ kind: z.literal("unchanged"), model: z.string(), notes: z.array(z.string()) }),
  z.object({ kind: z.literal("not comparable"), model: z.string(), reasons: z.array(z.string()) }),
]);
export type CheckPlan = z.infer<typeof checkPlanSchema>;

const aboutSkillsSchema = z.object({
  wanted: z.array(z.string()).describe("skills that must be loaded"),
  unwanted: z.union([z.array(z.string()), z.literal("others")]).describe("skills that must not be"),
});
/** What a case expects of the loading of skills; of those in neither list it expects nothing. */
export type AboutSkills = z.infer<typeof aboutSkillsSchema>;

/** What the other commands ask: arms of one suite on one model, each with the list that every case is shown in it. */
const experimentSchema = z.object({
  command: z.enum(["variants", "blame", "crowd", "calibrate"]),
  suite: z.string(),
  model: z.string(),
  cases: z.array(z.string()),
  arms: z.array(z.object({ name: z.string(), toolsets: z.record(z.string(), z.string()).describe("case -> hash") })),
  setup: jsonObjectSchema.describe("what else the command's result is derived from"),
});
export type Experiment = z.infer<typeof experimentSchema>;

/** `run.json`: everything that decided a run's answers, which decides whether two runs are comparable. */
export const runManifestSchema = z.object({
  format: z.literal("tool-evals run 1"),
  id: z.string(),
  startedAt: z.string(),
  finishedAt: z.string().optional().describe("absent until the run finishes, and after it was cut short"),
  totals: totalsSchema.optional().describe("for readers; always derived from the journal when the run finishes"),
  harness: z.string().describe("version of tool-evals"),
  node: z.string(),
  git: z.object({ commit: z.string(), dirty: z.boolean() }).optional(),
  flags: jsonObjectSchema.describe("the flags that decide what is asked, as given; resuming uses them again"),
  seed: z.number().int(),
  host: z.string().describe("how tool names were shown"),
  models: z.array(
    z.object({
      id: z.string(),
      kind: z.enum(["language model", "retrieval baseline", "recorded answers"]),
      note: z.string().optional(),
      settings: jsonObjectSchema,
      deterministic: z.boolean().describe("the same request always gets the same reply: one trial a case"),
      exposures: z
        .array(exposureSchema)
        .min(1)
        .optional()
        .describe("how tools were shown: in the arm head, then in the arms of further exposures; absent: all"),
    }),
  ),
  judge: z
    .object({ model: z.string(), settings: jsonObjectSchema, figure: z.string().optional() })
    .optional()
    .describe("who judged, and how far people agreed with it where that was measured"),
  suites: z.array(
    z.object({
      name: z.string(),
      file: z.string(),
      hash: z.string(),
      execute: executionPolicySchema,
      isolate: z.enum(["run", "trial"]),
      lift: z.string().optional().describe("the skill whose effect is measured: cases are asked without it too"),
      server: jsonObjectSchema.optional().describe("the server information from initialisation"),
      checks: z.array(checkPlanSchema).optional().describe("one for each model that has a baseline"),
      cases: z.array(
        z.object({
          id: z.string(),
          hash: z.string(),
          input: z.string().describe("the last user message"),
          paraphrases: z
            .array(z.string())
            .optional()
            .describe("what it says in turn: trial t asks the t-th, and so on"),
          expected: z.string().describe("the label of the expectation in the confusion table"),
          expectedTools: z.array(z.string()).describe("tools that the expectation names, for coverage"),
          skills: aboutSkillsSchema.optional(),
          toolset: z.string(),
          trials: z.number().int(),
          passRate: z.number(),
          maxTurns: z.number().int(),
          file: z.string(),
          line: z.number().int(),
        }),
      ),
    }),
  ),
  experiment: experimentSchema.optional().describe("absent for `evals run`"),
  toolsets: z.record(z.string(), z.array(offeredToolSchema)).describe("hash -> the exact list that was sent"),
});
export type RunManifest = z.infer<typeof runManifestSchema>;

const caseSummarySchema = z.object({
  id: z.string(),
  input: z.string(),
  expected: z.string(),
  trials: z.number().int().describe("graded trials: the denominator of rate"),
  planned: z.number().int(),
  passed: z.number().int(),
  broken: z.number().int(),
  notGradable: z.number().int(),
  rate: z.number().nullable().describe("passed / trials; null when no trial was graded"),
  interval: interval.nullable().describe("95 % Wilson score interval of rate"),
  passRate: z.number(),
  outcomes: z.record(z.string(), z.number().int()),
  brokenStages: z.record(z.string(), z.number().int()),
  paraphrases: z
    .array(z.object({ input: z.string(), passed: z.number().int(), trials: z.number().int() }))
    .optional()
    .describe("the same by wording of the query, for a case with paraphrases"),
  reasons: z.array(z.object({ text: z.string(), n: z.number().int() })).describe("why trials failed or broke, ranked"),
  ok: z.boolean(),
  file: z.string(),
  line: z.number().int(),
});
export type CaseSummary = z.infer<typeof caseSummarySchema>;

const caseChangeSchema = z.object({
  case: z.string(),
  base: countsSchema,
  head: countsSchema,
  p: z.number().describe("one-sided, of this case alone"),
  adjusted: z.number().describe("corrected for all cases that were looked at"),
});

const toolChangeSchema = z.object({
  label: z.string().describe("what changed: a tool, or tool.parameter"),
  class: changeClassSchema.optional().describe("what it does to those who call the tool"),
  before: z.string().optional().describe("absent for what was added"),
  after: z.string().optional().describe("absent for what was removed"),
});

const testSchema = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("p-value"), p: z.number(), alpha: z.number() }),
  z.object({ kind: z.literal("e-value"), e: z.number(), threshold: z.number() }),
]);

const look = { look: z.number().int().describe("from 1"), looks: z.number().int() };

/** Why a regression check came to its verdict. `test` and `drop` are null for a deterministic model. */
const checkBasisSchema = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("dropped"), test: testSchema.nullable(), ...look }),
  z.object({ kind: z.literal("drop ruled out"), drop: z.number().nullable().describe("or more"), ...look }),
  z.object({ kind: z.literal("neither shown"), test: testSchema, drop: z.number().describe("not ruled out") }),
  z.object({ kind: z.literal("too much variance") }),
  z.object({ kind: z.literal("cases not scored"), cases: z.array(z.string()) }),
  z.object({ kind: z.literal("nothing scored") }),
  z.object({ kind: z.literal("stopped"), look: z.number().int() }),
]);
export type CheckBasis = z.infer<typeof checkBasisSchema>;

const sentence = z.string().optional().describe("text for people, in --json");

/** The verdict of a regression check, with all that a report shows of it. Rates are 0 to 1. */
const checkSummarySchema = z.discriminatedUnion("kind", [
  z.object({
    kind: z.enum(["regressed", "no-regression", "inconclusive"]),
    basis: checkBasisSchema,
    headline: sentence,
    reason: sentence,
    method: z.string(),
    margin: z.number(),
    net: z
      .object({ change: z.number(), interval, cases: z.number().int() })
      .nullable()
      .describe("head - base, mean over cases"),
    flagged: z.array(caseChangeSchema).describe("cases that dropped, worst first"),
    grew: z
      .array(z.object({ expected: z.string(), picked: z.string(), base: countsSchema, head: countsSchema }))
      .describe("confusion pairs that got more frequent; passed counts the confusions"),
    changes: z.array(toolChangeSchema).describe("what changed in the list"),
    smallestBreak: sentence.nullable(),
    reach: z
      .object({
        baseTrials: z.number().int(),
        headTrials: z.number().int(),
        headPasses: z.number().int().nullable(),
        p: z.number().nullable(),
      })
      .nullable()
      .describe("the smallest break of one case that these trials could detect; headPasses null: not even a total one"),
    furtherTrials: z.number().int().nullable().describe("per case and arm, to settle what is inconclusive"),
    pairedT: z.number().nullable().describe("p of a paired t-test over cases (secondary)"),
    calls: z.object({
      base: z.number().int(),
      head: z.number().int(),
      broken: z.number().int(),
      saved: z.number().int(),
    }),
    drift: sentence.nullable(),
    modelDrift: z
      .object({ direction: z.enum(["down", "up"]), p: z.number() })
      .nullable()
      .describe("how the model itself has changed since the baseline; never fails a run"),
    notes: z.array(z.string()),
    exitCode: z.number().int(),
  }),
  z.object({
    kind: z.literal("unchanged"),
    headline: sentence,
    notes: z.array(z.string()),
    exitCode: z.number().int(),
  }),
  z.object({
    kind: z.literal("not-comparable"),
    headline: sentence,
    reasons: z.array(z.string()).describe("empty: no case is the same as in the baseline"),
    notes: z.array(z.string()),
    exitCode: z.number().int(),
  }),
]);
export type CheckSummary = z.infer<typeof checkSummarySchema>;

const armSchema = countsSchema.extend({
  broken: z.number().int(),
  notGradable: z.number().int(),
  meanTurns: z.number().nullable().describe("of an answered trial, as the two below; null when none was"),
  meanTokens: z.number().nullable().describe("input and output"),
  meanMs: z.number().nullable().describe("of waiting for the model"),
  costUsd: costSchema,
});
const sentenceCountsSchema = countsSchema.extend({ unknown: z.number().int().describe("the judge could not decide") });

const liftSummarySchema = z.object({
  skill: z.string(),
  net: z
    .object({ change: z.number(), interval, cases: z.number().int() })
    .nullable()
    .describe("with - without, mean over cases"),
  arms: z.object({ with: armSchema, without: armSchema }),
  behaviours: z
    .array(z.object({ case: z.string(), text: z.string(), with: sentenceCountsSchema, without: sentenceCountsSchema }))
    .describe("each expected behaviour: in how many trials it was met"),
});
export type LiftSummary = z.infer<typeof liftSummarySchema>;

const shareSchema = z.object({ rate: z.number(), interval }).nullable();
const skillsSummarySchema = z.object({
  model: z.string(),
  skills: z.array(
    z.object({
      name: z.string(),
      truePositives: z.number().int(),
      falsePositives: z.number().int(),
      falseNegatives: z.number().int(),
      trueNegatives: z.number().int(),
      precision: shareSchema.describe("of the trials that loaded it, those that wanted it"),
      recall: shareSchema.describe("of the trials that wanted it, those that loaded it"),
    }),
  ),
  loaded: z
    .array(z.object({ expected: z.string(), loaded: z.string().nullable(), n: z.number().int() }))
    .describe("what was loaded for what was expected; null: nothing"),
});
export type SkillsSummary = z.infer<typeof skillsSummarySchema>;

const suiteSummarySchema = z.object({
  name: z.string(),
  model: z.string(),
  note: z.string().optional().describe("how the model's figures must be read"),
  cases: z.array(caseSummarySchema),
  confusion: z.array(z.object({ expected: z.string(), picked: z.string(), n: z.number().int() })).describe("ranked"),
  unchecked: z
    .array(z.object({ text: z.string(), n: z.number().int() }))
    .optional()
    .describe("what could not be checked in n trials, and why; absent where everything was"),
  coverage: z.object({
    tools: z.number().int().describe("tools that the server offers"),
    expected: z.number().int().describe("of these, named by an expectation"),
    missing: z.array(z.string()).describe("tools that no case expects"),
  }),
  lift: liftSummarySchema.optional().describe("the effect of a skill, where cases are asked without it too"),
  verdict: checkSummarySchema.optional().describe("of the regression check, where one was made"),
  latencyMs: z.object({ p50: z.number(), p95: z.number() }).nullable().describe("of one model request"),
  totals: totalsSchema,
  ok: z.boolean(),
});
export type SuiteSummary = z.infer<typeof suiteSummarySchema>;

/** The result of a run: the object that `--json` prints and that every report is made from. Always derived from the record. */
export const runSummarySchema = z.object({
  run: z.string(),
  dir: z.string(),
  suites: z.array(suiteSummarySchema),
  totals: totalsSchema,
  skills: z.array(skillsSummarySchema).optional().describe("how well skills trigger, a model at a time"),
  judge: z.object({ model: z.string(), figure: z.string().optional() }).optional(),
  blame: z.array(z.record(z.string(), z.unknown())).optional().describe("with --blame, as `evals blame --json` has it"),
  ok: z.boolean(),
  exitCode: z.number().int(),
});
export type RunSummary = z.infer<typeof runSummarySchema>;

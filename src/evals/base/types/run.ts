import * as z from "zod";
import { armsSummarySchema, serversSummarySchema } from "./arms.ts";
import { checkPlanSchema, checkSummarySchema, countsSchema, gateSchema, intervalSchema } from "./check.ts";
import { driftSummarySchema } from "./drift.ts";
import { discoverySummarySchema, exposureSchema } from "./exposure.ts";
import { jsonObjectSchema } from "./json.ts";
import { executionPolicySchema } from "./suiteFile.ts";
import { offeredToolSchema, toolsetHashSchema } from "./tool.ts";
import { costSchema } from "./trial.ts";

const integer = z.number().int();
const rankedTextsSchema = z.array(z.object({ text: z.string(), n: integer }));

/** The arm of a case that is asked without the skill whose effect is measured. */
export const withoutArm = "without";

const totalsSchema = z.object({
  trials: integer.describe("planned"),
  passed: integer,
  broken: integer,
  missing: integer.describe("planned and not on the record"),
  calls: integer.describe("requests answered by the model"),
  executed: integer.describe("tool calls that were executed on a server"),
  toolErrors: integer.describe("of these, answered with an error by the server"),
  inputTokens: z.number().describe("with those from a provider's cache"),
  cacheReadTokens: z.number().optional().describe("of these, read from a provider's prompt cache; absent: none"),
  outputTokens: z.number(),
  costUsd: costSchema,
  cached: integer.optional().describe("replies of earlier runs, from the cache; not among the calls"),
});

const aboutSkillsSchema = z.object({
  wanted: z.array(z.string()).describe("skills that must be loaded"),
  unwanted: z.union([z.array(z.string()), z.literal("others")]).describe("skills that must not be"),
});
/** What a case expects of the loading of skills; of those in neither list it expects nothing. */
export type AboutSkills = z.infer<typeof aboutSkillsSchema>;

/** The commands other than `evals run` that run trials. */
export const experimentCommands = ["variants", "blame", "improve"] as const;

/** What they ask: arms of one suite on one model, each with the list that every case is shown in it. */
const experimentSchema = z.object({
  command: z.enum(experimentCommands),
  suite: z.string(),
  model: z.string(),
  cases: z.array(z.string()),
  arms: z.array(
    z.object({ name: z.string(), toolsets: z.record(z.string(), toolsetHashSchema).describe("case -> hash") }),
  ),
  setup: jsonObjectSchema.describe("what else the command's result is derived from"),
  result: jsonObjectSchema.optional().describe("what the command found; absent until it ends"),
});
export type Experiment = z.infer<typeof experimentSchema>;

/**
 * Why a case is asked in a partial run. `stale`: a tool or skill that it names changed (or any); `neighbor`: a tool
 * changed that is similar to one that it names.
 */
const touchSchema = z.enum(["no record", "new", "edited", "stale", "neighbor", "not graded"]);
export type Touch = z.infer<typeof touchSchema>;

const partialSchema = z.object({
  since: z.enum(["baseline", "last asked"]).describe("what the cases and tools are compared with"),
  asked: z.array(z.object({ suite: z.string(), case: z.string(), why: touchSchema, tools: z.array(z.string()) })),
  leftOut: z
    .array(z.object({ suite: z.string(), why: z.literal("unchanged"), cases: integer }))
    .describe("cases that were not asked"),
});
/** Which cases a partial run includes and why, and which it leaves out. */
export type PartialRun = z.infer<typeof partialSchema>;

const modelKindSchema = z.enum(["language model", "retrieval baseline", "recorded answers"]);

/** `run.json`: everything that affects the answers of a run, and so whether two runs are comparable. */
export const runManifestSchema = z.object({
  format: z.literal("tool-evals run 1"),
  id: z.string(),
  nonce: z.string().describe("random, since runs of two machines can have the same id"),
  startedAt: z.string(),
  finishedAt: z.string().optional().describe("absent until the run finishes, and after it was cut short"),
  totals: totalsSchema.optional().describe("for readers; always derived from the journal when the run finishes"),
  failOn: z
    .array(gateSchema)
    .optional()
    .describe(
      "what exits with 1; absent: regressed where a check is made, nothing for a retrieval baseline, else rate",
    ),
  partial: partialSchema.optional().describe("absent: every case was asked; else it is no baseline and no latest run"),
  cache: z.literal(true).optional().describe("replies of earlier runs are used again: nothing is decided by it"),
  mergedFrom: z.array(z.string()).optional().describe("the runs of the shards that this run was merged from"),
  harness: z.string().describe("version of tool-evals"),
  node: z.string(),
  git: z.object({ commit: z.string(), dirty: z.boolean() }).optional(),
  flags: jsonObjectSchema.describe("the flags that decide what is asked, as given; resuming uses them again"),
  seed: integer,
  host: z.string().describe("how tool names were shown"),
  models: z.array(
    z.object({
      id: z.string(),
      kind: modelKindSchema,
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
      denial: z.string().optional().describe("what a model gets for a call that the policy denies; absent: the reason"),
      isolate: z.enum(["run", "trial"]),
      models: z.array(z.string()).optional().describe("the models that it is asked on; absent: all"),
      arms: z
        .object({
          axis: z.enum(["surface", "distractors"]),
          first: z.string().describe("what the arm head is called"),
          others: z.array(z.object({ name: z.string(), cases: z.array(z.string()) })),
        })
        .optional()
        .describe("other tool lists with which these cases are asked too, in arms of their names"),
      dispatchers: z.array(z.string()).optional().describe("tools that call others: coverage leaves them out"),
      failOn: z.array(gateSchema).optional().describe("what exits with 1 in this suite; absent: as the run says"),
      lift: z.string().optional().describe("the skill whose effect is measured: cases are asked without it too"),
      mocks: z.array(z.string()).optional().describe("the results that calls get in place of execution, by label"),
      server: jsonObjectSchema
        .optional()
        .describe("the server information from initialization; of a whole configuration, that of each server by name"),
      servers: z
        .array(z.object({ name: z.string(), failure: z.string().optional().describe("why it could not be listed") }))
        .optional()
        .describe("the servers of a host's configuration file, where the suite is about all of them"),
      checks: z.array(checkPlanSchema).optional().describe("one for each model that has a baseline"),
      unreviewed: z.array(z.string()).optional().describe("drafted cases that nobody had reviewed; absent: none"),
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
          server: z
            .string()
            .optional()
            .describe("of a whole configuration, the server whose tools are expected; absent: none, or several"),
          toolset: toolsetHashSchema,
          trials: integer,
          passRate: z.number(),
          maxTurns: integer,
          file: z.string(),
          line: integer,
        }),
      ),
    }),
  ),
  experiment: experimentSchema.optional().describe("absent for `evals run`"),
  toolsets: z.record(z.string(), z.array(offeredToolSchema)).describe("hash -> the exact list that was sent"),
});
export type RunManifest = z.infer<typeof runManifestSchema>;
export type ManifestSuite = RunManifest["suites"][number];
export type ManifestCase = ManifestSuite["cases"][number];

const caseSummarySchema = z.object({
  id: z.string(),
  input: z.string(),
  expected: z.string(),
  trials: integer.describe("graded trials: the denominator of rate"),
  planned: integer,
  passed: integer,
  broken: integer,
  notGradable: integer,
  rate: z.number().nullable().describe("passed / trials; null when no trial was graded"),
  interval: intervalSchema.nullable().describe("95 % Wilson score interval of rate"),
  passRate: z.number(),
  before: countsSchema.optional().describe("its graded trials in the baseline, where the case has not changed since"),
  compared: z.literal(true).optional().describe("its trials are those of the regression check or the nightly run"),
  ms: z.number().optional().describe("of all its trials from query to score, which can run at the same time"),
  outcomes: z.record(z.string(), integer),
  missed: z
    .array(z.object({ outcome: z.string(), picked: z.string(), n: integer }))
    .describe("what failed trials did: their outcome, and what was picked, ranked"),
  brokenStages: z.record(z.string(), integer),
  paraphrases: z
    .array(z.object({ input: z.string(), passed: integer, trials: integer }))
    .optional()
    .describe("the same by wording of the query, for a case with paraphrases"),
  reasons: rankedTextsSchema.describe("why trials failed or broke, ranked"),
  ok: z.boolean(),
  file: z.string(),
  line: integer,
});
export type CaseSummary = z.infer<typeof caseSummarySchema>;

const shareSchema = z.object({ rate: z.number(), interval: intervalSchema }).nullable();
const skillsSummarySchema = z.object({
  model: z.string(),
  skills: z.array(
    z.object({
      name: z.string(),
      truePositives: integer,
      falsePositives: integer,
      falseNegatives: integer,
      trueNegatives: integer,
      precision: shareSchema.describe("of the trials that loaded it, those that wanted it"),
      recall: shareSchema.describe("of the trials that wanted it, those that loaded it"),
    }),
  ),
});
export type SkillsSummary = z.infer<typeof skillsSummarySchema>;

const suiteSummarySchema = z.object({
  name: z.string(),
  model: z.string(),
  kind: modelKindSchema.describe("of the model"),
  note: z.string().optional().describe("how the figures must be read"),
  cases: z.array(caseSummarySchema),
  unreviewed: integer.optional().describe("drafted cases that nobody had reviewed; absent: none"),
  confusion: z.array(z.object({ expected: z.string(), picked: z.string(), n: integer })).describe("ranked"),
  misses: z
    .object({
      tools: z
        .array(
          z.object({
            expected: z.string(),
            trials: integer,
            picked: integer.describe("in so many trials the expected tool was called first"),
            passed: integer,
            wrongArguments: integer,
            reachedLater: integer.describe("another tool was called first, the expected one after it"),
            instead: z.array(z.object({ picked: z.string(), n: integer })),
          }),
        )
        .describe("expected tools of which not every trial passed, the most failures first"),
      parameters: z.array(
        z.object({
          tool: z.string(),
          parameter: z.string(),
          missing: integer,
          wrongType: integer,
          wrongValue: integer,
          invented: integer.describe("given, though the tool has no such parameter or none was expected"),
        }),
      ),
      preconditions: z
        .array(z.object({ tool: z.string(), before: z.string(), named: z.boolean(), n: integer }))
        .describe("what was called before a tool that was reached later, and whether its description names that tool"),
      repeated: z
        .array(z.object({ tool: z.string(), after: z.enum(["denial", "error"]), n: integer }))
        .describe("calls made again with the same arguments"),
    })
    .optional()
    .describe("why trials missed; absent: none did"),
  denials: z
    .object({
      calls: integer.describe("calls that were not executed, by the policy or by a host"),
      trials: integer.describe("trials with such a call"),
      retries: integer.describe("later calls of a tool that had been denied in the trial"),
      next: z
        .object({
          sameCall: integer.describe("the same tool with the same arguments"),
          otherArguments: integer.describe("the same tool with other arguments"),
          otherTool: integer,
          noCall: integer.describe("an answer without a call"),
          ended: integer.describe("the trial ended before the model saw the denial"),
        })
        .describe("trials by what the reply to the first denial called"),
      text: z.string().optional().describe("what the model got, where the suite sets it; absent: the reason"),
    })
    .optional()
    .describe("what models did after denied calls; absent: none was denied"),
  mocks: z
    .object({
      answered: integer.describe("calls that a mock answered"),
      unused: z.array(z.string()).describe("mocks that answered no call"),
      unmatched: rankedTextsSchema.describe("why calls got an error: no mock answers them"),
    })
    .optional()
    .describe("absent: the suite has no mocks"),
  unchecked: rankedTextsSchema
    .optional()
    .describe("what could not be checked in n trials, and why; absent where everything was"),
  servers: serversSummarySchema.optional().describe("of a whole configuration: what each server loses and takes"),
  coverage: z.object({
    tools: integer.describe("tools that the server offers"),
    expected: integer.describe("of these, named by an expectation"),
    missing: z.array(z.string()).describe("tools that no case expects"),
  }),
  discovery: discoverySummarySchema
    .optional()
    .describe("how expected tools were found and chosen, where definitions are deferred"),
  arms: z.array(armsSummarySchema).optional().describe("what the run compares within itself, an axis each"),
  failOn: z.array(gateSchema).optional().describe("what exits with 1 in this suite"),
  failed: z.array(gateSchema).optional().describe("of these, what happened"),
  drift: driftSummarySchema.optional().describe("of the model since the baseline, where the tools have not changed"),
  verdict: checkSummarySchema.optional().describe("of the regression check, where one was made"),
  latencyMs: z.object({ p50: z.number(), p95: z.number() }).nullable().describe("of one model request"),
  batched: integer
    .optional()
    .describe("replies that came in batches of the provider, at the price of batches; absent: none"),
  totals: totalsSchema,
  repliedBy: z.array(z.string()).optional().describe("the models that the replies name, where they name one"),
  ok: z.boolean(),
});
export type SuiteSummary = z.infer<typeof suiteSummarySchema>;

/** The result of a run, which `--json` prints and every report is made from. Always derived from the record. */
export const runSummarySchema = z.object({
  run: z.string(),
  dir: z.string(),
  suites: z.array(suiteSummarySchema),
  totals: totalsSchema,
  skills: z.array(skillsSummarySchema).optional().describe("how well skills trigger, a model at a time"),
  judge: z.object({ model: z.string(), figure: z.string().optional() }).optional(),
  partial: partialSchema.optional().describe("with --changed or --watch: which cases were asked, and which left out"),
  cache: z.literal(true).optional().describe("with --cache: replies of earlier runs are used again, no verdict"),
  blame: z.array(z.record(z.string(), z.unknown())).optional().describe("with --blame, as `evals blame --json` has it"),
  ok: z.boolean(),
  exitCode: integer,
});
export type RunSummary = z.infer<typeof runSummarySchema>;

const n = z.number().int();
const plannedFor = { suite: z.string(), model: z.string() };

/** What `evals run --dry-run --json` prints. Numbers and costs are the most possible; `typicalUsd` is usual. */
export const dryRunSchema = z.object({
  suites: z.array(
    z.object({
      suite: z.string(),
      file: z.string(),
      cases: z.array(z.string()).describe("the ids"),
      tools: n,
      skills: n,
      execute: executionPolicySchema,
      executed: z.array(z.string()).describe("the tools whose calls are executed"),
      arms: z.array(z.string()).optional().describe("further arms in which cases are asked"),
    }),
  ),
  checks: z.array(
    z.discriminatedUnion("kind", [
      z.object({ kind: z.literal("unchanged"), ...plannedFor }),
      z.object({ kind: z.literal("not comparable"), ...plannedFor, reasons: z.array(z.string()) }),
      z.object({
        kind: z.literal("compare"),
        ...plannedFor,
        typical: n.describe("trials if nothing changed"),
        high: n.describe("trials that 9 checks in 10 do not exceed"),
        most: n,
        typicalUsd: costSchema,
        highUsd: costSchema,
        cached: z.number().describe("share of the requests whose tools a prompt cache may hold"),
        detect: z
          .array(z.object({ drop: z.number().describe("of the pass rate of every case"), found: z.number() }))
          .describe("the share of checks that find a drop; empty for a deterministic model"),
      }),
    ]),
  ),
  nights: z.array(z.object({ ...plannedFor, trials: n, most: n.describe("with follow-ups"), costUsd: costSchema })),
  models: z
    .array(
      z.object({
        model: z.string(),
        note: z.string().nullable(),
        trials: n,
        batched: n.describe("trials that are asked in batches"),
        calls: n,
        inputTokens: n,
        outputTokens: n,
        typicalUsd: costSchema,
        costUsd: costSchema,
      }),
    )
    .describe("without the trials of checks and nights"),
  judge: z.object({ model: z.string(), calls: n, typicalUsd: costSchema, costUsd: costSchema }).nullable(),
  typicalUsd: costSchema.describe("of everything, with checks, nights and judge"),
  costUsd: costSchema,
  seed: z.number(),
  exitCode: n,
});
export type DryRun = z.infer<typeof dryRunSchema>;

/** What `evals run --shard --json` prints: a shard decides nothing. */
export const shardReportSchema = z.object({
  run: z.string(),
  dir: z.string().describe("the folder of the record, for `evals merge`"),
  shard: z.string().describe("which of how many, such as 1/4"),
  trials: integer.describe("trials that were recorded"),
  broken: integer,
  exitCode: integer,
});
export type ShardReport = z.infer<typeof shardReportSchema>;

import * as z from "zod";
import { lintReportSchema, rulesOutputSchema } from "../base/types/finding.ts";
import type { OutputName } from "../base/types/flagValues.ts";
import { dryRunSchema, runSummarySchema, shardReportSchema } from "../base/types/run.ts";
import { trialSchema } from "../base/types/trial.ts";
import { blameReportSchema } from "../experiments/blame/verdict.ts";
import { comparisonOutputSchema } from "../experiments/compare/report.ts";
import { improveSummarySchema } from "../experiments/improve/verdict.ts";
import { judgeCheckSummarySchema } from "../experiments/judge/report.ts";
import { historyOutputSchema } from "../experiments/run/report/runs.ts";
import { variantsSummarySchema } from "../experiments/variants/verdict.ts";
import { doctorReportSchema } from "../inspection/doctor/report.ts";
import { importOutputSchema } from "../inspection/import.ts";
import { probeReportSchema } from "../inspection/probe/report.ts";
import { searchReportSchema } from "../inspection/search/evaluate.ts";
import { skillListingSchema, toolsOutputSchema } from "../inspection/tools.ts";
import { verifyReportSchema } from "../inspection/verify.ts";

const sentences = { headline: z.string(), reason: z.string(), next: z.string() };
const blamedCaseSchema = blameReportSchema.shape.cases.element.extend(sentences);
const blameOutputSchema = blameReportSchema.extend({ cases: z.array(blamedCaseSchema) });

/**
 * What each command prints with `--json`, beside what every output has. `merge` and `show` print the output of the
 * command that made the record, and `show` the trials whose transcripts are asked for.
 */
const outputSchemas = {
  run: runSummarySchema,
  shard: shardReportSchema,
  "dry-run": dryRunSchema,
  variants: z.intersection(variantsSummarySchema, z.object(sentences)),
  improve: z.intersection(variantsSummarySchema, z.object({ ...sentences, search: improveSummarySchema.shape.search })),
  blame: z.object({ blames: z.array(blameOutputSchema), exitCode: z.number().int() }),
  compare: comparisonOutputSchema,
  judge: judgeCheckSummarySchema,
  history: historyOutputSchema,
  show: z.object({ run: z.string(), trials: z.array(trialSchema) }),
  import: importOutputSchema,
  lint: lintReportSchema,
  "lint-rules": rulesOutputSchema,
  search: searchReportSchema,
  probe: probeReportSchema,
  doctor: doctorReportSchema,
  verify: verifyReportSchema,
  tools: toolsOutputSchema,
  skills: skillListingSchema,
} as const satisfies Readonly<Record<OutputName, z.ZodType>>;

/** What every output has. */
const envelopeSchema = z.object({
  ok: z.boolean().describe("whether the exit code is 0"),
  exitCode: z.number().int(),
  headline: z.string().optional().describe("the first line of the report"),
  next: z.string().optional().describe("what to do next"),
});

/** The JSON Schema (draft 2020-12) of what a command prints with `--json`. */
export const outputJsonSchema = (name: OutputName): unknown =>
  z.toJSONSchema(z.intersection(outputSchemas[name], envelopeSchema), { target: "draft-2020-12" });

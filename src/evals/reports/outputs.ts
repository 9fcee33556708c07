import * as z from "zod";
import { doctorReportSchema } from "../diagnosis/report.ts";
import { probeReportSchema } from "../probes/report.ts";
import { searchReportSchema } from "../search/report.ts";
import { lintReportSchema, rulesOutputSchema } from "../types/lint.ts";
import type { OutputName } from "../types/outputNames.ts";
import { dryRunSchema, runSummarySchema, shardReportSchema } from "../types/run.ts";
import { trialSchema } from "../types/trial.ts";
import { tryResultSchema } from "../types/tryout.ts";
import { verifyReportSchema } from "../types/verify.ts";
import { blameReportSchema } from "../verdicts/blame.ts";
import { calibrationSummarySchema } from "../verdicts/calibrate.ts";
import { crowdSummarySchema } from "../verdicts/crowd.ts";
import { historyOutputSchema } from "../verdicts/history.ts";
import { judgeCheckSummarySchema } from "../verdicts/judge.ts";
import { variantsSummarySchema } from "../verdicts/variants.ts";
import { comparisonOutputSchema } from "./comparison.ts";
import { importOutputSchema } from "./import.ts";
import { skillListingSchema } from "./skills.ts";
import { toolsOutputSchema } from "./tools.ts";

const sentences = { headline: z.string(), reason: z.string(), next: z.string() };
const blamedCaseSchema = blameReportSchema.shape.cases.element.extend(sentences);
const blameOutputSchema = blameReportSchema.extend({ cases: z.array(blamedCaseSchema) });

/**
 * What each command prints with `--json`. `merge` and `report` print the output of the command that made the record;
 * `show` prints one object per line.
 */
const outputSchemas = {
  run: runSummarySchema,
  shard: shardReportSchema,
  "dry-run": dryRunSchema,
  variants: z.intersection(variantsSummarySchema, z.object(sentences)),
  blame: z.object({ blames: z.array(blameOutputSchema), exitCode: z.number().int() }),
  crowd: crowdSummarySchema,
  calibrate: calibrationSummarySchema,
  compare: comparisonOutputSchema,
  judge: judgeCheckSummarySchema,
  history: historyOutputSchema,
  show: trialSchema,
  try: tryResultSchema,
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

/** The JSON Schema (draft 2020-12) of what a command prints with `--json`. */
export const outputJsonSchema = (name: OutputName): unknown =>
  z.toJSONSchema(outputSchemas[name], { target: "draft-2020-12" });

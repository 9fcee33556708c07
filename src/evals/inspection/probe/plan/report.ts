import * as z from "zod";
import { jsonObjectSchema } from "../../../base/types/json.ts";
import { problemSchema, severitySchema } from "../../../base/types/lint.ts";

const number = z.number().int().min(0);
const texts = z.array(z.string());

/** A call of a tool, as written on the command line. */
const probeCallSchema = z.object({ tool: z.string(), arguments: jsonObjectSchema });
export type ProbeCall = z.infer<typeof probeCallSchema>;

/** A violation of a rule, with the smallest calls that reproduce it, in order; it shows in the answer to the last one. */
const probeFindingSchema = z.object({
  check: z.string().describe("the id of the rule"),
  severity: severitySchema,
  tool: z.string(),
  parameters: texts.describe("the parameters concerned, for invalid input"),
  message: z.string(),
  calls: z.array(probeCallSchema),
  got: z.string().describe("the answers to these calls, shortened"),
  times: number.describe("the number of probes that found it"),
  again: z.enum(["yes", "no", "not tried"]).describe("whether the same calls had the same result when made again"),
  why: z.string(),
  fix: z.string(),
  docs: z.string(),
  command: z.string().describe("makes these calls again"),
  suppressed: z.string().exactOptional().describe("the reason given for suppressing it"),
});
export type ProbeFinding = z.infer<typeof probeFindingSchema>;

/** The results of one tool: each rule is in one of three lists. */
const toolReportSchema = z.object({
  tool: z.string(),
  calls: number,
  ok: texts,
  found: texts,
  notProbed: texts,
  notes: texts.describe("what could not be done"),
});
export type ToolReport = z.infer<typeof toolReportSchema>;

const serverReportSchema = z.object({
  server: z.string(),
  calls: number,
  starts: number,
  tools: z.array(toolReportSchema),
  skipped: z
    .array(z.object({ tool: z.string(), reason: z.string() }))
    .describe("tools that were not called, with the reason"),
  left: texts
    .exactOptional()
    .describe("files that calls left in the scratch folder, which is removed; absent where the server ran elsewhere"),
  mayWrite: texts.exactOptional().describe("tools that were called and are not annotated read-only"),
  leftElsewhere: texts
    .exactOptional()
    .describe("files and folders that are new or changed since the start, in the folders that the command line names"),
  findings: z.array(probeFindingSchema),
  answers: z.array(probeCallSchema.extend({ got: z.string() })).describe("to the calls of --call"),
});
export type ServerReport = z.infer<typeof serverReportSchema>;

const probeRuleSchema = z.object({
  id: z.string(),
  severity: severitySchema,
  why: z.string(),
  docs: z.string(),
  needs: z.string(),
});

/** The output of `evals probe --json`, from which the printed report is made too. */
export const probeReportSchema = z.object({
  seed: z.number(),
  servers: z.array(serverReportSchema),
  problems: z
    .array(problemSchema.extend({ severity: z.enum(["error", "warning"]), excerpt: z.string().exactOptional() }))
    .describe("what could not be probed, or not completely"),
  counts: z.record(severitySchema, number),
  checks: z.array(probeRuleSchema),
  failOn: severitySchema,
  stopped: z.boolean(),
  ok: z.boolean(),
  exitCode: z.number().int(),
});
export type ProbeReport = z.infer<typeof probeReportSchema>;

/** The `tool` of the row for a call of a tool that the server does not list. */
export const unknownToolRow = "(unknown tool)";

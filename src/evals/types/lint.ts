import * as z from "zod";

export const severitySchema = z.enum(["error", "warning", "info"]);
/** `error`: breaks a host, a model or a rule that the specification is firm about; `warning`: costs accuracy; `info`: to know. */
export type Severity = z.infer<typeof severitySchema>;

/** How a rule counts: a severity, or `off`: it is not looked at. */
const levelSchema = z.enum([...severitySchema.options, "off"]);
export type Level = z.infer<typeof levelSchema>;

const placeSchema = z.object({
  file: z.string(),
  line: z.number().int().exactOptional(),
  column: z.number().int().exactOptional(),
});

/** Where a finding is: file, line and column when the text lives in a file, else the server, tool (or skill) and path. */
const whereSchema = z.object({
  server: z.string().optional(),
  tool: z.string().optional(),
  skill: z.string().optional(),
  path: z.string().describe("a JSON path inside of it, for example $.inputSchema.properties.unit"),
  file: z.string().optional(),
  line: z.number().int().optional(),
  column: z.number().int().optional(),
  via: placeSchema.optional().describe("the suite or the host's file that names the server"),
});
export type Where = z.infer<typeof whereSchema>;

/** One thing that a rule found wrong, with the remedy in one sentence. */
const findingSchema = z.object({
  rule: z.string(),
  severity: severitySchema,
  message: z.string(),
  fix: z.string(),
  where: whereSchema,
  suppressed: z.string().optional().describe("the reason given for suppressing it"),
});
export type Finding = z.infer<typeof findingSchema>;

/** One finding that is right as it is, and why. */
const suppressionSchema = z.strictObject({
  rule: z.string().min(1).describe("the id of a rule: see `evals lint --rules`"),
  tool: z.string().min(1).optional().describe("only for the tool, skill or entry of this name; * is any text"),
  reason: z.string().min(1).describe("why it is right as it is: kept with what is suppressed"),
});

/** What an author settles about the rules, in a suite file under `lint`, or for a whole project in `evals/lint.yaml`. */
export const lintSettingsSchema = z.strictObject({
  ignore: z.array(suppressionSchema).optional().describe("findings that are right as they are"),
  severities: z.record(z.string(), levelSchema).optional().describe("rules that count otherwise, by their id"),
});
export type LintSettings = z.infer<typeof lintSettingsSchema>;

/** A suppression with the place that it is written at. */
const placedSuppressionSchema = suppressionSchema.extend({ place: placeSchema.optional() });
export type Suppression = z.infer<typeof placedSuppressionSchema>;

const problemSchema = z.object({ message: z.string(), hint: z.string().optional(), place: placeSchema.optional() });

/** Two tools that a model can confuse, by how much their texts share. */
const confusablePairSchema = z.object({
  server: z.string(),
  a: z.string(),
  b: z.string(),
  similarity: z.number().describe("0 to 1"),
  shared: z.array(z.string()).describe("the words that make it, the weightiest first"),
});

export const changeClassSchema = z.enum(["breaking", "unknown", "compatible", "description only"]);

/** One difference between two lists of tools, and what it does to those who call them. */
const listChangeSchema = z.object({
  id: z.string(),
  tool: z.string(),
  path: z.array(z.union([z.string(), z.number()])).describe("starts with the name of the tool"),
  kind: z.string(),
  class: changeClassSchema,
  what: z.string(),
  fix: z.string().optional(),
});

/** What `evals lint --json` prints. */
export const lintReportSchema = z.object({
  findings: z.array(findingSchema).describe("suppressed ones too, with the reason"),
  unusedSuppressions: z.array(placedSuppressionSchema).describe("their rule ran, and found nothing there"),
  problems: z.array(problemSchema).describe("what could not be linted, for example a server that did not start"),
  counts: z.object({
    error: z.number().int(),
    warning: z.number().int(),
    info: z.number().int(),
    suppressed: z.number().int(),
    linted: z.record(z.string(), z.number().int()).describe("how many tools, suites, skills, ... were looked at"),
  }),
  confusable: z.array(confusablePairSchema).optional().describe("with --confusable, the most alike first"),
  changes: z.array(listChangeSchema).optional().describe("with --against, every change, a finding or not"),
  failOn: severitySchema,
  ok: z.boolean(),
  exitCode: z.number().int(),
});
export type LintReport = z.infer<typeof lintReportSchema>;

/** What documentation says about a rule. */
export type RuleInfo = {
  id: string;
  severity: Severity;
  /** What it looks at: tools, suites, ... */
  on: string;
  why: string;
  docs: string;
  clauses: readonly string[];
};

/** Two inputs of a rule: JSON values, or text in the format of what the rule looks at. */
export type RuleExample = { invalid: unknown; valid: unknown };

import * as z from "zod";

export const severitySchema = z.enum(["error", "warning", "info"]);
/** `error`: breaks a host, a model or a requirement of the specification; `warning`: costs accuracy; `info`: a hint. */
export type Severity = z.infer<typeof severitySchema>;

export const locationSchema = z.object({
  file: z.string(),
  line: z.number().int().exactOptional(),
  column: z.number().int().exactOptional(),
});

const findingLocationSchema = z.object({
  server: z.string().optional(),
  tool: z.string().optional(),
  skill: z.string().optional(),
  path: z.string().optional().describe("A JSON path inside it, for example $.inputSchema.properties.unit"),
  file: z.string().optional(),
  line: z.number().int().optional(),
  column: z.number().int().optional(),
  via: locationSchema.optional().describe("The suite or host configuration file that names the server"),
});
/** Where a finding is: file, line and column if the text is in a file, otherwise server, tool (or skill) and path. */
export type FindingLocation = z.infer<typeof findingLocationSchema>;

/** What an inspection found: the violation of a rule, with how to fix it in one sentence. */
export const findingSchema = z.object({
  rule: z.string().describe("The id of the rule: stable, kebab-case"),
  severity: severitySchema,
  message: z.string(),
  fix: z.string(),
  location: findingLocationSchema,
  evidence: z.array(z.string()).exactOptional().describe("Observations, one per line"),
  command: z.string().exactOptional().describe("Reproduces it"),
  suppressed: z.string().optional().describe("The reason given for suppressing it"),
});
export type Finding = z.infer<typeof findingSchema>;

/** What kept something from being inspected. */
export const problemSchema = z.object({
  message: z.string(),
  hint: z.string().exactOptional(),
  location: locationSchema.exactOptional(),
});

/** The level of a rule: a severity, or `off` to disable it. */
const levelSchema = z.enum([...severitySchema.options, "off"]);
export type Level = z.infer<typeof levelSchema>;

/** `general`: what breaks clients or costs accuracy; `spec`: also conventions of wording and form. */
const profileSchema = z.enum(["general", "spec"]);
export type Profile = z.infer<typeof profileSchema>;

const suppressionSchema = z.strictObject({
  rule: z.string().min(1).describe("The id of a rule: see `evals lint --rules`"),
  tool: z.string().min(1).optional().describe("Only for the tool, skill or entry of this name; * matches any text"),
  reason: z.string().min(1).describe("Why it is ignored; shown with the suppressed findings"),
});

/** An author's settings of the rules: in a suite file under `lint`, or for a whole project in `evals/lint.yaml`. */
export const lintSettingsSchema = z.strictObject({
  ignore: z.array(suppressionSchema).optional().describe("Findings to ignore"),
  severities: z.record(z.string(), levelSchema).optional().describe("Other levels for rules, by rule id"),
  profile: profileSchema.optional().describe("spec: also check conventions of wording and form"),
});
export type LintSettings = z.infer<typeof lintSettingsSchema>;

const placedSuppressionSchema = suppressionSchema.extend({ location: locationSchema.optional() });
export type Suppression = z.infer<typeof placedSuppressionSchema>;

/** The settings of one file or of the command line. Suppressions have their place. */
export type Settings = Pick<LintSettings, "severities" | "profile"> & { readonly ignore?: readonly Suppression[] };

const confusablePairSchema = z.object({
  server: z.string(),
  a: z.string(),
  b: z.string(),
  similarity: z.number().describe("From 0 to 1"),
  shared: z.array(z.string()).describe("The shared words, by decreasing weight"),
});

export const changeClassSchema = z.enum(["breaking", "unknown", "compatible", "description only"]);
/**
 * The effect of a change on callers, in the order of lists. `breaking`: a correct call or reader can now be wrong.
 * `unknown`: the two lists do not show it. `compatible`: no call can be wrong. `description only`: a model may choose
 * differently, but calls are not affected.
 */
export type ChangeClass = z.infer<typeof changeClassSchema>;

/** One effect of a difference between two tool lists on their callers. */
export const listChangeSchema = z.object({
  id: z.string(),
  tool: z.string(),
  path: z
    .array(z.union([z.string(), z.number()]))
    .readonly()
    .describe("Starts with the name of the tool"),
  kind: z.string(),
  class: changeClassSchema,
  what: z.string(),
  fix: z.string().optional(),
});

/** What `evals lint --json` prints. */
export const lintReportSchema = z.object({
  findings: z.array(findingSchema).describe("All findings; suppressed ones have their reason"),
  unusedSuppressions: z.array(placedSuppressionSchema).describe("Their rules ran and found nothing to suppress"),
  problems: z.array(problemSchema).describe("What could not be linted, for example a server that did not start"),
  counts: z.object({
    error: z.number().int(),
    warning: z.number().int(),
    info: z.number().int(),
    suppressed: z.number().int(),
    linted: z
      .record(z.string(), z.number().int())
      .describe("The number of tools, suites, skills, ... that were linted"),
  }),
  skillFolders: z
    .array(z.string())
    .optional()
    .describe("Folders of the project whose skills were linted because nothing else was named"),
  confusable: z.array(confusablePairSchema).optional().describe("With --confusable: most similar first"),
  changes: z
    .array(listChangeSchema)
    .optional()
    .describe("With --against: the effects of every change, whether a finding or not"),
  failOn: severitySchema,
  ok: z.boolean(),
  exitCode: z.number().int(),
});
export type LintReport = z.infer<typeof lintReportSchema>;

const ruleInfoSchema = z.object({
  id: z.string(),
  severity: severitySchema,
  profile: z.literal("spec").exactOptional().describe("the profile that it is limited to"),
  on: z.string().describe("what it looks at: tools, suites, ..."),
  why: z.string(),
  docs: z.string(),
});
export type RuleInfo = z.infer<typeof ruleInfoSchema>;

/** The output of `evals lint --rules --json`. */
export const rulesOutputSchema = z.object({ rules: z.array(ruleInfoSchema) });

/** The level that the first settings with one give, else that of the rule; off if the rule is of another profile. */
export function readLevel(rule: Pick<RuleInfo, "id" | "severity" | "profile">, settings: readonly Settings[]): Level {
  for (const { severities = {} } of settings) {
    const level = Object.hasOwn(severities, rule.id) ? severities[rule.id] : undefined;
    if (level !== undefined) return level;
  }
  const profile = settings.find((one) => one.profile !== undefined)?.profile;
  return rule.profile === undefined || rule.profile === profile ? rule.severity : "off";
}

/** Whether a suppression applies to this name. Without `tool` it applies to everything. */
export function isSuppressing({ tool }: Suppression, name: string | undefined): boolean {
  return tool === undefined || (name !== undefined && matchesPattern(tool, name));
}

/** Matches a pattern in which `*` matches any text, in linear time. */
export function matchesPattern(pattern: string, name: string): boolean {
  const [first = "", ...rest] = pattern.split("*");
  const last = rest.pop();
  if (last === undefined) return name === pattern;
  if (!name.startsWith(first)) return false;
  let at = first.length;
  for (const piece of rest) {
    const found = name.indexOf(piece, at);
    if (found === -1) return false;
    at = found + piece.length;
  }
  return name.length - last.length >= at && name.endsWith(last);
}

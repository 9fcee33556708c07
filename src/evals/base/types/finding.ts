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

import * as z from "zod";

export const severitySchema = z.enum(["error", "warning", "info"]);
/** `error`: breaks a host, a model or a rule that the specification is firm about; `warning`: costs accuracy; `info`: to know. */
export type Severity = z.infer<typeof severitySchema>;

/** Where a finding is: file, line and column when the text lives in a file, else the server, tool (or skill) and path. */
export const whereSchema = z.object({
  server: z.string().optional(),
  tool: z.string().optional(),
  skill: z.string().optional(),
  path: z.string().describe("a JSON path inside of it, for example $.inputSchema.properties.unit"),
  file: z.string().optional(),
  line: z.number().int().optional(),
  column: z.number().int().optional(),
});
export type Where = z.infer<typeof whereSchema>;

/** One thing that a rule found wrong, with the remedy in one sentence. */
export const findingSchema = z.object({
  rule: z.string(),
  severity: severitySchema,
  message: z.string(),
  fix: z.string(),
  where: whereSchema,
  suppressed: z.string().optional().describe("the reason given for suppressing it"),
});
export type Finding = z.infer<typeof findingSchema>;

import * as z from "zod";

/** One thing that is wrong with a server, or may become so. `error`: a host cannot use the server, or a tool of it. */
const diagnosisSchema = z.object({
  id: z.string().describe("stable, kebab-case: what kind of thing is wrong"),
  severity: z.enum(["error", "warning"]),
  wrong: z.string(),
  evidence: z.array(z.string()).describe("what was seen, line by line"),
  remedy: z.string(),
  show: z.string().optional().describe("a command that shows it"),
});
export type Diagnosis = z.infer<typeof diagnosisSchema>;

const ms = z.number().describe("milliseconds");

/** What was found out about one server. */
const examinedSchema = z.object({
  name: z.string(),
  starts: z.string().describe("the command line, or the URL"),
  via: z.string().optional().describe("the suite or the host's file that names it"),
  healthy: z.boolean(),
  about: z
    .object({ name: z.string(), version: z.string(), protocol: z.string(), transport: z.string() })
    .partial()
    .optional()
    .describe("absent when it could not be connected to"),
  startMs: ms.optional(),
  listMs: ms.optional(),
  tools: z.number().int().optional(),
  called: z.array(z.object({ tool: z.string(), answered: z.boolean(), ms })),
  notCalled: z.array(z.object({ tool: z.string(), why: z.string() })),
  diagnoses: z.array(diagnosisSchema),
});
export type Examined = z.infer<typeof examinedSchema>;

/** What `evals doctor --json` prints. */
export const doctorReportSchema = z.object({
  servers: z.array(examinedSchema),
  healthy: z.number().int(),
  unhealthy: z.number().int(),
  ok: z.boolean(),
  exitCode: z.number().int(),
});
export type DoctorReport = z.infer<typeof doctorReportSchema>;

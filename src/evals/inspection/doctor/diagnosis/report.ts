import * as z from "zod";
import { shownSchema } from "../../../base/types/shown.ts";

/** A fault of a server. `error`: a host cannot use the server or one of its tools; `warning`: it may fail elsewhere. */
const diagnosisSchema = z.object({
  id: z.string().describe("stable, kebab-case: the kind of fault"),
  severity: z.enum(["error", "warning"]),
  wrong: z.string(),
  evidence: z.array(z.string()).describe("observations, one per line"),
  remedy: z.string(),
  show: z.string().optional().describe("a command that reproduces it"),
});
export type Diagnosis = z.infer<typeof diagnosisSchema>;

const ms = z.number().describe("milliseconds");

const examinedSchema = z.object({
  name: z.string(),
  starts: z.string().describe("its command line or URL"),
  via: z.string().optional().describe("the suite or host configuration that names it"),
  healthy: z.boolean(),
  about: z
    .object({ name: z.string(), version: z.string(), protocol: z.string(), transport: z.string() })
    .partial()
    .optional()
    .describe("absent if no client could connect"),
  startMs: ms.optional(),
  listMs: ms.optional(),
  tools: z.number().int().optional(),
  called: z.array(z.object({ tool: z.string(), answered: z.boolean(), ms })),
  notCalled: z.array(z.object({ tool: z.string(), why: z.string() })),
  diagnoses: z.array(diagnosisSchema),
});
export type Examined = z.infer<typeof examinedSchema>;

const examinedHostSchema = z.object({
  name: z.string(),
  model: z.string().describe("the id of the model with which it was started"),
  version: z.string().optional().describe("absent if it cannot be started"),
  pinned: z.string().optional().describe("the version whose profile is documented"),
  credentials: z.string().optional().describe("the variable that holds them; absent if none is set"),
  healthy: z.boolean(),
  shown: shownSchema.optional().describe("what it shows of the tools of the servers"),
  diagnoses: z.array(diagnosisSchema),
});
export type ExaminedHost = z.infer<typeof examinedHostSchema>;

/** The output of `evals doctor --json`. */
export const doctorReportSchema = z.object({
  servers: z.array(examinedSchema),
  hosts: z.array(examinedHostSchema).optional().describe("absent without --host"),
  healthy: z.number().int(),
  unhealthy: z.number().int(),
  ok: z.boolean(),
  exitCode: z.number().int(),
});
export type DoctorReport = z.infer<typeof doctorReportSchema>;

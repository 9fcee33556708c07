import * as z from "zod";
import { listChangeSchema } from "./finding.ts";
import { verifyGates } from "./flagValues.ts";

const count = z.number().int().min(0);
const names = z.array(z.string());

const verifyGateSchema = z.enum(verifyGates);
export type VerifyGate = z.infer<typeof verifyGateSchema>;

const changeSchema = z.object({
  id: z.string(),
  tool: z.string(),
  kind: z.string(),
  label: z.string(),
  class: z.enum(["breaking", "compatible", "description only", "unknown"]),
  before: z.string().optional(),
  after: z.string().optional(),
  to: z.string().optional().describe("the new name of a renamed tool"),
  parameter: z.string().optional().describe("the path of a parameter, such as filter.tags[].name"),
  what: z.string().optional().describe("what changed of the parameter"),
  effects: z.array(listChangeSchema).readonly().describe("on those who call the tool"),
});

/** One accepted baseline against the suite and the tools as they are now. */
const recordSchema = z.object({
  file: z.string(),
  model: z.string(),
  acceptedAt: z.string().describe("ISO 8601"),
  run: z.string().describe("id of the run that it was made from"),
  total: count.describe("cases of the suite"),
  accepted: count.describe("cases that the record covers as they are now"),
  lists: z
    .array(
      z.object({
        base: z.string().describe("hash of the accepted list"),
        head: z.string().describe("hash of the list as it is now"),
        cases: names,
        changes: z.array(changeSchema),
      }),
    )
    .describe("tool lists that changed, with the cases that are shown them"),
  cases: z
    .array(
      z.object({
        id: z.string(),
        state: z.enum(["stale", "edited", "new", "not graded"]),
        tools: names.describe("changed tools that make it stale"),
      }),
    )
    .describe("cases that the record does not cover"),
  removed: names.describe("cases that only the record has"),
});

const verifiedSuiteSchema = z.object({
  suite: z.string(),
  file: z.string(),
  records: z.array(recordSchema).describe("one per model"),
  problem: z.string().optional().describe("why its tools could not be listed: nothing else is known of it"),
});
export type VerifiedSuite = z.infer<typeof verifiedSuiteSchema>;

const coverageSchema = z.object({
  suites: names.describe("suites on one list of tools"),
  tools: count,
  uncovered: names.describe("tools that no case expects"),
  parameters: z
    .array(z.object({ tool: z.string(), names }))
    .describe("parameters of expected tools that no case names in `args`"),
});
export type VerifiedCoverage = z.infer<typeof coverageSchema>;

/** The report of `evals baseline verify`. */
export const verifyReportSchema = z.object({
  gates: z.array(verifyGateSchema).describe("what exits with code 1"),
  failed: z.array(verifyGateSchema),
  suites: z.array(verifiedSuiteSchema),
  coverage: z.array(coverageSchema),
  withoutSuite: names.describe("baselines of suites that were not found; only where all suites are verified"),
});
export type VerifyReport = z.infer<typeof verifyReportSchema>;

import * as z from "zod";
import { discoveryOutcomes } from "./trial.ts";

const count = z.number().int();

/** How expected tools were found and chosen, of the graded trials that expect one whose definition may be deferred. */
export const discoverySummarySchema = z.object({
  trials: count,
  found: count.describe("a search found it, or it was shown from the start and not chosen"),
  chosen: count.describe("of these"),
  outcomes: z.partialRecord(z.enum(discoveryOutcomes), count),
  notFound: z.array(z.object({ expected: z.string(), query: z.string(), n: count })).describe("ranked"),
  notChosen: z
    .array(z.object({ expected: z.string(), picked: z.string(), rank: count.optional(), n: count }))
    .describe("ranked; rank: best of the expected tool in a search; absent: shown from the start"),
  builtIns: z
    .array(z.object({ expected: z.string(), tool: z.string(), n: count }))
    .describe("tools of the host that were called where nothing was searched for, ranked"),
});
export type DiscoverySummary = z.infer<typeof discoverySummarySchema>;

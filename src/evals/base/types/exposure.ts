import * as z from "zod";
import { discoveryOutcomes } from "./trial.ts";

/**
 * How tools are shown to a model. `all`: every definition from the start. `names`: names only, and a search on the client
 * that loads definitions. `search`: deferred definitions that the API's own tool search finds. `host`: as the host does.
 */
export const exposureKinds = ["all", "names", "search", "host"] as const;
export type ExposureKind = (typeof exposureKinds)[number];

/** A recorded exposure. `ranker`: the search that finds the tools, with its version if known. */
export const exposureSchema = z.object({ kind: z.enum(exposureKinds), ranker: z.string().optional() });
export type Exposure = z.infer<typeof exposureSchema>;

/** The exposure of records that do not name one. */
export const allDefinitions: Exposure = { kind: "all" };

/** The description of an exposure for reports, next to the name of the model. */
export function describeExposure({ kind, ranker = "an unnamed ranker" }: Exposure): string {
  switch (kind) {
    case "all":
      return "all definitions shown";
    case "names":
      return `names shown, definitions found on the client by ${ranker}`;
    case "search":
      return `definitions deferred and found by ${ranker}`;
    case "host":
      return "tools shown as the host does";
  }
}

/** The exposure with its ranker in short, for comparisons and tables: `names (keyword 1)`. */
export function nameExposure({ kind, ranker }: Exposure): string {
  return ranker === undefined ? kind : `${kind} (${ranker})`;
}

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

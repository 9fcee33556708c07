import * as z from "zod";

/**
 * How tools are shown to a model. `all`: every definition from the start. `names`: names only, and a search on the
 * client that loads definitions. `search`: deferred definitions that the API's own tool search finds. `host`: as the
 * host does.
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
  const descriptions = {
    all: "all definitions shown",
    names: `names shown, definitions found on the client by ${ranker}`,
    search: `definitions deferred and found by ${ranker}`,
    host: "tools shown as the host does",
  };
  return descriptions[kind];
}

/** The exposure with its ranker in short, for comparisons and tables: `names (keyword 1)`. */
export function nameExposure({ kind, ranker }: Exposure): string {
  return ranker === undefined ? kind : `${kind} (${ranker})`;
}

const names = z.array(z.string());

/** What a host showed to the model in a trial, as captured. A tool or skill is in one list only. */
export const shownSchema = z.object({
  tools: z
    .object({
      full: names.describe("with description and schema, in the first request"),
      deferred: names.describe("defined in the first request, but shown by the provider only after a search"),
      named: names.describe("by name only"),
      hidden: names.describe("not at all"),
    })
    .describe("the tools of the case"),
  loaded: names.describe("tools whose definitions were added by a later request, after a search"),
  skills: z
    .object({
      full: names.describe("with the whole description"),
      cut: names.describe("with the beginning of the description"),
      named: names.describe("by name only"),
      hidden: names.describe("not at all"),
    })
    .describe("the skills of the case"),
  builtIns: names.describe("the host's own tools that were defined in the first request"),
  search: z.string().optional().describe("the tool with which the model searches for tools"),
  instructions: z
    .boolean()
    .optional()
    .describe("whether the instructions of all servers were shown; absent: there are none"),
  requests: z.number().int().describe("model requests of the trial, those of sub-agents and failed ones included"),
  firstRequestBytes: z.number().int().describe("size of the first request of the conversation"),
});
export type Shown = z.infer<typeof shownSchema>;

export const shownLevels: Readonly<Record<keyof Shown["tools"], string>> = {
  full: "in full",
  deferred: "deferred",
  named: "by name only",
  hidden: "not at all",
};

/**
 * How an expected tool was found and chosen where definitions are deferred. `found-not-chosen`: it was found or loaded
 * from the start. `built-in-used`: a tool of the host was called, nothing was searched for.
 */
export const discoveryOutcomes = [
  "chosen",
  "chosen-without-search",
  "found-not-chosen",
  "not-found",
  "not-searched",
  "built-in-used",
] as const;

/** `rank`: of the expected tool in the first search that found it, from 1. `builtIn`: the host's tool that was used. */
export const discoverySchema = z.object({
  outcome: z.enum(discoveryOutcomes),
  rank: z.number().int().min(1).optional(),
  queries: z.array(z.string()).optional(),
  builtIn: z.string().optional(),
});
export type Discovery = z.infer<typeof discoverySchema>;

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

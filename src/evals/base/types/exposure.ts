import * as z from "zod";

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

import * as z from "zod";
import { allDefinitions, exposureSchema, nameExposure } from "./exposure.ts";
import { canonicalJson, jsonObjectSchema } from "./json.ts";
import { offeredToolSchema, toolsetHashSchema } from "./tool.ts";

export const baselineFormat = "tool-evals baseline 1";

export const placeboSchema = z.strictObject({
  run: z.string().describe("the id of the run"),
  moved: z.array(z.string()).describe("ids of cases whose rate differed, in either direction"),
  cases: z.number().int().min(0),
  isMore: z.boolean().describe("whether these are more than chance explains"),
});
/** What harmless edits of the tools did to the cases of a suite on a model (`run --check placebo`). */
export type PlaceboResult = z.infer<typeof placeboSchema>;

/**
 * `evals/baselines/<suite>.<model>.json`: the tools of a suite when its author accepted them, and how
 * often the model passed each case with them. Small and sorted, so that it can be committed.
 */
export const baselineSchema = z.strictObject({
  format: z.literal(baselineFormat),
  checksum: z.string().describe("SHA-256 (hex) of the canonical JSON of all the rest: an edited baseline is none"),
  suite: z.string(),
  model: z.strictObject({
    id: z.string(),
    kind: z.enum(["language model", "retrieval baseline", "recorded answers"]),
    settings: jsonObjectSchema,
    deterministic: z.boolean(),
    repliedBy: z.string().optional().describe("the model that the replies name; `id` may be an alias of it"),
  }),
  host: z.string().describe("how tool names were shown"),
  exposure: exposureSchema.optional().describe("how tools were shown; absent: all definitions"),
  batch: z.literal(true).optional().describe("its requests were sent in batches"),
  harness: z.string().describe("version of tool-evals"),
  node: z.string().optional(),
  acceptedAt: z.string().describe("ISO 8601"),
  run: z.string().describe("id of the run that it was made from"),
  git: z.strictObject({ commit: z.string(), dirty: z.boolean() }).optional(),
  placebo: placeboSchema.optional().describe("what harmless edits move; kept when a new baseline is accepted"),
  cases: z
    .array(
      z.strictObject({
        id: z.string(),
        hash: z.string(),
        passed: z.number().int().min(0),
        trials: z.number().int().min(0).describe("graded trials"),
        toolset: toolsetHashSchema,
      }),
    )
    .describe("sorted by id"),
  toolsets: z
    .record(z.string(), z.array(offeredToolSchema))
    .describe("hash -> the list that was sent, sorted by name; only those that the cases name"),
});
export type Baseline = z.infer<typeof baselineSchema>;

/** What decides whether a baseline can be compared with a run, as the comparison takes it. */
export function toComparedRun(baseline: Baseline) {
  const { suite, model, host, harness, cases, batch } = baseline;
  const exposure = nameExposure(baseline.exposure ?? allDefinitions);
  const { id, repliedBy, settings } = model;
  const named = { model: id, ...(repliedBy !== undefined && { repliedBy }) };
  return { suite, ...named, settings: canonicalJson(settings), host, exposure, batch, harness, cases };
}

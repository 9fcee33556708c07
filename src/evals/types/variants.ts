import * as z from "zod";
import { jsonObjectSchema } from "./json.ts";

/** Other descriptions of a tool and of its parameters; `filter.name` is a parameter inside of one (or of its items). */
export const rewordingSchema = z.strictObject({
  description: z.string().optional(),
  parameters: z.record(z.string(), z.string()).optional().describe("parameter, dotted where nested -> description"),
});

/**
 * A whole tool in the place of a listed one. Its name stays, for calls go to the server; its annotations stay too, for
 * they decide which calls are executed.
 */
export const replacementSchema = z.strictObject({
  tool: z.strictObject({
    name: z.string().optional().describe("may be repeated, not changed"),
    title: z.string().optional(),
    description: z.string().optional(),
    inputSchema: jsonObjectSchema,
    outputSchema: jsonObjectSchema.optional(),
  }),
});

const toolChangeSchema = z.union([z.string(), rewordingSchema, replacementSchema]);
/** What a variant says of one tool: just its description, or more. */
export type ToolChange = z.infer<typeof toolChangeSchema>;

const variantSchema = z.record(z.string(), toolChangeSchema);
/** Another wording of a list: tool name -> what is different. All that it does not name stays as it is listed. */
export type Variant = z.infer<typeof variantSchema>;

/** A variants file, also the form of a patch that is written. */
export const variantsFileSchema = z.strictObject({
  $schema: z.string().optional(),
  variants: z.record(z.string(), variantSchema),
});
export type VariantsFile = z.infer<typeof variantsFileSchema>;

/** Arms that mean something already, so no variant can have their names. */
export const reservedVariants: ReadonlySet<string> = new Set(["incumbent", "base", "head"]);

type Counts = { passed: number; trials: number };
type Interval = readonly [number, number];

/**
 * How one wording did. `size` is what its list takes of a prompt: the mean input tokens of the first request of its
 * trials, or, where the model reports none, the bytes of its JSON. `test` is that against the incumbent, null where it
 * was not tested: `harms` are the cases shown to break, which may be none though some case does (`harmed`); `p` and the
 * interval are null where the model always answers alike.
 */
export type WordingSummary = Counts & {
  name: string;
  interval: Interval | null;
  size: { kind: "tokens" | "bytes"; mean: number };
  test: {
    gain: { change: number; interval: Interval | null } | null;
    p: number | null;
    harmed: boolean;
    harms: readonly string[];
  } | null;
};

/** What `evals variants` came to: the object that `--json` prints and the report is made from. Rates are 0 to 1. */
export type VariantsSummary = {
  run: string;
  dir: string;
  suite: string;
  model: string;
  note: string | null;
  kind: "adopt" | "keep" | "inconclusive";
  headline: string;
  reason: string;
  /** Null when it was stopped before the verdict. */
  method: "uniform" | "halving" | "deterministic" | null;
  margin: number;
  /** The wording to adopt. */
  winner: string | null;
  /** The incumbent first, then the variants in the order of their file. */
  wordings: readonly WordingSummary[];
  /** The best challenger, adopted or not, with what it changes and the cases that it flips. */
  best: {
    name: string;
    flipped: readonly { case: string; direction: "mended" | "broken"; incumbent: Counts; challenger: Counts }[];
    changes: readonly { label: string; before?: string; after?: string }[];
  } | null;
  /** Halving only: the wordings that were still in after each round. */
  rounds: readonly (readonly string[])[];
  /** Cases that no variant touches: they were not asked. */
  untouched: readonly string[];
  cases: number;
  calls: { made: number; broken: number; saved: number };
  costUsd: number | "unknown";
  exitCode: number;
};

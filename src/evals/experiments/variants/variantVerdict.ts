import * as z from "zod";
import { countsSchema, namedCaseSchema } from "../../base/types/check.ts";

const count = z.int().nonnegative();

const gainSchema = z.object({
  challenger: z.string(),
  look: count,
  trials: count,
  p: z.number(),
  level: z.number(),
  /** Over the cases with room: the mean gain and its upper bound (one-sided 95 %). */
  mean: z.number(),
  upper: z.number(),
  /** The cases with room, by their own p of a gain. */
  cases: z.array(namedCaseSchema),
  /** The largest gain of a single case that is not ruled out (one-sided 95 %). */
  largest: z.object({ case: z.string(), upper: z.number() }),
});

/** A loss on a case that is left possible, at the z of the certificate. */
const certifiedSchema = z.object({
  case: z.string(),
  incumbent: countsSchema,
  challenger: countsSchema,
  bound: z.number(),
  harm: z.number(),
});

const figures = {
  cases: count,
  room: z.array(z.string()),
  margin: z.number(),
  /** The wordings after each round of the screening, best first, with their mean pass rate over the cases with room. */
  screening: z.array(z.array(z.object({ challenger: z.string(), rate: z.number() }))),
  gain: gainSchema.nullable(),
  /** Mean rate difference over all cases, challenger - incumbent. Null before the certificate. */
  change: z.number().nullable(),
  certificates: z.array(certifiedSchema),
  calls: z.object({ room: count, screening: count, test: count, most: count }),
};

/**
 * `adopt`: the challenger gains, and on no case is a loss of the harm or more left possible. `keep`: every case passes
 * already (`no-room`), no gain of the margin is left possible (`no-gain`), or it breaks cases (`breaks`), or gains nothing
 * on the whole (`no-net-gain`). `inconclusive`: a gain of the margin is neither shown nor ruled out (`gain`), or it gains
 * and a loss on a case is not ruled out (`harm`); `settle`: trials per wording of these cases at which that would be known
 * if the rates stay as they are, null when too many. Or too many trials are missing (`missing`).
 */
export const variantVerdictSchema = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("adopt"), winner: z.string(), ...figures }),
  z.object({
    kind: z.literal("keep"),
    because: z.enum(["no-room", "no-gain", "breaks", "no-net-gain"]),
    broken: z.array(namedCaseSchema),
    ...figures,
  }),
  z.discriminatedUnion("because", [
    z.object({
      kind: z.literal("inconclusive"),
      because: z.enum(["gain", "harm"]),
      settle: z.object({ cases: z.array(z.string()), trials: count }).nullable(),
      ...figures,
    }),
    z.object({ kind: z.literal("inconclusive"), because: z.literal("missing"), ...figures }),
  ]),
]);

export type VariantVerdict = z.infer<typeof variantVerdictSchema>;
/** The fields of every verdict. */
export type VariantFigures = Pick<VariantVerdict, keyof typeof figures>;
export type Gain = NonNullable<VariantFigures["gain"]>;

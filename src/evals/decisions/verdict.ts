import * as z from "zod";

const count = z.int().nonnegative();
const counts = z.object({ passed: count, trials: count });

/** A case that a verdict names: its passes in both arms over as many trials as it was tested with, and its p. */
export const namedCaseSchema = z.object({ case: z.string(), base: counts, head: counts, p: z.number() });

/** A case with pairs that differ: how many passed in base only (`down`) and in head only (`up`), of `pairs`. */
const flipsSchema = z.object({ case: z.string(), down: count, up: count, pairs: count });

/** `change`: head - base, the mean over cases; negative is worse. The interval holds at whatever look a check stops. */
const netChangeSchema = z.object({
  change: z.number(),
  lower: z.number(),
  upper: z.number(),
  standardError: z.number(),
  z: z.number(),
  cases: count,
});

const figures = {
  /**
   * `pairs`: a sequential check. `exhausted`: a deterministic model, asked everything that can be asked.
   * `records`, `unpaired-records`: two finished records, with and without the same orders.
   */
  method: z.enum(["pairs", "exhausted", "records", "unpaired-records"]),
  look: count,
  looks: count,
  /** The suite is judged by the first `trials` pairs of every case; `cap` is the most. */
  trials: count,
  cap: count,
  margin: z.number(),
  families: count,
  cases: count,
  /** Null if a case has no answered pair. */
  net: netChangeSchema.nullable(),
  /** The test of the suite at the deciding look: pairs that differ (null without pairs), its p and its level. */
  suite: z.object({ down: count.nullable(), up: count.nullable(), p: z.number(), level: z.number() }),
  /** Cases that look worse, without proof. */
  suspects: z.array(namedCaseSchema),
  /**
   * Null when nothing was missing. `recovered`: answered when asked again. `worst`, `best`: the net change if what is
   * missing had gone against or for head.
   */
  missing: z
    .object({
      base: count,
      head: count,
      recovered: z.object({ base: count, head: count }),
      worst: z.number(),
      best: z.number(),
    })
    .nullable(),
  /** The least loss of a case, in points, that would have been caught 8 times in 10. Null: not even a dead case. */
  reach: z.int().nullable(),
  /** Paid requests by arm; `ahead`: trials beyond the deciding look; copies dropped; requests that brought no answer. */
  calls: z.object({ base: count, head: count, ahead: count, copies: count, missing: count }),
};

/** Pairs per case after which a verdict is as likely as not, and 8 times in 10. `atLeast`: even that is not enough. */
const adviceSchema = z.object({ likely: count, safe: count, atLeast: z.boolean() });

/**
 * The verdict of a check, as data; the reports turn it into sentences.
 * `regressed` by `cases`: each named case dropped (exact test); by `suite`: the suite as a whole dropped.
 * `changed`: some cases fell and some rose, the suite did not; or, for a deterministic model, some flipped.
 * `no-regression`: the mean drop is below the margin. `inconclusive`: neither, because the cap was reached or because
 * more than 5 % of an arm is missing.
 */
export const checkVerdictSchema = z.discriminatedUnion("kind", [
  z.discriminatedUnion("by", [
    z.object({ kind: z.literal("regressed"), by: z.literal("cases"), fell: z.array(namedCaseSchema), ...figures }),
    z.object({ kind: z.literal("regressed"), by: z.literal("suite"), ...figures }),
  ]),
  z.object({
    kind: z.literal("changed"),
    fell: z.array(namedCaseSchema),
    rose: z.array(namedCaseSchema),
    flips: z.array(flipsSchema),
    ...figures,
  }),
  z.object({ kind: z.literal("no-regression"), ...figures }),
  z.discriminatedUnion("because", [
    z.object({
      kind: z.literal("inconclusive"),
      because: z.literal("cap"),
      advice: adviceSchema.nullable(),
      ...figures,
    }),
    z.object({ kind: z.literal("inconclusive"), because: z.literal("missing"), ...figures }),
  ]),
]);

export type NamedCase = z.infer<typeof namedCaseSchema>;
export type NetChange = z.infer<typeof netChangeSchema>;
export type Advice = z.infer<typeof adviceSchema>;
export type CheckVerdict = z.infer<typeof checkVerdictSchema>;
export type Flips = z.infer<typeof flipsSchema>;
/** The figures of every verdict of a check. */
export type Figures = Pick<CheckVerdict, keyof typeof figures>;

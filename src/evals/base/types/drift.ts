import * as z from "zod";

const count = z.int().nonnegative();
const counts = z.object({ passed: count, trials: count });
const direction = z.enum(["up", "down"]);

/** An alarm: `blip` when later nights were as before, `lasting` when they were not, `open` while that is not known. */
const alarmSchema = z.object({
  night: z.string(),
  since: z.string(),
  direction,
  cases: z
    .array(
      z.object({ case: z.string(), since: z.string(), direction, before: counts, after: counts, score: z.number() }),
    )
    .describe("the cases that drifted, with their passes before and since; none: all cases a little"),
  change: z.number().describe("of the mean pass rate of the suite since then"),
  fate: z.enum(["open", "lasting", "blip"]),
  nightsAfter: count.describe("nights after the alarm that were taken into account"),
});
export type Alarm = z.infer<typeof alarmSchema>;

const figures = {
  nights: count,
  score: z
    .number()
    .describe(
      "M, a Bayes factor: the rates changed on some night, against they did not; 20 is reached by chance in fewer than 5 % of all histories",
    ),
  threshold: z.number(),
  margin: z.number(),
  net: z
    .object({
      change: z.number(),
      lower: z.number(),
      upper: z.number(),
      nights: count,
      joined: count.describe("earlier, quiet nights that count as part of the baseline"),
      trials: count,
    })
    .nullable()
    .describe("the mean change between the baseline and the last nights, with one-sided 95 % limits"),
  alarms: z.array(alarmSchema),
};

const suspectSchema = z.object({ case: z.string(), before: counts, after: counts, score: z.number() });
export type Suspect = z.infer<typeof suspectSchema>;

/**
 * The verdict on the nights since a baseline, on an unchanged list. `drifted`: the rates changed (an alarm that was not
 * withdrawn). `back`: an alarm was a blip, as this night shows. `no-drift`: no case looks different and the mean change
 * is below the margin. `inconclusive`: a case is suspect, or there are too few nights.
 */
export const driftVerdictSchema = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("drifted"), alarm: alarmSchema, ...figures }),
  z.object({ kind: z.literal("back"), alarm: alarmSchema, ...figures }),
  z.object({ kind: z.literal("no-drift"), ...figures }),
  z.discriminatedUnion("because", [
    z.object({
      kind: z.literal("inconclusive"),
      because: z.literal("suspects"),
      suspects: z.array(suspectSchema),
      ...figures,
    }),
    z.object({
      kind: z.literal("inconclusive"),
      because: z.literal("few-nights"),
      wanted: count
        .optional()
        .describe(
          "28 nights did not decide: trials a case of a baseline against which they would; 0: none of 200 does",
        ),
      ...figures,
    }),
  ]),
]);
export type DriftVerdict = z.infer<typeof driftVerdictSchema>;

/** `2/3`, and with follow-ups `0/3+0/7`: passes of trials. */
const passesSchema = z.string().regex(/^\d{1,9}\/\d{1,9}(\+\d{1,9}\/\d{1,9})?$/);

/** A night by its run: the passes of every case that was asked. */
export const nightSchema = z.object({ night: z.string(), cases: z.record(z.string(), passesSchema) });
export type Night = z.infer<typeof nightSchema>;

/** What the drift monitor of one suite on one model starts from in a run: everything before this night. */
export const driftPlanSchema = z.object({
  file: z.string().describe("where the nights are kept"),
  baseline: z.object({
    run: z.string(),
    acceptedAt: z.string(),
    suite: z.string().optional().describe("its name of the suite, if the suite was renamed since"),
    model: z.string().optional().describe("its id of the model, if the model has another one now"),
  }),
  nightly: z.boolean().describe("three trials a case (or -n), and follow-ups; else the trials of the run"),
  trials: count.describe("of each case in a night"),
  margin: z.number(),
  families: count.describe("monitors of the run, which share its error rate"),
  correlation: z.number().optional().describe("of the trials of a night; absent: the least that is assumed"),
  bank: z.record(z.string(), passesSchema).describe("the passes of the baseline, of cases that have not changed since"),
  renamed: z
    .record(z.string(), z.string())
    .optional()
    .describe("case -> its name among the nights, where it is not in the baseline as it is now"),
  nights: z.array(nightSchema),
});
export type DriftPlan = z.infer<typeof driftPlanSchema>;

const sentence = z.string().optional().describe("text for people, in --json");

/** How the cases of this night differ from those of the night before and of the baseline. */
const changesSchema = z.object({
  night: z.string().nullable().describe("the night before; null: this is the first one since the baseline"),
  cases: z
    .array(z.object({ case: z.string(), before: counts, after: counts }))
    .describe("those whose pass rate differs from the night before"),
  same: count.describe("cases with the pass rate of the night before"),
  mean: z
    .object({ before: z.number(), after: z.number() })
    .nullable()
    .describe("mean pass rate of the cases of the baseline, when it was accepted and tonight"),
});
export type NightChanges = z.infer<typeof changesSchema>;

/** The result of the drift monitor after a run, and what it adds to the nights. */
export const driftSummarySchema = z.object({
  headline: sentence,
  reason: sentence,
  next: sentence,
  nightly: z.boolean(),
  baseline: z.object({ run: z.string(), acceptedAt: z.string() }),
  uncounted: z
    .enum(["missing", "stopped"])
    .nullable()
    .describe("why this night does not count: too many trials are missing, or the run was stopped"),
  tonight: nightSchema.nullable(),
  changes: changesSchema.optional().describe("absent where the night does not count"),
  verdict: driftVerdictSchema,
});
export type DriftSummary = z.infer<typeof driftSummarySchema>;

import * as z from "zod";
import { jsonObjectSchema } from "./json.ts";
import { turnSchema } from "./trial.ts";

/** The opinion of a person or a judge on a criterion. */
export const opinions = ["met", "not met", "cannot tell"] as const;
export type Opinion = (typeof opinions)[number];

const spellings: ReadonlyMap<unknown, Opinion> = new Map<unknown, Opinion>([
  ...opinions.map((opinion): [unknown, Opinion] => [opinion, opinion]),
  ...[true, "true", "pass"].map((spelling): [unknown, Opinion] => [spelling, "met"]),
  ...[false, "false", "fail"].map((spelling): [unknown, Opinion] => [spelling, "not met"]),
]);

const opinionSchema = z.unknown().transform((written, context): Opinion => {
  const opinion = spellings.get(typeof written === "string" ? written.trim().toLowerCase() : written);
  if (opinion) return opinion;
  const actual = written === undefined ? "nothing" : JSON.stringify(written);
  context.addIssue(`expected "met", "not met" or "cannot tell" (or true, false, "pass", "fail"), got ${actual}`);
  return z.NEVER;
});

const { calls, stop, usage, ms } = turnSchema.shape;
const noTokens = { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 };

/** A turn as the journal has it, or as a person writes one: `{ "text" }`, `{ "calls": [{ "tool", "arguments" }] }`. */
const labelTurnSchema = turnSchema.extend({
  text: z.string().default(""),
  calls: z.array(calls.element.extend({ id: z.string().default("") })).default([]),
  stop: stop.default("done"),
  usage: usage.default(noTokens),
  ms: ms.default(0),
});

/** One line of a file of labels: what happened, a criterion, and a person's opinion of it. Other keys are ignored. */
export const labelLineSchema = z
  .object({
    id: z.union([z.string(), z.number()]).optional(),
    input: z.string().optional(),
    transcript: z.string().min(1).optional(),
    turns: z.array(labelTurnSchema).min(1).optional(),
    criterion: z.string().trim().min(1),
    label: opinionSchema,
  })
  .refine((line) => (line.transcript === undefined) !== (line.turns === undefined), {
    error: "expected either `transcript` or `turns`",
  });

export const judgeFormat = "tool-evals judge 1";

const count = z.number().int().min(0);
const countsSchema = z.strictObject({ met: count, "not met": count, "cannot tell": count });
/** How often a person had one opinion and the judge another: `counts[person][judge]`. */
export type OpinionCounts = Record<Opinion, Record<Opinion, number>>;

/** The agreement of a judge with people. Small, so that it can be committed. Its rates are computed from the counts. */
export const judgeFigureSchema = z.strictObject({
  format: z.literal(judgeFormat),
  judge: z.string(),
  settings: jsonObjectSchema,
  prompt: z.string().describe("hash of the prompt that was measured"),
  labels: z.strictObject({ file: z.string(), sha256: z.string() }),
  measuredAt: z.string(),
  counts: z.strictObject({ met: countsSchema, "not met": countsSchema, "cannot tell": countsSchema }),
});
export type JudgeFigure = z.infer<typeof judgeFigureSchema>;

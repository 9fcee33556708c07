import { createHash } from "node:crypto";
import * as z from "zod";
import { isNestedDeeper } from "../../base/types/json.ts";
import type { RunManifest } from "../../base/types/run.ts";
import { type Cell, cellKey, type Trial, trialSchema } from "../../base/types/trial.ts";

// Everything that is on a queue. It contains no key, no command and no path that a worker would execute: whoever can
// write to the server can make workers ask cases of their own checkout, and forge answers, but not run programs.

/** Maximum length of a trial in characters of JSON. Replies and results are truncated far below it. */
const maxTrialLength = 64 * 1024 * 1024;
const maxCellLength = 8_192;

const runSchema = z.string().regex(/^[\w.-]{1,100}$/);
const hashSchema = z.string().regex(/^[0-9a-f]{64}$/);

/** One cell to ask. `plan`: hash of the plan that it belongs to. `toolset`: hash of the tool list to show. */
export const jobSchema = z.strictObject({
  run: runSchema,
  plan: hashSchema,
  cell: trialSchema.shape.cell.refine((cell) => JSON.stringify(cell).length <= maxCellLength, "a name is too long"),
  toolset: z.string().max(200),
  orderSeed: z.number().int(),
});
export type TrialJob = z.infer<typeof jobSchema>;

/** What a worker returns: the trial of a job as JSON, without known secrets, or why it refuses the plan. */
export const resultSchema = z.discriminatedUnion("kind", [
  z.strictObject({
    kind: z.literal("trial"),
    worker: z.string().max(300),
    job: z.string().max(200),
    trial: z.string().max(maxTrialLength),
  }),
  z.strictObject({ kind: z.literal("refused"), worker: z.string().max(300), reason: z.string().max(8_192) }),
]);
export type Result = z.infer<typeof resultSchema>;

/** The name of a run on the server. Its id alone is not unique: two machines can start a run in the same millisecond. */
export const nameRun = ({ id, nonce }: Pick<RunManifest, "id" | "nonce">): string =>
  nonce === undefined ? id : `${id}-${nonce}`;

/** The id of the job of a cell, so that a cell is on a queue only once. */
export const nameJob = (run: string, cell: Cell): string =>
  `${run}-${createHash("sha256").update(cellKey(cell)).digest("hex").slice(0, 32)}`;

/** The queue of a provider: the word before the colon of a model's id. */
export const nameProvider = (model: string): string =>
  (/^lexical-\d+$/.test(model) ? "lexical" : model.split(":")[0]) ?? "";

export const nameQueue = (provider: string): string => `trials-${provider}`;

/** The prefix of all keys. */
export const keyPrefix = "evals";
/** The stream of the answers to a run. It exists until the run is over. */
export const nameAnswers = (run: string): string => `${keyPrefix}:answers:${run}`;
/**
 * A key that exists while a process waits for the answers to a run, with the hash of its plan. Workers drop trials of
 * other runs and other plans: a run that is resumed at another commit has another one.
 */
export const nameLease = (run: string): string => `${keyPrefix}:lease:${run}`;
export const namePlan = (hash: string): string => `${keyPrefix}:plan:${hash}`;

/** A job fails after this many of its workers died. */
export const maxStalls = 5;

/** Parses the trial in a result. Throws if it is not the answer to the job. */
export function parseTrial(text: string, { cell, toolset, orderSeed }: TrialJob): Trial {
  const data: unknown = JSON.parse(text);
  if (isNestedDeeper(data)) throw new Error("it is nested too deep");
  const trial = trialSchema.parse(data);
  if (cellKey(trial.cell) !== cellKey(cell) || trial.toolset !== toolset || trial.orderSeed !== orderSeed)
    throw new Error("it answers another cell");
  return trial;
}

import { createHash } from "node:crypto";
import * as z from "zod";
import { formatIssues } from "../../base/types/errors.ts";
import { canonicalJson, isNestedDeeper, type Json, jsonObjectSchema } from "../../base/types/json.ts";
import type { RunManifest } from "../../base/types/run.ts";
import { cellKey, type Trial, trialSchema } from "../../base/types/trial.ts";
import { listChanges } from "../pipeline/record.ts";
import { recordedOptionsSchema } from "../pipeline/recordedOptions.ts";
import { version } from "../workspace/version.ts";

// Everything that is on a queue. It contains no key, no command and no path that a worker would execute: whoever can
// write to the server can make workers ask cases of their own checkout, and forge answers, but not run programs.

/** Maximum length of a trial in characters of JSON. Replies and results are truncated far below it. */
const maxTrialLength = 64 * 1024 * 1024;
const maxCellLength = 8_192;

const hashSchema = z.string().regex(/^[0-9a-f]{64}$/);

/** One cell to ask. `plan`: hash of the plan that it belongs to. `toolset`: hash of the tool list to show. */
export const jobSchema = z.strictObject({
  run: z.string().regex(/^[\w.-]{1,100}$/),
  plan: hashSchema,
  cell: trialSchema.shape.cell.refine((cell) => JSON.stringify(cell).length <= maxCellLength, "a name is too long"),
  toolset: z.string().max(200),
  orderSeed: z.number().int(),
});
export type TrialJob = z.infer<typeof jobSchema>;

/** The name of a run on the server. Its id alone is not unique: two machines can start a run in the same millisecond. */
export const nameRun = ({ id, nonce }: Pick<RunManifest, "id" | "nonce">): string =>
  nonce === undefined ? id : `${id}-${nonce}`;

/** The id of the job of a cell, given by its key, so that a cell is on a queue only once. */
export const nameJob = (run: string, key: string): string => `${run}-${hashText(key).slice(0, 32)}`;

/** The provider of a model, which has a queue of its own: the word before the colon of the model's id. */
export const nameProvider = (model: string): string =>
  (/^lexical-\d+$/.test(model) ? "lexical" : model.split(":")[0]) ?? "";

export const nameQueue = (provider: string): string => `trials-${provider}`;

/** The prefix of all keys. */
export const keyPrefix = "evals";
/**
 * The hash of the answers to a run, which exists until the run is over: trials as JSON, without secrets that the worker
 * knows, by the ids of their jobs. Beside them `planField`, and by worker why it refuses the plan.
 */
export const nameAnswers = (run: string): string => `${keyPrefix}:answers:${run}`;
export const planField = "plan";
export const refusalField = "refused by ";
/**
 * A key that exists while a process waits for the answers to a run, with the hash of its plan. Workers drop trials of
 * other runs and other plans: a run that is resumed at another commit has another one.
 */
export const nameLease = (run: string): string => `${keyPrefix}:lease:${run}`;
export const namePlan = (hash: string): string => `${keyPrefix}:plan:${hash}`;

/** Parses an answer. Throws if it is not the answer to the job. */
export function parseTrial(text: string, { cell, toolset, orderSeed }: TrialJob): Trial {
  if (text.length > maxTrialLength) throw new Error("it is too large");
  const data: unknown = JSON.parse(text);
  if (isNestedDeeper(data)) throw new Error("it is nested too deep");
  const trial = trialSchema.parse(data);
  if (cellKey(trial.cell) !== cellKey(cell) || trial.toolset !== toolset || trial.orderSeed !== orderSeed)
    throw new Error("it answers another cell");
  return trial;
}

/** The recorded options of a run but for those that each machine has for itself: programs, URLs and own skills. */
const flagsSchema = recordedOptionsSchema.omit({ baseUrl: true, claudePath: true, userSkills: true, cache: true });

const settingsSchema = z.object({ settings: jsonObjectSchema });
const planSchema = z.strictObject({
  format: z.literal("tool-evals plan 1"),
  harness: z.string(),
  commit: z.string().optional(),
  flags: flagsSchema.strict(),
  suites: z.array(
    z.object({
      name: z.string(),
      hash: z.string(),
      file: z.string(),
      cases: z.array(z.object({ toolset: z.string() })),
    }),
  ),
  models: z.array(settingsSchema.extend({ id: z.string() })),
  judge: settingsSchema.extend({ model: z.string() }).optional(),
});

/**
 * What a run asks, from its manifest. A worker opens the same suites in its own checkout, and runs trials only if the
 * run could be resumed there.
 */
export type Plan = z.infer<typeof planSchema>;

/** Describes the plan of a run. `commit`: that of this checkout, since a run can be resumed at another one. */
export function describePlan(manifest: RunManifest, commit: string | undefined): Plan {
  const flags = flagsSchema.parse(manifest.flags);
  return planSchema.strip().parse({ ...manifest, format: "tool-evals plan 1", harness: version, commit, flags });
}

/** Serializes a plan for storage. Returns the text and its hash. */
export function sealPlan(plan: Plan): { text: string; hash: string } {
  const text = canonicalJson(plan as Json);
  return { text, hash: hashText(text) };
}

/** Parses a stored plan. Returns undefined if the hash does not match. Throws if the plan is invalid. */
export function openPlan(sealed: string, hash: string): Plan | undefined {
  if (hashText(sealed) !== hash) return undefined;
  const parsed = planSchema.safeParse(JSON.parse(sealed));
  if (!parsed.success) throw new Error(formatIssues(parsed.error));
  return parsed.data;
}

/** Lists the differences between the plan and this checkout, as clauses. Ignores models that are not opened here. */
export function listPlanDifferences(plan: Plan, here: Plan): string[] {
  const models = plan.models.filter(({ id }) => here.models.some((model) => model.id === id));
  const shorten = (commit: string) => commit.slice(0, 10);
  return [
    // A different commit comes first, because it explains the other differences.
    ...(plan.commit !== undefined && here.commit !== undefined && plan.commit !== here.commit
      ? [`the commit is ${shorten(here.commit)} here and ${shorten(plan.commit)} there`]
      : []),
    ...(plan.harness === here.harness ? [] : [`tool-evals is ${here.harness} here and ${plan.harness} there`]),
    ...listChanges({ ...plan, models }, here),
  ];
}

function hashText(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

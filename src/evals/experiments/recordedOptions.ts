import { resolve } from "node:path";
import * as z from "zod";
import { findRecord, type RecordOf } from "../runs/record.ts";
import { type HostName, hosts } from "../toolsets/host.ts";
import { usageError } from "../types/errors.ts";
import { type JsonObject, jsonObjectSchema } from "../types/json.ts";
import type { RunManifest } from "../types/run.ts";
import { executionPolicySchema } from "../types/suite.ts";

/**
 * The options that decide what is asked, of all commands. They are kept on the record, and resuming takes them from there.
 * Options that decide how fast, for how much or in what form (concurrency, budget, out, json, ...) are not among them.
 */
const recordedOptionsSchema = z
  .object({
    paths: z.array(z.string()),
    path: z.string(),
    file: z.string(),
    run: z.string(),
    baseline: z.string(),
    suite: z.string(),
    model: z.union([z.string(), z.array(z.string())]),
    trials: z.number(),
    case: z.array(z.string()),
    passRate: z.number(),
    maxTurns: z.number(),
    execute: executionPolicySchema,
    skill: z.array(z.string()),
    hostDir: z.array(z.string()),
    userSkills: z.boolean(),
    host: z.enum(Object.keys(hosts) as [HostName, ...HostName[]]),
    judge: z.string(),
    check: z.enum(["screen", "thorough", "anytime", "off"]),
    margin: z.number(),
    baselines: z.string(),
    distractors: z.array(z.string()),
    sizes: z.string(),
    baseUrl: z.string(),
    maxTokens: z.number(),
    timeout: z.number(),
    retries: z.number(),
    effort: z.string(),
    prices: z.string(),
    claudePath: z.string(),
  })
  .partial();
export type RecordedOptions = z.infer<typeof recordedOptionsSchema>;

/** The options to put on the record: of those given, the ones that decide what is asked. */
export function pickRecorded(options: object): JsonObject {
  return jsonObjectSchema.parse(JSON.parse(JSON.stringify(recordedOptionsSchema.parse(options))));
}

/** The recorded options of a run. Throws a usage error when they cannot be read. */
export function readRecorded({ id, flags }: RunManifest): RecordedOptions {
  const parsed = recordedOptionsSchema.safeParse(flags);
  if (parsed.success) return parsed.data;
  throw usageError(`The flags of the record ${id} cannot be read:\n${z.prettifyError(parsed.error)}`);
}

/** An interrupted record that --resume finishes. */
export type Resumed = { dir: string; manifest: RunManifest };

/** A command with its options, and with `--resume` the record to be finished. */
export type Recalled<C extends RecordOf, O> = { command: C; options: O; resumed?: Resumed };

/**
 * With `--resume`, finds the record to be finished and replaces the given options by the recorded ones. Throws a usage
 * error when there is no such record of this command.
 */
export async function recallOptions<C extends RecordOf, O extends { out: string; resume?: string | undefined }>(
  command: C,
  given: O,
  cwd: string,
): Promise<Recalled<C, O>> {
  if (given.resume === undefined) return { command, options: given };
  const resumed = await findRecord(command, given.resume, resolve(cwd, given.out));
  const cleared = Object.fromEntries(Object.keys(recordedOptionsSchema.shape).map((name) => [name, undefined]));
  return { command, options: { ...given, ...cleared, ...readRecorded(resumed.manifest) }, resumed };
}

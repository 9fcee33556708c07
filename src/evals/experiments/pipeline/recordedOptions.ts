import { join, resolve } from "node:path";
import * as z from "zod";
import { gateSchema } from "../../base/types/check.ts";
import { withoutSecrets } from "../../base/types/endpoint.ts";
import { formatIssues, usageError } from "../../base/types/errors.ts";
import type { Io } from "../../base/types/io.ts";
import { type JsonObject, jsonObjectSchema } from "../../base/types/json.ts";
import type { RunManifest } from "../../base/types/run.ts";
import { executionPolicySchema } from "../../base/types/suiteFile.ts";
import { findRecord, type RecordCommand } from "../../records/find.ts";
import { type HostName, hosts } from "../../servers/host.ts";
import { claimOptions, requireTrust } from "../workspace/trust.ts";

const ofOneKind = <K extends string, S extends z.ZodType>(schema: S, ...names: readonly K[]) =>
  Object.fromEntries(names.map((name) => [name, schema])) as Record<K, S>;

/** The options that --resume reads from the record: those that affect what is asked, not speed, cost or output. */
export const recordedOptionsSchema = z
  .object({
    given: z
      .array(z.string())
      .describe("which of these were given explicitly: they win over settings of single suites"),
    ...ofOneKind(z.string(), "path", "file", "proposals", "writer", "run", "suite", "denial", "exposure"),
    ...ofOneKind(z.string(), "judge", "baselines", "shard", "distractors", "baseUrl", "effort", "prices"),
    ...ofOneKind(z.array(z.string()), "paths", "case", "filter", "skill", "hostDir", "harmCases"),
    selected: z.array(z.string()).describe("the cases that --failed found"),
    ...ofOneKind(z.number(), "rounds", "wordings", "trials", "passRate", "maxTurns", "margin", "correlation"),
    ...ofOneKind(z.number(), "harmUnsteady", "maxTokens", "timeout", "retries"),
    ...ofOneKind(z.boolean(), "userSkills", "surfaces", "nightly", "batch", "free", "cache"),
    model: z.union([z.string(), z.array(z.string())]),
    execute: executionPolicySchema,
    host: z.enum(Object.keys(hosts) as [HostName, ...HostName[]]),
    ranker: z.enum(["keyword", "bm25", "regex"]),
    check: z.enum(["on", "always", "placebo", "off"]),
    failOn: z.array(gateSchema),
  })
  .partial();
export type RecordedOptions = z.infer<typeof recordedOptionsSchema>;
const recordable: ReadonlySet<string> = new Set(Object.keys(recordedOptionsSchema.shape));

/** Picks the options to record: those that affect what is asked. */
export function pickRecorded({ given, ...options }: { given?: ReadonlySet<string> | undefined }): JsonObject {
  const own = given && [...given].filter((name) => recordable.has(name)).sort();
  const recorded = recordedOptionsSchema.parse({ ...options, given: own });
  const { baseUrl } = recorded;
  const shown = baseUrl === undefined ? recorded : { ...recorded, baseUrl: stripUrl(baseUrl) };
  return jsonObjectSchema.parse(JSON.parse(JSON.stringify(shown)));
}

/** Removes credentials from a base URL. A URL without credentials is recorded as given. */
function stripUrl(url: string): string {
  const { username, password, search } = URL.canParse(url) ? new URL(url) : { username: "", password: "", search: "" };
  return `${username}${password}${search}` === "" ? url : withoutSecrets(url);
}

/** Reads the recorded options of a run. Throws a usage error if they are invalid. */
export function readRecorded({ id, flags }: RunManifest): RecordedOptions {
  const parsed = recordedOptionsSchema.safeParse(flags);
  if (parsed.success) return parsed.data;
  throw usageError(`The flags of the record ${id} cannot be read: ${formatIssues(parsed.error)}.`);
}

/** An interrupted record that --resume finishes. */
export type Resumed = { dir: string; manifest: RunManifest };

/** A command with its options, and with `--resume` the record to finish. */
export type Recalled<C extends RecordCommand, O> = { command: C; options: O; resumed?: Resumed };

/**
 * With `--resume`, finds the record to finish and replaces the given options by the recorded ones. Throws a usage error
 * if there is no such record of this command, an explicit option contradicts it, it is an interrupted merge, or it
 * names code or an address that is neither given again nor trusted.
 */
export async function recallOptions<
  C extends RecordCommand,
  O extends {
    out: string;
    resume?: string | undefined;
    baseUrl?: string | undefined;
    given?: ReadonlySet<string> | undefined;
  },
>(command: C, options: O, io: Io): Promise<Recalled<C, O>> {
  if (options.resume === undefined) return { command, options };
  const resumed = await findRecord(command, options.resume, resolve(io.cwd, options.out));
  const { id, mergedFrom, finishedAt } = resumed.manifest;
  if (mergedFrom && finishedAt === undefined)
    throw usageError(
      `The record ${id} is of a merge that was interrupted: it lacks trials that its shards have.`,
      "Give the shards to `evals merge` again.",
    );
  const { given: before, ...recorded } = readRecorded(resumed.manifest);
  const { baseUrl } = options;
  // Credentials of the base URL are not recorded, so they must be given again.
  if (baseUrl !== undefined && stripUrl(baseUrl) === recorded.baseUrl) recorded.baseUrl = baseUrl;
  refuseContradictions(options, recorded, resumed.manifest);
  const isRepeated = (name: string) => options.given?.has(name) === true;
  const unrepeated = Object.fromEntries(Object.entries(recorded).filter(([name]) => !isRepeated(name)));
  await requireTrust(await claimOptions(unrepeated, join(resumed.dir, "run.json"), io), io);
  const cleared = Object.fromEntries([...recordable].map((name) => [name, undefined]));
  const others = [...(options.given ?? [])].filter((name) => !recordable.has(name));
  const given = new Set([...others, ...(before ?? [])]);
  return { command, options: { ...options, ...cleared, ...recorded, given }, resumed };
}

/** Throws a usage error for explicit options that contradict the record, because they would be ignored. */
function refuseContradictions(
  { given = new Set(), ...now }: { given?: ReadonlySet<string> | undefined; [name: string]: unknown },
  recorded: RecordedOptions,
  { id, seed }: RunManifest,
): void {
  const before: Record<string, unknown> = { ...recorded, seed };
  const isRecorded = (name: string) => name === "seed" || recordable.has(name);
  const wrong = [...given].filter(
    (name) => isRecorded(name) && JSON.stringify(before[name]) !== JSON.stringify(now[name]),
  );
  if (wrong.length === 0) return;
  const names = wrong.map((name) => (positionals.has(name) ? [now[name]].flat().join(" ") : toFlag(name))).join(", ");
  const values = wrong.map((name) => {
    const value = [before[name] ?? []].flat().join(" ");
    return `${positionals.has(name) ? name : toFlag(name)} ${value === "" ? "was not given" : `was ${value}`}`;
  });
  throw usageError(
    `The record ${id} was started with other options: ${values.join(", ")}.`,
    `Leave out ${names}, or start a new run without --resume.`,
  );
}

const positionals = new Set(["paths", "path", "file", "run"]);

/** Converts an option such as `passRate` to its flag, `--pass-rate`. */
export const toFlag = (name: string) => `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;

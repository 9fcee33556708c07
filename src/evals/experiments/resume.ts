import { resolve } from "node:path";
import type { Io } from "../io.ts";
import { findRecord } from "../runs/record.ts";
import { type JsonObject, jsonObjectSchema } from "../types/json.ts";
import type { RunManifest } from "../types/run.ts";
import type { RunOptions } from "./run.ts";

/** A recorded run to be finished, with the flags it was started with. */
export type Resumed = { dir: string; manifest: RunManifest; flags: RunOptions };

/** The flags that decide what is asked. The others (how fast, how much, in what form) are each command's own. */
const deciding = [
  "paths",
  "model",
  "trials",
  "case",
  "passRate",
  "maxTurns",
  "execute",
  "skill",
  "hostDir",
  "userSkills",
  "host",
  "judge",
  "check",
  "margin",
  "baselines",
  "baseUrl",
  "maxTokens",
  "timeout",
  "retries",
  "effort",
  "prices",
  "claudePath",
] as const satisfies readonly (keyof RunOptions)[];

/** The flags to record: those that were given, of those that decide. */
export function recordedFlags(flags: RunOptions): JsonObject {
  const given = deciding.flatMap((name) => (flags[name] === undefined ? [] : [[name, flags[name]]]));
  return jsonObjectSchema.parse(Object.fromEntries(given));
}

/** Finds the run to resume and puts its recorded flags in the place of those on the command line. */
export async function resumedFlags(run: string, flags: RunOptions, io: Io): Promise<Resumed> {
  const { dir, manifest } = await findRecord("run", run, resolve(io.cwd, flags.out));
  const cleared = Object.fromEntries(deciding.map((name) => [name, undefined]));
  return { dir, manifest, flags: { ...flags, ...cleared, ...manifest.flags } as RunOptions };
}

import { dirname } from "node:path";
import * as z from "zod";
import { describeFileError, makeFolder, readRegularFile, replaceFile } from "../base/files/files.ts";
import { type Night, nightSchema } from "../base/types/drift.ts";
import { EvalsError, exitCodes, formatIssues, type Location, messageOf, usageError } from "../base/types/errors.ts";
import { parseBoundedJson } from "../base/types/json.ts";
import { withFileLock } from "./lock.ts";

const format = "tool-evals nights 1";
const headSchema = z.object({ format: z.literal(format), suite: z.string(), model: z.string(), baseline: z.string() });

/**
 * Identifies the nights of a file, by the names in the baseline. `alias`: another id of the model. `baseline`: the run
 * that the baseline was accepted from.
 */
export type NightsKey = { suite: string; model: string; alias?: string; baseline: string };

/** The file of the nights since a baseline. It is next to the baseline, so that it can be committed or cached. */
export function nightsFile(baseline: string): string {
  return `${baseline.replace(/\.json$/, "")}.nights.jsonl`;
}

/**
 * Reads the nights since this baseline; none if there is no file, or it belongs to an earlier baseline. Throws a usage
 * error with the line that cannot be read.
 */
export async function readNights(file: string, of: NightsKey): Promise<Night[]> {
  const text = await readRegularFile(file).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return undefined;
    throw usageError(`The nights cannot be read: ${error.message}.`, undefined, { file });
  });
  const lines = text?.split(/\r?\n/).filter((line) => line !== "") ?? [];
  if (lines.length === 0) return [];
  const head = parseLine(headSchema, lines[0] ?? "", { file, line: 1 });
  if (head.suite !== of.suite || (head.model !== of.model && head.model !== of.alias))
    throw usageError(
      `The nights are of "${head.suite}" on ${head.model}, not of "${of.suite}" on ${of.model}.`,
      "Move the file away, because it was copied or renamed.",
      { file, line: 1 },
    );
  if (head.baseline !== of.baseline) return [];
  return lines.slice(1).map((line, at) => parseLine(nightSchema, line, { file, line: at + 2 }));
}

function parseLine<S extends z.ZodType>(schema: S, line: string, location: Location): z.infer<S> {
  try {
    return schema.parse(parseBoundedJson(line));
  } catch (error) {
    const reason = error instanceof z.ZodError ? formatIssues(error) : messageOf(error);
    throw usageError(
      `This line of the nights cannot be read: ${reason}`,
      "Restore the file, or delete it to start the drift monitor anew.",
      location,
    );
  }
}

/**
 * Adds a night to the file, or replaces it if the same run was added before. A new baseline starts a new list. Jobs
 * that end at the same time wait for each other.
 */
export async function writeNight(file: string, of: NightsKey, night: Night): Promise<void> {
  try {
    await makeFolder(dirname(file));
    await withFileLock(file, async () => {
      const before = (await readNights(file, of)).filter((one) => one.night !== night.night);
      const { suite, model, baseline } = of;
      const lines = [{ format, suite, model, baseline }, ...before, night].map((line) => `${JSON.stringify(line)}\n`);
      await replaceFile(file, lines.join(""));
    });
  } catch (error) {
    if (error instanceof EvalsError) throw error;
    const message = `The night cannot be written: ${describeFileError(error).message}.`;
    const hint = "Free space, or choose another folder with --baselines.";
    throw new EvalsError({ severity: "error", message, hint, location: { file } }, exitCodes.incomplete);
  }
}

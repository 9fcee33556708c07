import { createHash } from "node:crypto";
import { readdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import * as z from "zod";
import { describeFileError, makeFolder, readIfPresent, replaceFile } from "../base/files/files.ts";
import { noTrials } from "../base/stats/counts.ts";
import { byCodeUnit } from "../base/text/text.ts";
import { type Baseline, baselineFormat, baselineSchema, type PlaceboResult } from "../base/types/check.ts";
import { type Night, nightSchema } from "../base/types/drift.ts";
import { EvalsError, formatIssues, type Location, messageOf, usageError } from "../base/types/errors.ts";
import { allDefinitions } from "../base/types/exposure.ts";
import {
  canonicalJson,
  isJsonObject,
  isNestedDeeper,
  type Json,
  jsonSchema,
  maxRecordDepth,
  parseBoundedJson,
} from "../base/types/json.ts";
import type { RunManifest } from "../base/types/run.ts";
import { incompleteError } from "./disk.ts";
import { withFileLock } from "./lock.ts";

const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");

const acceptAgain = "Accept it again: `evals run -n 20 --check off`, then `evals baseline accept`.";

/**
 * Creates the baseline of one suite and model, which the run must contain. `counts`: passed and graded trials by case
 * id, 0 without an entry. `repliedBy`: the models that the replies name.
 */
export function createBaseline(
  manifest: RunManifest,
  suiteName: string,
  modelId: string,
  counts: ReadonlyMap<string, { passed: number; trials: number }>,
  acceptedAt: Date,
  repliedBy: readonly string[] = [],
): Baseline {
  const suite = manifest.suites.find(({ name }) => name === suiteName);
  const model = manifest.models.find(({ id }) => id === modelId);
  if (!suite || !model) throw new Error(`the run ${manifest.id} does not contain ${suiteName} on ${modelId}`);
  const cases = suite.cases.map(({ id, hash, toolset }) => {
    const { passed, trials } = counts.get(id) ?? noTrials;
    return { id, hash, passed, trials, toolset };
  });
  const hashes = [...new Set(cases.map(({ toolset }) => toolset))].sort();
  const sorted = (hash: string) => (manifest.toolsets[hash] ?? []).toSorted((a, b) => byCodeUnit(a.name, b.name));
  const content = {
    suite: suiteName,
    model: {
      id: model.id,
      kind: model.kind,
      settings: model.settings,
      deterministic: model.deterministic,
      ...(repliedBy.length === 1 && { repliedBy: repliedBy[0] }),
    },
    host: manifest.host,
    exposure: model.exposures?.[0] ?? allDefinitions,
    harness: manifest.harness,
    node: manifest.node,
    acceptedAt: acceptedAt.toISOString(),
    run: manifest.id,
    ...(manifest.git && { git: manifest.git }),
    cases: cases.toSorted((a, b) => byCodeUnit(a.id, b.id)),
    toolsets: Object.fromEntries(hashes.map((hash) => [hash, sorted(hash)])),
  };
  const checksum = computeChecksum(jsonSchema.parse({ format: baselineFormat, ...content }));
  return { format: baselineFormat, checksum, ...content };
}

/** The baseline with what harmless edits were found to move. */
export function withPlacebo({ checksum: _, ...content }: Baseline, placebo: PlaceboResult): Baseline {
  const whole = { ...content, placebo };
  return { ...whole, checksum: computeChecksum(jsonSchema.parse(whole)) };
}

/** Hashes everything except the checksum, as canonical text, so that white space and line endings do not matter. */
function computeChecksum(data: Json): string {
  const rest = isJsonObject(data) ? Object.entries(data).filter(([key]) => key !== "checksum") : [];
  return sha256(canonicalJson(Object.fromEntries(rest)));
}

/** The file of the baseline of a suite and model, `<dir>/<suite>.<model>.json`; unique for each pair. */
export function baselineFile(dir: string, suite: string, model: string): string {
  return join(dir, `${toSuitePart(suite)}.${toFileName(model, /[^a-z0-9._-]+/g)}.json`);
}

const maxLength = 80;
/** Windows device names, with any extension. */
const reserved = /^(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)/;

/** The name itself if every file system accepts it, including case-insensitive ones; otherwise a slug with a hash. */
function toFileName(name: string, replaced: RegExp): string {
  const slug = name
    .toLowerCase()
    .replace(replaced, "-")
    .replace(/\.{2,}/g, "-")
    .replace(/^[-.]+|(?<![-.])[-.]+$/g, "");
  const safe = slug.slice(0, maxLength);
  return safe === name && safe !== "" && !reserved.test(safe)
    ? name
    : [safe, sha256(name).slice(0, 8)].filter((part) => part !== "").join("-");
}

/** Contains no dot, so the first dot of a name always ends it. */
const toSuitePart = (suite: string) => toFileName(suite, /[^a-z0-9_-]+/g);

/** The readable baselines of a suite on any model; of all suites if none is named. */
export async function readSuiteBaselines(dir: string, suite?: string): Promise<NamedBaseline[]> {
  const names = await readdir(dir).catch((): string[] => []);
  const prefix = suite === undefined ? "" : `${toSuitePart(suite)}.`;
  const own = names.filter((name) => name.startsWith(prefix));
  const { found } = await readFiles(dir, own);
  return found.filter(({ baseline }) => suite === undefined || baseline.suite === suite);
}

export type NamedBaseline = { file: string; baseline: Baseline };

async function readFiles(dir: string, names: readonly string[]) {
  const files = names
    .filter((name) => name.endsWith(".json"))
    .sort()
    .map((name) => join(dir, name));
  const read = await Promise.allSettled(files.map(readBaseline));
  return {
    found: read.flatMap((one, at) =>
      one.status === "fulfilled" && one.value ? [{ file: files[at] ?? "", baseline: one.value }] : [],
    ),
    errors: read.flatMap((one) => (one.status === "rejected" ? [one.reason] : [])),
  };
}

/** Writes a baseline atomically. */
export async function writeBaseline(file: string, baseline: Baseline): Promise<void> {
  await writeInFolder("The baseline", file, () => replaceFile(file, `${JSON.stringify(baseline, null, 2)}\n`));
}

async function writeInFolder(what: string, file: string, write: () => Promise<void>): Promise<void> {
  try {
    await makeFolder(dirname(file));
    await write();
  } catch (error) {
    if (error instanceof EvalsError) throw error;
    const message = `${what} cannot be written: ${describeFileError(error).message}.`;
    throw incompleteError(message, "Free space, or choose another folder with --baselines.", { file });
  }
}

/** Reads a baseline; undefined if there is no file. Throws EvalsError for one that is invalid or edited by hand. */
export async function readBaseline(file: string): Promise<Baseline | undefined> {
  const text = await readIfPresent("The baseline", file);
  return text === undefined ? undefined : parseBaseline(text.replace(/^\uFEFF/, ""), file);
}

function parseBaseline(text: string, file: string): Baseline {
  const refuse = (message: string, hint = acceptAgain) => usageError(message, hint, { file });
  let data: Json;
  try {
    data = JSON.parse(text) as Json;
  } catch (error) {
    throw explainSyntax(text, messageOf(error), file);
  }
  if (isNestedDeeper(data, maxRecordDepth)) throw refuse("The baseline was edited by hand: it is nested too deep.");
  if (!isJsonObject(data) || typeof data.format !== "string" || !data.format.startsWith("tool-evals baseline "))
    throw refuse("This is not a baseline of tool-evals.", "Write baselines with `evals baseline accept`.");
  if (data.format !== baselineFormat) {
    const found = `its format is "${data.format}", this version reads "${baselineFormat}"`;
    throw refuse(`The baseline was written by another version of tool-evals: ${found}.`);
  }
  if (data.checksum !== computeChecksum(data)) throw refuse("The baseline was edited by hand: checksum mismatch.");
  const parsed = baselineSchema.safeParse(data);
  if (parsed.success) return parsed.data;
  throw refuse(`Not a baseline of this version: ${formatIssues(parsed.error)}.`);
}

/** Describes where the text is not JSON, as far as the parser reports it. */
function explainSyntax(text: string, message: string, file: string): EvalsError {
  const conflict = /^<{7} /m.exec(text)?.index;
  const position = /at position (\d+)/.exec(message)?.[1];
  const end = text.trimEnd().length;
  const at = conflict ?? (position === undefined ? undefined : Number(position));
  const truncated = at === undefined ? /end of JSON/.test(message) : at >= end;
  const what =
    conflict !== undefined ? "it has a merge conflict" : truncated ? "it is truncated" : "it has a syntax error";
  const offset = truncated ? end : at;
  return usageError(`The baseline is not JSON: ${what}.`, acceptAgain, findLocation(text, offset, file));
}

function findLocation(text: string, offset: number | undefined, file: string): Location {
  if (offset === undefined) return { file };
  const lines = text.slice(0, offset).split("\n");
  return { file, line: lines.length, column: (lines.at(-1)?.length ?? 0) + 1 };
}

/** Throws EvalsError if the baseline in `file` is not of this suite and model. */
export function expectSuite(baseline: Baseline, suite: string, model: string, file: string): void {
  if (baseline.suite === suite && baseline.model.id === model) return;
  throw usageError(
    `The baseline is of "${baseline.suite}" on ${baseline.model.id}, not of "${suite}" on ${model}.`,
    "Move the file away, because it was copied or renamed, then accept a baseline for this suite.",
    { file },
  );
}

/** The baselines in a folder, sorted by file name. Throws one EvalsError with the problems of all files. */
export async function readBaselines(dir: string): Promise<NamedBaseline[]> {
  const names = await readdir(dir).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return [];
    throw usageError(
      `The folder ${dir} cannot be read: ${error.message}.`,
      "Set the folder of baselines with --baselines.",
    );
  });
  const { found, errors } = await readFiles(dir, names);
  const internal = errors.find((error) => !(error instanceof EvalsError));
  if (internal !== undefined) throw internal;
  if (errors.length > 0) throw EvalsError.all(errors.filter((error) => error instanceof EvalsError));
  return found;
}

const format = "tool-evals nights 1";
const headSchema = z.object({ format: z.literal(format), suite: z.string(), model: z.string(), baseline: z.string() });

/** Whose nights a file has. `alias`: another id of the model. `baseline`: the run that it was accepted from. */
export type NightsKey = { suite: string; model: string; alias?: string; baseline: string };

/** The file of the nights since a baseline. It is next to the baseline, so that it can be committed or cached. */
export function nightsFile(baseline: string): string {
  return `${baseline.replace(/\.json$/, "")}.nights.jsonl`;
}

/** Reads the nights since this baseline, if any. Throws a usage error with the line that cannot be read. */
export async function readNights(file: string, of: NightsKey): Promise<Night[]> {
  const text = await readIfPresent("The nights", file);
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

/** Adds a night, or replaces that of the same run. A new baseline starts a new list. Waits for other jobs. */
export async function writeNight(file: string, of: NightsKey, night: Night): Promise<void> {
  const add = async () => {
    const before = (await readNights(file, of)).filter((one) => one.night !== night.night);
    const { suite, model, baseline } = of;
    const lines = [{ format, suite, model, baseline }, ...before, night].map((line) => `${JSON.stringify(line)}\n`);
    await replaceFile(file, lines.join(""));
  };
  await writeInFolder("The night", file, () => withFileLock(file, add));
}

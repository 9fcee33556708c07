import { readdirSync, type Stats, statSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import { didYouMean } from "../../base/text/nearest.ts";
import { EvalsError, messageOf, type Problem, usageError } from "../../base/types/errors.ts";
import { hints, maxBytes, readText } from "../parsing/read.ts";
import {
  type Format,
  type ImportContext,
  type ImportedFile,
  type Loss,
  parseData,
  type SourceFile,
} from "./formats/format.ts";
import { bfcl, listFormats, promptLists, promptTable } from "./formats/lists.ts";
import { mongodb } from "./formats/mongodb.ts";
import { promptfoo } from "./formats/promptfoo.ts";
import { vally, waza } from "./formats/vally.ts";
import { vitestEvals } from "./formats/vitestEvals.ts";
import { runSources, type SourceRequest, type SourceRun } from "./source/run.ts";

/** Every format, in the order in which a file is tested for it. */
export const formats: readonly Format[] = [
  mongodb,
  vitestEvals,
  bfcl,
  promptTable,
  promptLists,
  vally,
  waza,
  ...listFormats,
  promptfoo,
];

/** The files of one format, in the order of their paths. */
export type FormatFiles = {
  format: Pick<Format, "name" | "label" | "request" | "hasPlaceholders">;
  files: ImportedFile[];
};

/** Folders that are not searched. */
const otherFolders = new Set(["node_modules", ".git", "dist", "build", "coverage", ".next", "vendor"]);
const endings = /\.(?:ya?ml|json|jsonl|md|[mc]?[jt]sx?)$/;

/**
 * Reads every file under `paths` that is in the format of another tool, or in the format `from`. A file in `paths`
 * itself must be in one. A file that cannot be read is a problem (a warning where only its folder is in `paths`), and
 * does not stop the others. With `executeSource`, TypeScript sources are run (see `runSources`); without, they have no
 * cases. Throws EvalsError for a path that does not exist or an unknown format.
 */
export async function findImports(
  paths: readonly string[],
  { from, executeSource = false, signal, ...context }: FindOptions,
): Promise<{ found: FormatFiles[]; problems: Problem[] }> {
  const chosen = from === undefined ? formats : [findFormat(from)];
  const recognized: { format: Format; source: SourceFile }[] = [];
  const problems: Problem[] = [];
  for (const { path, isNamed } of listFiles(paths, context.cwd)) {
    const source = readSource(path, context.cwd);
    if ("message" in source) {
      problems.push(...(isNamed ? [source] : skip([source])));
      continue;
    }
    const format = isNamed && from !== undefined ? chosen[0] : chosen.find((one) => one.recognizes(source));
    if (format) recognized.push({ format, source });
    else {
      const malformed = await findMalformed(source);
      if (!isNamed) problems.push(...skip(malformed));
      else if (malformed.length > 0) problems.push(...malformed);
      else {
        const message = "The file is in none of the known formats.";
        const hint = `Name its format with --from: ${formats.map(({ name }) => name).join(", ")}.`;
        problems.push({ severity: "error", message, hint, location: { file: source.file } });
      }
    }
  }
  const sources = recognized.flatMap(({ format: { request }, source: { path } }) => (request ? { path, request } : []));
  const runs = executeSource ? await runSources(sources, { signal }) : new Map<string, SourceRun>();
  const found = new Map<Format, FormatFiles>();
  for (const { format, source } of recognized) {
    try {
      const run = runs.get(source.path);
      const file = await format.read({ ...source, ...(run && { run }) }, context);
      const known = found.get(format) ?? { format, files: [] };
      const lost = format.request ? explainRun(format.request, run, executeSource) : [];
      known.files.push({ ...file, losses: format.request && !run ? lost : [...lost, ...file.losses] });
      found.set(format, known);
    } catch (error) {
      if (!(error instanceof EvalsError)) throw new Error(`${source.file}: ${messageOf(error)}`, { cause: error });
      problems.push(...error.problems);
    }
  }
  return { found: [...found.values()], problems };
}

type FindOptions = ImportContext & {
  from?: string | undefined;
  executeSource?: boolean | undefined;
  signal?: AbortSignal | undefined;
};

/** Why a TypeScript source has no cases, or may lack some. */
function explainRun({ functions }: SourceRequest, run: SourceRun | undefined, executeSource: boolean): Loss[] {
  if (!executeSource) return [{ what: "the cases of a TypeScript source, which is not run" }];
  if (run?.failed !== undefined)
    return [{ what: "the cases of a source that did not run to its end", detail: run.failed }];
  return run?.calls.length ? [] : [{ what: `a source that makes no call of ${functions.join(" or ")}` }];
}

function findFormat(name: string): Format {
  const format = formats.find((one) => one.name === name);
  if (format) return format;
  const names = formats.map((one) => one.name);
  const hint = didYouMean(name, names, `Use one of: ${names.join(", ")}.`);
  throw usageError(`--from: there is no format "${name}".`, hint);
}

/** A file that is not well-formed shows no format: its first mistake is what to correct. */
async function findMalformed(source: SourceFile): Promise<readonly Problem[]> {
  if (!/\.(?:ya?ml|json)$/i.test(source.file)) return [];
  try {
    await parseData(source);
    return [];
  } catch (error) {
    if (error instanceof EvalsError) return error.problems;
    throw error;
  }
}

/** Problems of a file that only its folder names: whether it has cases is not known, so the import goes on. */
const skip = (problems: readonly Problem[]): Problem[] =>
  problems.map((one) => ({ ...one, severity: "warning", message: `Skipped. ${one.message}` }));

function listFiles(paths: readonly string[], cwd: string) {
  const hint = "Give the file or folder with the cases.";
  return paths.flatMap((given) => {
    const path = resolve(cwd, given);
    let found: Stats | undefined;
    try {
      found = statSync(path, { throwIfNoEntry: false });
      if (found?.isDirectory()) return [...walkFolder(path)].map((one) => ({ path: one, isNamed: false }));
    } catch (error) {
      // Such as a symbolic link to itself, or a folder that may not be read.
      throw usageError(`"${given}" cannot be read: ${messageOf(error)}.`, hint);
    }
    if (!found) throw usageError(`There is no file or folder "${given}".`, hint);
    return [{ path, isNamed: true }];
  });
}

function* walkFolder(folder: string): Generator<string> {
  const entries = readdirSync(folder, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1));
  for (const entry of entries) {
    const path = join(folder, entry.name);
    if (entry.isDirectory() && !otherFolders.has(entry.name)) yield* walkFolder(path);
    else if (entry.isFile() && endings.test(entry.name)) yield path;
  }
}

/** Reads a file, or says why it cannot be read. */
function readSource(path: string, cwd: string): SourceFile | Problem {
  const file = relative(cwd, path) || path;
  const read = readText(path, maxBytes);
  if ("text" in read) return { path, file, text: read.text };
  const message = `The file cannot be read: ${read.reason}.`;
  return { severity: "error", message, hint: hints[read.kind], location: { file } };
}

import type { Dirent } from "node:fs";
import { readdir, realpath, stat } from "node:fs/promises";
import { join, resolve } from "node:path";
import { EvalsError, messageOf, type Problem, usageError } from "../errors.ts";
import { isJsonObject } from "../types/json.ts";
import { parseDocument } from "./document.ts";
import { readText } from "./text.ts";

/** Folders under `evals/` that hold other things: baselines, and skill packages with eval files of their own. */
const skipped = new Set(["baselines", "skills", "node_modules"]);
const suiteName = /\.(?:yaml|yml|json)$/;

/**
 * The suite files that `paths` mean: a file is taken as it is, a folder is searched; without paths, `evals/` under `cwd`.
 * A file that a search finds is a suite when it has `cases` or `evals` at its top level; others are passed over.
 * The paths come back as given (found files below the folder as given), sorted, each real file once.
 * Throws EvalsError for a path that does not exist, and when no suite is found at all.
 */
export async function discover(paths: readonly string[], cwd: string): Promise<string[]> {
  const given = paths.length > 0 ? paths : ["evals"];
  const found = await Promise.all(given.map((path) => expand(path, cwd, paths.length > 0)));
  const problems = found.flatMap((one) => one.problem ?? []);
  if (problems.length > 0) throw new EvalsError(problems);
  const files = await uniqueFiles(found.flatMap((one) => one.files).sort(byCodeUnit), cwd);
  if (files.length > 0) return files;
  const hint = "write one as evals/<name>.yaml with `cases`, or give the path of a suite file";
  throw usageError(`no suite found under ${given.join(", ")}`, hint);
}

const byCodeUnit = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0);

async function expand(path: string, cwd: string, explicit: boolean): Promise<{ files: string[]; problem?: Problem }> {
  const kind = await stat(resolve(cwd, path)).catch(() => undefined);
  if (kind?.isDirectory()) return { files: await search(join(path), cwd, new Set()) };
  if (kind) return { files: [join(path)] };
  if (!explicit) return { files: [] };
  const hint = "give a suite file, or a folder that holds suite files";
  return { files: [], problem: { severity: "error", message: `there is no file or folder "${path}"`, hint } };
}

/** All suite files below a folder. `visited` holds the real paths of folders, so that a loop of links ends. */
async function search(folder: string, cwd: string, visited: Set<string>): Promise<string[]> {
  const real = await realpath(resolve(cwd, folder)).catch(() => undefined);
  if (real === undefined || visited.has(real)) return [];
  visited.add(real);
  const files: string[] = [];
  for (const entry of await entriesOf(folder, cwd)) {
    const path = join(folder, entry.name);
    const kind = entry.isSymbolicLink() ? await stat(resolve(cwd, path)).catch(() => undefined) : entry;
    if (kind?.isDirectory() && !skipped.has(entry.name) && !entry.name.startsWith(".")) {
      files.push(...(await search(path, cwd, visited)));
    }
    if (kind?.isFile() && suiteName.test(entry.name) && (await isSuite(path, cwd))) files.push(path);
  }
  return files;
}

/** Sorted, so that of a folder with several names it is always the same one that is searched. */
async function entriesOf(folder: string, cwd: string): Promise<Dirent[]> {
  try {
    const entries = await readdir(resolve(cwd, folder), { withFileTypes: true });
    return entries.sort((a, b) => byCodeUnit(a.name, b.name));
  } catch (error) {
    throw usageError(`cannot read the folder: ${messageOf(error)}`, "check its permissions", { file: folder });
  }
}

/** A file that cannot be read but looks like a suite counts as one, so that loading it says what is wrong. */
async function isSuite(path: string, cwd: string): Promise<boolean> {
  let looksLikeSuite = true;
  try {
    const text = await readText(resolve(cwd, path), path);
    looksLikeSuite = /(?:^|[\s{,])["']?(?:cases|evals)["']?\s*:/.test(text);
    if (!looksLikeSuite) return false;
    const { data } = parseDocument(text, path);
    return isJsonObject(data) && ("cases" in data || "evals" in data);
  } catch (error) {
    if (error instanceof EvalsError) return looksLikeSuite;
    throw error;
  }
}

async function uniqueFiles(files: readonly string[], cwd: string): Promise<string[]> {
  const seen = new Set<string>();
  const unique: string[] = [];
  for (const file of files) {
    const real = await realpath(resolve(cwd, file));
    if (!seen.has(real)) unique.push(file);
    seen.add(real);
  }
  return unique;
}

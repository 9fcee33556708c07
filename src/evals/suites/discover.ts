import type { Dirent } from "node:fs";
import { readdir, realpath, stat } from "node:fs/promises";
import { basename, dirname, extname, join, resolve } from "node:path";
import { EvalsError, messageOf, type Problem, usageError } from "../errors.ts";
import { isJsonObject } from "../types/json.ts";
import { parseDocument } from "./document.ts";
import { readText } from "./text.ts";

/** Folders under `evals/` that hold other things. */
const skipped = new Set(["baselines", "judges", "node_modules"]);
const suiteName = /\.(?:yaml|yml|json)$/;

/** What paths mean: suite files, and the folders of skill packages, whose eval files belong to them. */
export type Discovered = { files: string[]; packages: string[] };

/**
 * The suite files and skill packages that `paths` mean: a file is taken as it is, a folder is searched; without paths,
 * `evals/` under `cwd`. A file that a search finds is a suite when it has `cases` or `evals` at its top level; others are
 * passed over. A folder with a SKILL.md is a package, and so is what an eval file inside of one stands for.
 * The paths come back as given (found files below the folder as given), sorted, each real file once.
 * Throws EvalsError for a path that does not exist.
 */
export async function discover(paths: readonly string[], cwd: string): Promise<Discovered> {
  const given = paths.length > 0 ? paths : ["evals"];
  const found = await Promise.all(given.map((path) => expand(path, cwd, paths.length > 0)));
  const problems = found.flatMap((one) => one.problem ?? []);
  if (problems.length > 0) throw new EvalsError(problems);
  const unique = (list: readonly string[]) => uniquePaths([...list].sort(byCodeUnit), cwd);
  return {
    files: await unique(found.flatMap((one) => one.files)),
    packages: await unique(found.flatMap((one) => one.packages)),
  };
}

const byCodeUnit = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0);

async function expand(path: string, cwd: string, explicit: boolean): Promise<Discovered & { problem?: Problem }> {
  const none = { files: [], packages: [] };
  const kind = await stat(resolve(cwd, path)).catch(() => undefined);
  if (kind?.isDirectory()) return await search(join(path), cwd, new Set());
  if (kind) {
    const owner = await owningPackage(join(path), cwd);
    return owner === undefined ? { ...none, files: [join(path)] } : { ...none, packages: [owner] };
  }
  if (!explicit) return none;
  const hint = "give a suite file, a skill package, or a folder that holds them";
  return { ...none, problem: { severity: "error", message: `there is no file or folder "${path}"`, hint } };
}

const isPackage = async (folder: string, cwd: string) =>
  (await stat(resolve(cwd, folder, "SKILL.md")).catch(() => undefined))?.isFile() === true;

/** The package that a file belongs to: its SKILL.md, or a JSON file in its folder `evals`. */
async function owningPackage(file: string, cwd: string): Promise<string | undefined> {
  const folder = dirname(file);
  if (basename(file) !== "SKILL.md" && extname(file) !== ".json") return undefined;
  const owner = basename(resolve(cwd, folder)) === "evals" ? join(folder, "..") : folder;
  return (await isPackage(owner, cwd)) ? owner : undefined;
}

/** All suite files and packages below a folder. `visited` holds real paths, so that a loop of links ends. */
async function search(folder: string, cwd: string, visited: Set<string>): Promise<Discovered> {
  const found: Discovered = { files: [], packages: [] };
  const real = await realpath(resolve(cwd, folder)).catch(() => undefined);
  if (real === undefined || visited.has(real)) return found;
  visited.add(real);
  if (await isPackage(folder, cwd)) return { files: [], packages: [folder] };
  for (const entry of await entriesOf(folder, cwd)) {
    const path = join(folder, entry.name);
    const kind = entry.isSymbolicLink() ? await stat(resolve(cwd, path)).catch(() => undefined) : entry;
    if (kind?.isDirectory() && !skipped.has(entry.name) && !entry.name.startsWith(".")) {
      const { files, packages } = await search(path, cwd, visited);
      found.files.push(...files);
      found.packages.push(...packages);
    }
    if (!kind?.isFile() || !suiteName.test(entry.name) || !(await isSuite(path, cwd))) continue;
    const owner = await owningPackage(path, cwd);
    if (owner === undefined) found.files.push(path);
    else found.packages.push(owner);
  }
  return found;
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

async function uniquePaths(files: readonly string[], cwd: string): Promise<string[]> {
  const seen = new Set<string>();
  const unique: string[] = [];
  for (const file of files) {
    const real = await realpath(resolve(cwd, file));
    if (!seen.has(real)) unique.push(file);
    seen.add(real);
  }
  return unique;
}

import type { Dirent } from "node:fs";
import { readdir, realpath, stat } from "node:fs/promises";
import { basename, dirname, extname, join, resolve } from "node:path";
import { maxBytes, parseText, readText } from "../parsing/read.ts";
import { EvalsError, messageOf, type Problem, usageError } from "../types/errors.ts";
import { isJsonObject } from "../types/json.ts";

/** Folders under `evals/` that hold no suites. */
const otherFolders = new Set(["baselines", "judges", "node_modules"]);
/** Folders of a skill package, whose content belongs to it. Any other folder in it may hold further packages. */
const packageFolders = new Set(["evals", "scripts", "references", "assets"]);
const suiteName = /\.(?:yaml|yml|json)$/;

/** Suite files, and the folders of skill packages, whose eval files belong to them. */
export type DiscoveredPaths = { files: string[]; packages: string[] };

/**
 * The suite files and skill packages under `paths`, by default `evals/` under `cwd`. A given file is a suite; folders
 * are searched for packages (folders with a SKILL.md) and for suites (files with `cases` or `evals` at the top level).
 * An eval file inside of a package stands for the package. Paths are returned as given (found files below the given
 * folder), sorted, each real file once. Throws EvalsError for a path that does not exist.
 */
export async function discover(paths: readonly string[], cwd: string): Promise<DiscoveredPaths> {
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

async function expand(path: string, cwd: string, explicit: boolean): Promise<DiscoveredPaths & { problem?: Problem }> {
  const none = { files: [], packages: [] };
  const kind = await stat(resolve(cwd, path)).catch(() => undefined);
  if (kind?.isDirectory()) return await search(join(path), cwd, new Set());
  if (kind) {
    const owner = await findOwningPackage(join(path), cwd);
    return owner === undefined ? { ...none, files: [join(path)] } : { ...none, packages: [owner] };
  }
  if (!explicit) return none;
  const hint = "Give a suite file, a skill package, or a folder that contains them.";
  return { ...none, problem: { severity: "error", message: `There is no file or folder "${path}".`, hint } };
}

const isPackage = async (folder: string, cwd: string) =>
  (await stat(resolve(cwd, folder, "SKILL.md")).catch(() => undefined))?.isFile() === true;

/** The package that a file belongs to: its SKILL.md, or a JSON file in its folder `evals`. */
async function findOwningPackage(file: string, cwd: string): Promise<string | undefined> {
  const folder = dirname(file);
  if (basename(file) !== "SKILL.md" && extname(file) !== ".json") return undefined;
  const owner = basename(resolve(cwd, folder)) === "evals" ? join(folder, "..") : folder;
  return (await isPackage(owner, cwd)) ? owner : undefined;
}

/** All suite files and packages below a folder. `visited` holds real paths, so that loops of links end. */
async function search(folder: string, cwd: string, visited: Set<string>): Promise<DiscoveredPaths> {
  const found: DiscoveredPaths = { files: [], packages: [] };
  const real = await realpath(resolve(cwd, folder)).catch(() => undefined);
  if (real === undefined || visited.has(real)) return found;
  visited.add(real);
  const isOwnPackage = await isPackage(folder, cwd);
  if (isOwnPackage) found.packages.push(folder);
  for (const entry of await listEntries(folder, cwd)) {
    if (isOwnPackage && (entry.isFile() || packageFolders.has(entry.name))) continue;
    const path = join(folder, entry.name);
    const kind = entry.isSymbolicLink() ? await stat(resolve(cwd, path)).catch(() => undefined) : entry;
    if (kind?.isDirectory() && !otherFolders.has(entry.name) && !entry.name.startsWith(".")) {
      const { files, packages } = await search(path, cwd, visited);
      found.files.push(...files);
      found.packages.push(...packages);
    }
    if (!kind?.isFile() || !suiteName.test(entry.name) || !(await isSuite(path, cwd))) continue;
    const owner = await findOwningPackage(path, cwd);
    if (owner === undefined) found.files.push(path);
    else found.packages.push(owner);
  }
  return found;
}

/** Sorted, so that a folder with several names is always found under the same one. */
async function listEntries(folder: string, cwd: string): Promise<Dirent[]> {
  try {
    const entries = await readdir(resolve(cwd, folder), { withFileTypes: true });
    return entries.sort((a, b) => byCodeUnit(a.name, b.name));
  } catch (error) {
    throw usageError(`The folder cannot be read: ${messageOf(error)}.`, "Check its permissions.", { file: folder });
  }
}

/** A file that looks like a suite but cannot be parsed counts as one, so that loading it reports why. */
async function isSuite(path: string, cwd: string): Promise<boolean> {
  const read = readText(resolve(cwd, path), maxBytes);
  if ("kind" in read) return true;
  if (!/(?:^|[\s{,])["']?(?:cases|evals)["']?\s*:/.test(read.text)) return false;
  try {
    const { value } = await parseText(read.text, path);
    return isJsonObject(value) && ("cases" in value || "evals" in value);
  } catch (error) {
    if (error instanceof EvalsError) return true;
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

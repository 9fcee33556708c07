import type { Dirent } from "node:fs";
import { readdir, readFile, realpath, stat } from "node:fs/promises";
import { basename, dirname, extname, join, resolve } from "node:path";
import { nearest } from "../../base/text/nearest.ts";
import { byCodeUnit } from "../../base/text/text.ts";
import { EvalsError, messageOf, type Problem, usageError } from "../../base/types/errors.ts";
import { isJsonObject, type JsonObject } from "../../base/types/json.ts";
import { isHostFile } from "../hostFiles.ts";
import type { ParsedFile } from "../parsing/json.ts";
import { maxBytes, parseText, readParsed, readText } from "../parsing/read.ts";

/** Folders under `evals/` that contain no suites. */
const otherFolders = new Set(["baselines", "judges", "node_modules"]);
/** Folders whose content belongs to the skill package they are in. Any other folder may contain further packages. */
const packageFolders = new Set(["evals", "scripts", "references", "assets"]);
const suiteName = /\.(?:yaml|yml|json)$/;

/** The folder in which hosts look for skills, inside a hidden folder such as `.claude`. */
const hostSkills = "skills";

/** Suite files and folders of skill packages. `warnings`: files that are not read, with cases in another format. */
type Found = { files: string[]; packages: string[]; warnings: Problem[] };

/** `parsed`: the content of the suite files that were found in folders, by path. */
export type DiscoveredPaths = Found & { parsed: ReadonlyMap<string, ParsedFile> };

/**
 * Finds the suite files and skill packages under `paths`, by default `evals/` under `cwd`. A given file is a suite;
 * folders are searched for packages (folders with a SKILL.md) and for suites (files with `cases` or `evals` at the top
 * level). An eval file inside a package stands for the package. Returned paths are sorted and start with the path as
 * given; each real file is returned once. Throws EvalsError for a path that does not exist.
 */
export async function discover(paths: readonly string[], cwd: string): Promise<DiscoveredPaths> {
  const given = paths.length > 0 ? paths : ["evals"];
  const parsed = new Map<string, ParsedFile>();
  const found = await Promise.all(given.map((path) => expand(path, cwd, paths.length > 0, parsed)));
  const problems = found.flatMap((one) => one.problem ?? []);
  if (problems.length > 0) throw new EvalsError(problems);
  const unique = (list: readonly string[]) => uniquePaths([...list].sort(byCodeUnit), cwd);
  return {
    files: await unique(found.flatMap((one) => one.files)),
    packages: await unique(found.flatMap((one) => one.packages)),
    warnings: found.flatMap((one) => one.warnings),
    parsed,
  };
}

async function expand(
  path: string,
  cwd: string,
  explicit: boolean,
  parsed: Map<string, ParsedFile>,
): Promise<Found & { problem?: Problem }> {
  const none = { files: [], packages: [], warnings: [] };
  const kind = await stat(resolve(cwd, path)).catch(() => undefined);
  if (kind?.isDirectory()) return await search(join(path), cwd, new Set(), parsed);
  const named = explicit ? await recognize(path, cwd) : "paths";
  if (named !== "paths") {
    const message = `"${path}" is ${otherNames[named]}, not a suite.`;
    const hint = `Draft a suite for it with \`evals init ${/\s/.test(path) ? `"${path}"` : path}\`, then name that.`;
    return { ...none, problem: { severity: "error", message, hint } };
  }
  if (kind) {
    const owner = await findOwningPackage(join(path), cwd);
    return owner === undefined ? { ...none, files: [join(path)] } : { ...none, packages: [owner] };
  }
  if (!explicit) return none;
  const near = nearest(basename(path), await readdir(resolve(cwd, dirname(path))).catch(() => []));
  const hint =
    near === undefined
      ? "Give a suite file, a skill package, or a folder that contains them."
      : `Did you mean "${join(dirname(path), near)}"?`;
  return { ...none, problem: { severity: "error", message: `There is no file or folder "${path}".`, hint } };
}

const otherNames = {
  ...{ url: "the URL of a server", server: "the command line of a server" },
  ...{ config: "the configuration of a host", tools: "a tool list" },
} as const;

const isPackage = async (folder: string, cwd: string) =>
  (await stat(resolve(cwd, folder, "SKILL.md")).catch(() => undefined))?.isFile() === true;

/** The package that a file belongs to: its SKILL.md, or a JSON file in its folder `evals`. */
async function findOwningPackage(file: string, cwd: string): Promise<string | undefined> {
  const folder = dirname(file);
  if (basename(file) !== "SKILL.md" && extname(file) !== ".json") return undefined;
  const owner = basename(resolve(cwd, folder)) === "evals" ? join(folder, "..") : folder;
  return (await isPackage(owner, cwd)) ? owner : undefined;
}

/** Finds suite files and packages below a folder. `visited` holds real paths, so that a loop of links ends. */
async function search(
  folder: string,
  cwd: string,
  visited: Set<string>,
  parsed: Map<string, ParsedFile>,
): Promise<Found> {
  const found: Found = { files: [], packages: [], warnings: [] };
  const real = await realpath(resolve(cwd, folder)).catch(() => undefined);
  if (real === undefined || visited.has(real)) return found;
  visited.add(real);
  const isOwnPackage = await isPackage(folder, cwd);
  if (isOwnPackage) found.packages.push(folder);
  for (const entry of await listEntries(folder, cwd)) {
    if (isOwnPackage && (entry.isFile() || packageFolders.has(entry.name))) continue;
    const path = join(folder, entry.name);
    const kind = entry.isSymbolicLink() ? await stat(resolve(cwd, path)).catch(() => undefined) : entry;
    if (kind?.isDirectory() && !otherFolders.has(entry.name)) {
      // In a hidden folder, search only where hosts look for skills.
      const inside = entry.name.startsWith(".") ? join(path, hostSkills) : path;
      const { files, packages, warnings } = await search(inside, cwd, visited, parsed);
      found.files.push(...files);
      found.packages.push(...packages);
      found.warnings.push(...warnings);
    }
    if (!kind?.isFile() || !suiteName.test(entry.name)) continue;
    const content = await classifyFile(path, cwd, parsed);
    if (content === "other") continue;
    const owner = await findOwningPackage(path, cwd);
    if (owner !== undefined) found.packages.push(owner);
    else if (content === "suite") found.files.push(path);
    else found.warnings.push(content);
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

/** A file that looks like a suite counts as one even if it cannot be parsed, so that loading it reports why. */
async function classifyFile(
  path: string,
  cwd: string,
  parsed: Map<string, ParsedFile>,
): Promise<"suite" | "other" | Problem> {
  const read = readText(resolve(cwd, path), maxBytes);
  if ("kind" in read) return "suite";
  if (!/(?:^|[\s{,])["']?(?:cases|evals)["']?\s*:/.test(read.text)) return "other";
  try {
    const file = await parseText(read.text, path);
    const { value } = file;
    if (!isJsonObject(value) || !("cases" in value || "evals" in value)) return "other";
    const foreign = warnOtherFormat(value, path);
    if (foreign) return foreign;
    parsed.set(path, file);
    return "suite";
  } catch (error) {
    if (error instanceof EvalsError) return "suite";
    throw error;
  }
}

/** Keys that only cases of a suite have. One of them in one case makes the file a suite, if an invalid one. */
const caseKeys = ["input", "messages", "expect", "expected_behavior"];

function warnOtherFormat(value: JsonObject, file: string): Problem | undefined {
  const cases = [value.cases, value.evals].flatMap((list) => (Array.isArray(list) ? list : []));
  const isOurs = cases.some((one) => isJsonObject(one) && caseKeys.some((key) => Object.hasOwn(one, key)));
  if (isOurs || cases.length === 0) return undefined;
  const { skill_name: skill } = value;
  const count = `${cases.length} ${cases.length === 1 ? "case" : "cases"}`;
  if (typeof skill !== "string")
    return {
      severity: "warning",
      message: `Not read: ${count} of another format. None has "input", "messages" or "expect".`,
      hint: "Run `evals schema` for the format of suites.",
      location: { file },
    };
  return {
    severity: "warning",
    message: `Not read: ${count} of the skill "${skill}". There is no SKILL.md beside the folder.`,
    hint: `Move the file to evals/evals.json in the package of "${skill}".`,
    location: { file },
  };
}

async function uniquePaths(files: readonly string[], cwd: string): Promise<string[]> {
  const seen = new Set<string>();
  const unique: string[] = [];
  for (const file of files) {
    const path = resolve(cwd, file);
    // Reading it reports a file that was removed in the meantime.
    const real = await realpath(path).catch(() => path);
    if (!seen.has(real)) unique.push(file);
    seen.add(real);
  }
  return unique;
}

/** What a word on a command line can name; `paths` are suites and skill packages. */
export type NamedBy = "paths" | "server" | "url" | "config" | "tools";

/**
 * What a word names. A file that cannot be read is a suite, whose reader says what is wrong. A program is a command line;
 * throws a usage error for one that cannot be started by its name alone.
 */
export async function recognize(word: string, cwd: string): Promise<NamedBy> {
  if (/^https?:\/\//i.test(word)) return "url";
  const path = resolve(cwd, word);
  const found = await stat(path).catch(() => undefined);
  if (!found) return /\s/.test(word.trim()) ? "server" : "paths";
  if (!found.isFile()) return "paths";
  if (!/\.(?:jsonc?|ya?ml|toml)$/i.test(word)) return await recognizeProgram(word, path, (found.mode & 0o111) !== 0);
  const value = await readParsed(path, word, { lenient: true }).then(
    (parsed) => parsed.value,
    () => undefined,
  );
  // Also a list is the evals of a skill's triggers, each with its query.
  if (Array.isArray(value)) return value.some((one) => isJsonObject(one) && "query" in one) ? "paths" : "tools";
  if (!isJsonObject(value) || "cases" in value || "evals" in value) return "paths";
  if (isHostFile(value)) return "config";
  return Array.isArray(value.tools) ? "tools" : "paths";
}

/** A file that is executable and begins with `#!`, or has no ending, starts by its name; other code needs an interpreter. */
async function recognizeProgram(word: string, path: string, isExecutable: boolean): Promise<NamedBy> {
  const isScript = /\.(?:[cm]?[jt]s|py)$/i.test(word);
  if (!isScript) return isExecutable && extname(word) === "" ? "server" : "paths";
  const text = isExecutable ? await readFile(path, "utf8").catch(() => "") : "";
  if (text.startsWith("#!")) return "server";
  const starter = /py$/i.test(word) ? "python" : "node";
  throw usageError(`"${word}" is a program.`, `Name the command line that starts it, in quotes: "${starter} ${word}".`);
}

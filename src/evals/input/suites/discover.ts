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

/**
 * Suite files and folders of skill packages. `warnings`: files that are not read, with cases in another format.
 * `parsed`: the content of the suite files that were found in folders, by path.
 */
export type DiscoveredPaths = {
  files: string[];
  packages: string[];
  warnings: Problem[];
  parsed: ReadonlyMap<string, ParsedFile>;
};

/**
 * Finds the suite files and skill packages under `paths`; without paths, those under `evals/` in `cwd`, and the
 * packages in `skills/`, where plugins and published skills have them. A given file is a suite; folders are searched
 * for packages (folders with a SKILL.md) and for suites (files with `cases` or `evals` at the top level). An eval file
 * inside a package stands for the package. Returned paths are sorted and start with the path as given; each real file
 * is returned once. Throws EvalsError for a path that does not exist.
 */
export async function discover(paths: readonly string[], cwd: string): Promise<DiscoveredPaths> {
  const isGiven = paths.length > 0;
  const finder = new SuiteFinder(cwd);
  for (const path of isGiven ? paths : ["evals"]) await finder.add(path, isGiven);
  const published = new SuiteFinder(cwd);
  if (!isGiven) await published.add("skills", false);
  const { files, warnings, problems, parsed } = finder;
  if (problems.length > 0) throw new EvalsError(problems);
  const unique = (list: readonly string[]) => uniquePaths([...list].sort(byCodeUnit), cwd);
  const packages = await unique([...finder.packages, ...published.packages]);
  return { files: await unique(files), packages, warnings, parsed };
}

const otherNames = {
  url: "the URL of a server",
  server: "the command line of a server",
  config: "the configuration of a host",
  tools: "a tool list",
} as const;

/** What was found so far, under paths that are relative to `cwd`. */
class SuiteFinder {
  readonly files: string[] = [];
  readonly packages: string[] = [];
  readonly warnings: Problem[] = [];
  readonly problems: Problem[] = [];
  readonly parsed = new Map<string, ParsedFile>();

  constructor(private readonly cwd: string) {}

  /** Adds what is at a path, which is a problem if it was given and is none of it. */
  async add(path: string, isGiven: boolean): Promise<void> {
    const kind = await this.#stat(path);
    if (kind?.isDirectory()) return await this.#search(join(path), new Set());
    const named = isGiven ? await recognize(path, this.cwd) : "paths";
    if (named !== "paths") {
      const message = `"${path}" is ${otherNames[named]}, not a suite.`;
      const hint = `Draft a suite for it with \`evals init ${/\s/.test(path) ? `"${path}"` : path}\`, then name that.`;
      this.problems.push({ severity: "error", message, hint });
    } else if (kind) {
      const owner = await this.#findOwningPackage(join(path));
      if (owner === undefined) this.files.push(join(path));
      else this.packages.push(owner);
    } else if (isGiven) {
      const near = nearest(basename(path), await readdir(resolve(this.cwd, dirname(path))).catch(() => []));
      const isAddress = /^[\w.-]+:\d+(?:\/|$)|^localhost\//.test(path);
      const other = isAddress
        ? `A URL begins with http:// or https://: http://${path}`
        : "Give a suite file, a skill package, or a folder that contains them.";
      const hint = near === undefined ? other : `Did you mean "${join(dirname(path), near)}"?`;
      this.problems.push({ severity: "error", message: `There is no file or folder "${path}".`, hint });
    }
  }

  #stat(path: string) {
    return stat(resolve(this.cwd, path)).catch(() => undefined);
  }

  async #isPackage(folder: string): Promise<boolean> {
    return (await this.#stat(join(folder, "SKILL.md")))?.isFile() === true;
  }

  /** The package that a file belongs to: its SKILL.md, or a JSON file in its folder `evals`. */
  async #findOwningPackage(file: string): Promise<string | undefined> {
    const folder = dirname(file);
    if (basename(file) !== "SKILL.md" && extname(file) !== ".json") return undefined;
    const owner = basename(resolve(this.cwd, folder)) === "evals" ? join(folder, "..") : folder;
    return (await this.#isPackage(owner)) ? owner : undefined;
  }

  /** Adds the suite files and packages below a folder. `visited` holds real paths, so that a loop of links ends. */
  async #search(folder: string, visited: Set<string>): Promise<void> {
    const real = await realpath(resolve(this.cwd, folder)).catch(() => undefined);
    if (real === undefined || visited.has(real)) return;
    visited.add(real);
    const isOwnPackage = await this.#isPackage(folder);
    if (isOwnPackage) this.packages.push(folder);
    const inside = resolve(this.cwd, folder);
    const entries = await readdir(inside, { withFileTypes: true }).catch((error: unknown) => {
      throw usageError(`The folder cannot be read: ${messageOf(error)}.`, "Check its permissions.", { file: folder });
    });
    // Sorted, so that a folder with several names is always found under the same one.
    for (const entry of entries.sort((a, b) => byCodeUnit(a.name, b.name))) {
      if (isOwnPackage && (entry.isFile() || packageFolders.has(entry.name))) continue;
      const path = join(folder, entry.name);
      const kind = entry.isSymbolicLink() ? await this.#stat(path) : entry;
      // In a hidden folder, search only where hosts look for skills.
      if (kind?.isDirectory() && !otherFolders.has(entry.name))
        await this.#search(entry.name.startsWith(".") ? join(path, hostSkills) : path, visited);
      if (!kind?.isFile() || !suiteName.test(entry.name)) continue;
      const content = await this.#classify(path);
      const owner = content === "other" ? undefined : await this.#findOwningPackage(path);
      if (owner !== undefined) this.packages.push(owner);
      else if (content === "suite") this.files.push(path);
      else if (content !== "other") this.warnings.push(content);
    }
  }

  /** A file that looks like a suite counts as one even if it cannot be parsed, so that loading it reports why. */
  async #classify(path: string): Promise<"suite" | "other" | Problem> {
    const read = readText(resolve(this.cwd, path), maxBytes);
    if ("kind" in read) return "suite";
    if (!/(?:^|[\s{,])["']?(?:cases|evals)["']?\s*:/.test(read.text)) return "other";
    try {
      const file = await parseText(read.text, path);
      const { value } = file;
      if (!isJsonObject(value) || !("cases" in value || "evals" in value)) return "other";
      const foreign = warnOtherFormat(value, path);
      if (foreign) return foreign;
      this.parsed.set(path, file);
      return "suite";
    } catch (error) {
      if (error instanceof EvalsError) return "suite";
      throw error;
    }
  }
}

/** Keys that only cases of a suite have. One of them in one case makes the file a suite, if an invalid one. */
const caseKeys = ["input", "messages", "expect", "expected_behavior"];

function warnOtherFormat(value: JsonObject, file: string): Problem | undefined {
  const cases = [value.cases, value.evals].flatMap((list) => (Array.isArray(list) ? list : []));
  const isOurs = cases.some((one) => isJsonObject(one) && caseKeys.some((key) => Object.hasOwn(one, key)));
  if (isOurs || cases.length === 0) return undefined;
  const { skill_name: skill } = value;
  const ofSkill = `the skill "${skill}". There is no SKILL.md beside the folder.`;
  const what = typeof skill === "string" ? ofSkill : 'another format. None has "input", "messages" or "expect".';
  const move = `Move the file to evals/evals.json in the package of "${skill}".`;
  const hint = typeof skill === "string" ? move : "Run `evals schema` for the format of suites.";
  const message = `Not read: ${cases.length} ${cases.length === 1 ? "case" : "cases"} of ${what}`;
  return { severity: "warning", message, hint, location: { file } };
}

async function uniquePaths(files: readonly string[], cwd: string): Promise<string[]> {
  const unique = new Map<string, string>();
  for (const file of files) {
    const path = resolve(cwd, file);
    // Reading it reports a file that was removed in the meantime.
    const real = await realpath(path).catch(() => path);
    if (!unique.has(real)) unique.set(real, file);
  }
  return [...unique.values()];
}

/** What a word on a command line can name; `paths` are suites and skill packages. */
export type NamedBy = "paths" | "server" | "url" | "config" | "tools";

/**
 * What a word names. A file that cannot be read is a suite, whose reader says what is wrong. A program is a command
 * line; throws a usage error for one that cannot be started by its name alone.
 */
export async function recognize(word: string, cwd: string): Promise<NamedBy> {
  if (/^https?:\/\//i.test(word)) return "url";
  const path = resolve(cwd, word);
  const found = await stat(path).catch(() => undefined);
  if (!found) return /\s/.test(word.trim()) ? "server" : "paths";
  if (!found.isFile()) return "paths";
  if (!/\.(?:jsonc?|ya?ml|toml)$/i.test(word)) return await recognizeProgram(word, path, (found.mode & 0o111) !== 0);
  const { value } = await readParsed(path, word, { lenient: true }).catch(() => ({ value: null }));
  // Also a list is the evals of a skill's triggers, each with its query.
  if (Array.isArray(value)) return value.some((one) => isJsonObject(one) && "query" in one) ? "paths" : "tools";
  if (!isJsonObject(value) || "cases" in value || "evals" in value) return "paths";
  if (isHostFile(value)) return "config";
  return Array.isArray(value.tools) ? "tools" : "paths";
}

/** A file that is executable and begins with `#!`, or has no ending, starts by its name; others need an interpreter. */
async function recognizeProgram(word: string, path: string, isExecutable: boolean): Promise<NamedBy> {
  const isScript = /\.(?:[cm]?[jt]s|py)$/i.test(word);
  if (!isScript) return isExecutable && extname(word) === "" ? "server" : "paths";
  const text = isExecutable ? await readFile(path, "utf8").catch(() => "") : "";
  if (text.startsWith("#!")) return "server";
  const starter = /py$/i.test(word) ? "python" : "node";
  throw usageError(`"${word}" is a program.`, `Name the command line that starts it, in quotes: "${starter} ${word}".`);
}

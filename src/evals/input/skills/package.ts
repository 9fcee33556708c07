import { createHash } from "node:crypto";
import { closeSync, existsSync, openSync, readFileSync, readSync } from "node:fs";
import { dirname, join, relative, sep } from "node:path";
import { defined } from "../../base/collections.ts";
import { EvalsError, messageOf, type Problem } from "../../base/types/errors.ts";
import { isJsonObject, type JsonObject } from "../../base/types/json.ts";
import { frontMatterKeys, type SkillDocument, type SkillPackage } from "../../base/types/skill.ts";
import { isNotText, isWithin, listFiles, maxFiles, readConfined, realPath } from "../parsing/folders.ts";
import { parseYaml } from "../parsing/yaml.ts";
import { parseBody } from "./body.ts";

/** A host loads the file into a model's context, which a larger file does not fit. */
const maxSkillBytes = 1024 * 1024;
/** Far more than any front matter needs, and small enough to parse quickly. */
const maxFrontMatterChars = 64 * 1024;

/** Why a package cannot be loaded, as the end of a sentence, and the line of its `SKILL.md`. */
export type LoadFailure = { reason: string; line?: number };

type PackageLocation = Pick<SkillPackage, "dir" | "folder" | "file" | "level">;

/**
 * How a `SKILL.md` is read: by the Agent Skills format, or like a host that also reads what violates it. Claude Code
 * and Codex convert numbers to text, and quote values that are not valid YAML. Claude Code also reads a file without
 * front matter or description, and describes it by the first line of its body.
 */
export type Reader = "format" | "claude-code" | "codex";

/** Reads the package in a folder, or says why it cannot be loaded. */
export function readPackage(
  location: PackageLocation,
  reader: Reader = "format",
): { skill: SkillPackage; warnings: Problem[] } | LoadFailure {
  const read = readConfined(join(location.dir, "SKILL.md"), location.dir, maxSkillBytes);
  if ("reason" in read) return { reason: `SKILL.md cannot be loaded: ${read.reason}` };
  if (reader === "codex" && readFileSync(join(location.dir, "SKILL.md"))[0] === 0xef)
    return { reason: "it starts with a byte order mark, which Codex does not read", line: 1 };
  const isRepository = existsSync(join(location.dir, ".git"));
  const parsed = parseSkill(read.text, { ...location, isRepository }, reader);
  if ("reason" in parsed) return parsed;
  try {
    const hashed = hashPackage(location.dir);
    if ("reason" in hashed) return hashed;
    const { warnings, ...parts } = parsed;
    for (const { path, reason } of hashed.strays) {
      const message = `The link ${reason} and is not followed.`;
      const hint = "Put the file into the package: a host that copies the package would lose it.";
      warnings.push({ severity: "warning", message, hint, location: { file: join(dirname(location.file), path) } });
    }
    return { skill: { ...location, ...parts, hash: hashed.hash }, warnings };
  } catch (error) {
    return { reason: `its files cannot be read: ${messageOf(error)}` };
  }
}

export type ParsedSkill = Pick<SkillPackage, "name" | "description" | "document"> & { warnings: Problem[] };

/**
 * Parses the text of a `SKILL.md`. Only what makes hosts skip the skill is a failure; everything else is a warning.
 * `isRepository`: the folder is a whole repository, whose name depends on the clone. Takes linear time, and does not
 * throw.
 */
export function parseSkill(
  text: string,
  { folder, file, isRepository }: Pick<PackageLocation, "folder" | "file"> & { isRepository?: boolean },
  reader: Reader = "format",
): ParsedSkill | LoadFailure {
  const plain = text.replace(/^\uFEFF/, "").replace(/\r\n?/g, "\n");
  const isClaude = reader === "claude-code";
  const read = readFrontMatter(plain, reader);
  const none: FrontMatter = { values: {}, locations: {}, quoted: [], body: plain, bodyLine: 1 };
  const front = isClaude && "reason" in read ? none : read;
  if ("reason" in front) return front;
  const { values, locations, body, bodyLine } = front;
  const name = readText(values, "name", reader) ?? folder;
  const written = readText(values, "description", reader);
  const description = isClaude && typeof written !== "string" ? describeByBody(body) : written;
  const lineOf = (key: string) => defined({ line: front.locations[key]?.line });
  if (typeof name === "object") return { ...name, ...lineOf("name") };
  if (description === undefined) return { reason: 'it has no "description"', line: 1 };
  if (typeof description === "object") return { ...description, ...lineOf("description") };
  const document: SkillDocument = { frontMatter: values, locations, body, bodyLine, ...parseBody(body, bodyLine) };
  const warnings = checkFrontMatter(front, folder, file, isRepository === true);
  return { name, description, document, warnings };
}

/** How Claude Code describes a skill without a description: by the first line of its body, without heading marks. */
function describeByBody(body: string): string {
  const [written = "Skill"] = /^.*\S.*$/m.exec(body) ?? [];
  const line = written.trim().replace(/^#+\s+/, "");
  return line.length > 100 ? `${line.slice(0, 97)}...` : line;
}

/** Reads a text from the front matter; undefined if it is empty, which hosts treat as missing. */
function readText(values: JsonObject, key: string, reader: Reader): string | LoadFailure | undefined {
  const value = Object.hasOwn(values, key) ? values[key] : undefined;
  if (value === undefined || value === null) return undefined;
  if (typeof value === "string") return value.trim() || undefined;
  if (reader !== "format" && typeof value !== "object") return String(value);
  if (reader === "claude-code" && key === "name") return String(value);
  const type = Array.isArray(value) ? "list" : typeof value === "object" ? "map" : typeof value;
  return { reason: `its "${key}" is a ${type}, not text: put it in quotes` };
}

function checkFrontMatter(
  { values, locations, quoted }: FrontMatter,
  folder: string,
  file: string,
  isRepository: boolean,
): Problem[] {
  const quoteAll = (keys: readonly string[]) => keys.map((key) => `"${key}"`).join(", ");
  const name = readText(values, "name", "format");
  const extra = Object.keys(values).filter((key) => !frontMatterKeys.has(key));
  const warnings: Problem[] = [];
  const warn = (key: string, message: string, hint: string) =>
    warnings.push({ severity: "warning", message, hint, location: { file, ...(locations[key] ?? { line: 1 }) } });
  if (quoted[0] !== undefined) {
    const message = `The front matter is not valid YAML: ${quoteAll(quoted)} contains characters of YAML outside of quotes, such as ": ".`;
    warn(quoted[0], message, "Put the value in quotes. It is read as if it were quoted, but not every host does so.");
  }
  if (name === undefined)
    warn("name", `The skill has no "name"; its folder's name is used: ${folder}.`, `Add "name: ${folder}".`);
  if (typeof name === "string" && name !== folder && !isRepository)
    warn("name", `The name "${name}" differs from its folder "${folder}".`, "Use the same name for both.");
  if (extra[0] !== undefined) {
    const message = `The front matter has keys that are not part of the Agent Skills format: ${quoteAll(extra)}.`;
    warn(extra[0], message, 'Keep those that your host reads; put your own data under "metadata".');
  }
  return warnings;
}

/** The front matter of a `SKILL.md`. Line numbers are those of the file. */
type FrontMatter = {
  values: JsonObject;
  locations: Record<string, { line: number; column: number }>;
  /** The keys whose values had to be quoted to be valid YAML. */
  quoted: readonly string[];
  body: string;
  bodyLine: number;
};

const delimited = /^---[ \t]*\n(?:([\s\S]*?)\n)?---[ \t]*(?:\n|$)/;

/** Splits a `SKILL.md` and reads its front matter. As in hosts, a plain value with ": " in it is read as if quoted. */
function readFrontMatter(text: string, reader: Reader): FrontMatter | LoadFailure {
  if (!/^---[ \t]*(?:\n|$)/.test(text)) return { reason: 'it has no front matter: line 1 is not "---"', line: 1 };
  const found = delimited.exec(text);
  if (!found) return { reason: 'its front matter is not closed by a second line "---"', line: 1 };
  const [whole, yaml = ""] = found;
  if (yaml.length > maxFrontMatterChars) return { reason: "its front matter is longer than 64 KiB", line: 1 };
  const rest = { body: text.slice(whole.length), bodyLine: whole.split("\n").length };
  const read = readYaml(yaml);
  if (!("reason" in read)) return { ...read, ...rest, quoted: [] };
  const repaired = quoteValues(yaml, reader === "format" ? plainEntry : anyEntry);
  const again = repaired.quoted.length > 0 ? readYaml(repaired.yaml) : read;
  return "reason" in again ? read : { ...again, ...rest, quoted: repaired.quoted };
}

function readYaml(yaml: string): Pick<FrontMatter, "values" | "locations"> | LoadFailure {
  if (yaml.split("\n").every((line) => /^\s*(?:#|$)/.test(line))) return { values: {}, locations: {} };
  try {
    const { value, problems, location } = parseYaml(yaml, "");
    if (problems.length > 0) throw new EvalsError(problems);
    if (!isJsonObject(value)) return { reason: 'its front matter is not a map of "key: value"', line: 2 };
    const locations = Object.keys(value).map((key) => {
      const { line = 0, column = 1 } = location([key], "key");
      return [key, { line: line + 1, column }];
    });
    return { values: value, locations: Object.fromEntries(locations) };
  } catch (error) {
    const [problem] = error instanceof EvalsError ? error.problems : [];
    if (!problem) throw error;
    const reason = `its front matter cannot be read: ${problem.message.replace(/\.$/, "")}`;
    // The YAML starts on line 2 of the file.
    return { reason, line: (problem.location?.line ?? 1) + 1 };
  }
}

/** An unindented key followed by the start of a plain value. */
const plainEntry = /^([A-Za-z][\w-]*:[ \t]+)([^\s"'[{|>&*!#%@`].*)$/;
/** The same, including values that start a list, a map or another form of YAML. */
const anyEntry = /^([A-Za-z][\w-]*:[ \t]+)([^\s"'|>#].*)$/;

/** Quotes the values of unindented keys that cannot be read as plain YAML, with their continuation lines. */
function quoteValues(yaml: string, entry: RegExp): { yaml: string; quoted: string[] } {
  const lines = yaml.split("\n");
  const quoted: string[] = [];
  for (let at = 0; at < lines.length; at++) {
    const [, key = "", first] = entry.exec(lines[at] ?? "") ?? [];
    if (first === undefined) continue;
    let end = at + 1;
    while (/^[ \t]/.test(lines[end] ?? "")) end++;
    const value = [first, ...lines.slice(at + 1, end)].join("\n").trimEnd();
    if (!/:(?:\s|$)/.test(value) && plainEntry.test(lines[at] ?? "")) continue;
    lines.splice(at, end - at, ...`${key}"${value.replace(/[\\"]/g, "\\$&")}"`.split("\n"));
    quoted.push(key.slice(0, key.indexOf(":")));
  }
  return { yaml: lines.join("\n"), quoted };
}

/** Larger files are refused, not cut, because they do not fit into a model's context. */
const maxShownBytes = 256 * 1024;

/** Reads a file of a package by its path in the folder. Does not throw; `problem` is a message for the model. */
export async function readPackageFile(
  { dir, name }: Pick<SkillPackage, "dir" | "name">,
  path: string,
): Promise<{ text: string } | { problem: string }> {
  const found = readConfined(join(dir, path), dir, maxShownBytes);
  if ("text" in found) return found;
  const isUnreadable = found.kind === "too large" || isNotText(found);
  const problem = isUnreadable ? `${path} cannot be read: ${found.reason}` : `The skill ${name} has no file ${path}`;
  return { problem };
}

/** The maximum size of all files of a package. A larger package is not loaded. */
const maxBytes = 64 * 1024 * 1024;

/** `strays`: links in the package that are not followed, by relative path, with the reason. */
type PackageHash = { hash: string; strays: readonly { path: string; reason: string }[] };

/**
 * SHA-256 (hex) over the sorted paths of a package's files and the SHA-256 of each content. A link inside the package
 * is hashed as the path that it leads to. Excludes `evals/`, because tests do not change the behavior of a skill, and
 * files that tools leave behind. `folder` is a real path; nothing outside of it is opened.
 */
function hashPackage(folder: string): PackageHash | { reason: string } {
  const hash = createHash("sha256");
  const strays: PackageHash["strays"][number][] = [];
  const files = listFiles(folder, { without: "evals" });
  if (files === undefined) return { reason: `it holds more than ${maxFiles.toLocaleString("en-US")} files` };
  let bytes = 0;
  for (const { path, kind } of files) {
    const full = join(folder, path);
    if (kind === "link") {
      const target = realPath(full);
      if (target !== undefined && isWithin(folder, target))
        hash.update(`${path}\0-> ${relative(folder, target).replaceAll(sep, "/")}\n`);
      else strays.push({ path, reason: target === undefined ? "leads nowhere" : "leads outside of the package" });
      continue;
    }
    const content = createHash("sha256");
    bytes += readInto(content, full, maxBytes - bytes);
    if (bytes > maxBytes) return { reason: `its files hold more than ${maxBytes / 1024 / 1024} MiB` };
    hash.update(`${path}\0${content.digest("hex")}\n`);
  }
  return { hash: hash.digest("hex"), strays };
}

const chunk = Buffer.allocUnsafe(64 * 1024);

/** Passes the content of a file to `sink`, stopping soon after `limit` bytes. Returns the number of bytes read. */
function readInto(sink: { update(data: Uint8Array): unknown }, path: string, limit: number): number {
  const file = openSync(path, "r");
  try {
    let total = 0;
    for (let read = -1; read !== 0 && total <= limit; total += read) {
      read = readSync(file, chunk);
      sink.update(chunk.subarray(0, read));
    }
    return total;
  } finally {
    closeSync(file);
  }
}

import { type Dirent, readdirSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { parseWords } from "../../base/collections.ts";
import { EvalsError, type Problem, usageError } from "../../base/types/errors.ts";
import { isJsonObject, type Json, type Path } from "../../base/types/json.ts";
import type { SkillEval, SkillPackage } from "../../base/types/skill.ts";
import { type CaseFiles, createPackageFiles } from "../parsing/caseFiles.ts";
import { isWithin, readConfined, realPath } from "../parsing/folders.ts";
import { type ParsedFile, parseJson } from "../parsing/json.ts";
import {
  ProblemCollector,
  promptKeys,
  type QueryFiles,
  type RawEntry,
  readEntry,
  readFiles,
  warnOtherOwner,
} from "./evalEntry.ts";

const maxBytes = 8 * 1024 * 1024;

/** Files that are only about loading: `trigger-eval.json`, `triggers.json`, `trigger_cases.json` and similar. */
const triggerFile = /^triggers?(?:[-_](?:evals?|eval[-_]set|cases?|quer(?:y|ies)|prompts?|tests?|set))?\.json$/i;

/** Names of files that may contain queries, unlike READMEs and hidden files. */
const mayHoldQueries = /^(?!readme\b|\.).*\.(?:jsonl?|ya?ml|md)$/i;

/**
 * Reads `evals/evals.json` and the trigger files of a package, in every known shape, as one list in the order of the
 * files. Ids may repeat across files. `files` has paths in the form of `skill.file`. Files that queries name are looked
 * up under `repository` too. Nothing in an eval file is executed. Throws one EvalsError with all errors; a problem that
 * does not change what is measured is a warning.
 */
export async function readSkillEvals(
  skill: SkillPackage,
  { repository, cwd }: { repository: string; cwd: string },
): Promise<{ evals: SkillEval[]; files: string[]; warnings: Problem[] }> {
  const root = resolve(cwd, repository);
  const caseFiles = createPackageFiles(skill.dir, realPath(root) ?? root);
  const errors: Problem[] = [];
  const warnings: Problem[] = [];
  const files: string[] = [];
  const evals: SkillEval[] = [];
  const { known, others } = listEvalFiles(skill.dir);
  for (const name of known) {
    const file = join(dirname(skill.file), "evals", name);
    files.push(file);
    try {
      const parsed = readEvalFile(skill.dir, name, file);
      const problems = new ProblemCollector();
      const entries = listEntries(parsed, skill.name, problems);
      const shared = readSharedFiles(parsed, entries, caseFiles, problems);
      const context = { skill: skill.name, parsed, files: caseFiles, shared, problems };
      const open = isJsonObject(parsed.value) ? [parsed.value.unreviewed ?? []].flat() : [];
      const read = entries.flatMap((entry) => readEntry(entry, context) ?? []);
      for (const one of read) if (open.includes(one.id ?? null)) one.unreviewed = true;
      evals.push(...read);
      errors.push(...parsed.problems, ...problems.errors);
      warnings.push(...(parsed.warnings ?? []), ...problems.warnings);
    } catch (error) {
      if (!(error instanceof EvalsError)) throw error;
      errors.push(...error.problems);
    }
  }
  if (errors.length > 0) throw new EvalsError([...errors, ...warnings]);
  const used = new Set(evals.flatMap((one) => one.files.map(({ path }) => path.replace(/^evals\//, ""))));
  const unread = others.filter((name) => !used.has(name));
  if (unread.length > 0) warnings.push(describeUnread(skill, unread));
  return { evals, files, warnings };
}

function describeUnread({ file }: SkillPackage, unread: readonly string[]): Problem {
  const names = unread.length > 5 ? [...unread.slice(0, 5), "..."] : unread;
  const count = unread.length === 1 ? "1 other file in evals/ is" : `${unread.length} other files in evals/ are`;
  const message = `${count} not read: ${names.join(", ")}.`;
  const hint = "Queries are read from evals.json and from trigger files such as trigger-eval.json.";
  return { severity: "warning", message, hint, location: { file: join(dirname(file), "evals") } };
}

/** The names of known files in `evals/`, the specified one first, and of others that may contain queries. */
function listEvalFiles(dir: string): { known: string[]; others: string[] } {
  const folder = realPath(join(dir, "evals"));
  if (folder === undefined || !isWithin(dir, folder)) return { known: [], others: [] };
  try {
    const entries = readdirSync(folder, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1));
    const names = entries.map(({ name }) => name);
    const known = [...names.filter((name) => name === "evals.json"), ...names.filter((name) => triggerFile.test(name))];
    const isOther = ({ name }: Dirent) => !known.includes(name) && mayHoldQueries.test(name);
    return { known, others: entries.filter((entry) => entry.isFile() && isOther(entry)).map(({ name }) => name) };
  } catch {
    return { known: [], others: [] };
  }
}

function readEvalFile(dir: string, name: string, file: string): ParsedFile {
  const read = readConfined(join(dir, "evals", name), dir, maxBytes);
  if ("text" in read) return parseJson(read.text, file);
  const hint = "An eval file must be a regular JSON file inside its package.";
  throw usageError(`The eval file cannot be read: ${read.reason}.`, hint, { file });
}

/** Reads the top-level `files` of an eval file, which all its queries share. A file that is one query has none. */
function readSharedFiles(
  { value, location }: ParsedFile,
  entries: readonly RawEntry[],
  from: CaseFiles,
  problems: ProblemCollector,
): QueryFiles {
  const isInEntries = entries.every(({ path }) => path.length > 0);
  if (!isJsonObject(value) || !isInEntries || value.files === undefined || value.files === null) return { files: [] };
  const left = "all queries of this file are";
  return readFiles(value.files, from, { location: location(["files"], "key"), left, shared: { files: [] } }, problems);
}

const wrapperKeys = ["evals", "cases", "test_cases", "queries"] as const;
const triggerLists = [
  { key: "should_trigger", triggers: true },
  { key: "should_not_trigger", triggers: false },
] as const;
/** Keys that are allowed beside the lists: the owner of the evals, notes for readers, and shared files. */
const metadataKeys = parseWords("skill_name skill skills name description version $schema files unreviewed");
const shapeHint = 'Write { "evals": [ { "input": "...", "expected_behavior": ["..."] } ] }.';

/** Lists the queries of an eval file in every known shape: a list, lists under known keys, or a single query. */
function listEntries({ value, location }: ParsedFile, skill: string, problems: ProblemCollector): RawEntry[] {
  const toEntries = (list: readonly Json[], path: Path, more: Pick<RawEntry, "triggers"> = {}): RawEntry[] =>
    list.map((item, i) => ({ value: item, path: [...path, i], ...more }));
  if (Array.isArray(value)) return toEntries(value, []);
  if (!isJsonObject(value)) {
    problems.error("An eval file must hold an object or a list.", shapeHint, location([]));
    return [];
  }
  const at = (...path: Path) => location(path, "key");
  warnOtherOwner(value, skill, at, problems);
  const wrappers: string[] = wrapperKeys.filter((key) => Object.hasOwn(value, key));
  const lists = triggerLists.filter(({ key }) => Array.isArray(value[key]));
  if (wrappers.length + lists.length === 0) {
    if (promptKeys.some((key) => Object.hasOwn(value, key))) return [{ value, path: [] }];
    problems.error("The file holds no list of queries.", shapeHint, location([]));
    return [];
  }
  const found = wrappers.flatMap((key) => {
    const list = value[key];
    if (Array.isArray(list)) return toEntries(list, [key]);
    problems.error(`"${key}" must be a list.`, "Make it a list of queries: [ ... ].", at(key));
    return [];
  });
  const known = new Set([...wrappers, ...lists.map(({ key }) => key), ...metadataKeys]);
  for (const key of Object.keys(value).filter((one) => !known.has(one)))
    problems.warn(`file ${key}`, at(key), () => ({
      message: `"${key}" is unknown next to the queries and ignored.`,
      hint: "Remove it, or move it into a query.",
    }));
  return [...found, ...lists.flatMap(({ key, triggers }) => toEntries(value[key] as Json[], [key], { triggers }))];
}

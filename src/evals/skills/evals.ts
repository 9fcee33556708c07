import { readdirSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { EvalsError, type Problem } from "../errors.ts";
import type { SkillEval, SkillPackage } from "../types/skill.ts";
import { caseFiles } from "./caseFiles.ts";
import { Complaints } from "./complaints.ts";
import { isWithin, readConfined, realPath } from "./confine.ts";
import { evalOf } from "./entry.ts";
import { type LocatedJson, parseJson } from "./json.ts";
import { entriesOf } from "./shapes.ts";

const maxBytes = 8 * 1024 * 1024;

/** `trigger-eval.json`, `triggers.json`, `trigger_cases.json` and the like: whether the skill loads, and nothing else. */
const triggerSet = /^triggers?(?:[-_](?:evals?|eval[-_]set|cases?|quer(?:y|ies)|prompts?|tests?|set))?\.json$/i;

/**
 * Reads `evals/evals.json` and the trigger sets of a package, in every known shape, as one list in the order of the files.
 * Ids are unique in no more than their file. `files` are named as `skill.file` is. Files that cases name are looked for
 * below `repository` too. Nothing in an eval file is executed.
 * Throws one EvalsError with all that is wrong; what can be read without changing what is measured is a warning.
 */
export async function readSkillEvals(
  skill: SkillPackage,
  { repository, cwd }: { repository: string; cwd: string },
): Promise<{ evals: SkillEval[]; files: string[]; warnings: Problem[] }> {
  const root = resolve(cwd, repository);
  const from = caseFiles(skill.dir, realPath(root) ?? root);
  const errors: Problem[] = [];
  const warnings: Problem[] = [];
  const files: string[] = [];
  const evals: SkillEval[] = [];
  for (const name of evalFilesOf(skill.dir)) {
    const file = join(dirname(skill.file), "evals", name);
    files.push(file);
    const located = readEvalFile(skill.dir, name, file);
    if ("severity" in located) {
      errors.push(located);
      continue;
    }
    const complaints = new Complaints();
    const context = { skill: skill.name, located, files: from, complaints };
    const entries = entriesOf(located, { isTriggerSet: triggerSet.test(name), skill: skill.name }, complaints);
    if (entries.length === 0 && complaints.errors.length === 0)
      complaints.count("empty", located.place(), () => ({
        message: "it holds no query",
        hint: "Write some, or remove it.",
      }));
    evals.push(...entries.flatMap((entry) => evalOf(entry, context) ?? []));
    errors.push(...complaints.errors);
    warnings.push(...complaints.warnings);
  }
  if (errors.length > 0) throw new EvalsError([...errors, ...warnings]);
  return { evals, files, warnings };
}

/** The names of the known files in `evals/`, that of the specification first. */
function evalFilesOf(dir: string): string[] {
  const folder = realPath(join(dir, "evals"));
  if (folder === undefined || !isWithin(dir, folder)) return [];
  try {
    const names = readdirSync(folder).sort();
    return [...names.filter((name) => name === "evals.json"), ...names.filter((name) => triggerSet.test(name))];
  } catch {
    return [];
  }
}

function readEvalFile(dir: string, name: string, file: string): LocatedJson | Problem {
  const read = readConfined(join(dir, "evals", name), dir, maxBytes);
  if ("reason" in read)
    return {
      severity: "error",
      message: `this eval file is not read: ${read.reason}`,
      hint: "An eval file is a regular JSON file inside of its package.",
      place: { file },
    };
  const located = parseJson(read.text, file);
  if ("value" in located) return located;
  const { message, hint, place } = located;
  return { severity: "error", message: `not valid JSON: ${message}`, ...(hint && { hint }), place };
}

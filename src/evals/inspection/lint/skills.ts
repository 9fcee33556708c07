import { existsSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { formatJsonPath } from "../../base/jsonSchema/walk.ts";
import { EvalsError, type Problem, usageError } from "../../base/types/errors.ts";
import type { Path } from "../../base/types/json.ts";
import type { SkillPackage } from "../../base/types/skill.ts";
import { listFiles, readConfined } from "../../input/parsing/folders.ts";
import { readParsed } from "../../input/parsing/read.ts";
import { discoverSkills } from "../../input/skills/discover.ts";
import { readSkillEvals } from "../../input/skills/evals.ts";
import { buildSkillSuite } from "../../input/suites/skillSuite.ts";
import type { SkillsTarget } from "../targets.ts";
import { type CollectContext, type Collected, collectFailure, joinCollected, locateCase } from "./collect.ts";
import type { LintSubject } from "./rule.ts";

const maxFileBytes = 256 * 1024;

/** The skill packages of a target with their eval files. Throws EvalsError when the folder has no package. */
export async function collectSkills({ dir, only }: SkillsTarget, context: CollectContext): Promise<Collected> {
  const { io } = context;
  const root = { dir: resolve(io.cwd, dir), level: "named" as const };
  const { skills, skipped, shadowed } = await discoverSkills([root], { cwd: io.cwd });
  if (skills.length + skipped.length === 0)
    throw usageError(`There is no skill package in "${dir}".`, "A skill package is a folder with a SKILL.md.");
  const isSelected = (folder: string) => only?.includes(folder) ?? true;
  const problems = [
    ...skipped.map(({ file, reason }) => describeNotLoaded(file, `No host can load this package: ${reason}`)),
    ...shadowed.map(({ file, by, reason }) => describeNotLoaded(file, `${by} has the same name: ${reason}`)),
  ].filter(({ location }) => isSelected(basename(dirname(location?.file ?? ""))));
  const selected = skills.filter(({ folder }) => isSelected(folder));
  const parts = await Promise.all(selected.map((skill) => collectPackage(skill, skills, context)));
  return joinCollected([...parts, { problems }]);
}

/** `where` is a file, optionally with `:line`. */
function describeNotLoaded(where: string, message: string): Problem {
  const isYaml = /front matter|"(?:name|description)"/.test(message);
  const yaml = isYaml ? " (YAML needs quotes around a value with #, @, : and the like)" : "";
  const hint = `Fix it${yaml}, or move it out of the folder of skills.`;
  const [, file = where, line] = /^(.*):(\d+)$/.exec(where) ?? [];
  return { severity: "error", message, hint, location: { file, ...(line !== undefined && { line: Number(line) }) } };
}

async function collectPackage(skill: SkillPackage, all: readonly SkillPackage[], context: CollectContext) {
  const siblings = all.filter((one) => one !== skill).map(({ name, description }) => ({ name, description }));
  const subject: LintSubject = {
    kind: "skills",
    subject: {
      package: skill,
      files: readFiles(skill.dir),
      siblings,
      isRepository: existsSync(join(skill.dir, ".git")),
    },
    names: [skill.name],
    settings: context.settings,
    where: (at) => ({ skill: skill.name, path: formatJsonPath(at), ...locateIn(skill, at) }),
  };
  return joinCollected([{ subjects: [subject] }, await collectEvals(skill, context)]);
}

function locateIn({ file, document }: SkillPackage, [part, key]: Path) {
  if (part === "line" && typeof key === "number") return { file, line: key };
  if (part === "file" && key !== undefined) return { file: join(dirname(file), String(key)) };
  const known = part === "frontMatter" && key !== undefined ? document.locations[String(key)] : undefined;
  return { file, line: known?.line ?? 1, ...(known && { column: known.column }) };
}

async function collectEvals(skill: SkillPackage, { io, settings }: CollectContext): Promise<Collected> {
  try {
    const { evals, files, warnings } = await readSkillEvals(skill, { repository: io.cwd, cwd: io.cwd });
    const subjects = files.map(async (file): Promise<LintSubject> => {
      const { value, location } = await readParsed(resolve(io.cwd, file), file);
      const own = evals.filter((one) => one.location.file === file);
      return {
        kind: "eval files",
        subject: { raw: value, evals: own, isTriggerFile: basename(file) !== "evals.json" },
        names: [skill.name],
        settings,
        where: (at) => {
          return { skill: skill.name, path: formatJsonPath(at), ...(locateCase("evals", own, at) ?? location(at)) };
        },
      };
    });
    const suite = buildSkillSuite(skill, evals, "trigger", []);
    const asSuite = suite && {
      kind: "suites" as const,
      subject: { suite },
      names: [skill.name],
      settings,
      where: (at: Path) => {
        const location = locateCase("cases", suite.cases, at) ?? { file: suite.file };
        return { skill: skill.name, path: formatJsonPath(at), ...location };
      },
    };
    return { subjects: [...(await Promise.all(subjects)), ...(asSuite ? [asSuite] : [])], warnings };
  } catch (error) {
    if (error instanceof EvalsError) return collectFailure(error);
    throw error;
  }
}

/** The text of every file of a package by path; undefined for files that are not text, too large, or outside of it. */
function readFiles(dir: string): Map<string, string | undefined> {
  // A package with too many files beside its queries is not loaded.
  const files = listFiles(dir) ?? listFiles(dir, { without: "evals" }) ?? [];
  const read = files.map(({ path }) => ({ path, ...readConfined(join(dir, path), dir, maxFileBytes) }));
  return new Map(read.map((one) => [one.path, "text" in one ? one.text : undefined]));
}

import { readdirSync } from "node:fs";
import { stat } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { EvalsError, type Problem, usageError } from "../../errors.ts";
import type { Path } from "../../jsonSchema/paths.ts";
import { jsonPath } from "../../jsonSchema/paths.ts";
import type { Target } from "../../lint/rule.ts";
import { readParsed } from "../../parsing/read.ts";
import { discoverSkills } from "../../skills/discover.ts";
import { readSkillEvals } from "../../skills/evals.ts";
import { readConfined } from "../../skills/packageFiles.ts";
import type { Where } from "../../types/lint.ts";
import type { SkillPackage } from "../../types/skill.ts";
import { type Gathered, type Gathering, missing, nothing, together } from "./gathered.ts";

const maxFileBytes = 256 * 1024;
/** What tools and systems leave in a package, and no author writes. */
const leftOut = new Set([".git", ".DS_Store", "node_modules", "__pycache__"]);

/**
 * The skill packages in a folder, or the one that it is, and their eval files. A package that no host can load is a
 * problem. With `only`, the packages of these folders in it, each beside all. Throws EvalsError when there is no such
 * folder, or no package in it.
 */
export async function skillTargets(dir: string, gathering: Gathering, only?: readonly string[]): Promise<Gathered> {
  const { io } = gathering;
  const kind = await stat(resolve(io.cwd, dir)).catch(() => undefined);
  if (!kind?.isDirectory())
    throw usageError(`there is no folder "${dir}"`, "Give a skill package, or a folder of them.");
  const root = { dir: resolve(io.cwd, dir), level: "named" as const };
  const { skills, skipped, shadowed } = await discoverSkills([root], { precedence: "project", cwd: io.cwd });
  if (skills.length + skipped.length === 0)
    throw usageError(`there is no skill package in "${dir}"`, "A package is a folder with a SKILL.md.");
  const isMeant = (folder: string) => only?.includes(folder) ?? true;
  const problems = [
    ...skipped.map(({ file, reason }) => notLoaded(file, `no host can load this: ${reason}`)),
    ...shadowed.map(({ file, by, reason }) => notLoaded(file, `${by} has the same name: ${reason}`)),
  ].filter(({ place }) => isMeant(basename(dirname(place?.file ?? ""))));
  const meant = skills.filter(({ folder }) => isMeant(folder));
  const parts = await Promise.all(meant.map((skill) => packageTargets(skill, skills, gathering)));
  return together([...parts, { ...nothing, problems }]);
}

/** `where` is a file, perhaps with `:line`. */
function notLoaded(where: string, message: string): Problem {
  const hint = "Mend it, or move it out of the folder of skills.";
  const [, file = where, line] = /^(.*):(\d+)$/.exec(where) ?? [];
  return { severity: "error", message, hint, place: { file, ...(line !== undefined && { line: Number(line) }) } };
}

async function packageTargets(
  skill: SkillPackage,
  all: readonly SkillPackage[],
  { io, settings }: Gathering,
): Promise<Gathered> {
  const siblings = all.filter((one) => one !== skill).map(({ name, description }) => ({ name, description }));
  const target: Target = {
    kind: "skills",
    subject: { package: skill, files: filesOf(skill.dir), siblings },
    names: [skill.name],
    settings,
    where: (at) => ({ skill: skill.name, path: jsonPath(at), ...placeIn(skill, at) }),
  };
  return together([{ ...nothing, targets: [target] }, await evalTargets(skill, { io, settings })]);
}

function placeIn({ file, document }: SkillPackage, [part, key]: Path): Pick<Where, "file" | "line" | "column"> {
  if (part === "line" && typeof key === "number") return { file, line: key };
  if (part === "file" && key !== undefined) return { file: join(dirname(file), String(key)) };
  const known = part === "frontMatter" && key !== undefined ? document.places[String(key)] : undefined;
  return { file, line: known?.line ?? 1, ...(known && { column: known.column }) };
}

async function evalTargets(skill: SkillPackage, { io, settings }: Gathering): Promise<Gathered> {
  try {
    const { evals, files, warnings } = await readSkillEvals(skill, { repository: io.cwd, cwd: io.cwd });
    const targets = files.map(async (file): Promise<Target> => {
      const { value, place } = await readParsed(resolve(io.cwd, file), file);
      return {
        kind: "eval files",
        subject: { skill: skill.name, raw: value, evals: evals.filter((one) => one.place.file === file), all: evals },
        names: [skill.name],
        settings,
        where: (at) => ({ skill: skill.name, path: jsonPath(at), ...place(at) }),
      };
    });
    return { ...nothing, targets: await Promise.all(targets), warnings };
  } catch (error) {
    if (error instanceof EvalsError) return missing(error);
    throw error;
  }
}

/** The text of every file of a package, by its path; undefined for what is no text, too large or outside. */
function filesOf(dir: string): Map<string, string | undefined> {
  const files = new Map<string, string | undefined>();
  const folders = [""];
  for (const folder of folders)
    for (const entry of readdirSync(join(dir, folder), { withFileTypes: true })) {
      if (leftOut.has(entry.name)) continue;
      const path = folder === "" ? entry.name : `${folder}/${entry.name}`;
      if (entry.isDirectory()) folders.push(path);
      else {
        const read = readConfined(join(dir, path), dir, maxFileBytes);
        files.set(path, "text" in read ? read.text : undefined);
      }
    }
  return files;
}

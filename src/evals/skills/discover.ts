import { readdirSync } from "node:fs";
import { basename, join, relative, resolve } from "node:path";
import { messageOf, type Problem } from "../errors.ts";
import type { SkillPackage } from "../types/skill.ts";
import { isWithin, realPath } from "./confine.ts";
import { readPackage } from "./package.ts";

/** A folder to look in: that of a host, for a user or a project, or one that was named. */
export type SkillRoot = { dir: string; level: SkillPackage["level"] };

/** Of two skills of one name, the level whose skill is loaded. */
export type Precedence = "project" | "user";

/** What was found. Every package that is not among `skills` is told with the reason. */
export type Discovery = {
  /** Sorted by name, each name once. */
  skills: SkillPackage[];
  /** Another skill (`by`, its SKILL.md) has the same name and goes before. */
  shadowed: { name: string; file: string; by: string; reason: string }[];
  /** No host can load these. */
  skipped: { file: string; reason: string }[];
  /** On the skills that were found. */
  warnings: Problem[];
};

const defaultHostDirs = [".claude", ".agents"];

/** The skill folders of a user (`home`) and a project, those of the first host directory first. They need not exist. */
export function skillRoots(where: { home?: string; project: string; hostDirs?: readonly string[] }): SkillRoot[] {
  const { home, project, hostDirs = defaultHostDirs } = where;
  const under = (base: string, level: SkillPackage["level"]) =>
    hostDirs.map((hostDir) => ({ dir: join(base, hostDir, "skills"), level }));
  return [...(home === undefined ? [] : under(home, "user")), ...under(project, "project")];
}

/** Which level a host prefers. Claude Code: the user's; the Agent Skills guide, which the others follow: the project's. */
export function precedenceOf(host: string): Precedence {
  return host === "claude-code" ? "user" : "project";
}

/**
 * The skill packages under `roots`, which may be absolute or relative to `cwd`. A named root is a folder of packages or
 * itself a package, and goes before the levels of a host; within a level the first root goes first. Names compare exactly.
 * A package that several links lead to is one. Messages name files from `cwd` where they lie in it.
 */
export async function discoverSkills(
  roots: readonly SkillRoot[],
  { precedence, cwd }: { precedence: Precedence; cwd: string },
): Promise<Discovery> {
  const found: Discovery = { skills: [], shadowed: [], skipped: [], warnings: [] };
  const seen = new Set<string>();
  const byName = new Map<string, { skill: SkillPackage; root: SkillRoot }>();
  const shown = (path: string) => (isWithin(cwd, path) ? relative(cwd, path) || "." : path);
  const levels = precedence === "user" ? ["named", "user", "project"] : ["named", "project", "user"];
  for (const root of levels.flatMap((level) => roots.filter((one) => one.level === level))) {
    const { folders, skipped } = foldersOf(root, cwd);
    found.skipped.push(...skipped.map(({ file, reason }) => ({ file: shown(file), reason })));
    for (const { path, dir } of folders) {
      if (seen.has(dir)) continue;
      seen.add(dir);
      const file = shown(join(path, "SKILL.md"));
      const read = readPackage({ dir, folder: basename(path), file, level: root.level });
      if ("reason" in read) {
        const { reason, line } = read;
        found.skipped.push({ file: line === undefined ? file : `${file}:${line}`, reason });
        continue;
      }
      const { name } = read.skill;
      const first = byName.get(name);
      if (first) {
        found.shadowed.push({ name, file, by: first.skill.file, reason: whyAfter(first.root, root) });
        continue;
      }
      byName.set(name, { skill: read.skill, root });
      found.warnings.push(...read.warnings);
    }
  }
  found.skills = [...byName.values()].map(({ skill }) => skill).sort((a, b) => (a.name < b.name ? -1 : 1));
  return found;
}

function whyAfter(first: SkillRoot, second: SkillRoot): string {
  if (first === second) return "two packages of one folder have this name: the first folder by name is loaded";
  if (first.level === second.level) return "the folder of the other is looked up first";
  if (first.level === "named") return "a folder that was named goes before those of a host";
  return `the skills of the ${first.level} go before those of the ${second.level}`;
}

type Folders = {
  /** The path as found, and its real path. */
  folders: { path: string; dir: string }[];
  skipped: { file: string; reason: string }[];
};

/** The folders under a root that could be packages, sorted by name: all but hidden ones. A missing root has none. */
function foldersOf({ dir: given, level }: SkillRoot, cwd: string): Folders {
  const root = resolve(cwd, given);
  const real = realPath(root);
  const found: Folders = { folders: [], skipped: [] };
  if (real === undefined) {
    if (level === "named") found.skipped.push({ file: root, reason: "there is no such folder" });
    return found;
  }
  const names = namesIn(real);
  if (names === "no folder") return { folders: [], skipped: [{ file: root, reason: "it is no folder" }] };
  if ("reason" in names) return { folders: [], skipped: [{ file: root, reason: names.reason }] };
  if (level === "named" && names.all.includes("SKILL.md")) return { folders: [{ path: root, dir: real }], skipped: [] };
  for (const name of names.folders.filter((one) => !one.startsWith(".") && one !== "node_modules")) {
    const path = join(root, name);
    const dir = realPath(path);
    const inside = dir === undefined ? { reason: "it is a link that leads nowhere" } : namesIn(dir);
    if (inside === "no folder") continue;
    if ("reason" in inside) found.skipped.push({ file: path, reason: inside.reason });
    else if (dir !== undefined && inside.all.includes("SKILL.md")) found.folders.push({ path, dir });
    else found.skipped.push({ file: path, reason: withoutSkill(inside.all) });
  }
  return found;
}

function withoutSkill(names: readonly string[]): string {
  const close = names.find((name) => name.toLowerCase() === "skill.md");
  return close === undefined ? "it holds no SKILL.md" : `it holds no SKILL.md; ${close} is spelled otherwise`;
}

/** All names in a folder, and those that are folders or links, sorted. */
function namesIn(dir: string): { all: string[]; folders: string[] } | "no folder" | { reason: string } {
  try {
    const entries = readdirSync(dir, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1));
    const folders = entries.filter((entry) => entry.isDirectory() || entry.isSymbolicLink());
    return { all: entries.map(({ name }) => name), folders: folders.map(({ name }) => name) };
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOTDIR") return "no folder";
    return { reason: `it cannot be read: ${messageOf(error)}` };
  }
}

import { readdirSync } from "node:fs";
import { basename, join, relative, resolve } from "node:path";
import { messageOf, type Problem } from "../types/errors.ts";
import type { SkillPackage } from "../types/skill.ts";
import { readPackage } from "./package.ts";
import { isWithin, realPath } from "./packageFiles.ts";

/** A folder to search: one of a host, for a user or a project, or one that was named. */
export type SkillRoot = { dir: string; level: SkillPackage["level"] };

/** The level whose skill is loaded when two skills have the same name. */
export type Precedence = "project" | "user";

/** The result of a search. Every package that is not among `skills` is reported with the reason. */
export type Discovery = {
  /** Sorted by name, each name once. */
  skills: SkillPackage[];
  /** Packages that another skill of the same name (`by`, its SKILL.md) takes precedence over. */
  shadowed: { name: string; file: string; by: string; reason: string }[];
  /** Packages that no host can load. */
  skipped: { file: string; reason: string }[];
  /** Warnings about the skills that were found. */
  warnings: Problem[];
};

const defaultHostDirs = [".claude", ".agents"];

/** The skill folders of a user (`home`) and a project, in the order of the host directories. They need not exist. */
export function skillRoots(where: { home?: string; project: string; hostDirs?: readonly string[] }): SkillRoot[] {
  const { home, project, hostDirs = defaultHostDirs } = where;
  const under = (base: string, level: SkillPackage["level"]) =>
    hostDirs.map((hostDir) => ({ dir: join(base, hostDir, "skills"), level }));
  return [...(home === undefined ? [] : under(home, "user")), ...under(project, "project")];
}

/**
 * The level that a host prefers: the user's for Claude Code, the project's by the Agent Skills guide for the others.
 */
export function getPrecedence(host: string): Precedence {
  return host === "claude-code" ? "user" : "project";
}

/**
 * The skill packages under `roots`, which are absolute or relative to `cwd`. A named root is a folder of packages or a
 * package, and takes precedence over the levels of a host; within a level the first root does. Names compare exactly.
 * A package that several links lead to counts once. Messages name files relative to `cwd` where they are inside it.
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
    const { folders, skipped } = listFolders(root, cwd);
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
        found.shadowed.push({ name, file, by: first.skill.file, reason: explainPrecedence(first.root, root) });
        continue;
      }
      byName.set(name, { skill: read.skill, root });
      found.warnings.push(...read.warnings);
    }
  }
  found.skills = [...byName.values()].map(({ skill }) => skill).sort((a, b) => (a.name < b.name ? -1 : 1));
  return found;
}

function explainPrecedence(first: SkillRoot, second: SkillRoot): string {
  if (first === second) return "two packages in one folder have this name, and the first folder by name is loaded";
  if (first.level === second.level) return "the folder of the other is searched first";
  if (first.level === "named") return "a named folder takes precedence over those of a host";
  return `${first.level} skills take precedence over ${second.level} skills`;
}

type Folders = {
  /** Each path as found, and its real path. */
  folders: { path: string; dir: string }[];
  skipped: { file: string; reason: string }[];
};

/** The folders under a root that may be packages, sorted by name, without hidden ones. A missing root has none. */
function listFolders({ dir: given, level }: SkillRoot, cwd: string): Folders {
  const root = resolve(cwd, given);
  const real = realPath(root);
  const found: Folders = { folders: [], skipped: [] };
  if (real === undefined) {
    if (level === "named") found.skipped.push({ file: root, reason: "the folder does not exist" });
    return found;
  }
  const names = listNames(real);
  if (names === "not a folder") return { folders: [], skipped: [{ file: root, reason: "it is not a folder" }] };
  if ("reason" in names) return { folders: [], skipped: [{ file: root, reason: names.reason }] };
  if (level === "named" && names.all.includes("SKILL.md")) return { folders: [{ path: root, dir: real }], skipped: [] };
  for (const name of names.folders.filter((one) => !one.startsWith(".") && one !== "node_modules")) {
    const path = join(root, name);
    const dir = realPath(path);
    const inside = dir === undefined ? { reason: "it is a link that leads nowhere" } : listNames(dir);
    if (inside === "not a folder") continue;
    if ("reason" in inside) found.skipped.push({ file: path, reason: inside.reason });
    else if (dir !== undefined && inside.all.includes("SKILL.md")) found.folders.push({ path, dir });
    else found.skipped.push({ file: path, reason: explainMissingSkill(inside.all) });
  }
  return found;
}

function explainMissingSkill(names: readonly string[]): string {
  const close = names.find((name) => name.toLowerCase() === "skill.md");
  return close === undefined ? "it has no SKILL.md" : `it has no SKILL.md; rename ${close}`;
}

/** All names in a folder, and those that are folders or links, sorted. */
function listNames(dir: string): { all: string[]; folders: string[] } | "not a folder" | { reason: string } {
  try {
    const entries = readdirSync(dir, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1));
    const folders = entries.filter((entry) => entry.isDirectory() || entry.isSymbolicLink());
    return { all: entries.map(({ name }) => name), folders: folders.map(({ name }) => name) };
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOTDIR") return "not a folder";
    return { reason: `it cannot be read: ${messageOf(error)}` };
  }
}

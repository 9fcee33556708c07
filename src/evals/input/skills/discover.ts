import { readdirSync } from "node:fs";
import { basename, join, relative, resolve } from "node:path";
import { messageOf, type Problem } from "../../base/types/errors.ts";
import type { SkillPackage, SkillRoot } from "../../base/types/skill.ts";
import { isWithin, realPath } from "../parsing/folders.ts";
import { formatRules, type HostRules } from "./hosts.ts";
import { readPackage } from "./package.ts";

/** The result of a search. Every package that is not among `skills` is reported with the reason. */
export type Discovery = {
  /** Sorted by name. Names are unique unless the host keeps skills with equal names. */
  skills: SkillPackage[];
  /** Packages that are hidden by another skill of the same name. `by`: the SKILL.md of that skill. */
  shadowed: { name: string; file: string; by: string; reason: string }[];
  /** Packages that no host can load. */
  skipped: { file: string; reason: string }[];
  warnings: Problem[];
};

/**
 * Finds the skill packages under `roots`, which are absolute or relative to `cwd`. A named root is a package or a
 * folder of packages, and takes precedence over the levels of a host; within a level, earlier roots take precedence.
 * Names compare exactly. A package that several links lead to is found once. Messages name files inside `cwd` relative
 * to it.
 */
export async function discoverSkills(
  roots: readonly SkillRoot[],
  { cwd, rules = formatRules }: { cwd: string; rules?: HostRules },
): Promise<Discovery> {
  const found: Discovery = { skills: [], shadowed: [], skipped: [], warnings: [] };
  const seen = new Set<string>();
  const byName = new Map<string, { skill: SkillPackage; root: SkillRoot }>();
  const formatPath = (path: string) => (isWithin(cwd, path) ? relative(cwd, path) || "." : path);
  const levels = ["named", ...(rules.precedence === "user" ? ["user", "project"] : ["project", "user"]), "plugin"];
  for (const root of levels.flatMap((level) => roots.filter((one) => one.level === level))) {
    const { folders, skipped } = listFolders(root, cwd, rules);
    found.skipped.push(...skipped.map(({ file, reason }) => ({ file: formatPath(file), reason })));
    for (const { path, dir } of folders) {
      if (seen.has(dir)) continue;
      seen.add(dir);
      const file = formatPath(join(path, "SKILL.md"));
      const read = readPackage({ dir, folder: basename(path), file, level: root.level }, rules.reader);
      if ("reason" in read) {
        const { reason, line } = read;
        found.skipped.push({ file: line === undefined ? file : `${file}:${line}`, reason });
        continue;
      }
      // The folder of a plugin that is itself a package does not have the name of the skill.
      const ownName = rules.namedBy === "folder" && dir !== realPath(root.dir) ? read.skill.folder : read.skill.name;
      const name = root.plugin === undefined ? ownName : `${root.plugin}:${ownName}`;
      const first = byName.get(name);
      if (first && !rules.keepsEqualNames) {
        found.shadowed.push({ name, file, by: first.skill.file, reason: explainPrecedence(first.root, root) });
        continue;
      }
      const skill = { ...read.skill, name };
      byName.set(name, { skill, root });
      found.skills.push(skill);
      found.warnings.push(...read.warnings);
    }
  }
  found.skills.sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
  return found;
}

function explainPrecedence(first: SkillRoot, second: SkillRoot): string {
  if (first === second) return "two packages in one folder have this name, and the first folder by name is loaded";
  if (first.level === second.level) return "the folder of the other is searched first";
  if (first.level === "named") return "a named folder takes precedence over those of a host";
  return `${first.level} skills take precedence over ${second.level} skills`;
}

/** `folders`: each with its path as found, and its real path. */
type Folders = { folders: { path: string; dir: string }[]; skipped: { file: string; reason: string }[] };

/** Lists the folders under a root that may be packages, sorted by name; none if the root is missing. */
function listFolders({ dir: given, level }: SkillRoot, cwd: string, rules: HostRules): Folders {
  const root = resolve(cwd, given);
  const real = realPath(root);
  const folders: Folders["folders"] = [];
  const skipped: Folders["skipped"] = [];
  const refuse = (file: string, reason: string) => ({ folders, skipped: [{ file, reason }] });
  if (real === undefined) return level === "named" ? refuse(root, "the folder does not exist") : { folders, skipped };
  const names = listNames(real);
  if (names === "not a folder") return refuse(root, "it is not a folder");
  if ("reason" in names) return refuse(root, names.reason);
  const canBePackage = level === "named" || level === "plugin" || rules.depth > 1;
  if (canBePackage && names.all.includes("SKILL.md")) {
    folders.push({ path: root, dir: real });
    if (rules.depth === 1) return { folders, skipped };
  }
  // The real paths of searched folders, because links can lead back to them.
  const searched = new Set<string>();
  /** Adds the packages among these folders of `parent`. `depth`: their depth below the root, from 1. */
  const addInner = (parent: string, inner: readonly string[], depth: number): void => {
    for (const name of inner.filter(rules.isSearched)) {
      const path = join(parent, name);
      const inside = listNames(realPath(path));
      if (inside === "not a folder") continue;
      if ("reason" in inside) {
        skipped.push({ file: path, reason: inside.reason });
        continue;
      }
      const { dir } = inside;
      const isPackage = inside.all.includes("SKILL.md");
      if (isPackage) folders.push({ path, dir });
      if (depth < rules.depth && !searched.has(dir)) {
        searched.add(dir);
        addInner(path, inside.folders, depth + 1);
      }
      // If packages can be deeper, a folder without SKILL.md is normal, unless the name is misspelled.
      const misspelled = inside.all.find((one) => one.toLowerCase() === "skill.md");
      const more = misspelled === undefined ? "" : `; rename ${misspelled}`;
      if (!isPackage && (rules.depth === 1 || more !== ""))
        skipped.push({ file: path, reason: `it has no SKILL.md${more}` });
    }
  };
  addInner(root, names.folders, 1);
  return { folders, skipped };
}

/** All names in a folder, and those that are folders or links, sorted. */
function listNames(dir: string | undefined) {
  if (dir === undefined) return { reason: "it is a link that leads nowhere" };
  try {
    const entries = readdirSync(dir, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1));
    const folders = entries.filter((entry) => entry.isDirectory() || entry.isSymbolicLink());
    return { dir, all: entries.map(({ name }) => name), folders: folders.map(({ name }) => name) };
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOTDIR") return "not a folder" as const;
    return { reason: `it cannot be read: ${messageOf(error)}` };
  }
}

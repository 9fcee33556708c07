import { existsSync, readdirSync, realpathSync } from "node:fs";
import { dirname, isAbsolute, join, relative, sep } from "node:path";
import { leftInPackages } from "../../base/types/skill.ts";
import { type Refusal, readText } from "./read.ts";

/** Whether a real path is this real folder or inside it. */
export function isWithin(folder: string, path: string): boolean {
  const inner = relative(folder, path);
  return inner !== ".." && !inner.startsWith(`..${sep}`) && !isAbsolute(inner);
}

/** The real path, with all links resolved; undefined if it does not exist. */
export function realPath(path: string): string | undefined {
  try {
    return realpathSync.native(path);
  } catch {
    return undefined;
  }
}

/** Why a file in a folder was not read. */
export type ConfinedRefusal = Refusal | { kind: "outside"; reason: string };

/** Reads a UTF-8 file of at most `maxBytes`, without byte order mark, unless a link leads out of `folder`. */
export function readConfined(path: string, folder: string, maxBytes: number): { text: string } | ConfinedRefusal {
  const real = realPath(path);
  if (real === undefined) return { kind: "missing", reason: "it does not exist" };
  if (!isWithin(folder, real)) return { kind: "outside", reason: `it is a link to a place outside of ${folder}` };
  return readText(real, maxBytes);
}

/** Whether a file was refused because it is not UTF-8 text. */
export function isNotText({ kind }: ConfinedRefusal): boolean {
  return kind === "binary" || kind === "utf-16" || kind === "not utf-8";
}

export type FolderEntry = { path: string; kind: "file" | "link" };

/** A package with more files is not read. */
export const maxFiles = 20_000;

/**
 * Lists the regular files and links in a folder, sorted by path, except for files that tools leave behind and the
 * top-level folder `without`; undefined if there are more than `most`. Links are not followed, so there are no loops.
 */
export function listFiles(folder: string, given: { without?: string; most?: number } = {}): FolderEntry[] | undefined {
  const { without, most = maxFiles } = given;
  const found: FolderEntry[] = [];
  const folders = [""];
  for (let at = 0; at < folders.length; at++) {
    const inside = folders[at] ?? "";
    for (const entry of readdirSync(join(folder, inside), { withFileTypes: true })) {
      const path = inside === "" ? entry.name : `${inside}/${entry.name}`;
      if (leftInPackages.has(entry.name) || (path === without && entry.isDirectory())) continue;
      if (entry.isDirectory()) folders.push(path);
      if (entry.isFile()) found.push({ path, kind: "file" });
      if (entry.isSymbolicLink()) found.push({ path, kind: "link" });
    }
    if (found.length + folders.length > most) return undefined;
  }
  return found.sort((a, b) => (a.path < b.path ? -1 : 1));
}

/** The real folder that a package belongs to: its git repository, or else `cwd` if the package is inside it. */
function findRepository(dir: string, cwd: string): string | undefined {
  const root = findGitRoot(dir);
  if (root !== undefined) return root;
  const here = realPath(cwd);
  return here !== undefined && isWithin(here, dir) ? here : undefined;
}

/** The folder whose packages are offered with a package: its parent in the same repository, or else the package. */
export function findOfferedFolder(dir: string, cwd: string): string {
  const bounds = findRepository(dir, cwd);
  return bounds !== undefined && isWithin(bounds, dirname(dir)) ? dirname(dir) : dir;
}

/** The root of the git repository that `dir` is in. */
export function findGitRoot(dir: string): string | undefined {
  for (let folder = dir; ; folder = dirname(folder)) {
    if (existsSync(join(folder, ".git"))) return folder;
    if (folder === dirname(folder)) return undefined;
  }
}

/** The path of a folder in its git repository, as in `packages/a`: empty at the root, and outside of a repository. */
export function folderInRepository(dir: string): string {
  const root = findGitRoot(dir);
  return root === undefined ? "" : relative(root, dir).split(sep).join("/");
}

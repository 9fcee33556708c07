import { createHash } from "node:crypto";
import { closeSync, existsSync, openSync, readSync } from "node:fs";
import { dirname, join, relative, sep } from "node:path";
import type { SkillPackage } from "../../base/types/skill.ts";
import { isNotText, isWithin, listFiles, maxFiles, readConfined, realPath } from "../parsing/confined.ts";

/** The real folder that a package belongs to: its git repository, or else `cwd` if the package is inside it. */
export function findRepository(dir: string, cwd: string): string | undefined {
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
  return {
    problem: isUnreadable ? `${path} cannot be read: ${found.reason}` : `The skill ${name} has no file ${path}`,
  };
}

/** The maximum size of all files of a package. A larger package is not loaded. */
const maxBytes = 64 * 1024 * 1024;

/** `strays`: links in the package that are not followed, by relative path, with the reason. */
export type PackageHash = { hash: string; strays: readonly { path: string; reason: string }[] };

/**
 * SHA-256 (hex) over the sorted paths of a package's files and the SHA-256 of each content. A link inside the package
 * is hashed as the path that it leads to. Excludes `evals/`, because tests do not change the behavior of a skill, and
 * files that tools leave behind. `folder` is a real path; nothing outside of it is opened.
 */
export function hashPackage(folder: string): PackageHash | { reason: string } {
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

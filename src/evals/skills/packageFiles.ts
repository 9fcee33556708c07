import { createHash } from "node:crypto";
import { closeSync, existsSync, openSync, readdirSync, readSync, realpathSync } from "node:fs";
import { dirname, isAbsolute, join, relative, sep } from "node:path";
import { type Refusal, readText } from "../parsing/read.ts";
import { leftInPackages, type SkillPackage } from "../types/skill.ts";

/** Whether a real path is this real folder or inside it. */
export function isWithin(folder: string, path: string): boolean {
  const way = relative(folder, path);
  return way !== ".." && !way.startsWith(`..${sep}`) && !isAbsolute(way);
}

/**
 * The real folder that a package is a part of: its git repository, else `cwd` if the package is inside of it. What is
 * around it belongs to the machine, not to the package.
 */
export function findRepository(dir: string, cwd: string): string | undefined {
  for (let folder = dir; ; folder = dirname(folder)) {
    if (existsSync(join(folder, ".git"))) return folder;
    if (folder === dirname(folder)) break;
  }
  const here = realPath(cwd);
  return here !== undefined && isWithin(here, dir) ? here : undefined;
}

/** The real path, with all links followed; undefined when it leads nowhere. */
export function realPath(path: string): string | undefined {
  try {
    return realpathSync.native(path);
  } catch {
    return undefined;
  }
}

/** Why a file of a package was not read. */
export type ConfinedRefusal = Refusal | { kind: "outside"; reason: string };

/**
 * The UTF-8 text of a file of at most `maxBytes`, without a byte order mark, if all links of `path` end in `folder`.
 */
export function readConfined(path: string, folder: string, maxBytes: number): { text: string } | ConfinedRefusal {
  const real = realPath(path);
  if (real === undefined) return { kind: "missing", reason: "it does not exist" };
  if (!isWithin(folder, real)) return { kind: "outside", reason: `it is a link to a place outside of ${folder}` };
  return readText(real, maxBytes);
}

/** Whether a file was refused for its content. */
export function isNotText({ kind }: ConfinedRefusal): boolean {
  return kind === "binary" || kind === "utf-16" || kind === "not utf-8";
}

/** Larger files are refused, not cut: they do not fit into a model's context. */
const maxShownBytes = 256 * 1024;

/**
 * The text of a file inside a package, by its path relative to the package's folder. Does not throw: `problem` is the
 * message for the model.
 */
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

/** Limits of a package; beyond them it is not loaded. */
const maxFiles = 2_000;
const maxBytes = 64 * 1024 * 1024;

/** `strays`: links in the package that are not followed, by relative path, each with the reason. */
export type PackageHash = { hash: string; strays: readonly { path: string; reason: string }[] };

/**
 * SHA-256 (hex) over the sorted paths of a package's files and the SHA-256 of each content. A link inside the package
 * counts as the path that it leads to. `evals/` is left out, because tests do not change the behaviour of a skill, and
 * so is what tools leave behind. `folder` is a real path; nothing outside of it is opened.
 */
export function hashPackage(folder: string): PackageHash | { reason: string } {
  const hash = createHash("sha256");
  const strays: PackageHash["strays"][number][] = [];
  const files = listFiles(folder);
  if (files === undefined) return { reason: `it holds more than ${maxFiles.toLocaleString("en-US")} files` };
  let bytes = 0;
  for (const { path, kind } of files) {
    const full = join(folder, path);
    if (kind === "link") {
      const target = realPath(full);
      if (target !== undefined && isWithin(folder, target))
        hash.update(`${path}\0-> ${withSlashes(relative(folder, target))}\n`);
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

type PackageEntry = { path: string; kind: "file" | "link" };

/**
 * Regular files and links in a folder, sorted by path, without `evals/`; undefined when there are too many. Links are not
 * followed, so there is no loop.
 */
export function listFiles(folder: string): PackageEntry[] | undefined {
  const found: PackageEntry[] = [];
  const folders = [""];
  for (let at = 0; at < folders.length; at++) {
    const inside = folders[at] ?? "";
    for (const entry of readdirSync(join(folder, inside), { withFileTypes: true })) {
      const path = inside === "" ? entry.name : `${inside}/${entry.name}`;
      if (leftInPackages.has(entry.name) || (path === "evals" && entry.isDirectory())) continue;
      if (entry.isDirectory()) folders.push(path);
      if (entry.isFile()) found.push({ path, kind: "file" });
      if (entry.isSymbolicLink()) found.push({ path, kind: "link" });
    }
    if (found.length + folders.length > maxFiles) return undefined;
  }
  return found.sort((a, b) => (a.path < b.path ? -1 : 1));
}

const chunk = Buffer.allocUnsafe(64 * 1024);

/** Feeds the content of a file to `sink`, reading little more than `limit` bytes at most; returns the bytes read. */
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

function withSlashes(path: string): string {
  return path.replaceAll(sep, "/");
}

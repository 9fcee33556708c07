import { readdirSync, realpathSync } from "node:fs";
import { isAbsolute, join, relative, sep } from "node:path";
import { leftInPackages } from "../types/skill.ts";
import { type Refusal, readText } from "./read.ts";

/** Whether a real path is this real folder or inside it. */
export function isWithin(folder: string, path: string): boolean {
  const way = relative(folder, path);
  return way !== ".." && !way.startsWith(`..${sep}`) && !isAbsolute(way);
}

/** The real path, with all links followed; undefined when it leads nowhere. */
export function realPath(path: string): string | undefined {
  try {
    return realpathSync.native(path);
  } catch {
    return undefined;
  }
}

/** Why a file in a folder was not read. */
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

export type FolderEntry = { path: string; kind: "file" | "link" };

/** The number of files beyond which a folder is not read. */
export const maxFiles = 2_000;

/**
 * Regular files and links in a folder, sorted by path, without what tools leave behind and without the folder `without`
 * at its top; undefined when there are too many. Links are not followed, so there is no loop.
 */
export function listFiles(folder: string, { without }: { without?: string } = {}): FolderEntry[] | undefined {
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
    if (found.length + folders.length > maxFiles) return undefined;
  }
  return found.sort((a, b) => (a.path < b.path ? -1 : 1));
}

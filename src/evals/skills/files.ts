import { createHash } from "node:crypto";
import { closeSync, openSync, readdirSync, readSync } from "node:fs";
import { join, relative, sep } from "node:path";
import { leftInPackages } from "../types/skill.ts";
import { isWithin, realPath } from "./confine.ts";

/** More than a package that a model is to read ever has; beyond them it is not loaded. */
const maxFiles = 2_000;
const maxBytes = 64 * 1024 * 1024;

/** `strays`: links in the package that are not followed, relative to it, each with what is wrong with it. */
export type Fingerprint = { hash: string; strays: readonly { path: string; reason: string }[] };

/**
 * SHA-256 (hex) over the sorted paths of a package's files and the SHA-256 of each content. Links inside of the package
 * count as the path that they lead to. Left out are `evals/`, since the tests of a skill do not decide how it behaves,
 * and what tools leave behind. `folder` is a real path; nothing outside of it is opened.
 */
export function fingerprint(folder: string): Fingerprint | { reason: string } {
  const hash = createHash("sha256");
  const strays: Fingerprint["strays"][number][] = [];
  const files = listed(folder);
  if (files === undefined) return { reason: `it holds more than ${maxFiles.toLocaleString("en-US")} files` };
  let bytes = 0;
  for (const { path, kind } of files) {
    const full = join(folder, path);
    if (kind === "link") {
      const target = realPath(full);
      if (target !== undefined && isWithin(folder, target))
        hash.update(`${path}\0-> ${slashed(relative(folder, target))}\n`);
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

type Listed = { path: string; kind: "file" | "link" };

/** Regular files and links, sorted by path. Links are not followed, so there is no loop. */
function listed(folder: string): Listed[] | undefined {
  const found: Listed[] = [];
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

/** Feeds a file's content to `sink`, and no more than just beyond `most`; the bytes read. */
function readInto(sink: { update(data: Uint8Array): unknown }, path: string, most: number): number {
  const file = openSync(path, "r");
  try {
    let total = 0;
    for (let read = -1; read !== 0 && total <= most; total += read) {
      read = readSync(file, chunk);
      sink.update(chunk.subarray(0, read));
    }
    return total;
  } finally {
    closeSync(file);
  }
}

function slashed(path: string): string {
  return path.replaceAll(sep, "/");
}

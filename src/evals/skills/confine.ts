import { readFileSync, realpathSync, statSync } from "node:fs";
import { isAbsolute, relative, sep } from "node:path";
import { messageOf } from "../errors.ts";

// Synchronous on purpose, in all of this room: it reads thousands of small files once, before anything else is under way,
// and the file system answers four times as fast without the detour over the thread pool.

/** Whether a real path is this real folder or lies in it. */
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

/** Why a file is not read. `kind` lets a caller pass over some of them. */
export type Refusal = { kind: "missing" | "outside" | "not a file" | "too large" | "not text"; reason: string };

const mib = 1024 * 1024;

/** The UTF-8 text of a file of at most `maxBytes`, without a byte order mark, if all links of `path` end in `folder`. */
export function readConfined(path: string, folder: string, maxBytes: number): { text: string } | Refusal {
  const real = realPath(path);
  if (real === undefined) return { kind: "missing", reason: "it does not exist" };
  if (!isWithin(folder, real)) return { kind: "outside", reason: `it is a link that leads outside of ${folder}` };
  return readText(real, maxBytes);
}

function readText(path: string, maxBytes: number): { text: string } | Refusal {
  try {
    const found = statSync(path);
    // Asked before it is opened: a pipe would be waited for.
    if (!found.isFile()) return { kind: "not a file", reason: "it is no regular file" };
    if (found.size > maxBytes) return { kind: "too large", reason: `it is larger than ${maxBytes / mib} MiB` };
    const text = new TextDecoder("utf-8", { fatal: true }).decode(readFileSync(path));
    if (!text.includes("\0")) return { text };
  } catch (error) {
    if (!(error instanceof TypeError)) return { kind: "not a file", reason: `it cannot be read: ${messageOf(error)}` };
  }
  return { kind: "not text", reason: "it is not UTF-8 text" };
}

import { join, posix, win32 } from "node:path";
import type { Place } from "../errors.ts";
import { isJsonObject, type Json } from "../types/json.ts";
import type { EvalFile } from "../types/skill.ts";
import { type Complaints, entries } from "./complaints.ts";
import { readConfined } from "./confine.ts";

/** A case is made to be read; a file beyond these is no longer part of a question to a model. */
const maxFileBytes = 1024 * 1024;
const maxBytes = 32 * 1024 * 1024;

/** Where the files of a package's cases are looked for, in order, each with the real folder that it must not lead out of. */
export type CaseFiles = { bases: readonly { dir: string; within: string }[]; bytesLeft: number };

/** The package's folder, its `evals/`, then the repository; all real paths. */
export function caseFiles(skillDir: string, repository: string): CaseFiles {
  const bases = [
    { dir: skillDir, within: skillDir },
    { dir: join(skillDir, "evals"), within: skillDir },
    { dir: repository, within: repository },
  ];
  return { bases, bytesLeft: maxBytes };
}

/** What an entry's `files` name: paths, or files given with their content. What cannot be read is an error. */
export function readFiles(given: Json, from: CaseFiles, place: Place, complaints: Complaints): EvalFile[] {
  return (Array.isArray(given) ? given : [given]).flatMap((one) => readFile(one, from, place, complaints));
}

function readFile(given: Json, from: CaseFiles, place: Place, complaints: Complaints): EvalFile[] {
  const { path: name, content } = isJsonObject(given) ? given : { path: given, content: undefined };
  if (typeof name !== "string" || name === "") {
    complaints.error("a file is no path", 'Write a path, or { "path": "...", "content": "..." }.', place);
    return [];
  }
  const path = confinedPath(name);
  if (path === undefined) {
    const hint =
      "Give a path from the package's folder, its evals folder or the repository, without `..` at its start.";
    complaints.error(`the file "${name}" is absolute or leads outside of the package`, hint, place);
    return [];
  }
  if (typeof content === "string") return [{ path, content }];
  if (content !== undefined && content !== null) {
    complaints.error(`the content of "${name}" is no text`, "Give it as one text.", place);
    return [];
  }
  return lookUp(path, from, place, complaints);
}

/** With `/` between its parts; undefined for a path that is absolute on any system or leads out of where it starts. */
function confinedPath(name: string): string | undefined {
  const path = posix.normalize(name.replaceAll("\\", "/"));
  const escapes = path === ".." || path.startsWith("../") || name.includes("\0");
  return escapes || win32.isAbsolute(name) || /^[A-Za-z]:/.test(name) ? undefined : path;
}

function lookUp(path: string, from: CaseFiles, place: Place, complaints: Complaints): EvalFile[] {
  for (const { dir, within } of from.bases) {
    const found = readConfined(join(dir, path), within, Math.min(maxFileBytes, from.bytesLeft));
    if ("text" in found) {
      from.bytesLeft -= Buffer.byteLength(found.text);
      return [{ path, content: found.text }];
    }
    if (found.kind === "missing") continue;
    if (found.kind === "not text") {
      complaints.count("binary file", place, (times) => ({
        message: `files that are not UTF-8 text are left out of ${entries(times)}, the first is ${path}`,
        hint: "A model is shown text only: give the file in a text form.",
      }));
      return [];
    }
    complaints.error(`the file "${path}" cannot be read: ${found.reason}`, "Put it into the package.", place);
    return [];
  }
  const hint = "It is looked for in the package's folder, in its evals folder, then in the repository.";
  complaints.error(`there is no file "${path}"`, hint, place);
  return [];
}

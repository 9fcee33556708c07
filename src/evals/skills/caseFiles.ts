import { join, posix, win32 } from "node:path";
import type { Place } from "../types/errors.ts";
import { isJsonObject, type Json } from "../types/json.ts";
import type { EvalFile } from "../types/skill.ts";
import { isNotText, readConfined } from "./packageFiles.ts";
import { countEntries, type ProblemCollector } from "./problems.ts";

/** Larger files are too large for a question to a model. */
const maxFileBytes = 1024 * 1024;
const maxBytes = 32 * 1024 * 1024;

/** Where the files of cases are looked up, in order, each with the real folder that links must not lead out of. */
export type CaseFiles = { bases: readonly { dir: string; within: string }[]; bytesLeft: number };

/** The package's folder, its `evals/`, then the repository. Both arguments are real paths. */
export function createCaseFiles(skillDir: string, repository: string): CaseFiles {
  const bases = [
    { dir: skillDir, within: skillDir },
    { dir: join(skillDir, "evals"), within: skillDir },
    { dir: repository, within: repository },
  ];
  return { bases, bytesLeft: maxBytes };
}

/** Reads the `files` of an entry: paths, or files given with their content. What cannot be read is an error. */
export function readCaseFiles(given: Json, from: CaseFiles, place: Place, problems: ProblemCollector): EvalFile[] {
  return (Array.isArray(given) ? given : [given]).flatMap((one) => readCaseFile(one, from, place, problems));
}

function readCaseFile(given: Json, from: CaseFiles, place: Place, problems: ProblemCollector): EvalFile[] {
  const { path: name, content } = isJsonObject(given) ? given : { path: given, content: undefined };
  if (typeof name !== "string" || name === "") {
    problems.error("A file must be given by its path.", 'Write a path, or { "path": "...", "content": "..." }.', place);
    return [];
  }
  const path = toRelativePath(name);
  if (path === undefined) {
    const hint =
      "Give a path relative to the package's folder, its evals folder or the repository, without a leading `..`.";
    problems.error(`The file "${name}" is absolute or outside of the package.`, hint, place);
    return [];
  }
  if (typeof content === "string") return [{ path, content }];
  if (content !== undefined && content !== null) {
    problems.error(`The content of "${name}" is not text.`, "Give it as text.", place);
    return [];
  }
  return lookUp(path, from, place, problems);
}

/** With `/` between its parts; undefined for a path that is absolute on any system or leads out of its start. */
function toRelativePath(name: string): string | undefined {
  const path = posix.normalize(name.replaceAll("\\", "/"));
  const escapes = path === ".." || path.startsWith("../") || name.includes("\0");
  return escapes || win32.isAbsolute(name) || /^[A-Za-z]:/.test(name) ? undefined : path;
}

function lookUp(path: string, from: CaseFiles, place: Place, problems: ProblemCollector): EvalFile[] {
  for (const { dir, within } of from.bases) {
    const found = readConfined(join(dir, path), within, Math.min(maxFileBytes, from.bytesLeft));
    if ("text" in found) {
      from.bytesLeft -= Buffer.byteLength(found.text);
      return [{ path, content: found.text }];
    }
    if (found.kind === "missing") continue;
    if (isNotText(found)) {
      problems.warn("binary file", place, (times) => ({
        message: `Files that are not UTF-8 text are left out of ${countEntries(times)}; the first is ${path}.`,
        hint: "Give the file as text: a model is shown text only.",
      }));
      return [];
    }
    problems.error(`The file "${path}" cannot be read: ${found.reason}.`, "Put it into the package.", place);
    return [];
  }
  const hint =
    "Put it into the package's folder, its evals folder or the repository: these are searched in this order.";
  problems.error(`There is no file "${path}".`, hint, place);
  return [];
}

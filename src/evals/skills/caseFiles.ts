import { statSync } from "node:fs";
import { join, posix, win32 } from "node:path";
import type { Place } from "../types/errors.ts";
import { isJsonObject, type Json } from "../types/json.ts";
import type { EvalFile } from "../types/skill.ts";
import { isNotText, isWithin, listFiles, readConfined, realPath } from "./packageFiles.ts";
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

/** The files of an entry. `unusable`: why the query cannot be asked, when one of them cannot be read. */
export type ReadCaseFiles = { files: EvalFile[]; unusable?: string };

/**
 * Reads the `files` of an entry: paths of files or folders, or files given with their content. What cannot be read is a
 * warning, and makes the query unusable: without its files it would ask something else.
 */
export function readCaseFiles(given: Json, from: CaseFiles, place: Place, problems: ProblemCollector): ReadCaseFiles {
  const read = (Array.isArray(given) ? given : [given]).map((one) => readCaseFile(one, from, place, problems));
  const wrong = read.flatMap((one) => ("message" in one ? [one] : []));
  for (const { message, hint } of wrong)
    problems.warn(message, place, () => ({ message, hint: `${hint} Until then the query is left out.` }));
  return {
    files: read.flatMap((one) => ("message" in one ? [] : one)),
    ...(wrong.length > 0 && { unusable: wrong.map(({ message }) => message).join(" ") }),
  };
}

type Wrong = { message: string; hint: string };

function readCaseFile(given: Json, from: CaseFiles, place: Place, problems: ProblemCollector): EvalFile[] | Wrong {
  const { path: name, content } = isJsonObject(given) ? given : { path: given, content: undefined };
  if (typeof name !== "string" || name === "")
    return {
      message: "A file must be given by its path.",
      hint: 'Write a path, or { "path": "...", "content": "..." }.',
    };
  const path = toRelativePath(name);
  if (path === undefined) {
    const hint =
      "Give a path relative to the package's folder, its evals folder or the repository, without a leading `..`.";
    return { message: `The file "${name}" is absolute or outside of the package.`, hint };
  }
  if (typeof content === "string") return [{ path, content }];
  if (content !== undefined && content !== null)
    return { message: `The content of "${name}" is not text.`, hint: "Give it as text." };
  return lookUp(path, from, place, problems);
}

/** With `/` between its parts; undefined for a path that is absolute on any system or leads out of its start. */
function toRelativePath(name: string): string | undefined {
  const path = posix.normalize(name.replaceAll("\\", "/")).replace(/\/$/, "");
  const escapes = path === ".." || path.startsWith("../") || name.includes("\0");
  return escapes || win32.isAbsolute(name) || /^[A-Za-z]:/.test(name) ? undefined : path;
}

function lookUp(path: string, from: CaseFiles, place: Place, problems: ProblemCollector): EvalFile[] | Wrong {
  for (const { dir, within } of from.bases) {
    const real = realPath(join(dir, path));
    if (real !== undefined && isWithin(within, real) && statSync(real).isDirectory()) {
      const inside = listFiles(real);
      if (inside === undefined)
        return { message: `The folder "${path}" holds too many files.`, hint: "Name the files." };
      const read = inside.map((one) => readOne(posix.join(path, one.path), { dir, within }, from, place, problems));
      const wrong = read.find((one): one is Wrong => one !== undefined && "message" in one);
      return wrong ?? read.flatMap((one) => (one && !("message" in one) ? one : []));
    }
    const found = readOne(path, { dir, within }, from, place, problems);
    if (found) return found;
  }
  const hint =
    "Put it into the package's folder, its evals folder or the repository: these are searched in this order.";
  return { message: `There is no file "${path}".`, hint };
}

/** One file under a base; undefined when there is none. A file that is not text is left out with a warning. */
function readOne(
  path: string,
  { dir, within }: CaseFiles["bases"][number],
  from: CaseFiles,
  place: Place,
  problems: ProblemCollector,
): EvalFile[] | Wrong | undefined {
  const found = readConfined(join(dir, path), within, Math.min(maxFileBytes, from.bytesLeft));
  if ("text" in found) {
    from.bytesLeft -= Buffer.byteLength(found.text);
    return [{ path, content: found.text }];
  }
  if (found.kind === "missing") return undefined;
  if (!isNotText(found))
    return { message: `The file "${path}" cannot be read: ${found.reason}.`, hint: "Put it into the package." };
  problems.warn("binary file", place, (times) => ({
    message: `Files that are not UTF-8 text are left out of ${countEntries(times)}; the first is ${path}.`,
    hint: "Give the file as text: a model is shown text only.",
  }));
  return [];
}

import { statSync } from "node:fs";
import { basename, join, posix } from "node:path";
import { isJsonObject, type Json } from "../../base/types/json.ts";
import { type EvalFile, toInnerPath, whyNoFile } from "../../base/types/skill.ts";
import { isNotText, isWithin, listFiles, readConfined, realPath } from "./folders.ts";

/** A larger file would not fit into a request to a model. */
const maxFileBytes = 1024 * 1024;
const maxBytes = 32 * 1024 * 1024;

/**
 * The folders in which the files of cases are looked up, in this order. `within` is the real folder that links must
 * stay in; `where` names the folders in messages; `bytesLeft` is how much may still be read.
 */
export type CaseFiles = { bases: readonly { dir: string; within: string }[]; where: string; bytesLeft: number };

/** For the cases of a package: its folder, its `evals/`, then the repository. Both arguments are real paths. */
export function createPackageFiles(skillDir: string, repository: string): CaseFiles {
  const bases = [
    { dir: skillDir, within: skillDir },
    { dir: join(skillDir, "evals"), within: skillDir },
    { dir: repository, within: repository },
  ];
  return { bases, where: "the package's folder, its evals folder or the repository", bytesLeft: maxBytes };
}

/** For the cases of a suite: the folder of the suite. `dir` is a real path. */
export function createSuiteFiles(dir: string): CaseFiles {
  return { bases: [{ dir, within: dir }], where: "the folder of the suite", bytesLeft: maxBytes };
}

/** Why a file of a case cannot be used. */
type FileProblem = { message: string; hint: string };

/** `wrong`: what cannot be used. `binary`: files that are skipped because they are not UTF-8 text. */
export type ReadCaseFiles = { files: EvalFile[]; wrong: FileProblem[]; binary: string[] };

/**
 * Reads the `files` of a case: paths of files or folders, files with their content (`{ path, content }`), or files and
 * folders that get another path (`{ path, from }`; `path: "."` for the content of a folder). Nothing outside of the
 * bases of `from` is read, and no path leads out of the workspace. If a path is given twice, the last content wins.
 */
export function readCaseFiles(given: Json, from: CaseFiles): ReadCaseFiles {
  const binary: string[] = [];
  const wrong: FileProblem[] = [];
  const read = [given].flat().flatMap((one) => {
    const found = readCaseFile(one, from, binary);
    if (!("message" in found)) return found;
    wrong.push(found);
    return [];
  });
  const { files, wrong: clashing } = overlayFiles([], read);
  return { files, wrong: [...wrong, ...clashing], binary };
}

/** Adds files to others, replacing those with the same path. `wrong`: files that cannot exist beside the others. */
export function overlayFiles(below: readonly EvalFile[], above: readonly EvalFile[]): Omit<ReadCaseFiles, "binary"> {
  const files = new Map(below.map((file) => [file.path, file]));
  const wrong: FileProblem[] = [];
  for (const file of above) {
    const why = whyNoFile(file.path, files.keys());
    if (why === undefined) files.set(file.path, file);
    else wrong.push({ message: `The file "${file.path}" ${why}.`, hint: "Give it another path." });
  }
  return { files: [...files.values()], wrong };
}

function readCaseFile(given: Json, from: CaseFiles, binary: string[]): EvalFile[] | FileProblem {
  const { path: name, content, from: source = name } = isJsonObject(given) ? given : { path: given };
  const forms = 'Write a path, or { "path": "...", "content": "..." }.';
  if (typeof name !== "string" || name === "" || typeof source !== "string" || source === "")
    return { message: "A file must be given by its path.", hint: forms };
  const path = toInnerPath(name);
  const sourcePath = toInnerPath(source);
  if (path === undefined || sourcePath === undefined) {
    const hint = `Give a path relative to ${from.where}, without a leading \`..\`.`;
    const wrong = path === undefined ? name : source;
    const outside = from.bases.length > 1 ? "the package" : "the folder of the suite";
    return { message: `The file "${wrong}" is absolute or outside of ${outside}.`, hint };
  }
  if (typeof content === "string") return [{ path, content }];
  if (content !== undefined && content !== null)
    return { message: `The content of "${name}" is not text.`, hint: "Give it as text." };
  return readSource(sourcePath, path, from, binary);
}

/** Reads a file, or every file of a folder, and places it at `path`. */
function readSource(source: string, path: string, from: CaseFiles, binary: string[]): EvalFile[] | FileProblem {
  for (const { dir, within } of from.bases) {
    /** Reads one file; undefined if it does not exist. A file that is not text is only added to `binary`. */
    const readOne = (name: string, target: string): EvalFile[] | FileProblem | undefined => {
      const found = readConfined(join(dir, name), within, Math.min(maxFileBytes, from.bytesLeft));
      if ("text" in found) {
        from.bytesLeft -= Buffer.byteLength(found.text);
        return [{ path: target, content: found.text }];
      }
      if (found.kind === "missing") return undefined;
      if (!isNotText(found))
        return { message: `The file "${name}" cannot be read: ${found.reason}.`, hint: `Put it into ${from.where}.` };
      binary.push(name);
      return [];
    };
    const real = realPath(join(dir, source));
    if (real !== undefined && isWithin(within, real) && statSync(real).isDirectory()) {
      // As many as are read again after a trial in a host.
      const inside = listFiles(real, { most: 2_000 });
      if (!inside) return { message: `The folder "${source}" holds too many files.`, hint: "Name the files." };
      const read = inside.map((one) => readOne(posix.join(source, one.path), posix.join(path, one.path)) ?? []);
      const wrong = read.find((one) => "message" in one);
      return wrong ?? read.flatMap((one) => ("message" in one ? [] : one));
    }
    const found = readOne(source, path === "." ? basename(source) : path);
    if (found) return found;
  }
  const hint = `Put it into ${from.where}${from.bases.length > 1 ? ": these are searched in this order" : ""}.`;
  return { message: `There is no file "${source}".`, hint };
}

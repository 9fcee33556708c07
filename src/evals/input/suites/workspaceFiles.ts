import { dirname, resolve } from "node:path";
import type { Json, Path } from "../../base/types/json.ts";
import type { EvalFile } from "../../base/types/skill.ts";
import { createSuiteFiles, overlayFiles, readCaseFiles } from "../parsing/caseFiles.ts";
import { realPath } from "../parsing/confined.ts";
import type { PathProblem } from "./explain.ts";
import type { CheckedSuite } from "./validate.ts";

/** The files of each case, in the order of the cases; undefined for a case without files. */
export type WorkspaceFiles = readonly (readonly EvalFile[] | undefined)[];

/**
 * Reads the files that a suite and its cases put into the workspace of a trial. The files of a case replace those of
 * the suite with the same path. `file` is the suite file, relative to `cwd`. A file that cannot be read is an error;
 * one that is not text is a warning.
 */
export function readWorkspaceFiles(
  { header, cases }: CheckedSuite,
  file: string,
  cwd: string,
): { files: WorkspaceFiles; problems: PathProblem[] } {
  const dir = dirname(resolve(cwd, file));
  const from = createSuiteFiles(realPath(dir) ?? dir);
  const problems: PathProblem[] = [];
  const read = (given: Json | undefined, path: Path): EvalFile[] | undefined => {
    if (given === undefined) return undefined;
    const { files, wrong, binary } = readCaseFiles(given, from);
    problems.push(...wrong.map((problem) => ({ path, ...problem })));
    if (binary.length > 0)
      problems.push({ path, severity: "warning", message: explainSkipped(binary), hint: "Give files in UTF-8." });
    return files;
  };
  const shared = read(header.files as Json | undefined, ["files"]);
  const files = cases.map(({ path, content }) => {
    const place = [...path, "files"];
    const own = read(content.files as Json | undefined, place);
    if (!shared || !own) return own ?? shared;
    const merged = overlayFiles(shared, own);
    problems.push(...merged.wrong.map((problem) => ({ path: place, ...problem })));
    return merged.files;
  });
  return { files, problems };
}

const explainSkipped = (files: readonly string[]) =>
  `Left out, because a model is shown text only: ${files.join(", ")}.`;

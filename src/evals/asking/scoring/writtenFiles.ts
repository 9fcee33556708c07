import { toInnerPath } from "../../base/text/innerPath.ts";
import { isJsonObject, type JsonObject } from "../../base/types/json.ts";
import type { EvalFile } from "../../base/types/skill.ts";
import type { Case } from "../../base/types/suite.ts";
import type { Assertion, Call, Turn } from "../../base/types/trial.ts";
import { skillTools } from "./activity.ts";
import type { Judge } from "./match.ts";
import { compileMatcher } from "./matchers.ts";

/** The folder of a case's files in the prompt. It does not exist on disk. */
export const projectFolder = "/project";

/** The path of a file in the workspace, as a model writes it: inside of the folder of the project, or relative to it. */
export function toWorkspacePath(written: string): string | undefined {
  const path = toInnerPath(written.startsWith(`${projectFolder}/`) ? written.slice(projectFolder.length + 1) : written);
  return path === "." ? undefined : path;
}

type Workspace = Pick<Case, "files" | "expectedFiles" | "assertions" | "expectedBehavior">;

/** Whether a model may write files in a trial: only if something reads what it wrote. */
export function isWritable({ files, expectedFiles, assertions = [], expectedBehavior }: Workspace): boolean {
  return expectedFiles !== undefined || (files !== undefined && assertions.length + expectedBehavior.length > 0);
}

/** The file that a call of the tool `Write` names, with its content; undefined for any other call. */
export function readWrite({ tool, arguments: args }: Call): { path: string; content: string } | undefined {
  if (tool !== skillTools.write || !isJsonObject(args)) return undefined;
  const { file_path: path, content } = args;
  return typeof path === "string" && typeof content === "string" ? { path, content } : undefined;
}

/** The files of a workspace after a trial: those of the case, and what the model wrote, in the order of the paths. */
export function listWorkspace(files: readonly EvalFile[], turns: readonly Turn[]): EvalFile[] {
  const content = new Map(files.map((file) => [file.path, file.content]));
  for (const call of turns.flatMap(({ calls }) => calls)) {
    const { role, execution } = call;
    const isDone = role === undefined && execution?.status === "executed" && !execution.result.isError;
    const written = isDone ? readWrite(call) : undefined;
    const path = written && toWorkspacePath(written.path);
    if (written && path !== undefined) content.set(path, written.content);
  }
  return [...content].map(([path, text]) => ({ path, content: text })).sort((a, b) => (a.path < b.path ? -1 : 1));
}

/** Matches the text of workspace files, by path; a missing file is an absent value. */
export function compileFiles(
  expected: JsonObject = {},
): (list: () => readonly EvalFile[], judge: Judge) => Assertion[] {
  const tests = Object.entries(expected).map(([path, value]) => ({
    path,
    key: toInnerPath(path),
    test: compileMatcher(value),
  }));
  return (list, judge) => {
    if (tests.length === 0) return [];
    const texts = new Map(list().map(({ path, content }) => [path, content]));
    return tests.map(({ path, key, test }) => ({ what: `file: ${path}`, ...test(texts.get(key ?? ""), path, judge) }));
  };
}

import { lstatSync } from "node:fs";
import { resolve } from "node:path";
import { EvalsError, usageError } from "../base/types/errors.ts";
import type { Io } from "../base/types/io.ts";
import type { Project } from "../input/suites/projectFile.ts";
import type { Command } from "./command.ts";
import { checkWords, nameCommand, toKebabCase, writeFlag } from "./commandLine.ts";

/** What a project file contributes: words of a command line for the options that it sets, and settings of single suites. */
export type ProjectWords = {
  words: readonly string[];
  suiteSettings?: Project["suites"];
};

/** The commands that call models. To others, a flag of the same name can mean something else. */
const asking: ReadonlySet<string> = new Set(["run", "variants"]);
/** The folders of records and baselines are the same for every command. */
const folders: ReadonlySet<string> = new Set(["out", "baselines"]);
/** A worker reaches models in the same way as the runs of its project. */
const ofWorkers: ReadonlySet<string> = new Set(["baseUrl", "claudePath"]);

/**
 * The options of `evals.config.*` in the working directory as words of a command line, without those that are given.
 * Throws EvalsError, with the place in the file, for a value that the flag of that name does not take.
 */
export async function readProjectWords(command: Command, given: ReadonlySet<string>, io: Io): Promise<ProjectWords> {
  const project = await load(io);
  if (!project) return { words: [] };
  const name = nameCommand(command);
  const words = Object.entries(project.options).flatMap(([option, value]): string[] => {
    const flag = toKebabCase(option);
    const hasMeaning = asking.has(name) || folders.has(option) || (name === "worker" && ofWorkers.has(option));
    const applies = flag in command.flags && hasMeaning && !given.has(option);
    if (!applies) return [];
    const own = writeFlag(flag, value);
    try {
      checkWords(own, { ...command, command: name });
      for (const one of typeof value === "boolean" ? [] : [value].flat()) command.flags[flag]?.coerce?.(one);
      return own;
    } catch (error) {
      const [{ message, hint } = { message: (error as Error).message, hint: undefined }] =
        error instanceof EvalsError ? error.problems : [];
      throw usageError(`"${option}": ${message}`, hint, project.place(option));
    }
  });
  return {
    words,
    ...((asking.has(name) || name === "blame" || name === "worker") && { suiteSettings: project.suites }),
  };
}

/** The names that a project file can have. */
export const projectFiles = ["ts", "mts", "js", "mjs", "json", "yaml", "yml"].map((ending) => `evals.config.${ending}`);

/** Imports the loader only if there is a file: importing it takes longer than most commands run. */
async function load({ cwd, env }: Io): Promise<Project | undefined> {
  // Also a link that leads nowhere: whoever wrote it expects its settings to apply.
  const exists = (name: string) => lstatSync(resolve(cwd, name), { throwIfNoEntry: false }) !== undefined;
  const [file, second] = projectFiles.filter(exists);
  if (file === undefined) return undefined;
  if (second !== undefined) throw usageError(`There are both ${file} and ${second}.`, "Keep one of them.");
  const [{ loadProject }, { projectSchema: schema }] = await Promise.all([
    import("../input/suites/projectFile.ts"),
    import("./projectSchema.ts"),
  ]);
  return await loadProject(file, { schema, cwd, isCi: env.CI !== undefined && env.CI !== "" && env.CI !== "false" });
}

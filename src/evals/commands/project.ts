import { lstatSync } from "node:fs";
import { resolve } from "node:path";
import { EvalsError, usageError } from "../base/types/errors.ts";
import { type Io, isCi } from "../base/types/io.ts";
import { type Project, projectFiles } from "../input/suites/projectFile.ts";
import type { Command } from "./command.ts";
import { nameCommand, readValue, toCamelCase } from "./commandLine.ts";

/** What a project file contributes: the options that it sets, and settings of single suites. */
type ProjectOptions = {
  options: Readonly<Record<string, unknown>>;
  suiteSettings?: Project["suites"];
};

/** The commands that call models. To others, a flag of the same name can mean something else. */
const asking: ReadonlySet<string> = new Set(["run", "variants", "improve"]);
/** The folders of records and baselines, and how models are reached, are the same for every command. */
const everywhere: ReadonlySet<string> = new Set(["out", "baselines", "baseUrl", "header", "claudePath"]);

/** Commands that only read records: they do without a configuration in code that is not trusted. */
const reading: ReadonlySet<string> = new Set(["show", "view", "clean", "merge", "compare"]);

/**
 * The options of `evals.config.*` in the working directory that a command takes, without those that are given. Code is loaded,
 * and programs and addresses that data names are used, only after trust. Throws EvalsError, with the place in the file, for
 * a value that the flag of that name does not take.
 */
export async function readProject(command: Command, given: ReadonlySet<string>, io: Io): Promise<ProjectOptions> {
  const name = nameCommand(command);
  const file = findFile(io);
  if (file === undefined) return { options: {} };
  const { claimCode, claimOptions, findUntrusted, requireTrust } = await import("../experiments/workspace/trust.ts");
  const isCode = !/\.(?:json|ya?ml)$/.test(file);
  const takesNothing =
    !asking.has(name) && !Object.keys(command.flags).some((flag) => everywhere.has(toCamelCase(flag)));
  const isUsed = !takesNothing && !reading.has(name) && (name !== "lint" || given.has("judge"));
  if (isCode) {
    const claims = [await claimCode(file, file, io)];
    if (isUsed) await requireTrust(claims, io);
    else if ((await findUntrusted(claims, io)).length > 0) return { options: {} };
  }
  const project = await load(file, io);
  const options: Record<string, unknown> = {};
  for (const [flag, definition] of Object.entries(command.flags)) {
    const option = toCamelCase(flag);
    const hasMeaning = asking.has(name) || everywhere.has(option);
    if (!hasMeaning || given.has(option) || !(option in project.options)) continue;
    try {
      options[option] = readValue(`--${flag}`, definition, project.options[option]);
    } catch (error) {
      if (!(error instanceof EvalsError)) throw error;
      const [{ message, hint } = { message: error.message, hint: undefined }] = error.problems;
      throw usageError(`"${option}": ${message}`, hint, project.location(option));
    }
  }
  if (!isCode && isUsed) await requireTrust(await claimOptions(options, file, io), io);
  const takesSettings = asking.has(name) || name === "blame" || name === "worker";
  return { options, ...(takesSettings && { suiteSettings: project.suites }) };
}

/** The project file in the working directory. Throws a usage error if there are two. */
function findFile({ cwd }: Io): string | undefined {
  // Also a link that leads nowhere: whoever wrote it expects its settings to apply.
  const exists = (name: string) => lstatSync(resolve(cwd, name), { throwIfNoEntry: false }) !== undefined;
  const [file, second] = projectFiles.filter(exists);
  if (second !== undefined) throw usageError(`There are both ${file} and ${second}.`, "Keep one of them.");
  return file;
}

/** Imports the loader only if there is a file: importing it takes longer than most commands run. */
async function load(file: string, { cwd, env }: Io): Promise<Project> {
  const [{ loadProject }, { projectSchema: schema }] = await Promise.all([
    import("../input/suites/projectFile.ts"),
    import("./projectSchema.ts"),
  ]);
  const project = await loadProject(file, { schema, cwd, isCi: isCi(env) });
  const { headers, ...options } = project.options;
  if (headers === undefined) return project;
  // As the flag --header takes them.
  const header = Object.entries(headers as Record<string, string>).map(([name, value]) => `${name}=${value}`);
  return {
    ...project,
    options: { ...options, header },
    location: (name) => project.location(name === "header" ? "headers" : name),
  };
}

import { lstatSync } from "node:fs";
import { resolve } from "node:path";
import { knownSecrets } from "../base/secrets/secrets.ts";
import { wrap } from "../base/text/display.ts";
import { EvalsError, type ExitCode, exitCodes, usageError } from "../base/types/errors.ts";
import { type Io, isCi } from "../base/types/io.ts";
import { type Project, projectFiles } from "../input/suites/projectFile.ts";
import { safeJsonParts } from "../reports/escape.ts";
import type { Command } from "./command.ts";
import { findCommand, nameCommand, parseWords, readValue, renderHelp, toCamelCase } from "./commandLine.ts";
import { blameCommand, improveCommand, judgeCommand, variantsCommand } from "./experiments.ts";
import { readServerEnv } from "./flags.ts";
import {
  doctorCommand,
  importCommand,
  initCommand,
  lintCommand,
  loginCommand,
  probeCommand,
  queriesCommand,
  searchCommand,
  toolsCommand,
} from "./inspection.ts";
import { cleanCommand, compareCommand, mergeCommand, showCommand, viewCommand } from "./records.ts";
import { baselineCommand, runCommand, workerCommand } from "./run.ts";
import { schemaCommand } from "./schema.ts";

/** All commands, in the groups and the order of the help. */
const groups: Readonly<Record<string, readonly Command[]>> = {
  Start: [initCommand, queriesCommand, importCommand, loginCommand],
  Run: [runCommand, showCommand, viewCommand, compareCommand, baselineCommand],
  Change: [blameCommand, variantsCommand, improveCommand],
  "Without a model": [lintCommand, toolsCommand, searchCommand, probeCommand, doctorCommand],
  "Fleet and misc": [judgeCommand, workerCommand, mergeCommand, cleanCommand, schemaCommand],
};
export const commands: readonly Command[] = Object.values(groups).flat();

/**
 * Runs a command line: parses it, and calls its command. Help and version go to `io.out`, and so does the result of a
 * command with --json. Throws EvalsError for a command line that cannot be parsed.
 */
export async function runCommandLine(
  args: readonly string[],
  io: Io,
  version: string,
  known: readonly Command[] = commands,
): Promise<ExitCode> {
  // A message can repeat them.
  knownSecrets(io.env).addCommandLine(args);
  const [word, ...words] = args[0] === "help" ? [...args.slice(1, 2), "--help"] : args;
  if (word === undefined || word === "--help" || word === "-h") {
    io.out(helpText(io));
    // No command was given, so the exit code is not that of a pass.
    return word === undefined ? exitCodes.usage : exitCodes.passed;
  }
  if (word === "--version") {
    io.out(`tool-evals ${version}\n`);
    return exitCodes.passed;
  }
  const command = findCommand(word, known);
  const end = words.includes("--") ? words.indexOf("--") : words.length;
  const isTrusted = words.slice(0, end).includes("--trust");
  const rest = words.filter((one, at) => one !== "--trust" || at > end);
  const help = words.findIndex((one) => one === "--help" || one === "-h");
  if (help >= 0 && !words.slice(0, help).includes("--")) {
    io.out(`${await renderHelp(command, words[help + 1] === "all", io)}\n`);
    return exitCodes.passed;
  }
  const { env = [], envFile = [], ...given } = await parseWords(command, rest, io);
  const serverEnv = readServerEnv(env as string[], envFile as string[], io);
  const world = { ...io, ...(isTrusted && { isTrusted }), ...(Object.keys(serverEnv).length > 0 && { serverEnv }) };
  const { exitCode, result, error } = await callCommand(command, given, {}, world);
  if (result) for (const part of safeJsonParts(result, 2)) io.out(part);
  if (error) throw error;
  return exitCode;
}

/** How a command ended, with the object that it prints with --json. `error`: what it failed with after that. */
type Called = { exitCode: ExitCode; result?: object; error?: EvalsError };

/**
 * Calls a command with the options that are given, under their names in camel case; the others are those of the
 * project, else the defaults. `extras` are options that are no flags. The result gets the fields that every result has.
 */
export async function callCommand(
  command: Command,
  given: Readonly<Record<string, unknown>>,
  extras: object,
  io: Io,
): Promise<Called> {
  const { positionals, flags } = command;
  const defaults = Object.entries({ ...positionals, ...flags }).map(([name, option]) => [
    toCamelCase(name),
    option.default ?? (command.command.includes(`${name}..`) ? [] : undefined),
  ]);
  const names: ReadonlySet<string> = new Set(Object.keys(given));
  const read = async () => {
    const project = await readProject(command, names, io);
    const options = { ...Object.fromEntries(defaults), ...project.options, ...given, ...extras };
    return { ...options, given: names, suiteSettings: project.suiteSettings };
  };
  let result: object | undefined;
  const keep = (value: object) => {
    result = value;
  };
  const finish = (exitCode: ExitCode): Called => {
    return { exitCode, ...(result && { result: { ...result, ok: exitCode === exitCodes.passed, exitCode } }) };
  };
  const options = { ...(await read()), reread: read };
  try {
    return finish(await command.run(options as never, { ...io, result: keep }));
  } catch (error) {
    if (!result || !(error instanceof EvalsError)) throw error;
    return { ...finish(error.exitCode), error };
  }
}

/** The commands that call models. To others, a flag of the same name can mean something else. */
const asking: ReadonlySet<string> = new Set(["run", "variants", "improve"]);
/** The folders of records and baselines, and how models are reached, are the same for every command. */
const everywhere: ReadonlySet<string> = new Set(["out", "baselines", "baseUrl", "header"]);

/** Commands that only read records: they do without a configuration in code that is not trusted. */
const reading: ReadonlySet<string> = new Set(["show", "view", "clean", "merge", "compare"]);

/**
 * The options of `evals.config.*` in the working directory that a command takes, without those that are given, and its
 * settings of single suites. Code is loaded, and programs and addresses that data names are used, only after trust.
 * Throws EvalsError, with the place in the file, for a value that the flag of that name does not take.
 */
async function readProject(
  command: Command,
  given: ReadonlySet<string>,
  io: Io,
): Promise<{ options: object; suiteSettings?: Project["suites"] }> {
  const name = nameCommand(command);
  const file = findProjectFile(io);
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
  const project = await loadProjectFile(file, io);
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
function findProjectFile({ cwd }: Io): string | undefined {
  // Also a link that leads nowhere: whoever wrote it expects its settings to apply.
  const exists = (name: string) => lstatSync(resolve(cwd, name), { throwIfNoEntry: false }) !== undefined;
  const [file, second] = projectFiles.filter(exists);
  if (second !== undefined) throw usageError(`There are both ${file} and ${second}.`, "Keep one of them.");
  return file;
}

/** Imports the loader only if there is a file: importing it takes longer than most commands run. */
async function loadProjectFile(file: string, { cwd, env }: Io): Promise<Project> {
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

function helpText({ width }: Pick<Io, "width">): string {
  const columns = Math.max(40, width);
  const indent = 4 + Math.max(...commands.map((command) => nameCommand(command).length));
  const describe = (command: Command) => wrap(command.describe, columns - indent).join(`\n${" ".repeat(indent)}`);
  return [
    ...wrap(
      "evals <command>: test whether models pick the right MCP tool or skill, and whether wording helps",
      columns,
    ),
    "",
    ...Object.entries(groups).flatMap(([title, own]) => [
      `${title}:`,
      ...own.map((command) => `  ${nameCommand(command)}`.padEnd(indent) + describe(command)),
    ]),
    ...wrap("`evals <command> --help` shows its flags and examples. `evals --version` shows the version.", columns),
    "",
  ].join("\n");
}

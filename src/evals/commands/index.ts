import { knownSecrets } from "../base/secrets/secrets.ts";
import { EvalsError, type ExitCode, exitCodes } from "../base/types/errors.ts";
import type { Io } from "../base/types/io.ts";
import { safeJsonParts } from "../reports/escape.ts";
import type { Command } from "./command.ts";
import { findCommand, nameCommand, parseWords, renderHelp, toCamelCase } from "./commandLine.ts";
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
import { readProject } from "./project.ts";
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
    io.out(helpText());
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
 * Calls a command with the options that are given, under their names in camel case; the others are those of the project,
 * else the defaults. `extras` are options that are no flags. The result gets the fields that every result has.
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

function helpText(): string {
  const width = Math.max(...commands.map((command) => nameCommand(command).length));
  const lines = Object.entries(groups).flatMap(([title, own]) => [
    `${title}:`,
    ...own.map((command) => `  ${nameCommand(command).padEnd(width)}  ${command.describe}`),
  ]);
  return [
    "evals <command>: test whether models pick the right MCP tool or skill, and whether wording helps",
    "",
    ...lines,
    "`evals <command> --help` shows its flags and examples. `evals --version` shows the version.",
    "",
  ].join("\n");
}

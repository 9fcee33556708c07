import type { Argv, Options } from "yargs";
import { type ExitCode, exitCodes, usageError } from "../types/errors.ts";
import type { Io } from "../types/io.ts";
import { baselineCommand } from "./baseline.ts";
import { blameCommand } from "./blame.ts";
import { calibrateCommand } from "./calibrate.ts";
import type { Command } from "./command.ts";
import { compareCommand } from "./compare.ts";
import { crowdCommand } from "./crowd.ts";
import { doctorCommand } from "./doctor.ts";
import { judgeCommand } from "./judge.ts";
import { lintCommand } from "./lint.ts";
import { probeCommand } from "./probe.ts";
import { reportCommand } from "./report.ts";
import { runCommand } from "./run.ts";
import { schemaCommand } from "./schema.ts";
import { skillsCommand } from "./skills.ts";
import { variantsCommand } from "./variants.ts";

/** All commands, in the order of the help. */
export const commands: readonly Command[] = [
  runCommand,
  baselineCommand,
  reportCommand,
  compareCommand,
  blameCommand,
  variantsCommand,
  crowdCommand,
  calibrateCommand,
  skillsCommand,
  judgeCommand,
  lintCommand,
  probeCommand,
  doctorCommand,
  schemaCommand,
];

/**
 * Parses a command line and runs its command. Help and version go to `io.out`. Throws EvalsError for a command line that
 * cannot be parsed; its hint names the help to read.
 */
export async function runCommandLine(
  args: readonly string[],
  io: Io,
  version: string,
  known: readonly Command[] = commands,
): Promise<ExitCode> {
  const command = known.find(({ command: usage }) => usage.split(" ")[0] === args[0]);
  if (command) refuseMissingValues(args, command);
  const { default: yargs } = await import("yargs");
  let exitCode: ExitCode = exitCodes.passed;
  const parser = yargs()
    .scriptName("evals")
    .usage(
      "$0 <command>\n\nTest whether models pick the right MCP tool or skill, and whether a change of wording helps.",
    )
    .version(version)
    .strict()
    .demandCommand(1, "Name a command, for example: evals run")
    .recommendCommands()
    .wrap(Math.min(100, io.width))
    .fail((message, error) => {
      // The parser throws some of its own complaints, such as an unknown choice.
      if (error && error.name !== "YError") throw error;
      throw usageError(describeFailure(error?.message ?? message), helpHint(args, known));
    });
  for (const command of known)
    parser.command(
      command.command,
      command.describe,
      (builder) => build(command, builder),
      async (parsed) => {
        exitCode = await command.run(parsed as never, io);
      },
    );
  await parser.parseAsync([...args], {}, (_error, _parsed, output) => {
    if (output) io.out(`${output}\n`);
  });
  return exitCode;
}

function build({ positionals, flags, epilogue = "", examples }: Command, yargs: Argv): Argv {
  for (const [name, positional] of Object.entries(positionals)) yargs.positional(name, positional);
  for (const [name, flag] of Object.entries(flags))
    yargs.option(name, { group: "Options:", ...flag, ...(flag.type !== "boolean" && withValue(name, flag)) });
  return yargs.epilogue(epilogue).example(examples.map(([line, purpose]) => [`$0 ${line}`, purpose]));
}

/** The parser would put the default in the place of a value that is missing, for example of an empty shell variable. */
function refuseMissingValues(args: readonly string[], { command, flags }: Command): void {
  const names = Object.entries(flags)
    .filter(([, { type }]) => type !== "boolean")
    .flatMap(([name, { alias }]) => [`--${name}`, ...[alias ?? []].flat().map((short) => `-${short}`)]);
  for (const [at, arg] of args.entries()) {
    if (arg === "--") return;
    const next = args[at + 1];
    const isEmpty = names.some((name) => arg === `${name}=`);
    const isLast = names.includes(arg) && (next === undefined || next === "" || /^--?[A-Za-z]/.test(next));
    if (isEmpty || isLast)
      throw usageError(`${arg.replace(/=$/, "")} needs a value.`, `See \`evals ${command.split(" ")[0]} --help\`.`);
  }
}

/**
 * Each flag takes exactly one value, so that a list never takes the path after it; a list is given by repeating the flag.
 * For other
 * flags a second value is refused. Puts the flag's name in front of what its `coerce` throws.
 */
function withValue(name: string, { coerce, array }: Options): Pick<Options, "coerce" | "nargs"> {
  return {
    nargs: 1,
    coerce(value: unknown) {
      if (Array.isArray(value) && !array) throw new Error(`--${name} is given more than once.`);
      try {
        return coerce && value !== undefined ? coerce(value) : value;
      } catch (error) {
        throw new Error(`--${name}: ${(error as Error).message}`);
      }
    },
  };
}

/** The parser's message as a sentence. */
function describeFailure(message: string): string {
  return /[.?!]$/.test(message) ? message : `${message}.`;
}

function helpHint(args: readonly string[], known: readonly Command[]): string {
  const name = known.map(({ command }) => command.split(" ")[0]).find((one) => one === args[0]);
  return `See \`evals ${name === undefined ? "" : `${name} `}--help\`.`;
}

import type { Argv, Options } from "yargs";
import { type ExitCode, exitCodes, usageError } from "../types/errors.ts";
import type { Io } from "../types/io.ts";
import { baselineCommand } from "./baseline.ts";
import { blameCommand } from "./blame.ts";
import { calibrateCommand } from "./calibrate.ts";
import { cleanCommand } from "./clean.ts";
import type { Command } from "./command.ts";
import { checkWords, findCommand, helpHint, refuseLeadingFlag } from "./commandLine.ts";
import { compareCommand } from "./compare.ts";
import { crowdCommand } from "./crowd.ts";
import { doctorCommand } from "./doctor.ts";
import { historyCommand } from "./history.ts";
import { importCommand } from "./import.ts";
import { initCommand } from "./init.ts";
import { judgeCommand } from "./judge.ts";
import { lintCommand } from "./lint.ts";
import { loginCommand } from "./login.ts";
import { mergeCommand } from "./merge.ts";
import { probeCommand } from "./probe.ts";
import { type ProjectWords, readProjectWords } from "./project.ts";
import { reportCommand } from "./report.ts";
import { runCommand } from "./run.ts";
import { schemaCommand } from "./schema.ts";
import { searchCommand } from "./search.ts";
import { showCommand } from "./show.ts";
import { skillsCommand } from "./skills.ts";
import { toolsCommand } from "./tools.ts";
import { tryCommand } from "./try.ts";
import { variantsCommand } from "./variants.ts";
import { verifyCommand } from "./verify.ts";
import { viewCommand } from "./view.ts";

/** All commands, in the order of the help. */
export const commands: readonly Command[] = [
  tryCommand,
  initCommand,
  importCommand,
  runCommand,
  baselineCommand,
  verifyCommand,
  mergeCommand,
  reportCommand,
  showCommand,
  historyCommand,
  viewCommand,
  cleanCommand,
  compareCommand,
  blameCommand,
  variantsCommand,
  crowdCommand,
  calibrateCommand,
  skillsCommand,
  judgeCommand,
  toolsCommand,
  lintCommand,
  searchCommand,
  probeCommand,
  doctorCommand,
  loginCommand,
  schemaCommand,
];

/**
 * Parses a command line and runs its command. Help and version go to `io.out`. `extras` are options that no command line
 * can hold. Throws EvalsError for a command line that cannot be parsed.
 */
export async function runCommandLine(
  args: readonly string[],
  io: Io,
  version: string,
  { known = commands, extras }: { known?: readonly Command[]; extras?: object | undefined } = {},
): Promise<ExitCode> {
  const [word, ...words] = args;
  if (word?.startsWith("-")) refuseLeadingFlag(word);
  const command = word === undefined || word.startsWith("-") ? undefined : findCommand(word, known);
  const given = command ? checkWords(words, command) : new Set<string>();
  const project: ProjectWords = command ? await readProjectWords(command, given, io) : { words: [] };
  const { default: yargs } = await import("yargs");
  let start: (() => Promise<ExitCode>) | undefined;
  const parser = yargs()
    .scriptName("evals")
    .usage(
      "$0 <command>\n\nTest whether models pick the right MCP tool or skill, and whether a change of wording helps.",
    )
    .version(`tool-evals ${version}`)
    .alias("help", "h")
    .strict()
    .wrap(Math.min(100, io.width))
    .fail((message, error) => {
      // The parser throws some of its own complaints.
      if (error && error.name !== "YError") throw error;
      throw usageError(describeFailure(error?.message ?? message), helpHint(command));
    });
  for (const one of known)
    parser.command(
      one.command,
      one.describe,
      (builder) => build(one, builder),
      // Started after parsing: the parser renders its whole help beside a command that it awaits.
      (parsed) => {
        start = () => one.run({ ...parsed, ...extras, given, suiteSettings: project.suiteSettings } as never, io);
      },
    );
  // Nothing was asked for, so nothing passed.
  if (word === undefined) {
    io.out(`${await parser.getHelp()}\n`);
    return exitCodes.usage;
  }
  await parser.parseAsync([word, ...project.words, ...words], {}, (_error, _parsed, output) => {
    if (output) io.out(`${output}\n`);
  });
  return (await start?.()) ?? exitCodes.passed;
}

function build({ positionals, flags, epilogue = "", examples }: Command, yargs: Argv): Argv {
  for (const [name, positional] of Object.entries(positionals)) yargs.positional(name, positional);
  for (const [name, flag] of Object.entries(flags))
    yargs.option(name, { group: "Options:", ...flag, ...(flag.type !== "boolean" && withValue(name, flag)) });
  return yargs.epilogue(epilogue).example(examples.map(([line, purpose]) => [`$0 ${line}`, purpose]));
}

/**
 * A flag takes exactly one value, so that a list never takes the path after it; a list is given by repeating the flag.
 * Puts the flag's name in front of what its `coerce` throws.
 */
function withValue(name: string, { coerce }: Options): Pick<Options, "coerce" | "nargs"> {
  return {
    nargs: 1,
    coerce(value: unknown) {
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

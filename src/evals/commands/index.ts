import { resolve } from "node:path";
import type { Argv, Options } from "yargs";
import { type ExitCode, exitCodes, usageError } from "../base/types/errors.ts";
import type { Io } from "../base/types/io.ts";
import { baselineCommand } from "./baseline.ts";
import { blameCommand } from "./blame.ts";
import { cleanCommand } from "./clean.ts";
import type { Command } from "./command.ts";
import { checkWords, findCommand, helpHint, refuseLeadingFlag } from "./commandLine.ts";
import { compareCommand } from "./compare.ts";
import { doctorCommand } from "./doctor.ts";
import { historyCommand } from "./history.ts";
import { importCommand } from "./import.ts";
import { initCommand } from "./init.ts";
import { judgeCommand } from "./judge.ts";
import { lintCommand } from "./lint.ts";
import { loginCommand } from "./login.ts";
import { mergeCommand } from "./merge.ts";
import { probeCommand } from "./probe.ts";
import { type ProjectWords, projectFiles, readProjectWords } from "./project.ts";
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
import { workerCommand } from "./worker.ts";

/** All commands, in the order of the help. */
export const commands: readonly Command[] = [
  tryCommand,
  initCommand,
  importCommand,
  runCommand,
  baselineCommand,
  verifyCommand,
  mergeCommand,
  workerCommand,
  reportCommand,
  showCommand,
  historyCommand,
  viewCommand,
  cleanCommand,
  compareCommand,
  blameCommand,
  variantsCommand,
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
 * Parses a command line and runs its command. Help and version go to `io.out`. `extras` are options that cannot be
 * written on a command line. Throws EvalsError for a command line that cannot be parsed.
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
  const parser = await createParser(command, known, io, version);
  // No command was given, so the exit code is not that of a pass.
  if (word === undefined) {
    io.out(`${await parser.getHelp()}\n`);
    return exitCodes.usage;
  }
  const read = async (): Promise<object | undefined> => {
    const project: ProjectWords = command ? await readProjectWords(command, given, io) : { words: [] };
    let parsed: object | undefined;
    await parser.parseAsync(
      [...project.words, ...(command ? joinOperands(words) : args)],
      {},
      (_error, values, output) => {
        if (output) io.out(`${output}\n`);
        else parsed = { ...values, ...extras, given, suiteSettings: project.suiteSettings };
      },
    );
    return parsed;
  };
  const options = await read();
  // A watch reads the project file again when it changes.
  const project = { files: projectFiles.map((name) => resolve(io.cwd, name)), reread: read };
  return options && command ? await command.run({ ...options, project } as never, io) : exitCodes.passed;
}

/** Removes `--`, because the parser drops what follows it. A path that starts with a hyphen gets `./` so that it is not read as a flag. */
function joinOperands(words: readonly string[]): readonly string[] {
  const end = words.indexOf("--");
  const operands = words.slice(end + 1).map((word) => (word.startsWith("-") ? `./${word}` : word));
  return end < 0 ? words : [...words.slice(0, end), ...operands];
}

/** The parser of one command, or of the program itself, which lists them. */
async function createParser(
  command: Command | undefined,
  known: readonly Command[],
  io: Io,
  version: string,
): Promise<Argv> {
  const { default: yargs } = await import("yargs");
  const parser = yargs()
    .version(`tool-evals ${version}`)
    .alias("help", "h")
    .strict()
    .wrap(Math.min(100, io.width))
    .fail((message, error) => {
      // The parser throws some of its own complaints.
      if (error && error.name !== "YError") throw error;
      throw usageError((error?.message ?? message).replace(/(?<![.?!])$/, "."), helpHint(command));
    });
  if (command) {
    // Registered as the default command ($0), so that --help prints the help of this command alone.
    const [name, ...slots] = command.command.split(" ");
    const asDefault = ["$0", ...slots].join(" ");
    return parser
      .scriptName(`evals ${name}`)
      .command(asDefault, command.describe, (builder) => build(command, builder));
  }
  for (const one of known) parser.command(one.command, one.describe);
  return parser
    .scriptName("evals")
    .usage(
      "$0 <command>\n\nTest whether models pick the right MCP tool or skill, and whether a change of wording helps.",
    )
    .example([
      ['evals init --server "node dist/main.js"', "Write a first suite"],
      ["evals run", "Run all suites with a keyword search, without an API key"],
      ["evals run -m anthropic:claude-haiku-5-5", "Run them with a language model"],
      ["evals baseline accept", "Compare later runs with this one"],
      ["evals blame", "Find the wording that broke a case"],
    ])
    .epilogue("Run `evals <command> --help` for the flags and examples of a command.");
}

function build({ command, positionals, flags, epilogue = "", examples }: Command, yargs: Argv): Argv {
  for (const [name, positional] of Object.entries(positionals)) {
    yargs.positional(name, positional);
    if (command.includes(`<${name}`)) yargs.demandOption(name);
    if (command.includes(`${name}..`)) yargs.array(name).default(name, []);
  }
  for (const [name, flag] of Object.entries(flags))
    yargs.option(name, { group: "Options:", ...flag, ...(flag.type !== "boolean" && withValue(name, flag)) });
  return yargs.epilogue([listExamples(examples), epilogue].filter(Boolean).join("\n\n"));
}

/** The purpose stands below its command line, because side by side the parser breaks both within a narrow column. */
function listExamples(examples: Command["examples"]): string {
  if (examples.length === 0) return "";
  return ["Examples:", ...examples.flatMap(([line, purpose]) => [`  evals ${line}`, `      ${purpose}`])].join("\n");
}

/**
 * A flag takes exactly one value, and a list is given by repeating the flag; otherwise a list would consume the paths
 * after it. Prefixes errors of `coerce` with the flag's name.
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

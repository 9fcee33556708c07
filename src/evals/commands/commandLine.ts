import { existsSync } from "node:fs";
import { resolve } from "node:path";
import type { Argv, Options, PositionalOptions } from "yargs";
import { shellWord } from "../base/text/display.ts";
import { didYouMean, nearest } from "../base/text/nearest.ts";
import { type EvalsError, usageError } from "../base/types/errors.ts";
import type { Io } from "../base/types/io.ts";
import type { Command } from "./command.ts";

// yargs reads command lines and renders the help of a command. It gets no defaults, so that what it returns is what was
// given.

/** The first word of a command. */
export const nameCommand = ({ command }: Command): string => command.split(" ")[0] ?? "";

/** `dry-run` as options name it: `dryRun`. */
export const toCamelCase = (name: string) => name.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase());

/** What a command of another name, as other tools have it, is called here. */
const otherWords: Readonly<Record<string, string>> = {
  ...{ check: "run --check on", test: "run", watch: "run --watch", drift: "run --nightly", report: "show" },
  ...{ history: "show --history", accept: "baseline accept", verify: "baseline verify", skills: "tools --skills" },
  ...{ diff: "compare", fix: "improve" },
};

/** The command of this name. Throws a usage error with the nearest name. */
export function findCommand(word: string, known: readonly Command[]): Command {
  const names = known.map(nameCommand);
  const found = known[names.indexOf(word)];
  if (found) return found;
  if (word.startsWith("-"))
    throw usageError(
      `There is no command before "${word}".`,
      "Write the command first, for example `evals run -m lexical`. See `evals --help`.",
    );
  const near = (Object.hasOwn(otherWords, word) && otherWords[word]) || nearest(word, names);
  throw usageError(
    `Unknown command "${word}".`,
    near === undefined ? "See `evals --help`." : `Did you mean \`evals ${near}\`?`,
  );
}

/** Reads the words after the name of a command to its options, in camel case. Throws a usage error. */
export async function parseWords(command: Command, words: readonly string[], io: Io): Promise<Record<string, unknown>> {
  refuseUnquoted(command, words, io);
  const parser = await createParser(command, words, io);
  const values: Record<string, unknown> = await parser.parseAsync(spellForParser(command, words));
  const read = listOptions(command).map(([name, option]) => {
    const value = values[toCamelCase(name)];
    const isGiven = value !== undefined && !(Array.isArray(value) && value.length === 0);
    const label = name in command.positionals ? `<${name}>` : `--${name}`;
    return [toCamelCase(name), isGiven ? readValue(label, option, value) : undefined];
  });
  return Object.fromEntries(read.filter(([, value]) => value !== undefined));
}

const programs = /^(?:npx|bunx|pnpm|uvx?|node|bun|deno|tsx|python3?|docker|java|go)$/;

/** Throws a usage error for the command line of a server that is spread over several words. */
function refuseUnquoted(command: Command, words: readonly string[], { cwd }: Io): void {
  const [program = "", ...rest] = words;
  if (!command.flags.server || rest.length === 0 || !programs.test(program) || existsSync(resolve(cwd, program)))
    return;
  const end = words.findIndex((word) => (word.split("=", 1)[0] ?? "").replace(/^--/, "") in command.flags);
  const line = words.slice(0, end < 0 ? words.length : end).join(" ");
  throw usageError(
    `The command line of a server is one argument, but "${program}" stands alone.`,
    `Put it in quotes: evals ${nameCommand(command)} ${shellWord(line)}`,
  );
}

/** The arguments and flags of a command. */
const listOptions = ({ positionals, flags }: Command) =>
  Object.entries({ ...positionals, ...flags } as Record<string, Options>);

/** The help of a command. `all`: also of flags that few people use. */
export async function renderHelp(command: Command, all: boolean, io: Io): Promise<string> {
  return await (await createParser(command, [], io, { all })).getHelp();
}

/**
 * Writes `--flag=true` of a boolean as yargs takes it, which refuses every value of one. Removes `--`, because yargs
 * drops what follows it: the command line of a server, for commands that take one; else paths, where one that starts
 * with a hyphen gets `./` so that it is not read as a flag.
 */
function spellForParser({ flags }: Command, words: readonly string[]): string[] {
  const end = words.includes("--") ? words.indexOf("--") : words.length;
  const spelled = words.slice(0, end).map((word) => {
    const [, name = "", value] = /^--([\w-]+)=(true|false)$/.exec(word) ?? [];
    return flags[name]?.type === "boolean" ? `--${value === "true" ? "" : "no-"}${name}` : word;
  });
  // `-m a b`, as `-m a -m b`: a path looks like no model.
  if (flags.model?.array)
    for (let at = 2; at < spelled.length; at++)
      if (
        /^(?:-m|--model)$/.test(spelled[at - 2] ?? "") &&
        /^(?:lexical|claude-code|[a-z-]{2,}:(?!\/\/)\S+)$/.test(spelled[at] ?? "")
      )
        spelled.splice(at, 0, "-m");
  const after = words.slice(end + 1);
  if (flags.server && after.length > 0) return [...spelled, "--server", after.map(shellWord).join(" ")];
  return [...spelled, ...after.map((word) => (word.startsWith("-") ? `./${word}` : word))];
}

/** `help`: the parser is there to print the help, of all flags or of those that most people use. */
async function createParser(
  command: Command,
  words: readonly string[],
  io: Io,
  help?: { all: boolean },
): Promise<Argv> {
  const { default: yargs } = await import("yargs");
  const [name, ...slots] = command.command.split(" ");
  // The command is the default one ($0), so that the help is that of this command alone.
  return yargs()
    .parserConfiguration({ "dot-notation": false, "parse-positional-numbers": false })
    .scriptName(`evals ${name}`)
    .help(false)
    .version(false)
    .strict()
    .exitProcess(false)
    .wrap(Math.min(100, io.width))
    .command(["$0", ...slots].join(" "), command.describe, (builder) => describeCommand(command, builder, help))
    .fail((message, error) => {
      // yargs throws some of its own complaints.
      throw error && error.name !== "YError" ? error : explain(error?.message ?? message, command, words);
    });
}

function describeCommand(
  { command, positionals, flags, common, epilogue, examples }: Command,
  yargs: Argv,
  help: { all: boolean } | undefined,
): Argv {
  const isShown = (name: string) => help === undefined || help.all || common === undefined || common.includes(name);
  for (const [name, positional] of Object.entries(positionals)) {
    yargs.positional(name, describeOption(positional, help !== undefined));
    if (command.includes(`<${name}`)) yargs.demandOption(name);
    if (command.includes(`${name}..`)) yargs.array(name);
  }
  for (const [name, flag] of Object.entries<Options>(flags)) {
    const nargs = flag.type === "boolean" ? 0 : 1;
    const hidden = flag.hidden === true || !isShown(name);
    yargs.option(name, { group: "Options:", ...describeOption(flag, help !== undefined), nargs, hidden });
  }
  yargs.option("trust", {
    type: "boolean",
    group: "Options:",
    describe: "Use programs, code and addresses that files name, without asking",
  });
  yargs.option("help", { alias: "h", type: "boolean", group: "Options:", describe: "Show help" });
  const more = isShown("") ? undefined : `\`evals ${command.split(" ")[0]} --help all\` also shows the other flags.`;
  return yargs.epilogue([listExamples(examples), epilogue, more].filter(Boolean).join("\n\n"));
}

/** An option without yargs' reading of its values: `readValue` reads them, and defaults and choices are only shown. */
function describeOption<Option extends Options | PositionalOptions>(option: Option, isHelp: boolean): Option {
  const { coerce: _, default: fallback, choices, ...rest } = option;
  const shown = isHelp && {
    ...(choices && { choices }),
    ...(fallback !== undefined && { defaultDescription: JSON.stringify(fallback) }),
  };
  return { ...rest, ...shown } as Option;
}

/** The purpose stands below its command line, because side by side yargs breaks both within a narrow column. */
function listExamples(examples: Command["examples"]): string {
  if (examples.length === 0) return "";
  return ["Examples:", ...examples.flatMap(([line, purpose]) => [`  evals ${line}`, `      ${purpose}`])].join("\n");
}

/** Reads the value of a flag or argument, wherever it was given. Throws a usage error that names it as `label`. */
export function readValue(label: string, option: Options, value: unknown): unknown {
  if (value === undefined) return undefined;
  if (option.type === "boolean") {
    if (typeof value === "boolean") return value;
    throw usageError(`${label} must be a boolean, but is ${describeValue(value)}.`);
  }
  if (Array.isArray(value) && !option.array) throw usageError(`${label} is given more than once.`, "Give it once.");
  const read = [value].flat().map((one) => readSingle(label, option, one));
  const own = option.coerce;
  try {
    if (option.array) return own ? own(read) : read;
    return own ? own(read[0]) : read[0];
  } catch (error) {
    throw usageError(`${label}: ${(error as Error).message}`);
  }
}

/** Reads options as the library gets them. Throws a usage error for an unknown one, and for one that is missing. */
export function readOptions(command: Command, given: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const name = nameCommand(command);
  const known = new Map(listOptions(command).map(([flag, option]) => [toCamelCase(flag), option]));
  const set = Object.entries(given).filter(([, value]) => value !== undefined);
  const missing = [...known].find(([key, option]) => option.demandOption && !set.some(([own]) => own === key));
  if (missing) throw usageError(`${name} needs the option "${missing[0]}".`);
  const read = set.map(([key, value]): [string, unknown] => {
    const option = known.get(key);
    if (option) return [key, readValue(`The option "${key}" of ${name}`, option, value)];
    const hint = didYouMean(key, [...known.keys()], `Known options: ${[...known.keys()].join(", ")}.`);
    throw usageError(`Unknown option "${key}" of ${name}.`, hint);
  });
  return Object.fromEntries(read);
}

function readSingle(label: string, { number, choices }: Options, value: unknown): unknown {
  if (value === "") throw usageError(`${label} needs a value.`);
  if (typeof value !== "string" && !(number && typeof value === "number"))
    throw usageError(`${label} must be a ${number ? "number" : "string"}, but is ${describeValue(value)}.`);
  if (!choices || choices.includes(value)) return value;
  const near = nearest(String(value), choices.map(String));
  const meant = near === undefined ? "" : `Did you mean "${near}"? `;
  throw usageError(`"${value}" is not a choice for ${label}.`, `${meant}Use one of: ${choices.join(", ")}.`);
}

const describeValue = (value: unknown) =>
  Array.isArray(value) ? "an array" : value === null ? "null" : `the ${typeof value} ${JSON.stringify(value)}`;

/** What yargs complains about, with what was meant. */
function explain(message: string, command: Command, words: readonly string[]): EvalsError {
  const name = nameCommand(command);
  const help = `See \`evals ${name} --help\`.`;
  const [, unknown] = /^Unknown arguments?: ([^,]+)/.exec(message) ?? [];
  if (unknown !== undefined && words.includes(unknown))
    return usageError(`Unexpected argument "${unknown}" of \`evals ${name}\`.`, `Write \`evals ${command.command}\`.`);
  if (unknown !== undefined) {
    const flags = Object.keys(command.flags);
    const near = flags.find((flag) => flag.startsWith(unknown)) ?? nearest(unknown, flags);
    const isMeant = near !== undefined && unknown.length > 1;
    return usageError(
      `Unknown flag "${unknown.length > 1 ? "--" : "-"}${unknown}" of \`evals ${name}\`.`,
      isMeant ? `Did you mean "--${near}"?` : help,
    );
  }
  const [, empty] = /^Not enough arguments following: (.+)/.exec(message) ?? [];
  if (empty !== undefined) {
    const { choices } = command.flags[empty] ?? {};
    const hint = choices ? `Use one of: ${choices.join(", ")}.` : help;
    return usageError(`${empty.length > 1 ? "--" : "-"}${empty} needs a value.`, hint);
  }
  const [, full] = /^Argument unexpected for: (.+)/.exec(message) ?? [];
  if (full !== undefined) return usageError(`--${full} takes no value.`, `Write --${full} or --no-${full}.`);
  if (message.startsWith("Not enough non-option arguments")) {
    const missing = [...command.command.matchAll(/<(\w+)/g)].map(([, slot = ""]) => slot);
    const choices = command.positionals[missing[0] ?? ""]?.choices;
    return usageError(
      `\`evals ${name}\` needs ${missing.map((slot) => `<${slot}>`).join(" and ")}${choices ? `: ${choices.join(", ")}` : ""}.`,
      `Write \`evals ${command.command}\`. ${help}`,
    );
  }
  return usageError(message.replace(/(?<![.?!])$/, "."), help);
}

import { nearest } from "../base/text/nearest.ts";
import { type EvalsError, usageError } from "../base/types/errors.ts";
import type { Command } from "./command.ts";

// Checks a command line before yargs sees it, because the messages of yargs say neither where the error is nor how to fix it.

/** The command that the first word names. Throws a usage error with the nearest name. */
export function findCommand(word: string, known: readonly Command[]): Command {
  const names = known.map(nameCommand);
  const found = known[names.indexOf(word)];
  if (found) return found;
  const near = nearest(word, names);
  throw usageError(
    `Unknown command "${word}".`,
    near === undefined ? "See `evals --help`." : `Did you mean \`evals ${near}\`?`,
  );
}

/** The first word of a command. */
export function nameCommand({ command }: Command): string {
  return command.split(" ")[0] ?? "";
}

/**
 * Checks the words after the name of a command: flags, their values, and the number and choices of positional arguments.
 * Returns the options that are given, as the command names them (`dry-run` is `dryRun`); after `--help`, nothing is
 * checked. Throws a usage error for the first word that is wrong.
 */
export function checkWords(words: readonly string[], command: Command): ReadonlySet<string> {
  const flags = listFlags(command);
  const given = new Set<string>();
  const positionals: string[] = [];
  for (let at = 0; at < words.length; at++) {
    const word = words[at] ?? "";
    if (word === "--") {
      positionals.push(...words.slice(at + 1));
      break;
    }
    if (!/^--?[A-Za-z]/.test(word)) {
      positionals.push(word);
      continue;
    }
    const [, spelled = word, attached] =
      /^(--[^=]+)(?:=(.*))?$/s.exec(word) ?? /^(-[A-Za-z])=?(.+)?$/s.exec(word) ?? [];
    const flag = flags.get(spelled);
    if (!flag) throw unknownFlag(spelled, flags, command);
    // Help and version are printed whatever else is given.
    if (flag.name === undefined) return given;
    const isRepeated = given.has(flag.name);
    given.add(flag.name);
    if (!flag.takesValue) continue;
    if (isRepeated && !flag.isList) throw usageError(`${spelled} is given more than once.`, "Give it once.");
    if (attached && /^-[A-Za-z][^=\d]/.test(word))
      throw usageError(`"${word}" has no space after ${spelled}.`, `Write: ${spelled} ${attached}.`);
    const value = attached ?? words[++at];
    if (value === undefined || value === "" || (attached === undefined && /^--?[A-Za-z]/.test(value)))
      throw usageError(`${spelled} needs a value.`, helpHint(command));
    if (flag.choices && !flag.choices.includes(value)) throw badChoice(value, spelled, flag.choices);
  }
  for (const name of checkPositionals(positionals, command)) given.add(name);
  return given;
}

const ownFlags = ["--help", "-h", "--version"];

/** Throws a usage error for a command line that starts with a flag of a command. */
export function refuseLeadingFlag(word: string): void {
  if (ownFlags.includes(word)) return;
  throw usageError(
    `There is no command before "${word}".`,
    "Write the command first, for example: evals run -m lexical. See `evals --help`.",
  );
}

/** What one spelling of a flag means; `name` is absent for the flags of the program itself. */
type Flag = { name?: string; takesValue: boolean; isList?: boolean; choices?: readonly string[] };

function listFlags({ flags }: Command): Map<string, Flag> {
  const spellings = Object.entries(flags).flatMap(([name, options]): [string, Flag][] => {
    const flag = {
      name: toCamelCase(name),
      takesValue: options.type !== "boolean",
      isList: options.array === true,
      ...(options.choices && { choices: options.choices.map(String) }),
    };
    const aliases = [options.alias ?? []].flat().map((alias) => (alias.length === 1 ? `-${alias}` : `--${alias}`));
    const negated = flag.takesValue ? [] : [`--no-${name}`];
    return [`--${name}`, `--${flag.name}`, ...aliases, ...negated].map((spelled) => [spelled, flag]);
  });
  return new Map([...ownFlags.map((own): [string, Flag] => [own, { takesValue: false }]), ...spellings]);
}

/** `dry-run` as options name it: `dryRun`. */
export const toCamelCase = (name: string) => name.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase());

/** `dryRun` as flags name it: `dry-run`. */
export const toKebabCase = (name: string) => name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);

/** The words of a command line that set a flag to this value, or to each value of a list. */
export function writeFlag(flag: string, value: unknown): string[] {
  if (typeof value === "boolean") return [`--${value ? "" : "no-"}${flag}`];
  return [value].flat().map((one) => `--${flag}=${one}`);
}

/** Flags with one meaning, here and in other tools. */
const synonyms: readonly (readonly string[])[] = [
  ["--as", "--format", "--reporter", "--json"],
  ["--trials", "--repeat", "--runs", "--iterations", "--samples"],
  ["--case", "--filter", "--grep"],
  ["--model", "--provider"],
  ["--out", "--output", "--write"],
  ["--concurrency", "--max-concurrency", "--workers"],
  ["--pass-rate", "--threshold"],
];

/** Compares names without their hyphens, which all have. */
function findNearest(spelled: string, flags: readonly string[]): string | undefined {
  const near = nearest(
    spelled.slice(2),
    flags.map((flag) => flag.slice(2)),
  );
  return near && `--${near}`;
}

function unknownFlag(spelled: string, flags: ReadonlyMap<string, Flag>, command: Command): EvalsError {
  const isLong = spelled.startsWith("--");
  // A camelCase spelling is accepted but not suggested.
  const candidates = [...flags.keys()].filter((flag) => flag.startsWith("--") && !/[A-Z]/.test(flag));
  const group = synonyms.find((one) => one.includes(spelled));
  const near = isLong
    ? (candidates.find((flag) => flag.startsWith(spelled)) ??
      group?.find((flag) => flags.has(flag)) ??
      findNearest(spelled, candidates))
    : undefined;
  return usageError(
    `Unknown flag "${spelled}" of \`evals ${nameCommand(command)}\`.`,
    near === undefined ? helpHint(command) : `Did you mean "${near}"?`,
  );
}

/** Checks the positional arguments, and returns the names of those that are given. */
function checkPositionals(words: readonly string[], command: Command): string[] {
  const slots = [...command.command.matchAll(/([<[])(\w+)(\.\.)?[>\]]/g)].map(([, bracket, name = "", dots]) => {
    return { name, isRequired: bracket === "<", isList: dots !== undefined };
  });
  const missing = slots.slice(words.length).filter(({ isRequired }) => isRequired);
  const name = nameCommand(command);
  if (missing.length > 0) {
    const choices = command.positionals[missing[0]?.name ?? ""]?.choices;
    const one = choices ? `: ${choices.join(", ")}` : "";
    throw usageError(
      `\`evals ${name}\` needs ${missing.map((slot) => `<${slot.name}>`).join(" and ")}${one}.`,
      `Write: evals ${command.command}. ${helpHint(command)}`,
    );
  }
  const extra = slots.at(-1)?.isList ? undefined : words[slots.length];
  if (extra !== undefined)
    throw usageError(`Unexpected argument "${extra}" of \`evals ${name}\`.`, `Write: evals ${command.command}.`);
  for (const [at, slot] of slots.entries()) {
    const word = words[at];
    const choices = command.positionals[slot.name]?.choices?.map(String);
    if (word === undefined || !choices || choices.includes(word)) continue;
    throw badChoice(word, `<${slot.name}> of \`evals ${name}\``, choices);
  }
  return slots.slice(0, words.length).map((slot) => slot.name);
}

/** The error for a value that is not one of the choices; `place` names the flag or argument. */
function badChoice(value: string, place: string, choices: readonly string[]): EvalsError {
  const near = nearest(value, choices);
  return usageError(
    `"${value}" is not a choice for ${place}.`,
    `${near === undefined ? "" : `Did you mean "${near}"? `}Use one of: ${choices.join(", ")}.`,
  );
}

/** A hint that points to the help of a command. */
export function helpHint(command: Command | undefined): string {
  return `See \`evals ${command ? `${nameCommand(command)} ` : ""}--help\`.`;
}

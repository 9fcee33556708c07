import type { Options, PositionalOptions } from "yargs";
import { didYouMean } from "../base/text/nearest.ts";
import { type ExitCode, usageError } from "../base/types/errors.ts";
import type { Io } from "../base/types/io.ts";
import { findCommand, toCamelCase, toKebabCase, writeFlag } from "./commandLine.ts";
import { commands, runCommandLine } from "./index.ts";

/**
 * Runs a command for the library, with options named like its flags (in camel case) and positional arguments. The command
 * prints its result as JSON. `extras` are options that cannot be written on a command line. Throws EvalsError as the command does.
 */
export async function callCommand(
  name: string,
  options: Readonly<Record<string, unknown>>,
  extras: object | undefined,
  io: Io,
  version: string,
): Promise<ExitCode> {
  const { flags, positionals } = findCommand(name, commands);
  const known = [...Object.keys(flags), ...Object.keys(positionals)].map(toCamelCase);
  const given = Object.entries(options).filter(([, value]) => value !== undefined);
  const wrong = given.map(([option]) => option).find((option) => !known.includes(option));
  if (wrong !== undefined) {
    const hint = didYouMean(wrong, known, `Known options: ${known.join(", ")}.`);
    throw usageError(`Unknown option "${wrong}" of ${name}.`, hint);
  }
  for (const [option, value] of given) refuseType(option, value, { ...flags, ...positionals }, name);
  const words = given.flatMap(([option, value]) =>
    option in positionals ? [] : writeFlag(toKebabCase(option), value),
  );
  const targets = Object.keys(positionals).flatMap((key) => [options[key] ?? []].flat().map(String));
  return await runCommandLine([name, ...targets, ...words, "--json"], io, version, { extras });
}

/** Programs without types pass anything: as a word of a command line, a wrong value would be read as another one. */
function refuseType(
  option: string,
  value: unknown,
  options: Readonly<Record<string, Options | PositionalOptions>>,
  command: string,
): void {
  const { type, number, array }: Options = options[toKebabCase(option)] ?? options[option] ?? {};
  const wanted = number ? "number" : type === "boolean" ? "boolean" : "string";
  const wrong = (array && Array.isArray(value) ? value : [value]).find((one) => typeof one !== wanted);
  if (wrong === undefined) return;
  const list = array ? `, or an array of ${wanted}s` : "";
  const got = Array.isArray(wrong)
    ? "an array"
    : wrong === null
      ? "null"
      : `the ${typeof wrong} ${JSON.stringify(wrong)}`;
  throw usageError(`The option "${option}" of ${command} must be a ${wanted}${list}, but is ${got}.`);
}

import type { ArgumentsCamelCase, InferredOptionTypes, Options, PositionalOptions } from "yargs";
import type { ExitCode } from "../base/types/errors.ts";
import type { Io } from "../base/types/io.ts";

type Positionals = Record<string, PositionalOptions>;
type Flags = Record<string, Options>;

/** One command of the program: its arguments, its help, and the function that it calls. */
export type Command<P extends Positionals = Positionals, F extends Flags = Flags> = {
  /** Name and positional arguments, for example `show [target]`. */
  command: string;
  describe: string;
  positionals: P;
  flags: F;
  /** The flags that most people use, if the help of a command with many flags shows these alone. */
  common?: readonly string[];
  epilogue?: string;
  /** Command lines without `evals`, each with its purpose. */
  examples: readonly (readonly [line: string, purpose: string])[];
  run(args: Args<P, F>, io: Io): Promise<ExitCode>;
};

/** The parsed arguments of a command, as its `run` gets them. */
type Args<P extends Positionals, F extends Flags> = ArgumentsCamelCase<InferredOptionTypes<F>> & InferredOptionTypes<P>;

/** A command whose positionals and flags are known as types. */
export type DefinedCommand<P, F> = Command & { readonly options?: { positionals: P; flags: F } };

/** Infers the arguments of `run` from the flags and positionals. */
export function defineCommand<const P extends Positionals, const F extends Flags>(
  command: Command<P, F>,
): DefinedCommand<P, F> {
  return command as unknown as Command;
}

/** Nothing besides the description and the type. */
type None = Record<never, never>;

/** A flag or an argument with one text. */
export function text<const M extends Options = None>(describe: string, more?: M) {
  return { type: "string", describe, ...more } as M & { type: "string"; describe: string };
}

/** A flag that can be repeated, or several arguments. */
export function texts<const M extends Options = None>(describe: string, more?: M) {
  return text(describe, { array: true, ...more }) as M & { type: "string"; array: true; describe: string };
}

/** A flag or an argument with one of these texts. */
export function choice<const C extends readonly string[], const M extends Options = None>(
  describe: string,
  choices: C,
  more?: M,
) {
  return { choices, describe, ...more } as M & { choices: C; describe: string };
}

/** A flag that is off by default. */
export const toggle = (describe: string) => ({ type: "boolean", default: false, describe }) as const;

/** The values that a number flag takes. `percent`: `10%` is read as 0.1. `dollars`: `$2.50` is read as 2.5. */
export type NumberRange = {
  min?: number;
  above?: number;
  max?: number;
  below?: number;
  integer?: boolean;
  percent?: boolean;
  dollars?: boolean;
};

/** A number flag: yargs options with a range. */
export type NumberFlag<Default extends number | undefined> = {
  range: NumberRange;
  number: true;
  string: true;
  describe: string;
  alias?: string;
  coerce: (value: unknown) => number;
} & (Default extends number ? { default: number } : unknown);

/** Declares a number flag. A value outside its range is an error that names both; the parser adds the flag's name. */
export function number<Default extends number | undefined = undefined>(
  describe: string,
  { alias, default: defaultValue, ...range }: NumberRange & { alias?: string; default?: Default },
): NumberFlag<Default> {
  return {
    range,
    // As a string the value keeps its text for the message; `number` is what the help shows.
    number: true,
    string: true,
    describe,
    ...(alias !== undefined && { alias }),
    ...(defaultValue !== undefined && { default: defaultValue }),
    coerce: (value: unknown) => parseNumber(String(value), range),
  } as NumberFlag<Default>;
}

function parseNumber(text: string, range: NumberRange): number {
  const { min = Number.NEGATIVE_INFINITY, above = Number.NEGATIVE_INFINITY, max = Number.MAX_VALUE } = range;
  const { below = Number.POSITIVE_INFINITY, integer, percent, dollars } = range;
  const share = percent ? /^(.+?)\s*%$/.exec(text.trim())?.[1] : undefined;
  const amount = dollars ? (/^\$?(\d+(?:\.\d+)?)$/.exec(text.trim())?.[1] ?? "") : undefined;
  const digits = share ?? amount ?? text;
  const value = digits.trim() === "" ? Number.NaN : Number(digits) / (share === undefined ? 1 : 100);
  const isInRange = value >= min && value > above && value <= max && value < below;
  if (isInRange && (!integer || Number.isSafeInteger(value))) return value;
  throw new Error(`"${text}" is not ${describeRange(range)}.`);
}

function describeRange({ min, above, max, below, integer, percent, dollars }: NumberRange): string {
  const kind = integer ? "an integer" : "a number";
  const other = percent ? ", or a percentage such as 10%" : dollars ? ", in US dollars such as 2.50" : "";
  if (min !== undefined) return max === undefined ? `${kind} of at least ${min}` : `${kind} from ${min} to ${max}`;
  const bounds = [
    ...(above === undefined ? [] : [`above ${above}`]),
    ...(max === undefined ? [] : [`at most ${max}`]),
    ...(below === undefined ? [] : [`below ${below}`]),
  ];
  return [kind, bounds.join(" and ")].join(" ") + other;
}

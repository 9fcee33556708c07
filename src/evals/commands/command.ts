import type { ArgumentsCamelCase, Argv, InferredOptionTypes, Options } from "yargs";
import type { ExitCode } from "../errors.ts";
import type { Io } from "../io.ts";

/** One command of the program: how it is called, and the function that it calls. */
export type Command = {
  command: string;
  describe: string;
  builder: (yargs: Argv) => Argv;
  handler: (args: never, io: Io) => Promise<ExitCode>;
};

/** The parsed flags of a command that declared them as `options`. */
export type Flags<O extends Record<string, Options>> = ArgumentsCamelCase<InferredOptionTypes<O>>;

import type { ExitCode } from "./errors.ts";

/** Questions on a terminal. Each is undefined when the user cancels it. */
export type Prompts = {
  select(
    message: string,
    options: readonly { value: string; label: string; hint?: string }[],
  ): Promise<string | undefined>;
  text(message: string, example: string): Promise<string | undefined>;
};

/** Everything of the process that a command may use. Built once, in cli.ts. */
export type Io = {
  /** Writes data to standard output. */
  out(text: string): void;
  /** Writes messages to standard error. */
  err(text: string): void;
  outIsTerminal: boolean;
  errIsTerminal: boolean;
  /** Columns of the terminal. */
  width: number;
  colour: boolean;
  unicode: boolean;
  env: Readonly<Record<string, string | undefined>>;
  cwd: string;
  /** Aborts at the first SIGINT or SIGTERM. */
  signal: AbortSignal;
  /** The exit code of a command that was interrupted by a signal. */
  signalExitCode(): ExitCode;
  /** Absent where nobody can be asked. */
  prompts?: Prompts;
};

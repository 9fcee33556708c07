import type { ExitCode } from "./errors.ts";

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
};

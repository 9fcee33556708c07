import type { ExitCode } from "./errors.ts";

/** The world of a command: everything it may touch of the process. Built once, in cli.ts. */
export type Io = {
  /** Data, to standard output. */
  out(text: string): void;
  /** Messages, to standard error. */
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
  /** What a command that was cut short by a signal exits with. */
  signalExitCode(): ExitCode;
};

import type { ExitCode } from "./errors.ts";

type Choice = { value: string; label: string; hint?: string };

/** Prompts on a terminal. It resolves with undefined if the user cancels it. */
export type Prompts = {
  select(message: string, options: readonly Choice[]): Promise<string | undefined>;
  /** A line of text; `initial` is there to be edited. */
  text(message: string, initial: string): Promise<string | undefined>;
  /** A question that y, n or the arrow keys answer. */
  confirm(message: string): Promise<boolean | undefined>;
};

/** Everything that a command may use of the process. Created once, in cli.ts. */
export type Io = {
  /** Writes data to standard output. */
  out(text: string): void;
  /** Writes messages to standard error. */
  err(text: string): void;
  /** Takes the result of a command as an object; absent where it is printed at once. */
  result?(value: object): void;
  outIsTerminal: boolean;
  errIsTerminal: boolean;
  /** Columns of the terminal. */
  width: number;
  color: boolean;
  unicode: boolean;
  /** How the user starts this program, where not as `evals`. */
  program?: string;
  env: Readonly<Record<string, string | undefined>>;
  /** Variables for the servers that a command starts, beside those that servers inherit. */
  serverEnv?: Readonly<Record<string, string>>;
  cwd: string;
  /** Aborts at the first SIGINT or SIGTERM. */
  signal: AbortSignal;
  /** The exit code of a command that was interrupted by a signal. */
  signalExitCode(): ExitCode;
  /** Whether what files name is used without asking: with --trust, and for a program that calls the library. */
  isTrusted?: boolean;
  /** Absent if there is no terminal for prompts. */
  prompts?: Prompts;
};

/** Whether the program runs in CI, where nobody can be asked and what runs was decided by the workflow. */
export const isCi = ({ CI }: Io["env"]): boolean => CI !== undefined && CI !== "" && CI !== "false";

/** Asks a yes-or-no question on the terminal; undefined without one. */
export async function askConsent(question: string, { prompts }: Pick<Io, "prompts">): Promise<boolean | undefined> {
  return prompts && (await prompts.confirm(question)) === true;
}

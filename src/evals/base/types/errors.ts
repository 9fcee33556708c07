import { inert, plain, visible } from "../text/display.ts";

/** Where in a file a problem is; line and column start at 1. */
export type Location = { file: string; line?: number; column?: number };

/**
 * One thing that is wrong with a user's input: what it is, how to fix it, and where it is. Both texts are sentences.
 * `excerpt` shows the place: its line with a number, and a line with a mark below.
 */
export type Problem = {
  severity: "error" | "warning";
  message: string;
  hint?: string;
  location?: Location;
  excerpt?: string;
};

/** The exit code of the process; see `exitCodes`. */
export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];

/** The exit codes of every command. Signals exit with 128 + their number. */
export const exitCodes = {
  passed: 0,
  failed: 1,
  usage: 2,
  incomplete: 3,
  sighup: 129,
  sigint: 130,
  sigquit: 131,
  sigterm: 143,
} as const;

/** Maximum number of problems in a message: a file that is not a suite can have one in each of its lines. */
const shownProblems = 100;
/** Maximum length of the message of one problem, in characters. */
const maxMessage = 10_000;
const shorten = (message: string) => (message.length > maxMessage ? `${message.slice(0, maxMessage)}…` : message);

/**
 * The error class for everything that a user can cause and fix. It can have several problems, so that one run of a command
 * shows all of them. Anything else that is thrown is an internal error.
 */
export class EvalsError extends Error {
  override readonly name = "EvalsError";
  readonly problems: readonly Problem[];
  readonly exitCode: ExitCode;

  constructor(problems: Problem | readonly Problem[], exitCode: ExitCode = exitCodes.usage) {
    const list = Array.isArray(problems) ? (problems as readonly Problem[]) : [problems as Problem];
    const left = list.length - shownProblems;
    const more = left > 0 ? [`${left} more ${left === 1 ? "problem is" : "problems are"} not shown.`] : [];
    super([...list.slice(0, shownProblems).map(formatProblem), ...more].join("\n"));
    this.problems = list;
    this.exitCode = exitCode;
  }

  /** One error with the problems of several; its exit code is that of the first. */
  static all(errors: readonly EvalsError[]): EvalsError {
    return new EvalsError(
      errors.flatMap(({ problems }) => problems),
      errors[0]?.exitCode,
    );
  }
}

/** An error with one problem. */
export function usageError(message: string, hint?: string, location?: Location): EvalsError {
  return new EvalsError({ severity: "error", message, ...(hint && { hint }), ...(location && { location }) });
}

const splitLines = (text: string) => text.replace(/\r\n?/g, "\n").replaceAll("\t", "  ").split("\n");
const indent = (line: string, at: number) => (at === 0 || line.startsWith("  ") ? line : `  ${line}`);

/**
 * `file:line:column: error: message`, an indented excerpt and an indented hint, the form that editors and terminals
 * make clickable. Control characters in it, which come from servers and files, are made visible, and every line
 * but the first is indented, so that no quoted text looks like a message of its own.
 */
export function formatProblem({ severity, message, hint, location, excerpt }: Problem): string {
  const where = location
    ? `${plain([location.file, location.line, location.column].filter((part) => part !== undefined).join(":"))}: `
    : "";
  const shown = excerpt === undefined ? "" : `\n${excerpt.replace(/^/gm, "  ")}`;
  return splitLines(`${where}${severity}: ${shorten(message)}${shown}${hint ? `\n  ${hint}` : ""}`)
    .map(indent)
    .map(visible)
    .map(inert)
    .join("\n");
}

/** What prints problems as warnings and messages. */
export const printProblem =
  ({ err }: { err(text: string): void }) =>
  (problem: Problem): void =>
    err(`${formatProblem(problem)}\n`);

/** The message of any thrown value. */
export function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}

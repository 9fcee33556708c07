import type * as z from "zod";
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

/** What a user can cause and fix: all problems of one run of a command. Any other error is an internal one. */
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
    const problems = errors.flatMap((error) => error.problems);
    return new EvalsError(problems, errors[0]?.exitCode);
  }
}

/** Orders problems by line and column. */
export const byPlace = ({ location: a }: Problem, { location: b }: Problem) =>
  (a?.line ?? 0) - (b?.line ?? 0) || (a?.column ?? 0) - (b?.column ?? 0);

/** An error with one problem. */
export function usageError(message: string, hint?: string, location?: Location): EvalsError {
  return new EvalsError({ severity: "error", message, ...(hint && { hint }), ...(location && { location }) });
}

const splitLines = (text: string) => text.replace(/\r\n?/g, "\n").replaceAll("\t", "  ").split("\n");
const indent = (line: string, at: number) => (at === 0 || line.startsWith("  ") ? line : `  ${line}`);

/**
 * `file:line:column: error: message`, an indented excerpt and an indented hint. Control characters in it are made
 * visible, and every line but the first is indented, so that no quoted text looks like a message of its own.
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

/** The innermost cause: `fetch` and the SDKs wrap "connect ECONNREFUSED 127.0.0.1:1" in "Connection error." */
export function rootCause(error: Error): Error {
  return error.cause instanceof Error ? rootCause(error.cause) : error;
}

/** The message of any thrown value. */
export function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}

type Issue = z.core.$ZodIssue;
type Path = readonly PropertyKey[];

const maxIssues = 5;

/** What messages call the types of schemas. */
export const typeNames: Readonly<Record<string, string>> = {
  string: "text",
  number: "a number",
  int: "a whole number",
  boolean: "true or false",
  array: "a list",
  object: "an object",
  record: "an object",
  null: "null",
  undefined: "nothing",
};
const nameType = (type: string) => typeNames[type] ?? type;

/** Why a value does not match a schema, on one line: its first five issues, each with its path. */
export function formatIssues(error: { issues: readonly Issue[] }): string {
  const texts = listIssues(error).map(({ path, message }) => `${formatPath(path) || "it"} ${message}`);
  const left = texts.length - maxIssues;
  return [...texts.slice(0, maxIssues), ...(left > 0 ? [`and ${left} more`] : [])].join("; ");
}

/** The issues of a zod error in plain words. A message continues its path: `is missing: expected an object`. */
export function listIssues({ issues }: { issues: readonly Issue[] }): { path: Path; message: string }[] {
  return issues.map((issue) => {
    const chosen = chooseOption(issue);
    return { path: chosen.path, message: describe(chosen) };
  });
}

/** `cases[2].input` */
export function formatPath(path: Path): string {
  return path
    .map((step, at) => (typeof step === "number" ? `[${step}]` : `${at > 0 ? "." : ""}${String(step)}`))
    .join("");
}

function describe(issue: Issue): string {
  switch (issue.code) {
    case "invalid_type": {
      const expected = nameType(issue.expected);
      const received = readReceived(issue);
      if (received === "undefined") return `is missing: expected ${expected}`;
      return `must be ${expected}${received === undefined ? "" : `, got ${nameType(received)}`}`;
    }
    case "invalid_value":
      return `must be ${issue.values.length > 1 ? "one of " : ""}${issue.values.map((value) => JSON.stringify(value) ?? String(value)).join(", ")}${issue.input === undefined || typeof issue.input === "object" ? "" : `, got ${JSON.stringify(issue.input).slice(0, 60)}`}`;
    case "unrecognized_keys":
      return `has ${issue.keys.length === 1 ? "an unknown key" : "unknown keys"}: ${issue.keys.slice(0, maxIssues).join(", ")}`;
    case "too_small":
      if (issue.minimum === 1 && units[issue.origin] !== undefined) return "is empty";
      return mustBe(issue.origin, "at least", issue.minimum);
    case "too_big":
      return mustBe(issue.origin, "at most", issue.maximum);
    case "invalid_union":
      return "has an unknown value";
    default:
      return `is invalid: ${issue.message}`;
  }
}

const isOtherValue = (issue: Issue) => issue.code === "invalid_value";

/** The issue of a union as one of its options: the one with the fewest issues, if not all fail alike. */
function chooseOption(issue: Issue): Issue {
  if (issue.code !== "invalid_union") return issue;
  const types = issue.errors.flatMap(([first]) =>
    first?.code === "invalid_type" && first.path.length === 0 ? first : [],
  );
  const [typed] = types;
  if (typed && types.length === issue.errors.length) {
    const expected = [...new Set(types.map((type) => nameType(type.expected)))].join(" or ");
    return { ...typed, path: issue.path, expected: expected as typeof typed.expected };
  }
  // Of a kind that no option has, all are named.
  const valued = issue.errors.flatMap((issues) => issues.find(isOtherValue) ?? []);
  const [value] = valued;
  const isSame = valued.every(({ path }) => formatPath(path) === formatPath(value?.path ?? []));
  if (value && isSame && valued.length === issue.errors.length)
    return { ...value, path: [...issue.path, ...value.path], values: valued.flatMap((one) => one.values) };
  const matching = issue.errors.filter(([first]) => !types.includes(first as (typeof types)[number]));
  // An option of another kind is farther away than one that lacks members.
  const distance = (issues: readonly Issue[]) => issues.length + (issues.some(isOtherValue) ? 100 : 0);
  const [closest] = matching.toSorted((a, b) => distance(a) - distance(b))[0] ?? [];
  return closest ? chooseOption({ ...closest, path: [...issue.path, ...closest.path] }) : issue;
}

/** Zod names the type of the value in its message alone. */
const readReceived = ({ message }: Issue) => /, received (\w+)$/.exec(message)?.[1];

/** What the length of a value counts. */
const units: Readonly<Record<string, string>> = {
  string: "characters",
  array: "entries",
  map: "entries",
  set: "entries",
};

function mustBe(origin: string, bound: string, value: number | bigint): string {
  const unit = units[origin];
  return unit === undefined ? `must be ${bound} ${value}` : `must have ${bound} ${value} ${unit}`;
}

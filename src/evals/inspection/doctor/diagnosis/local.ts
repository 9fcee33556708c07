import { quote } from "../../../base/text/text.ts";
import { findKnownError, quoteLines } from "./knownErrors.ts";
import type { Diagnosis } from "./report.ts";

/** The result of running the command of a server directly, with the first request of the protocol on its stdin. */
export type LocalStart = {
  kind: "local";
  command: string;
  program:
    | { kind: "found" }
    | { kind: "missing"; searched: readonly string[]; instead?: string }
    | { kind: "not executable"; path: string };
  /** The working directory. */
  folder: { path: string; exists: boolean };
  /** The script that an interpreter was to run: as written, and as a path from the working directory. */
  script?: { given: string; path: string; relative: boolean; exists: boolean };
  /** How it ended before it answered, for example "exited with code 1"; absent if it did not end. */
  ended?: string;
  answered: boolean;
  /** Time until it answered, ended or timed out. */
  ms: number;
  /** The lines of stderr, or the last 8 KiB of it. */
  stderr: readonly string[];
  /** The first lines of stdout that are not messages of the protocol. */
  noise: readonly string[];
  /** Environment variables that are set here but not passed on to a server. */
  notPassedOn: ReadonlySet<string>;
};

type Cause = Omit<Diagnosis, "severity">;

/**
 * Why a local server does not answer; undefined if it does. Known facts take precedence over what its output suggests.
 * @param direct a shell command that starts it
 */
export function diagnoseLocalStart(start: LocalStart, direct: string): Cause | undefined {
  if (start.answered) return undefined;
  return { show: direct, ...(diagnoseCommand(start) ?? diagnoseExit(start, direct) ?? diagnoseSilence(start)) };
}

function diagnoseCommand({ folder, program, script, command }: LocalStart): Cause | undefined {
  if (!folder.exists)
    return {
      id: "folder-missing",
      wrong: `The working directory does not exist: ${folder.path}.`,
      evidence: [],
      remedy: 'Correct or remove "cwd".',
    };
  if (program.kind === "missing") return diagnoseMissingProgram(program, command);
  if (program.kind === "not executable")
    return {
      id: "program-not-executable",
      wrong: `${program.path} is not executable.`,
      evidence: [],
      remedy: "Run chmod +x on it, or use its interpreter as the command.",
    };
  if (!script || script.exists) return undefined;
  return {
    id: "script-missing",
    wrong: `The script ${script.path} does not exist.`,
    evidence: script.relative ? [`${quote(script.given)} is relative to ${folder.path}`] : [],
    remedy:
      unsetVariableRemedy(script.given) ??
      (script.relative
        ? "Use the absolute path of the script: hosts start servers in different working directories."
        : "Build the server, or correct the path."),
  };
}

/** Products that provide a program. */
const providers: Readonly<Record<string, string>> = {
  ...{ node: "Node.js", npx: "Node.js", npm: "Node.js", bun: "Bun", bunx: "Bun", deno: "Deno", uv: "uv", uvx: "uv" },
  ...{ python: "Python", python3: "Python", pipx: "pipx", docker: "Docker", java: "a Java runtime" },
};

function diagnoseMissingProgram(
  { searched, instead }: { searched: readonly string[]; instead?: string },
  command: string,
): Cause {
  const isPath = /[/\\]/.test(command);
  const provider = Object.hasOwn(providers, command) ? providers[command] : "it";
  const other = instead === undefined ? "" : ` On this machine it is called ${quote(instead)}.`;
  return {
    id: "program-missing",
    wrong: `The program ${quote(command)} was not found.${other}`,
    evidence: isPath ? searched.map((path) => `not found at ${path}`) : [`not found in PATH: ${searched.join(", ")}`],
    remedy:
      unsetVariableRemedy(command) ??
      (instead !== undefined
        ? `Use ${quote(instead)} as the command.`
        : isPath
          ? "Build it, or use its absolute path."
          : `Install ${provider}, or use the absolute path of the program: a host may have a shorter PATH than a shell.`),
  };
}

/** The remedy for a path that still contains the reference to an unset variable. */
function unsetVariableRemedy(path: string): string | undefined {
  const name = /\$\{(?:env:)?(\w+)/.exec(path)?.[1];
  return name === undefined
    ? undefined
    : `Set ${name} in the environment of the host, or write the path without the variable.`;
}

function diagnoseExit(start: LocalStart, direct: string): Cause | undefined {
  if (start.ended === undefined) return undefined;
  const known = findKnownError(start.stderr.join("\n"));
  const evidence = [start.ended, ...quoteLines("stderr", start.stderr, known?.line), ...stdoutLines(start)];
  if (known) {
    const { id, wrong, remedy, variables = [] } = known;
    const set = variables.filter((name) => start.notPassedOn.has(name));
    if (set.length === 0) return { id, wrong, remedy, evidence };
    // In the user's shell, the server would inherit the variables and start.
    const show = `(unset ${set.join(" ")}; ${direct})`;
    const more = set.map((name) => `${name} is set in this shell, but is not passed on to servers`);
    return { id, wrong, remedy, evidence: [...evidence, ...more], show };
  }
  if (start.stderr.length > 0)
    return {
      id: "exits",
      wrong: "The server exits before it answers.",
      evidence,
      remedy: "Run the command in the same directory, and fix the error that it prints.",
    };
  return {
    id: "exits",
    wrong: "The server exits before it answers, and prints nothing to stderr.",
    evidence,
    remedy: "Connect the transport and keep running until stdin closes. Print the reason for an early exit to stderr.",
  };
}

const httpOutput =
  /\b(?:listening|running|started|serving)\b.{0,60}\b(?:port|https?:\/\/|localhost|:\d{2,5})|https?:\/\/(?:localhost|127\.0\.0\.1|0\.0\.0\.0)/i;

function diagnoseSilence(start: LocalStart): Cause {
  const evidence = [...stdoutLines(start), ...stderrLines(start)];
  const wrong = `The server is running, but did not answer within ${Math.round(start.ms / 100) / 10} s.`;
  if ([...start.noise, ...start.stderr].some((line) => httpOutput.test(line)))
    return {
      id: "web-server",
      wrong: `${wrong} It appears to serve HTTP.`,
      evidence,
      remedy: "Register it by its URL, or start it with its option for stdio.",
    };
  if (start.noise.length > 0)
    return {
      id: "stdout-noise",
      wrong: `${wrong} It writes output other than protocol messages to stdout.`,
      evidence,
      remedy: "Write logs to stderr: stdout is reserved for the protocol.",
    };
  const known = findKnownError(start.stderr.join("\n"));
  if (known?.isNotice === false) {
    const cited = [...stdoutLines(start), ...quoteLines("stderr", start.stderr, known.line)];
    return { id: known.id, wrong: `${known.wrong} ${wrong}`, evidence: cited, remedy: known.remedy };
  }
  return { id: "silent", wrong, evidence, remedy: "Check that the command starts an MCP server over stdio." };
}

const stderrLines = ({ stderr }: LocalStart) => quoteLines("stderr", stderr);
const stdoutLines = ({ noise }: LocalStart) => quoteLines("stdout", noise);

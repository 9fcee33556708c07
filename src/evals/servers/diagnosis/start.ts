import { parseWords } from "../../base/collections.ts";
import { quote } from "../../base/text/text.ts";
import type { Finding } from "../../base/types/finding.ts";
import type { JsonObject } from "../../base/types/json.ts";
import { type Cause, findKnownError, type KnownError, passVariables, quoteLines } from "./signatures.ts";

/** The start of a local server. */
export type LocalStart = {
  command: string;
  program:
    | { kind: "found" }
    | { kind: "missing"; searched: readonly string[]; instead?: string }
    | { kind: "not executable"; path: string };
  /** How to write the command if it holds a whole command line. */
  line?: string | undefined;
  /** The working directory. */
  folder: { path: string; exists: boolean };
  /** The script that an interpreter was to run: as written, and as a path from the working directory. */
  script?: { given: string; path: string; relative: boolean; exists: boolean };
  /** The program that fetches the server before it starts it, such as npx. */
  runner?: string;
  /** How it ended before it answered, for example "exited with code 1"; absent if it did not end. */
  ended?: string;
  /** Why the client gave it up before it answered, for example "sent a message that JSON-RPC does not permit: ...". */
  fault?: string;
  answered: boolean;
  /** Time until it answered, ended or timed out. */
  ms: number;
  /** The lines of stderr, or the last 8 KiB of it. */
  stderr: readonly string[];
  /** The first lines of stdout that are not messages of the protocol. */
  noise: readonly string[];
  /** Environment variables that are set here but not passed on to the server, and those that it is given. */
  notPassedOn: ReadonlySet<string>;
  given: ReadonlySet<string>;
};

type Diagnosed = Cause & Pick<Finding, "evidence" | "command">;

/** The shortest start-up timeout of known hosts. */
export const slowMs = 10_000;
export const isSlow = ({ ms }: LocalStart) => ms > slowMs;

/**
 * Why a local server does not answer; undefined if it does. Known facts take precedence over what its output suggests.
 * @param direct a shell command that starts it
 */
export function diagnoseLocalStart(start: LocalStart, direct: string): Diagnosed | undefined {
  if (start.answered) return undefined;
  return {
    command: direct,
    ...(diagnoseCommand(start) ?? diagnoseFault(start) ?? diagnoseExit(start, direct) ?? diagnoseSilence(start)),
  };
}

function diagnoseCommand({ folder, program, script, command, line }: LocalStart): Diagnosed | undefined {
  if (!folder.exists) {
    const message = `The working directory does not exist: ${folder.path}.`;
    return { rule: "folder-missing", message, fix: 'Correct or remove "cwd".' };
  }
  if (program.kind === "missing") return diagnoseMissingProgram(program, command, line);
  if (program.kind === "not executable") {
    const fix = "Run chmod +x on it, or use its interpreter as the command.";
    return { rule: "program-not-executable", message: `${program.path} is not executable.`, fix };
  }
  if (!script || script.exists) return undefined;
  return {
    rule: "script-missing",
    message: `The script ${script.path} does not exist.`,
    ...(script.relative && { evidence: [`${quote(script.given)} is relative to ${folder.path}`] }),
    fix:
      explainUnsetVariable(script.given) ??
      `Build the server, or correct the path${script.relative ? "; in the configuration of a host, make it absolute" : ""}.`,
  };
}

type MissingProgram = Extract<LocalStart["program"], { kind: "missing" }>;

function diagnoseMissingProgram({ searched, instead }: MissingProgram, command: string, line?: string): Diagnosed {
  const isPath = /[/\\]/.test(command);
  const other = instead === undefined ? "" : ` On this machine it is called ${quote(instead)}.`;
  return {
    rule: "program-missing",
    message: `The program ${quote(command)} was not found.${other}`,
    evidence: isPath ? searched.map((path) => `not found at ${path}`) : [`not found in PATH: ${searched.join(", ")}`],
    fix:
      explainUnsetVariable(command) ??
      (line && `"command" holds a whole command line: write ${line}.`) ??
      (instead !== undefined
        ? `Use ${quote(instead)} as the command.`
        : isPath
          ? "Build it, or use its absolute path."
          : "Install it, or use the absolute path of the program: a host may have a shorter PATH than a shell."),
  };
}

/** How to fix a path that still contains the reference to an unset variable. */
function explainUnsetVariable(path: string): string | undefined {
  const name = /\$\{(?:env:)?(\w+)/.exec(path)?.[1];
  if (name === undefined) return undefined;
  return `Set ${name} in the environment of the host, or write the path without the variable.`;
}

function diagnoseFault({ fault }: LocalStart): Diagnosed | undefined {
  const fix = "Correct this in the server: hosts fail on it as well.";
  return fault === undefined ? undefined : { rule: "protocol", message: `The server ${fault}.`, fix };
}

function diagnoseExit(start: LocalStart, direct: string): Diagnosed | undefined {
  if (start.ended === undefined) return undefined;
  const known = findKnownError(start.stderr.join("\n"), "ended");
  const evidence = [start.ended, ...quoteLines("stderr", start.stderr, known?.line), ...quoteStdout(start)];
  if (known) {
    const { rule, message, variables = [] } = known;
    const fix = explainKnown(known, start);
    const set = variables.filter((name) => start.notPassedOn.has(name));
    // In the user's shell, the server would inherit the variables and start.
    const command = set.length > 0 && { command: `(unset ${set.join(" ")}; ${direct})` };
    return { rule, message, fix, evidence, ...command };
  }
  const isQuiet = start.stderr.length === 0;
  const message = `The server exits before it answers${isQuiet ? ", and prints nothing to stderr" : ""}.`;
  const fix = isQuiet
    ? "Connect the transport and keep running until stdin closes. Print the reason for an early exit to stderr."
    : "Run the command in the same directory, and fix the error that it prints.";
  return { rule: "exits", message, evidence, fix };
}

/** How to fix a known error of a local server. */
export function explainKnown({ fix, variables = [] }: KnownError, { notPassedOn, given }: LocalStart): string {
  const wrong = variables.filter((name) => given.has(name));
  if (wrong.length > 0) return `The server gets ${wrong.join(" and ")}: check the value.`;
  return variables.length > 0 ? passVariables(variables, notPassedOn) : fix;
}

/**
 * What a local server that does not start lacks, to follow a sentence that says how its start ended; empty where
 * nothing more is known.
 */
export function explainStart(start: LocalStart): { cause: string; fix: string } | undefined {
  const found = diagnoseLocalStart(start, "");
  if (!found) return undefined;
  const cause = endings.has(found.rule) ? "" : found.message.replace(describeSilence(start), "").trim();
  return { cause, fix: found.fix };
}

/** Diagnoses that say what the end of the process says already, or what is quoted of its output. */
const endings = parseWords("folder-missing program-missing program-not-executable exits protocol silent stdout-noise");

const describeSilence = ({ ms }: LocalStart) =>
  `The server is running, but did not answer within ${Math.round(ms / 100) / 10} s.`;

const httpOutput =
  /\b(?:listening|running|started|serving)\b.{0,60}\b(?:port|https?:\/\/|localhost|:\d{2,5})|https?:\/\/(?:localhost|127\.0\.0\.1|0\.0\.0\.0)/i;

function diagnoseSilence(start: LocalStart): Diagnosed {
  const silence = describeSilence(start);
  const known = findKnownError(start.stderr.join("\n"), "ended");
  const evidence = [...quoteStdout(start), ...quoteLines("stderr", start.stderr, known?.line)];
  if ([...start.noise, ...start.stderr].some((line) => httpOutput.test(line))) {
    const fix = "Register it by its URL, or start it with its option for stdio.";
    return { rule: "web-server", message: `${silence} It appears to serve HTTP.`, evidence, fix };
  }
  if (start.noise.length > 0) {
    const message = `${silence} It writes output other than protocol messages to stdout.`;
    const fix = "Write logs to stderr: stdout is reserved for the protocol.";
    return { rule: "stdout-noise", message, evidence, fix };
  }
  if (known && !known.isNotice)
    return { rule: known.rule, message: `${known.message} ${silence}`, evidence, fix: explainKnown(known, start) };
  const { runner } = start;
  const fix =
    runner === undefined
      ? "Check that the command starts an MCP server over stdio."
      : `${runner} may still be fetching the server: run the command once in a terminal until it waits for input, or install the server and name its own program.`;
  return { rule: "silent", message: silence, evidence, fix };
}

const quoteStdout = ({ noise }: LocalStart) => quoteLines("stdout", noise);

/** The status by which a server refused a request, from the message of the client (servers/http.ts). */
export function findRefusal(message: string): 401 | 403 | undefined {
  const status = /\banswers with HTTP (401|403)\b/.exec(message)?.[1];
  return status === undefined ? undefined : status === "401" ? 401 : 403;
}

const interpreters =
  /(?:^|[/\\])(?:node|nodejs|bun|deno|tsx|ts-node|python[\d.]*|pythonw?|ruby|php|perl|bash|sh|java)(?:\.exe)?$/i;
const scriptEnding = /\.(?:[cm]?[jt]s|py|rb|php|pl|sh|jar)$/i;

/** Programs that fetch what they start, and the words of others that do. */
const runners =
  /^(?:npx|pnpx|bunx|uvx|dnx|(?:npm (?:exec|x)|(?:pnpm|yarn) dlx|bun x|uv (?:run|tool)|pipx run|(?:docker|podman) run|go run|nix run)(?= |$))/;

type CommandLine = { command: string; args?: readonly string[] | undefined };

/** The program of a command line that first fetches the server, which can take long; undefined for others. */
export function findRunner({ command, args = [] }: CommandLine): string | undefined {
  // Windows starts npx through its shell: `cmd /c npx`.
  const words = [command.replace(/^.*[/\\]/, ""), ...args].map((word) => word.replace(/\.(?:cmd|exe)$/i, ""));
  const named = words.filter((word) => !/^-|^cmd$|^\/c$/i.test(word)).join(" ");
  return runners.exec(named)?.[0];
}

/** The argument that is the script of an interpreter; undefined if it runs a module, a package or inline code. */
export function findScript({ command, args }: JsonObject): { path: string; index: number } | undefined {
  if (typeof command !== "string" || !interpreters.test(command) || !Array.isArray(args)) return undefined;
  const index = args.findIndex((one) => typeof one === "string" && scriptEnding.test(one) && !one.startsWith("-"));
  const path = args[index];
  const before = args.slice(0, Math.max(0, index));
  if (typeof path !== "string" || ["-m", "-e", "-c"].some((flag) => before.includes(flag))) return undefined;
  return { path, index };
}

#!/usr/bin/env node
import { setMaxListeners } from "node:events";
import { format } from "node:util";
import { setFlagsFromString } from "node:v8";
import { nameProgram } from "./base/files/files.ts";
import { knownSecrets } from "./base/secrets/secrets.ts";
import { nameCommands, wrapMessage } from "./base/text/display.ts";
import { EvalsError, type ExitCode, exitCodes, formatProblem } from "./base/types/errors.ts";
import type { Io, Prompts } from "./base/types/io.ts";
import { version } from "./experiments/workspace/version.ts";

// The only file that touches the process: its arguments, streams, environment, signals and exit code.
// It and the command files import nothing heavy, so that --help and --version are fast.

const { argv, env, stdin, stdout, stderr } = process;

// Printed without the parser, which takes longer to load than Node itself, because other programs ask for the version.
if (argv[2] === "--version") {
  stdout.write(`tool-evals ${version}\n`);
  process.exit(exitCodes.passed);
}

// A run has 28 MB of live objects at any length. By default V8 collects them all only when garbage has grown to three
// times that; at half of it, a run of 100,000 trials peaks at 150 MiB instead of 230, for some percent of CPU.
setFlagsFromString("--heap-growing-percent=50");
if (process.versions.v8.startsWith("11.")) {
  // Twice the default of Node 20: most runs end before the code that it optimizes has paid for its compilation. A run
  // of 1,000 trials takes 17% less CPU, one of 10,000 takes 2% more. Newer versions compile in more stages, and have no
  // such flag.
  setFlagsFromString("--interrupt-budget=135168");
  // New objects get their 16 MB at once instead of after five doublings, each of which copies what is loaded: some
  // percent of CPU, and no memory, because a run gets there anyway. Newer versions have far larger limits.
  setFlagsFromString("--semi-space-growth-factor=16");
}

const stopping = new AbortController();
setMaxListeners(0, stopping.signal);
let signalExitCode: ExitCode = exitCodes.sigint;

function onSignal(code: ExitCode): void {
  if (stopping.signal.aborted) process.exit(code);
  signalExitCode = code;
  stopping.abort();
  stderr.write("\nStopping. Press Ctrl-C again to quit immediately.\n");
}
process.on("SIGINT", () => onSignal(exitCodes.sigint));
process.on("SIGTERM", () => onSignal(exitCodes.sigterm));
process.on("SIGHUP", () => onSignal(exitCodes.sighup));
process.on("SIGQUIT", () => onSignal(exitCodes.sigquit));
// Makes a file that grows beyond a limit (ulimit -f) a failed write instead of the end of the process.
process.on("SIGXFSZ", () => {});

// Output that cannot be written must not end a run: trials are still recorded, the rest of the output is dropped. A
// closed pipe (`evals run | head`) is intended by the reader; any other error, such as a full disk, fails the command.
let outputFault: string | undefined;
stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code === "EPIPE" || outputFault !== undefined) return;
  outputFault = error.message;
  process.exitCode = exitCodes.incomplete;
  io.err(`error: The output cannot be written: ${error.message}.\n  Free space, or write it somewhere else.\n`);
});
stderr.on("error", () => {});

const plain = env.NO_COLOR !== undefined && env.NO_COLOR !== "";
const dumb = env.TERM === "dumb";

// All data leaves the process here or in the record, and both are redacted.
const { redact } = knownSecrets(env);

/** Asks on standard error, because standard output is for data. Loads its library on first use. */
const prompts: Prompts = {
  async select(message, options) {
    const { isCancel, select } = await import("@clack/prompts");
    const picked = await select({ message, options: [...options], output: stderr });
    return isCancel(picked) ? undefined : picked;
  },
  async text(message, initialValue) {
    const { isCancel, text } = await import("@clack/prompts");
    const written = await text({ message, initialValue, output: stderr });
    return isCancel(written) ? undefined : written;
  },
  async confirm(message) {
    const { confirm, isCancel } = await import("@clack/prompts");
    const answer = await confirm({ message, output: stderr });
    return isCancel(answer) ? undefined : answer;
  },
};

let cwd: string;
try {
  cwd = process.cwd();
} catch {
  stderr.write("error: The working directory was removed.\n  Change to a folder that exists.\n");
  process.exit(exitCodes.usage);
}

// Package managers say that they started the program, which is then not on the PATH of the shell.
const program = env.npm_command || env.npm_config_user_agent ? nameProgram({ cwd }) : "evals";

const io: Io = {
  out: (text) => void stdout.write(redact(text)),
  err: (text) => {
    const safe = nameCommands(redact(text), program);
    stderr.write(stderr.isTTY ? wrapMessage(safe, Math.min(100, stderr.columns)) : safe);
  },
  outIsTerminal: stdout.isTTY === true,
  errIsTerminal: stderr.isTTY === true && !dumb,
  width: stdout.isTTY ? stdout.columns : 100,
  color: stdout.isTTY === true && !plain && !dumb,
  unicode: !dumb,
  program,
  env,
  cwd,
  signal: stopping.signal,
  signalExitCode: () => signalExitCode,
  ...(stdin.isTTY && stderr.isTTY && !dumb && { prompts }),
};

// Libraries print to the console, with texts from servers. Each such text becomes one warning, escaped.
console.warn = console.error = (...parts: unknown[]) => {
  const message = redact(format(...parts));
  const shown = message.length > 1_000 ? `${message.slice(0, 1_000)}…` : message;
  io.err(`${formatProblem({ severity: "warning", message: shown })}\n`);
};

/** What the system refuses to any program, as an error of the user's surroundings instead of an internal one. */
const systemFaults: Record<string, string> = {
  EMFILE: "The system allows this program too few open files.\n  Raise the limit: ulimit -n 1024.",
  ENFILE: "The system has too many open files.\n  Close other programs.",
};

function fail(thrown: unknown): ExitCode {
  const systemFault = systemFaults[(thrown as NodeJS.ErrnoException | undefined)?.code ?? ""];
  if (systemFault !== undefined) {
    io.err(`error: ${systemFault}\n`);
    return exitCodes.incomplete;
  }
  if (thrown instanceof EvalsError) {
    io.err(`${thrown.message}\n`);
    const isStopped = stopping.signal.aborted && thrown.exitCode === exitCodes.incomplete;
    return isStopped ? signalExitCode : thrown.exitCode;
  }
  const trace = thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown);
  stderr.write(redact(`Internal error in tool-evals ${version}. Please report it:\n${trace}\n`));
  return exitCodes.incomplete;
}

const { runCommandLine } = await import("./commands/index.ts");
const exitCode = await runCommandLine(argv.slice(2), io, version).catch(fail);
process.exitCode = outputFault === undefined ? exitCode : exitCodes.incomplete;

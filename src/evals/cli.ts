#!/usr/bin/env node
import { setMaxListeners } from "node:events";
import { createRequire } from "node:module";
import { baselineCommand } from "./commands/baseline.ts";
import { blameCommand } from "./commands/blame.ts";
import { calibrateCommand } from "./commands/calibrate.ts";
import { compareCommand } from "./commands/compare.ts";
import { crowdCommand } from "./commands/crowd.ts";
import { doctorCommand } from "./commands/doctor.ts";
import { judgeCommand } from "./commands/judge.ts";
import { lintCommand } from "./commands/lint.ts";
import { probeCommand } from "./commands/probe.ts";
import { reportCommand } from "./commands/report.ts";
import { runCommand } from "./commands/run.ts";
import { schemaCommand } from "./commands/schema.ts";
import { skillsCommand } from "./commands/skills.ts";
import { variantsCommand } from "./commands/variants.ts";
import { EvalsError, type ExitCode, exitCodes } from "./errors.ts";
import type { Io } from "./io.ts";

// The only file that touches the process: its arguments, streams, environment, signals and exit code.
// It and the command files import nothing heavy, so that --help and --version answer at once.

const { version } = createRequire(import.meta.url)("../../package.json") as { version: string };
const { env, stdout, stderr } = process;

// Asked for by other programs, so it answers without the parser, which takes longer to load than Node itself.
if (process.argv[2] === "--version") {
  stdout.write(`${version}\n`);
  process.exit(exitCodes.passed);
}
const { default: yargs } = await import("yargs");

const stopping = new AbortController();
setMaxListeners(0, stopping.signal);
let signalExitCode: ExitCode = exitCodes.sigint;

function onSignal(code: ExitCode): void {
  if (stopping.signal.aborted) process.exit(code);
  signalExitCode = code;
  stopping.abort();
  stderr.write("\nStopping: what is under way ends in order. Press Ctrl-C again to quit at once.\n");
}
process.on("SIGINT", () => onSignal(exitCodes.sigint));
process.on("SIGTERM", () => onSignal(exitCodes.sigterm));

// A reader that went away (`evals run | head`) is no reason to lose a run: the record goes on, the rest is not printed.
for (const stream of [stdout, stderr])
  stream.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE") throw error;
  });

const plain = env.NO_COLOR !== undefined && env.NO_COLOR !== "";
const dumb = env.TERM === "dumb";

const io: Io = {
  out: (text) => void stdout.write(text),
  err: (text) => void stderr.write(text),
  outIsTerminal: stdout.isTTY === true,
  errIsTerminal: stderr.isTTY === true && !dumb,
  width: stdout.isTTY ? stdout.columns : 100,
  colour: stdout.isTTY === true && !plain && !dumb,
  unicode: !dumb,
  env,
  cwd: process.cwd(),
  signal: stopping.signal,
  signalExitCode: () => signalExitCode,
};

function fail(thrown: unknown): ExitCode {
  if (thrown instanceof EvalsError) {
    stderr.write(`${thrown.message}\n`);
    return thrown.exitCode;
  }
  const defect = thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown);
  stderr.write(`This is a defect of tool-evals ${version}, please report it:\n${defect}\n`);
  return exitCodes.incomplete;
}

let exitCode: ExitCode = exitCodes.passed;
const parser = yargs(process.argv.slice(2))
  .scriptName("evals")
  .usage(
    "$0 <command>\n\nTells whether a model picks the right tool of an MCP server or the right skill, what came back, and what a change of wording did.",
  )
  .version(version)
  .strict()
  .demandCommand(1, "Give a command, for example: evals run")
  .recommendCommands()
  .wrap(Math.min(100, stdout.columns ?? 100))
  .fail((message, error) => {
    // The parser throws some of its own complaints, such as a flag without its value.
    if (error && error.name !== "YError") throw error;
    throw new EvalsError({ severity: "error", message: error?.message ?? message, hint: "See `evals --help`." });
  });
for (const command of [
  runCommand,
  baselineCommand,
  reportCommand,
  compareCommand,
  blameCommand,
  variantsCommand,
  crowdCommand,
  calibrateCommand,
  skillsCommand,
  judgeCommand,
  lintCommand,
  probeCommand,
  doctorCommand,
  schemaCommand,
])
  parser.command(command.command, command.describe, command.builder, async (args) => {
    exitCode = await command.handler(args as never, io);
  });

try {
  await parser.parseAsync();
} catch (thrown) {
  exitCode = fail(thrown);
}
process.exitCode = exitCode;

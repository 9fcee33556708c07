import { type ChildProcess, spawn } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll } from "vitest";
import { knownSecrets } from "../../src/evals/base/secrets/secrets.ts";
import { EvalsError, type ExitCode } from "../../src/evals/base/types/errors.ts";
import type { Io } from "../../src/evals/base/types/io.ts";
import { type RunSummary, runSummarySchema } from "../../src/evals/base/types/run.ts";
import { type Trial, trialSchema } from "../../src/evals/base/types/trial.ts";
import { runCommandLine } from "../../src/evals/commands/index.ts";
import type { ReportPage } from "../../src/evals/experiments/run/report/page.ts";
import { version } from "../../src/evals/experiments/workspace/version.ts";
import { anIo } from "../fakes/io.ts";

const root = join(import.meta.dirname, "../..");
const cli = join(root, "dist/evals/cli.js");

/** A model that picks like the keyword search, and whose calls are executed. */
export const executing = `custom:${join(root, "test/fixtures/models/keyword.mjs")}`;

export type Ended = { code: number | null; out: string; err: string };

/** Starts the built program. `ended` resolves when it has exited. */
export function start(
  args: readonly string[],
  { cwd = root, env }: Options = {},
): { child: ChildProcess; ended: Promise<Ended> } {
  const child = spawn(process.execPath, [cli, ...args], { cwd, env: setEnv(env), stdio: ["ignore", "pipe", "pipe"] });
  let out = "";
  let err = "";
  child.stdout.on("data", (data) => (out += data));
  child.stderr.on("data", (data) => (err += data));
  const ended = new Promise<Ended>((resolve) => child.on("close", (code) => resolve({ code, out, err })));
  return { child, ended };
}

/** Resolves when a program that was started just now has printed this on standard error, or has ended. */
export function untilPrinted({ child, ended }: ReturnType<typeof start>, text: string): Promise<unknown> {
  let err = "";
  const printed = new Promise<void>((resolve) => {
    child.stderr?.on("data", (data) => {
      err += data;
      if (err.includes(text)) resolve();
    });
  });
  return Promise.race([printed, ended]);
}

/** Starts `evals view` on a free port, and waits for its address. `stop` ends it with a signal, by default that of Ctrl-C. */
export async function startView(args: readonly string[], options: Options) {
  const { child, ended } = start(["view", "--port", "0", ...args], options);
  const url = await new Promise<string>((resolve, reject) => {
    child.stdout?.once("data", (data) => resolve(String(data).trim()));
    void ended.then(({ err }) => reject(new Error(err)));
  });
  const stop = (signal: NodeJS.Signals = "SIGINT") => {
    child.kill(signal);
    return ended;
  };
  return { url, stop };
}

type Options = { cwd?: string; env?: Record<string, string>; width?: number };

/** In CI nobody is asked for consent; a test of that sets CI to an empty text. */
const setEnv = (env: Options["env"]) => {
  return { PATH: process.env.PATH, HOME: process.env.EVALS_TEST_HOME, CI: "true", ANTHROPIC_API_KEY: "test", ...env };
};

/**
 * Runs a command line in this process, as cli.ts does: outputs are redacted, errors are printed and have an exit code.
 * What is about the process itself (signals, kills, streams, exit code, console) needs `start` or `spawnEvals`, which cost
 * half a second of CPU.
 */
export async function evals(args: readonly string[], { cwd = root, env, width = 100 }: Options = {}): Promise<Ended> {
  const given = setEnv(env);
  const { redact } = knownSecrets(given);
  const io = anIo({ cwd, env: given, width });
  const code = await callIn(io, args);
  return { code, out: redact(io.printed()), err: redact(io.warned()) };
}

/** Runs a command line in this process. Returns its exit code, and prints its error, as cli.ts does. */
export async function callIn(io: Io, args: readonly string[]): Promise<ExitCode> {
  return await runCommandLine(args, io, version).catch((thrown: unknown) => {
    if (!(thrown instanceof EvalsError)) throw thrown;
    io.err(`${thrown.message}\n`);
    return thrown.exitCode;
  });
}

/** Runs the built program to its end. */
export const spawnEvals = (args: readonly string[], options?: Options) => start(args, options).ended;

/** A folder of its own for one test file, with this project's suites and what their servers need; removed at the end. */
export function workspace(): string {
  const dir = mkdtempSync(join(tmpdir(), "evals-e2e-"));
  const skills = join(root, "evals/skills");
  cpSync(join(root, "evals"), join(dir, "evals"), { recursive: true, filter: (path) => path !== skills });
  for (const shared of ["dist", "node_modules"]) symlinkSync(join(root, shared), join(dir, shared));
  afterAll(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}

export function summaryOf({ out, err }: Ended): RunSummary {
  if (out === "") throw new Error(`the run printed nothing: ${err}`);
  return runSummarySchema.parse(JSON.parse(out));
}

/** The journal of a run, in the order of the plan: what is the same for every order in which trials finish. */
export function trialsOf(dir: string): Trial[] {
  const lines = readFileSync(join(dir, "trials.jsonl"), "utf8").trimEnd().split("\n");
  const order = (trial: Trial) => JSON.stringify([trial.cell.trial + 1000, trial.cell]);
  return lines.map((line) => trialSchema.parse(JSON.parse(line))).sort((a, b) => (order(a) < order(b) ? -1 : 1));
}

/** A trial without what differs from run to run: times. */
export function timeless(trial: Trial): unknown {
  const zeroed = JSON.stringify(trial, (key, value) =>
    key === "ms" || key === "startedAt" || key === "requestId" || key === "responseId" ? 0 : value,
  );
  return JSON.parse(zeroed);
}

/** The data of a page: of the file, or of the one in the folder of a record. */
export function pageOf(given: string): ReportPage {
  const html = given.startsWith("<") ? given : readFileSync(join(given, "report.html"), "utf8");
  return JSON.parse(/<script type="application\/json" id="data">(.*?)<\/script>/s.exec(html)?.[1] ?? "null");
}

import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { setTimeout as delay } from "node:timers/promises";
import { stripVTControlCharacters } from "node:util";

/** A started program, together with all that it starts. */
export type Program = {
  readonly pid: number | undefined;
  /** Resolves once it is gone and its output is read, with how it ended ("ended with code 1"). Never rejects. */
  readonly ended: Promise<{ how: string; wasWell: boolean }>;
  /** The end of its stderr, for an error message. */
  stderrTail(): string;
  /** Ends the whole process group. Does not throw; safe to call twice. */
  stop(): Promise<void>;
};

const stderrCharacters = 2_000;
/** How long it may take to leave after SIGTERM. */
const graceMs = 2_000;
/** How long the last output of a dead program is waited for, when one that got away from its group holds the pipe. */
const drainMs = 200;

const windows = process.platform === "win32";

/**
 * Starts a program in a process group of its own, with nothing in its environment but `env`; it reads `input`, and
 * `onLine` gets what it writes to stdout. Does not throw: one that cannot be started has `ended`.
 */
export function startProgram(
  command: string,
  args: readonly string[],
  { cwd, env, input, onLine }: { cwd: string; env: Record<string, string>; input: string; onLine(text: string): void },
): Program {
  const child = spawn(command, args, { cwd, env, stdio: ["pipe", "pipe", "pipe"], detached: !windows });
  // A write to a dead process is reported by `ended`; without a listener it would end the harness.
  child.stdin.on("error", () => {});
  child.stdin.end(input);
  createInterface({ input: child.stdout, crlfDelay: Number.POSITIVE_INFINITY }).on("line", onLine);
  let tail = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    tail = (tail + text).slice(-stderrCharacters);
  });
  const exited = new Promise<{ how: string; wasWell: boolean }>((done) => {
    child.once("error", (error) => done({ how: `could not be started: ${error.message}`, wasWell: false }));
    child.once("exit", (code, signal) =>
      done({ how: signal ? `was killed by ${signal}` : `ended with code ${code}`, wasWell: code === 0 }),
    );
  });
  const closed = new Promise((done) => child.once("close", done));
  const { pid } = child;
  if (pid !== undefined) killAtExit(pid);
  const ended = exited.then(async (how) => {
    // What it leaves behind goes at once: later its number may be another's.
    if (pid !== undefined) killGroup(pid);
    await Promise.race([closed, delay(drainMs, undefined, { ref: false })]);
    child.stdout.destroy();
    child.stderr.destroy();
    return how;
  });
  return {
    pid,
    ended,
    stderrTail: () => stripVTControlCharacters(tail).trim(),
    stop: async () => {
      if (pid !== undefined && running.has(pid)) signalGroup(pid, "SIGTERM");
      await Promise.race([exited, delay(graceMs, undefined, { ref: false })]);
      if (pid !== undefined && running.has(pid)) killGroup(pid);
      await ended;
    },
  };
}

const running = new Set<number>();
let armed = false;

/** A harness that leaves without closing (an uncaught error) must not leave programs behind. */
function killAtExit(pid: number): void {
  running.add(pid);
  if (armed) return;
  armed = true;
  process.once("exit", () => {
    for (const group of running) signalGroup(group, "SIGKILL");
  });
}

function killGroup(pid: number): void {
  signalGroup(pid, "SIGKILL");
  running.delete(pid);
}

function signalGroup(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(windows ? pid : -pid, signal);
  } catch {
    // Nobody of the group is left.
  }
}

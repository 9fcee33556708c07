import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { setTimeout as delay } from "node:timers/promises";
import { stripVTControlCharacters } from "node:util";

/** How a program ended; `error` when it could not be started. */
export type Exit = { error: NodeJS.ErrnoException } | { code: number | null; signal: NodeJS.Signals | null };

/** A started program together with all that it starts. */
export type ProcessGroup = {
  readonly child: ChildProcessWithoutNullStreams;
  /** Resolves once the program is gone. Never rejects. */
  readonly exited: Promise<Exit>;
  /** The same once its output is read too. */
  readonly ended: Promise<Exit>;
  /** The end of its stderr, for an error message. */
  stderrTail(): string;
  /** Ends the whole group, also what the program left behind. Does not throw; safe to call twice. */
  end(): Promise<void>;
};

type GroupOptions = {
  cwd: string;
  env: Readonly<Record<string, string>>;
  /**
   * How many ms what the program leaves behind may take to leave by itself. It may be dead already, and only not yet
   * collected by init.
   */
  orphanMs: number;
};

const stderrBytes = 8 * 1024;
/** How long a program may take to leave after SIGTERM. */
const graceMs = 2_000;
/** How long the last output of a dead program is waited for, when a child of it still holds the pipe. */
const drainMs = 200;

const windows = process.platform === "win32";

/**
 * Starts a program in a process group of its own, with nothing in its environment but `env`, so that ending it leaves no
 * child of it behind and a Ctrl-C reaches the harness alone. Does not throw.
 */
export function startGroup(
  command: string,
  args: readonly string[],
  { cwd, env, orphanMs }: GroupOptions,
): ProcessGroup {
  const stdio = ["pipe", "pipe", "pipe"] as ["pipe", "pipe", "pipe"];
  const child = spawn(command, args, { cwd, env, stdio, detached: !windows, windowsHide: true });
  // A write to a dead process is reported by `ended`; without a listener it would end the harness.
  child.stdin.on("error", () => {});
  let tail = Buffer.alloc(0);
  child.stderr.on("data", (chunk: Buffer) => {
    tail = Buffer.concat([tail, chunk]).subarray(-stderrBytes);
  });
  const exited = new Promise<Exit>((done) => {
    child.once("error", (error) => done({ error }));
    child.once("exit", (code, signal) => done({ code, signal }));
  });
  const closed = new Promise((done) => child.once("close", done));
  const { pid } = child;
  if (pid !== undefined) killAtExit(pid);
  let ending: Promise<void> | undefined;
  const end = () => {
    ending ??= pid === undefined ? Promise.resolve() : endGroup(pid, exited, orphanMs);
    return ending;
  };
  const ended = exited.then(async (exit) => {
    // What it started goes with it, and at once: later its number may be another's.
    void end();
    await Promise.race([closed, delay(drainMs, undefined, { ref: false })]);
    return exit;
  });
  return { child, exited, ended, stderrTail: () => stripVTControlCharacters(tail.toString()).trim(), end };
}

async function endGroup(pid: number, leader: Promise<unknown>, orphanMs: number): Promise<void> {
  let grace = graceMs;
  void leader.then(() => {
    grace = orphanMs;
  });
  signalGroup(pid, "SIGTERM");
  for (let waited = 0; waited < grace && signalGroup(pid, 0); waited += 10) await delay(10);
  signalGroup(pid, "SIGKILL");
  running.delete(pid);
}

/** False when no process of the group is left. */
function signalGroup(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(windows ? pid : -pid, signal);
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
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

import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { stripVTControlCharacters } from "node:util";
import type { CommandSpec, Env } from "./spec.ts";

/** A server's process together with all that it started. */
export type ServerProcess = {
  readonly pid: number | undefined;
  readonly stdin: ChildProcessWithoutNullStreams["stdin"];
  readonly stdout: ChildProcessWithoutNullStreams["stdout"];
  /** Resolves once it is gone, with how it ended in words ("exited with code 1"). Never rejects. */
  readonly ended: Promise<string>;
  /** The last lines of its stderr, for an error message. */
  stderrTail(): string;
  /** Ends the whole process group. Does not throw; safe to call twice. */
  stop(): Promise<void>;
};

const stderrBytes = 8 * 1024;
const stderrLines = 10;
/** How long a server may take to leave by itself when its stdin closes, then after SIGTERM. */
const leaveMs = 150;
const graceMs = 2_000;
/** The same for what a server leaves behind: it may be dead already, and only not yet collected by init. */
const orphanMs = 500;
/** How long the last output of a dead process is waited for, when a child of it still holds the pipe. */
const drainMs = 200;

const windows = process.platform === "win32";

/** What a server inherits: the same names as the MCP SDK's default environment. The rest must be named. */
export const inheritedVariables = windows
  ? "APPDATA COMSPEC HOMEDRIVE HOMEPATH LOCALAPPDATA PATH PATHEXT PROCESSOR_ARCHITECTURE PROGRAMDATA PROGRAMFILES PROGRAMFILES(X86) PROGRAMW6432 SYSTEMDRIVE SYSTEMROOT TEMP USERNAME USERPROFILE WINDIR".split(
      " ",
    )
  : ["HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER"];

/**
 * Starts a server's process, in a process group of its own, so that stopping it leaves no child of it behind and a
 * Ctrl-C reaches the harness alone. Does not throw: a program that cannot be started has `ended`.
 */
export function launch(spec: CommandSpec, dir: string, env: Env): ServerProcess {
  const cwd = resolve(dir, spec.cwd ?? ".");
  const child = spawn(spec.command, spec.args ?? [], {
    cwd,
    env: { ...inherited(env), ...spec.env },
    stdio: ["pipe", "pipe", "pipe"],
    detached: !windows,
    windowsHide: true,
  });
  // A write to a dead process is reported by `ended`; without a listener it would end the harness.
  child.stdin.on("error", () => {});
  let tail = Buffer.alloc(0);
  child.stderr.on("data", (chunk: Buffer) => {
    tail = Buffer.concat([tail, chunk]).subarray(-stderrBytes);
  });
  const exited = new Promise<string>((done) => {
    child.once("error", (error) => done(startFailure(error, spec.command, cwd)));
    child.once("exit", (code, signal) => done(signal ? `was killed by ${signal}` : `exited with code ${code}`));
  });
  const closed = new Promise((done) => child.once("close", done));
  const { pid } = child;
  if (pid !== undefined) killAtExit(pid);
  let ending: Promise<void> | undefined;
  const endAll = () => {
    ending ??= pid === undefined ? Promise.resolve() : endGroup(pid, exited);
    return ending;
  };
  const ended = exited.then(async (how) => {
    // What it started goes with it, and at once: later its number may be another's.
    void endAll();
    await Promise.race([closed, delay(drainMs, undefined, { ref: false })]);
    return how;
  });
  return {
    pid,
    stdin: child.stdin,
    stdout: child.stdout,
    ended,
    stderrTail: () => lastLines(tail.toString()),
    stop: async () => {
      child.stdin.end();
      await Promise.race([exited, delay(leaveMs, undefined, { ref: false })]);
      await endAll();
      await ended;
      child.stdout.destroy();
      child.stderr.destroy();
    },
  };
}

function inherited(env: Env): Record<string, string> {
  return Object.fromEntries(
    inheritedVariables.flatMap((name) => {
      const value = env[name];
      // An exported shell function is code, not a value.
      return value === undefined || value.startsWith("()") ? [] : [[name, value]];
    }),
  );
}

function startFailure(error: NodeJS.ErrnoException, command: string, cwd: string): string {
  if (!existsSync(cwd)) return `could not be started: its folder ${cwd} does not exist`;
  if (error.code === "ENOENT") return `could not be started: there is no program "${command}"`;
  if (error.code === "EACCES") return `could not be started: "${command}" is not executable`;
  return `could not be started: ${error.message}`;
}

function lastLines(text: string): string {
  return stripVTControlCharacters(text).trimEnd().split("\n").slice(-stderrLines).join("\n");
}

async function endGroup(pid: number, leader: Promise<unknown>): Promise<void> {
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

/** A harness that leaves without closing (an uncaught error) must not leave servers behind. */
function killAtExit(pid: number): void {
  running.add(pid);
  if (armed) return;
  armed = true;
  process.once("exit", () => {
    for (const group of running) signalGroup(group, "SIGKILL");
  });
}

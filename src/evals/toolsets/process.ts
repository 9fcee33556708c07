import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { type Exit, type ProcessGroup, startGroup } from "../processes/group.ts";
import type { CommandSpec, Env } from "./spec.ts";

/** A server's process together with all that it started. */
export type ServerProcess = {
  readonly pid: number | undefined;
  readonly stdin: ProcessGroup["child"]["stdin"];
  readonly stdout: ProcessGroup["child"]["stdout"];
  /** Resolves once it is gone, with how it ended in words ("exited with code 1"). Never rejects. */
  readonly ended: Promise<string>;
  /** The last lines of its stderr, for an error message. */
  stderrTail(): string;
  /** Ends the whole process group. Does not throw; safe to call twice. */
  stop(): Promise<void>;
};

const stderrLines = 10;
/** How long a server may take to leave by itself when its stdin closes. */
const leaveMs = 150;
const orphanMs = 500;

/** What a server inherits: the same names as the MCP SDK's default environment. The rest must be named. */
export const inheritedVariables =
  process.platform === "win32"
    ? "APPDATA COMSPEC HOMEDRIVE HOMEPATH LOCALAPPDATA PATH PATHEXT PROCESSOR_ARCHITECTURE PROGRAMDATA PROGRAMFILES PROGRAMFILES(X86) PROGRAMW6432 SYSTEMDRIVE SYSTEMROOT TEMP USERNAME USERPROFILE WINDIR".split(
        " ",
      )
    : ["HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER"];

/** Starts a server's process. Does not throw: a program that cannot be started has `ended`. */
export function launch(spec: CommandSpec, dir: string, env: Env): ServerProcess {
  const cwd = resolve(dir, spec.cwd ?? ".");
  const options = { cwd, env: { ...inherited(env), ...spec.env }, orphanMs };
  const { child, exited, ended, stderrTail, end } = startGroup(spec.command, spec.args ?? [], options);
  return {
    pid: child.pid,
    stdin: child.stdin,
    stdout: child.stdout,
    ended: ended.then((exit) => exitText(exit, spec.command, cwd)),
    stderrTail: () => stderrTail().split("\n").slice(-stderrLines).join("\n"),
    stop: async () => {
      child.stdin.end();
      await Promise.race([exited, delay(leaveMs, undefined, { ref: false })]);
      await end();
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

function exitText(exit: Exit, command: string, cwd: string): string {
  if (!("error" in exit)) return exit.signal ? `was killed by ${exit.signal}` : `exited with code ${exit.code}`;
  const { error } = exit;
  if (!existsSync(cwd)) return `could not be started: its folder ${cwd} does not exist`;
  if (error.code === "ENOENT") return `could not be started: there is no program "${command}"`;
  if (error.code === "EACCES") return `could not be started: "${command}" is not executable`;
  return `could not be started: ${error.message}`;
}

import { type ChildProcess, type ChildProcessWithoutNullStreams, spawn, spawnSync } from "node:child_process";
import type { Socket } from "node:net";
import { setTimeout as delay, setImmediate } from "node:timers/promises";
import { stripVTControlCharacters } from "node:util";
import crossSpawn from "cross-spawn";

/** How a program ended; `error` when it could not be started. */
export type Exit = { error: NodeJS.ErrnoException } | { code: number | null; signal: NodeJS.Signals | null };

/** A started program with all processes that it starts. */
export type ProcessGroup = {
  readonly child: ChildProcessWithoutNullStreams;
  /** Resolves when the program has exited. Never rejects. */
  readonly exited: Promise<Exit>;
  /** As `exited`, after its output was read. */
  readonly ended: Promise<Exit>;
  /** The last part of its stderr, for an error message. */
  stderrTail(): string;
  /** Ends the whole group, including processes that outlive the program. Does not throw; safe to call twice. */
  end(): Promise<void>;
};

type GroupOptions = {
  cwd: string;
  env: Readonly<Record<string, string>>;
  /** Time in ms for processes that outlive the program to exit. They may have exited, but not be reaped yet. */
  orphanMs: number;
};

const stderrBytes = 8 * 1024;
/** Time for a program to exit after SIGTERM. */
const graceMs = 2_000;
/** Maximum wait for the last output of an exited program, when a child of it still holds the pipe. */
const drainMs = 200;

const windows = process.platform === "win32";

/** Starts a program in a new process group, with only `env` in its environment. Does not throw. */
export function startGroup(command: string, args: readonly string[], group: GroupOptions): ProcessGroup {
  const { cwd, env, orphanMs } = group;
  const options = { cwd, env, stdio: "pipe", detached: !windows, windowsHide: true } as const;
  // Windows starts `npx.cmd` and files with a shebang only through an interpreter, as the SDK's own transport does.
  const child = windows
    ? (crossSpawn(command, [...args], options) as ChildProcessWithoutNullStreams)
    : spawn(command, args, options);
  // A write to an exited process is reported by `ended`; without a listener it would crash this program.
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
  if (pid !== undefined) {
    killAtExit(pid);
    watch("+", pid);
  }
  let ending: Promise<void> | undefined;
  const end = () => {
    ending ??= pid === undefined ? Promise.resolve() : endGroup(pid, exited, orphanMs);
    return ending;
  };
  const ended = exited.then(async (exit) => {
    // Immediately: later its process id may belong to another process.
    void end();
    await Promise.race([closed, delay(drainMs, undefined, { ref: false })]);
    // When this program is busy, the time can be over before it has read what is in the pipe.
    await setImmediate();
    return exit;
  });
  const stderrTail = () => stripVTControlCharacters(tail.toString()).trim();
  return { child, exited, ended, stderrTail, end };
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
  watch("-", pid);
}

/** Returns false if no process is left. Windows has no groups, but ends a process with those it started. */
function signalGroup(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    if (windows && signal === "SIGKILL") spawnSync("taskkill", ["/pid", `${pid}`, "/t", "/f"], { windowsHide: true });
    return process.kill(windows ? pid : -pid, signal);
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
}

const running = new Set<number>();
let armed = false;

/** Ends all groups when this program exits without ending them, for example by an uncaught error. */
function killAtExit(pid: number): void {
  running.add(pid);
  if (armed) return;
  armed = true;
  process.once("exit", () => {
    for (const group of running) signalGroup(group, "SIGKILL");
  });
}

/**
 * Reads which groups run (`+ <pid>`, `- <pid>`) until its input ends, which it does however this program ends, and then
 * ends those that are left. dash refuses `--` after the name of a signal.
 */
const watcherScript = `
groups=""
while read -r change group; do
  if [ "$change" = + ]; then groups="$groups $group"
  else
    left=""
    for one in $groups; do [ "$one" = "$group" ] || left="$left $one"; done
    groups=$left
  fi
done
for one in $groups; do kill -TERM "-$one" 2>/dev/null; done
[ -z "$groups" ] || sleep 1
for one in $groups; do kill -KILL "-$one" 2>/dev/null; done
`;

let watcher: ChildProcess | undefined;

/** Adds or removes a group at the watcher, a shell in its own session: what ends this program does not end it. */
function watch(change: "+" | "-", group: number): void {
  if (windows) return;
  if (!watcher) {
    watcher = spawn("/bin/sh", ["-c", watcherScript], { stdio: ["pipe", "ignore", "ignore"], detached: true, env: {} });
    // Without a shell, groups are ended by this program alone.
    watcher.on("error", () => {});
    watcher.stdin?.on("error", () => {});
    watcher.unref();
    (watcher.stdin as Socket | null)?.unref();
  }
  watcher.stdin?.write(`${change} ${group}\n`);
}

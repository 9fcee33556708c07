import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/client";
import { type Exit, type ProcessGroup, startGroup } from "../base/processes/group.ts";
import { cut, quote } from "../base/text/text.ts";
import { messageOf } from "../base/types/errors.ts";
import { writeExactJson } from "../base/types/json.ts";
import { explainStart, type LocalStart } from "./diagnosis/start.ts";
import type { ClientSdk, Failure, Link } from "./link.ts";
import { explainRefusal, explainRefused, isUnread, markStructured } from "./link.ts";
import { type CommandSpec, type Env, serverError } from "./spec.ts";

/** The process of a server, with the processes that it started. */
export type ServerProcess = {
  readonly pid: number | undefined;
  readonly stdin: ProcessGroup["child"]["stdin"];
  readonly stdout: ProcessGroup["child"]["stdout"];
  /** Resolves when it ends, with how it ended, for example "exited with code 1". Never rejects. */
  readonly ended: Promise<string>;
  /** The last part of its stderr. */
  stderrTail(): string;
  /** Ends the whole process group. Does not throw; safe to call twice. */
  stop(): Promise<void>;
};

/** The time that a server gets to exit by itself after its stdin is closed. */
const exitMs = 150;
const orphanMs = 500;

const ofWindows =
  "APPDATA COMSPEC HOMEDRIVE HOMEPATH LOCALAPPDATA PATH PATHEXT PROCESSOR_ARCHITECTURE PROGRAMDATA PROGRAMFILES PROGRAMFILES(X86) PROGRAMW6432 SYSTEMDRIVE SYSTEMROOT TEMP USERNAME USERPROFILE WINDIR";
const ofOthers = "HOME LOGNAME PATH SHELL TERM USER";
/** The variables that a server inherits, as in the default environment of the MCP SDK. Others must be configured. */
export const inheritedVariables = (process.platform === "win32" ? ofWindows : ofOthers).split(" ");

/**
 * Starts the process of a server. If the program cannot be started, `ended` resolves. Throws EvalsError for arguments
 * that the system refuses, such as too long ones.
 */
export function launch(spec: CommandSpec, dir: string, env: Env): ServerProcess {
  const cwd = resolve(dir, spec.cwd ?? ".");
  const options = { cwd, env: { ...selectInherited(env), ...spec.env }, orphanMs };
  const { child, exited, ended, stderrTail, end } = start(spec, options);
  return {
    pid: child.pid,
    stdin: child.stdin,
    stdout: child.stdout,
    ended: ended.then((exit) => describeExit(exit, spec.command, cwd)),
    stderrTail,
    stop: async () => {
      child.stdin.end();
      await Promise.race([exited, delay(exitMs, undefined, { ref: false })]);
      await end();
      await ended;
      child.stdout.destroy();
      child.stderr.destroy();
    },
  };
}

function start({ command, args = [] }: CommandSpec, options: Parameters<typeof startGroup>[2]): ProcessGroup {
  try {
    return startGroup(command, args, options);
  } catch (thrown) {
    const hint = "Shorten its arguments and its environment.";
    throw serverError(`The program ${quote(command)} could not be started: ${messageOf(thrown)}.`, hint);
  }
}

function selectInherited(env: Env): Record<string, string> {
  // On Windows names differ in case (`Path`), which a copy of its environment no longer hides.
  const find = (name: string) =>
    process.platform === "win32" ? Object.entries(env).find(([key]) => key.toUpperCase() === name)?.[1] : env[name];
  return Object.fromEntries(
    inheritedVariables.flatMap((name) => {
      const value = find(name);
      // An exported shell function is code and not a value.
      return value === undefined || value.startsWith("()") ? [] : [[name, value]];
    }),
  );
}

function describeExit(exit: Exit, command: string, cwd: string): string {
  if (!("error" in exit)) return exit.signal ? `was killed by ${exit.signal}` : `exited with code ${exit.code}`;
  const { error } = exit;
  if (!existsSync(cwd)) return `could not be started: its folder ${cwd} does not exist`;
  if (error.code === "ENOENT") return `could not be started: there is no program "${command}"`;
  if (error.code === "EACCES") return `could not be started: "${command}" is not executable`;
  return `could not be started: ${error.message}`;
}

const maxLineBytes = 10 * 1024 * 1024;
const maxUnread = 50_000;
const maxNoiseLines = 20;
const maxNoise = 2_000;
const quotedNoise = 120;
/** On a busy machine, a failed write can be noticed this long before the end of the process. */
const exitNoticeMs = 10_000;

/**
 * The protocol over stdin and stdout of a process, one JSON message per line.
 *
 * It has the properties of the SDK's stdio transport (`pid` and `stderr`), so the client treats a failed probe for the
 * protocol revision as it does for any local process. It is not an instance of that class, so the client probes on this
 * process instead of starting a second one, which halves the time to the first answer.
 */
class LineTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  readonly stderr = null;
  readonly pid: number | undefined;
  /** The first lines of stdout that were not messages. */
  readonly noise: string[] = [];
  /** When the first message came. */
  answeredAt: number | undefined;
  /** What is wrong with the first message that was refused or passed over. */
  refused: string | undefined;
  readonly #asked = new Set<string>();
  #unread = 0;
  /** Whether the client sent a notification after the last answer. */
  #isNotified = false;
  #line: Buffer[] = [];
  #lineBytes = 0;

  constructor(
    private readonly server: ServerProcess,
    private readonly parse: ClientSdk["deserializeMessage"],
    private readonly onFault: (fault: string) => void,
  ) {
    this.pid = server.pid;
  }

  async start(): Promise<void> {
    this.server.stdout.on("data", (chunk: Buffer) => this.#read(chunk));
  }

  /** Rejects when the server no longer reads, after its end if it ends: that is the better explanation. */
  async send(message: JSONRPCMessage): Promise<void> {
    if ("method" in message && "id" in message) this.#asked.add(String(message.id));
    else this.#isNotified = true;
    if (++this.#unread > maxUnread) this.onFault(`does not read its stdin: ${maxUnread} messages wait for it`);
    const failure = await new Promise<Error | null | undefined>((resolve) => {
      this.server.stdin.write(`${writeExactJson(message)}\n`, resolve);
    });
    this.#unread--;
    if (!failure) return;
    await Promise.race([this.server.ended, delay(exitNoticeMs, undefined, { ref: false })]);
    throw failure;
  }

  /** Called by the client when it cannot connect. The link stops the process, after it has read why. */
  async close(): Promise<void> {
    this.onclose?.();
  }

  #read(chunk: Buffer): void {
    let rest = chunk;
    for (let end = rest.indexOf(10); end >= 0; end = rest.indexOf(10)) {
      this.#append(rest.subarray(0, end));
      const line = Buffer.concat(this.#line).toString().trim();
      this.#line = [];
      this.#lineBytes = 0;
      if (line !== "" && !isUnread(line)) this.#deliver(line);
      rest = rest.subarray(end + 1);
    }
    this.#append(rest);
  }

  #append(part: Buffer): void {
    this.#lineBytes += part.length;
    if (this.#lineBytes <= maxLineBytes) this.#line.push(part);
    else this.onFault("sent a line larger than 10 MiB on stdout");
  }

  #deliver(line: string): void {
    const refusal = explainRefusal(line, (id) => this.#asked.has(id));
    this.refused ??= refusal?.fault;
    // Nothing else answers the request. Some servers answer a notification too.
    if (refusal?.answers && !(refusal.hasNoId && this.#isNotified)) this.onFault(refusal.fault);
    let message: JSONRPCMessage;
    try {
      message = this.parse(markStructured(line));
    } catch {
      // Servers that print to stdout are common, and hosts tolerate them.
      if (!refusal && this.noise.length < maxNoiseLines) this.noise.push(cut(line, maxNoise));
      return;
    }
    this.answeredAt ??= performance.now();
    this.#isNotified = false;
    this.onmessage?.(message);
  }
}

/** What a link sees of a start: when it ended (in ms), and how the process ended by itself or why the link ended it. */
export type SeenStart = Pick<LocalStart, "answered" | "ms" | "noise" | "stderr" | "ended" | "fault">;

/** A link to a server's process that was just launched. `describe` adds what is known of its command. */
export function createStdioLink(
  server: ServerProcess,
  sdk: ClientSdk,
  describe: (seen: SeenStart) => LocalStart,
): Link & { start(): LocalStart } {
  const began = performance.now();
  const loss = new AbortController();
  let lostAt: number | undefined;
  let faulty = false;
  loss.signal.addEventListener("abort", () => {
    lostAt = performance.now();
  });
  const transport = new LineTransport(server, sdk.deserializeMessage, (fault) => {
    faulty = !loss.signal.aborted;
    loss.abort(fault);
    void server.stop();
  });
  void server.ended.then((how) => {
    loss.abort(how);
    transport.onclose?.();
  });
  const start = () => {
    const { answeredAt, noise } = transport;
    const hasEnded = loss.signal.aborted && loss.signal.reason !== closed;
    return describe({
      answered: answeredAt !== undefined,
      ms: (answeredAt ?? lostAt ?? performance.now()) - began,
      noise,
      stderr: server.stderrTail().split("\n").filter(Boolean),
      ...(hasEnded && { [faulty ? "fault" : "ended"]: String(loss.signal.reason) }),
    });
  };
  return {
    kind: "stdio",
    transport,
    lost: loss.signal,
    start,
    explain: (failure) => {
      const explained = explainRefused(failure, transport.refused);
      if (explained) return explained;
      const { cause = "", fix } = (failure.kind === "error" ? undefined : explainStart(start())) ?? {};
      const [noise] = transport.noise;
      return {
        message: `${describeFailure(failure)}.${cause && ` ${cause}`}${quoteOutput(server, noise)}`,
        hint: fix ?? "Run the command of the server in a terminal, in the same folder, to see its output.",
        isExplained: cause !== "",
      };
    },
    close: async () => {
      loss.abort(closed);
      await server.stop();
    },
  };
}

const closed = "was closed";

function describeFailure(failure: Failure): string {
  if (failure.kind === "lost") return failure.reason;
  if (failure.kind === "silent") return `did not answer within ${failure.ms / 1000} s`;
  return `answered with an error: ${messageOf(failure.error)}`;
}

const stderrLines = 10;
const stackFrame = /^\s+at .{0,500}:\d+:\d+\)?$/;

function quoteOutput(server: ServerProcess, noise: string | undefined): string {
  const lines = server.stderrTail().split("\n");
  // The message of an error comes before its stack.
  const stderr = lines
    .filter((line) => line.trim() !== "" && !stackFrame.test(line))
    .slice(-stderrLines)
    .join("\n");
  const printed = noise === undefined ? "" : JSON.stringify(cut(noise, quotedNoise));
  return [
    printed && ` Its stdout contains text other than protocol messages: ${printed}.`,
    stderr && ` Its stderr ends with:\n${stderr.replace(/^/gm, "    ")}`,
  ].join("");
}

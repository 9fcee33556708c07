import { accessSync, constants, existsSync, statSync } from "node:fs";
import { delimiter, isAbsolute, join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { executable } from "../../asking/scoring/tools.ts";
import { abortAfter } from "../../base/network/deadline.ts";
import { createProxyFetch } from "../../base/network/proxy.ts";
import { cut } from "../../base/text/text.ts";
import { EvalsError, messageOf } from "../../base/types/errors.ts";
import type { ExecutionPolicy } from "../../base/types/execution.ts";
import type { Io } from "../../base/types/io.ts";
import type { Tool, ToolServer } from "../../base/types/tool.ts";
import { announceExecuted } from "../../experiments/workspace/executed.ts";
import { connect } from "../../servers/connect.ts";
import type { CommandSpec, Env, LiveSpec, UrlSpec } from "../../servers/spec.ts";
import { inheritedVariables, type ServerProcess } from "../../servers/stdio.ts";
import { asksToWait } from "../parameters.ts";
import { findScript } from "../shell.ts";
import type { ServerFacts } from "./diagnosis/diagnose.ts";
import { isSlow, type LocalStart, type RemoteStart } from "./diagnosis/start.ts";
import type { Examined } from "./report.ts";

const maxCalls = 10;
const callTimeoutMs = 10_000;

/** The facts for the diagnosis of a server, and what a report shows in addition. */
export type Observed = {
  stages: Pick<ServerFacts, "start" | "connected" | "listed" | "calls">;
  seen: Pick<Examined, "about" | "startMs" | "listMs" | "tools" | "called" | "notCalled">;
};

export const nothing: Observed = { stages: { calls: [] }, seen: { called: [], notCalled: [] } };

type Settings = { name: string; dir: string; startMs: number; execute: ExecutionPolicy; io: Io };

/** Starts a server once, lists its tools and calls the permitted ones. Stops at the first failure. */
export async function observe(written: LiveSpec, settings: Settings): Promise<Observed> {
  const { name, dir, io } = settings;
  const startTimeoutMs = written.startTimeoutMs ?? settings.startMs;
  const spec = { ...written, startTimeoutMs, callTimeoutMs };
  const began = performance.now();
  let watched: Watched | undefined;
  const onLaunch = (launched: ServerProcess) => {
    watched = watchProcess(launched, performance.now());
  };
  const describe = () =>
    "command" in spec && watched ? describeLocal(spec, watched, { dir, env: io.env, began }) : undefined;
  let server: ToolServer;
  try {
    server = await connect(spec, { name, dir, env: io.env, signal: io.signal, onLaunch });
  } catch (error) {
    const connected = describeFailure(error);
    const start = "url" in spec ? await requestPlainly(spec, io) : describe();
    return { ...nothing, stages: { ...(start && { start }), connected, calls: [] } };
  }
  try {
    const start = describe();
    const startMs = start?.ms ?? performance.now() - began;
    const { stages, seen } = await listAndCall(server, settings);
    return { stages: { ...(start && { start }), ...stages }, seen: { startMs, ...seen } };
  } finally {
    await server.close();
  }
}

/** Whether a local server answered late or timed out. Other servers that start at the same time may be the cause. */
export function isSlowStart({ stages: { start } }: Observed): boolean {
  return start?.kind === "local" && start.ended === undefined && (isSlow(start) || !start.answered);
}

async function listAndCall(server: ToolServer, { execute, io }: Settings): Promise<Observed> {
  const { about } = server;
  const began = performance.now();
  try {
    const tools = await server.list(io.signal);
    const listMs = performance.now() - began;
    const { calls, ...tried } = await callTools(server, tools, execute, io);
    return {
      stages: { connected: { kind: "yes" }, listed: { kind: "yes", tools }, calls },
      seen: { about, listMs, tools: tools.length, ...tried },
    };
  } catch (error) {
    const listed = describeFailure(error);
    return { stages: { connected: { kind: "yes" }, listed, calls: [] }, seen: { ...nothing.seen, about } };
  }
}

/** Rethrows anything but an EvalsError. */
function describeFailure(error: unknown): { kind: "no"; message: string; hint: string } {
  if (!(error instanceof EvalsError)) throw error;
  const [{ message, hint = "" } = { message: "" }] = error.problems;
  return { kind: "no", message, hint };
}

/** Calls each tool that is permitted and has no required parameters once. */
async function callTools(
  server: ToolServer,
  tools: readonly Tool[],
  execute: ExecutionPolicy,
  io: Io,
): Promise<Pick<ServerFacts, "calls"> & Pick<Examined, "called" | "notCalled">> {
  const calls: ServerFacts["calls"][number][] = [];
  const called: Examined["called"] = [];
  const notCalled: Examined["notCalled"] = [];
  const permitted = tools.filter((tool) => explainNotCalled(tool, execute, 0, true) === undefined);
  announceExecuted(
    permitted.slice(0, maxCalls).map(({ name }) => name),
    io,
  );
  for (const tool of tools) {
    const why = explainNotCalled(tool, execute, called.length, server.alive());
    if (why !== undefined) {
      notCalled.push({ tool: tool.name, why });
      continue;
    }
    const began = performance.now();
    const outcome = await server.call(tool.name, {}, io.signal);
    const answered = outcome.kind === "result" && !outcome.result.isError;
    called.push({ tool: tool.name, answered, ms: performance.now() - began });
    calls.push({ tool: tool.name, outcome });
  }
  return { calls, called, notCalled };
}

function explainNotCalled(tool: Tool, execute: ExecutionPolicy, called: number, alive: boolean): string | undefined {
  if (!alive) return "the server has exited";
  const permitted = executable({ ...tool, server: "", origin: "server" }, execute);
  if (!permitted.yes)
    return execute === "never" ? "--execute never" : permitted.reason.replace(/^\S+ is | \(execute: .*\)$/g, "");
  const { required } = tool.inputSchema;
  if (Array.isArray(required) && required.length > 0) return "needs arguments";
  if (asksToWait(tool.inputSchema, {})) return "waits by its defaults";
  return called >= maxCalls ? `limit of ${maxCalls} calls` : undefined;
}

const maxNoiseLines = 20;
const maxNoise = 2_000;

/** A process with what it printed to stdout besides messages of the protocol, and when it answered or ended (in ms). */
type Watched = {
  server: ServerProcess;
  began: number;
  noise: string[];
  answeredMs?: number;
  ended?: { how: string; ms: number };
};

function watchProcess(server: ServerProcess, began: number): Watched {
  const watched: Watched = { server, began, noise: [] };
  createInterface({ input: server.stdout }).on("line", (line) => {
    const text = line.trim();
    if (text.startsWith("{") && text.includes('"jsonrpc"')) watched.answeredMs ??= performance.now() - began;
    else if (text !== "" && watched.noise.length < maxNoiseLines) watched.noise.push(cut(text, maxNoise));
  });
  void server.ended.then((how) => {
    watched.ended = { how, ms: performance.now() - began };
  });
  return watched;
}

function describeLocal(
  spec: CommandSpec & { startTimeoutMs: number },
  { server, noise, answeredMs, ended, ...watched }: Watched,
  { dir, env, began }: { dir: string; env: Env; began: number },
): LocalStart {
  // It may have been started a second time, in another revision of the protocol.
  const limit = spec.startTimeoutMs - (watched.began - began);
  const cwd = resolve(dir, spec.cwd ?? ".");
  const script = findScript({ command: spec.command, args: [...(spec.args ?? [])] })?.path;
  const path = resolve(cwd, script ?? "");
  return {
    kind: "local",
    command: spec.command,
    program: findProgram(spec.command, cwd, { ...env, ...spec.env }),
    folder: { path: cwd, exists: existsSync(cwd) },
    ...(script !== undefined && {
      script: { given: script, path, relative: !isAbsolute(script), exists: existsSync(path) },
    }),
    // A server that ends after the limit was stopped.
    ...(ended && ended.ms < limit && { ended: ended.how }),
    answered: answeredMs !== undefined,
    ms: answeredMs ?? Math.min(spec.startTimeoutMs, performance.now() - began),
    stderr: server.stderrTail().split("\n").filter(Boolean),
    noise,
    notPassedOn: new Set(
      Object.keys(env).filter((name) => !inheritedVariables.includes(name) && !(name in (spec.env ?? {}))),
    ),
  };
}

/** Looks up a command as the system does: in PATH, unless it is a path. */
function findProgram(command: string, cwd: string, env: Env): LocalStart["program"] {
  const folders = [...new Set((env.PATH ?? env.Path ?? "").split(delimiter).filter(Boolean))];
  const endings = process.platform === "win32" ? ["", ...(env.PATHEXT ?? ".EXE;.CMD;.BAT").split(";")] : [""];
  const isPath = /[/\\]/.test(command);
  const places = isPath ? [resolve(cwd, command)] : folders.map((folder) => join(folder, command));
  const all = places.flatMap((place) => endings.map((ending) => place + ending));
  if (all.some((path) => isFile(path, constants.X_OK))) return { kind: "found" };
  const there = all.find((path) => isFile(path, constants.F_OK));
  if (there !== undefined) return { kind: "not executable", path: there };
  const instead = `${command}3`;
  const has = folders.some((folder) => isFile(join(folder, instead), constants.X_OK));
  return { kind: "missing", searched: isPath ? places : folders, ...(has && { instead }) };
}

function isFile(path: string, mode: number): boolean {
  try {
    accessSync(path, mode);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

const requestTimeoutMs = 5_000;
const maxBody = 2_000;

/** The first request of a client, in a protocol revision that every server accepts or at least answers. */
const initializeRequest = JSON.stringify({
  jsonrpc: "2.0",
  id: 0,
  method: "initialize",
  params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "tool-evals", version: "0" } },
});

/** Sends one plain HTTP request to a URL, without following redirects. Does not throw. */
async function requestPlainly(spec: UrlSpec, { env, signal }: Io): Promise<RemoteStart> {
  const transport = spec.transport ?? "http";
  const shared = { kind: "remote" as const, url: spec.url, transport };
  const accept = transport === "sse" ? "text/event-stream" : "application/json, text/event-stream";
  const headers = { ...spec.headers, accept, "content-type": "application/json" };
  const body = transport === "sse" ? {} : { method: "POST", body: initializeRequest };
  try {
    const send = createProxyFetch(env) ?? fetch;
    const limit = abortAfter(signal, requestTimeoutMs);
    const response = await send(spec.url, { ...body, headers, redirect: "manual", signal: limit });
    const header = (name: string) => response.headers.get(name) ?? undefined;
    const said = await readStart(response);
    const [type, location, authenticate] = [header("content-type"), header("location"), header("www-authenticate")];
    return {
      ...shared,
      answer: {
        kind: "status",
        status: response.status,
        ...(type !== undefined && { type }),
        ...(location !== undefined && { location }),
        ...(authenticate !== undefined && { authenticate }),
        ...(said && { said }),
      },
    };
  } catch (error) {
    const cause = findRootCause(error);
    const code = cause instanceof Error && "code" in cause && typeof cause.code === "string" ? cause.code : "";
    const isTimeout = cause instanceof Error && cause.name === "TimeoutError";
    return { ...shared, answer: { kind: "none", code: isTimeout ? "TIMEOUT" : code, message: messageOf(cause) } };
  }
}

/** The start of a body on one line. Empty for an event stream, which may never end. */
async function readStart({ headers, body }: Response): Promise<string> {
  if (!body || headers.get("content-type")?.startsWith("text/event-stream")) {
    void body?.cancel().catch(() => {});
    return "";
  }
  let text = "";
  try {
    for await (const part of body.pipeThrough(new TextDecoderStream())) {
      text += part;
      if (text.length > maxBody) break;
    }
  } catch {
    // What was read so far is shown.
  }
  return cut(text, maxBody).replace(/\s+/g, " ").trim();
}

function findRootCause(error: unknown): unknown {
  let at = error;
  for (let depth = 0; depth < 10 && at instanceof Error && at.cause !== undefined; depth++) at = at.cause;
  return at;
}

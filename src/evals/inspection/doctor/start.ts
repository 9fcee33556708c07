import { accessSync, constants, existsSync, statSync } from "node:fs";
import { delimiter, isAbsolute, join, resolve } from "node:path";
import { abortAfter } from "../../base/network/deadline.ts";
import { cut } from "../../base/text/text.ts";
import { messageOf } from "../../base/types/errors.ts";
import type { CommandSpec, Env, UrlSpec } from "../../servers/spec.ts";
import { inheritedVariables, launch } from "../../servers/stdio.ts";
import { findScript } from "../lint/rules/registration.ts";
import type { LocalStart } from "./diagnosis/local.ts";
import type { RemoteStart } from "./diagnosis/remote.ts";

const maxNoiseLines = 20;
const maxNoise = 2_000;
/** A longer line is split. */
const maxLine = 64 * 1024;

/** The first request of a client, in a protocol revision that every server accepts or at least answers. */
const initializeRequest = JSON.stringify({
  jsonrpc: "2.0",
  id: 0,
  method: "initialize",
  params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "tool-evals", version: "0" } },
});

/**
 * Runs the command of a server until it answers the first request of the protocol, exits, or `ms` have passed, then stops
 * it. Does not throw.
 */
export async function startDirectly(
  spec: CommandSpec,
  { dir, env, ms, signal }: { dir: string; env: Env; ms: number; signal: AbortSignal },
): Promise<LocalStart> {
  const cwd = resolve(dir, spec.cwd ?? ".");
  const began = performance.now();
  const server = launch(spec, dir, env);
  const noise: string[] = [];
  const answer = new Promise<"answered">((done) => {
    readLines(server.stdout, (line) => {
      if (line.startsWith("{") && line.includes('"jsonrpc"')) done("answered");
      else if (noise.length < maxNoiseLines) noise.push(cut(line, maxNoise));
    });
  });
  server.stdin.write(`${initializeRequest}\n`);
  let timer: NodeJS.Timeout | undefined;
  const over = new Promise<"over">((done) => {
    timer = setTimeout(done, ms, "over");
    signal.addEventListener("abort", () => done("over"), { once: true });
  });
  const end = await Promise.race([answer, server.ended.then((how) => ({ how })), over]);
  clearTimeout(timer);
  const took = performance.now() - began;
  await server.stop();
  const script = findScript({ command: spec.command, args: [...(spec.args ?? [])] })?.path;
  return {
    kind: "local",
    command: spec.command,
    program: findProgram(spec.command, cwd, { ...env, ...spec.env }),
    folder: { path: cwd, exists: existsSync(cwd) },
    ...(script !== undefined && {
      script: {
        given: script,
        path: resolve(cwd, script),
        relative: !isAbsolute(script),
        exists: existsSync(resolve(cwd, script)),
      },
    }),
    ...(typeof end === "object" && { ended: end.how }),
    answered: end === "answered",
    ms: took,
    stderr: server.stderrTail().split("\n").filter(Boolean),
    noise,
    notPassedOn: new Set(
      Object.keys(env).filter((name) => !inheritedVariables.includes(name) && !(name in (spec.env ?? {}))),
    ),
  };
}

/** Calls `onLine` for every line that is not blank. */
function readLines(stdout: NodeJS.ReadableStream, onLine: (line: string) => void): void {
  let rest = "";
  const take = (text: string) => {
    if (text.trim() !== "") onLine(text.trim());
  };
  stdout.on("data", (chunk: Buffer) => {
    const [first = "", ...others] = chunk.toString().split("\n");
    const lines = [rest + first, ...others];
    rest = lines.pop() ?? "";
    for (const line of lines) take(line);
    if (rest.length <= maxLine) return;
    take(rest);
    rest = "";
  });
  stdout.on("end", () => take(rest));
}

/** Looks up a command as the system does: in PATH, unless it is a path. */
function findProgram(command: string, cwd: string, env: Env): LocalStart["program"] {
  const endings = process.platform === "win32" ? ["", ...(env.PATHEXT ?? ".EXE;.CMD;.BAT").split(";")] : [""];
  const places = /[/\\]/.test(command) ? [resolve(cwd, command)] : listCandidates(command, env);
  const all = places.flatMap((place) => endings.map((ending) => place + ending));
  if (all.some((path) => isFile(path, constants.X_OK))) return { kind: "found" };
  const there = all.find((path) => isFile(path, constants.F_OK));
  if (there !== undefined) return { kind: "not executable", path: there };
  const instead = `${command}3`;
  const has = listCandidates(instead, env).some((path) => isFile(path, constants.X_OK));
  const searched = /[/\\]/.test(command) ? places : listPathFolders(env);
  return { kind: "missing", searched, ...(has && { instead }) };
}

function listPathFolders(env: Env): string[] {
  return [...new Set((env.PATH ?? env.Path ?? "").split(delimiter).filter(Boolean))];
}

function listCandidates(command: string, env: Env): string[] {
  return listPathFolders(env).map((folder) => join(folder, command));
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

/** Sends one plain HTTP request to a URL, without following redirects. Does not throw. */
export async function requestPlainly(spec: UrlSpec, signal: AbortSignal): Promise<RemoteStart> {
  const transport = spec.transport ?? "http";
  const shared = { kind: "remote" as const, url: spec.url, transport };
  const accept = transport === "sse" ? "text/event-stream" : "application/json, text/event-stream";
  const headers = { ...spec.headers, accept, "content-type": "application/json" };
  const body = transport === "sse" ? {} : { method: "POST", body: initializeRequest };
  try {
    const limit = abortAfter(signal, requestTimeoutMs);
    const response = await fetch(spec.url, { ...body, headers, redirect: "manual", signal: limit });
    const header = (name: string) => response.headers.get(name) ?? undefined;
    // An event stream may never end.
    const isStream = header("content-type")?.startsWith("text/event-stream") ?? false;
    const said = isStream ? "" : await readStart(response);
    if (isStream) void response.body?.cancel().catch(() => {});
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

const maxBody = 2_000;

/** The start of a body, on one line. */
async function readStart(response: Response): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  const reader = response.body?.getReader();
  try {
    while (reader && text.length < maxBody) {
      const { done, value } = await reader.read();
      if (done) break;
      text += decoder.decode(value, { stream: true });
    }
  } catch {
    // What was read so far is shown.
  }
  void reader?.cancel().catch(() => {});
  return cut(text, maxBody).replace(/\s+/g, " ").trim();
}

function findRootCause(error: unknown): unknown {
  let at = error;
  for (let depth = 0; depth < 10 && at instanceof Error && at.cause !== undefined; depth++) at = at.cause;
  return at;
}

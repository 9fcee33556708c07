import { executable } from "../../asking/scoring/tools.ts";
import { abortAfter, openFetch } from "../../base/network.ts";
import { cut } from "../../base/text/text.ts";
import { EvalsError, messageOf, rootCause } from "../../base/types/errors.ts";
import type { ExecutionPolicy } from "../../base/types/flagValues.ts";
import type { Io } from "../../base/types/io.ts";
import type { Tool, ToolServer } from "../../base/types/tool.ts";
import { announceExecuted } from "../../experiments/workspace/problems.ts";
import { type Connection, connect } from "../../servers/connect.ts";
import { isSlow, type RemoteStart } from "../../servers/diagnosis/start.ts";
import { ServerFailure } from "../../servers/session.ts";
import type { LiveSpec, UrlSpec } from "../../servers/spec.ts";
import { asksToWait } from "../parameters.ts";
import type { ServerFacts } from "./diagnosis/diagnose.ts";
import type { Examined } from "./report.ts";

const maxCalls = 10;
const callTimeoutMs = 10_000;

/** The facts for the diagnosis of a server, and what a report shows in addition. */
export type Observed = {
  stages: Pick<ServerFacts, "start" | "connected" | "listed" | "calls">;
  seen: Pick<Examined, "about" | "startMs" | "listMs" | "tools" | "called" | "notCalled">;
  instructions?: string;
};

export const nothing: Observed = { stages: { calls: [] }, seen: { called: [], notCalled: [] } };

type Settings = { name: string; dir: string; startMs: number; execute: ExecutionPolicy; io: Io };

/** Starts a server once, lists its tools and calls the permitted ones. Stops at the first failure. */
export async function observe(written: LiveSpec, settings: Settings): Promise<Observed> {
  const { name, dir, io } = settings;
  const startTimeoutMs = written.startTimeoutMs ?? settings.startMs;
  const spec = { ...written, startTimeoutMs, callTimeoutMs };
  const began = performance.now();
  let server: Connection;
  try {
    server = await connect(spec, { name, dir, env: io.env, signal: io.signal });
  } catch (error) {
    const connected = describeFailure(error);
    const local = error instanceof ServerFailure ? error.start : undefined;
    const start = "url" in spec ? await requestPlainly(spec, io) : local;
    return { ...nothing, stages: { ...(start && { start }), connected, calls: [] } };
  }
  try {
    const { start } = server;
    const startMs = start?.ms ?? performance.now() - began;
    const { stages, seen } = await listAndCall(server, settings);
    const { instructions } = server;
    return {
      stages: { ...(start && { start }), ...stages },
      seen: { startMs, ...seen },
      ...(instructions !== undefined && { instructions }),
    };
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
    const send = openFetch(env);
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
    const cause = rootCause(error as Error);
    const code = "code" in cause && typeof cause.code === "string" ? cause.code : "";
    const isTimeout = cause.name === "TimeoutError";
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

import { executable } from "../../asking/scoring/tools.ts";
import { defined } from "../../base/collections.ts";
import { EvalsError } from "../../base/types/errors.ts";
import type { ExecutionPolicy } from "../../base/types/flagValues.ts";
import type { Io } from "../../base/types/io.ts";
import type { Tool, ToolServer } from "../../base/types/tool.ts";
import { announceExecuted } from "../../experiments/workspace/problems.ts";
import { type Connection, connect } from "../../servers/connect.ts";
import { isSlow } from "../../servers/diagnosis/start.ts";
import { ServerFailure } from "../../servers/session.ts";
import type { LiveSpec } from "../../servers/spec.ts";
import { asksToWait } from "../parameters.ts";
import type { ServerFacts } from "./diagnosis/diagnose.ts";
import type { Examined } from "./report.ts";

const maxCalls = 10;
const callTimeoutMs = 10_000;

/** The facts for the diagnosis of a server, and what a report shows in addition. */
export type Observed = Pick<ServerFacts, "start" | "connected" | "listed"> &
  Pick<Examined, "about" | "startMs" | "listMs" | "notCalled"> & {
    calls: readonly (ServerFacts["calls"][number] & { ms: number })[];
    instructions?: string | undefined;
  };

export const nothing: Observed = { calls: [], notCalled: [] };

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
    const { start, rule } = error instanceof ServerFailure ? error : {};
    return { ...nothing, ...defined({ start }), connected: { ...describeFailure(error), ...defined({ rule }) } };
  }
  try {
    const { start, about, instructions } = server;
    const startMs = start?.ms ?? performance.now() - began;
    const session = { ...(start && { start }), connected: { kind: "yes" } as const, startMs, about, instructions };
    return { ...session, ...(await listAndCall(server, settings)) };
  } finally {
    await server.close();
  }
}

/** Whether a local server answered late or timed out. Other servers that start at the same time may be the cause. */
export function isSlowStart({ start }: Observed): boolean {
  return start !== undefined && start.ended === undefined && (isSlow(start) || !start.answered);
}

async function listAndCall(server: ToolServer, { execute, io }: Settings): Promise<Observed> {
  const began = performance.now();
  try {
    const tools = await server.list(io.signal);
    const listMs = performance.now() - began;
    return { listed: { kind: "yes", tools }, listMs, ...(await callTools(server, tools, execute, io)) };
  } catch (error) {
    return { ...nothing, listed: describeFailure(error) };
  }
}

function describeFailure(error: unknown): { kind: "no"; message: string; hint: string } {
  if (!(error instanceof EvalsError)) throw error;
  const [{ message, hint = "" } = { message: "" }] = error.problems;
  return { kind: "no", message, hint };
}

async function callTools(
  server: ToolServer,
  tools: readonly Tool[],
  execute: ExecutionPolicy,
  io: Io,
): Promise<Pick<Observed, "calls" | "notCalled">> {
  const calls: Observed["calls"][number][] = [];
  const notCalled: Examined["notCalled"] = [];
  const permitted = tools.filter((tool) => explainNotCalled(tool, execute, 0, true) === undefined);
  const names = permitted.slice(0, maxCalls).map(({ name }) => name);
  announceExecuted(names, io);
  for (const tool of tools) {
    const why = explainNotCalled(tool, execute, calls.length, server.alive());
    if (why !== undefined) {
      notCalled.push({ tool: tool.name, why });
      continue;
    }
    const began = performance.now();
    const outcome = await server.call(tool.name, {}, io.signal);
    calls.push({ tool: tool.name, outcome, ms: performance.now() - began });
  }
  return { calls, notCalled };
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

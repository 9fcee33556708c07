import { executable } from "../../asking/scoring/tools.ts";
import { EvalsError } from "../../base/types/errors.ts";
import type { ExecutionPolicy } from "../../base/types/execution.ts";
import type { Io } from "../../base/types/io.ts";
import type { Tool, ToolServer } from "../../base/types/tool.ts";
import { connect } from "../../servers/connect.ts";
import type { LiveSpec } from "../../servers/spec.ts";
import { asksToWait } from "../probe/plan/waiting.ts";
import { isSlow, type ServerFacts } from "./diagnosis/diagnose.ts";
import type { Examined } from "./diagnosis/report.ts";
import { requestPlainly, startDirectly } from "./start.ts";

const maxCalls = 10;
const callTimeoutMs = 10_000;

/** The facts for the diagnosis of a server, and what a report shows in addition. */
export type Observed = {
  stages: Pick<ServerFacts, "start" | "connected" | "listed" | "calls">;
  seen: Pick<Examined, "about" | "startMs" | "listMs" | "tools" | "called" | "notCalled">;
};

export const nothing: Observed = { stages: { calls: [] }, seen: { called: [], notCalled: [] } };

type Settings = { name: string; dir: string; startMs: number; execute: ExecutionPolicy; io: Io };

/** Starts a server directly, connects a client, lists the tools and calls the permitted ones. Stops at the first failure. */
export async function observe(written: LiveSpec, settings: Settings): Promise<Observed> {
  const { name, dir, io } = settings;
  const { env, signal } = io;
  const startTimeoutMs = written.startTimeoutMs ?? settings.startMs;
  const spec = { ...written, startTimeoutMs, callTimeoutMs };
  const local = "command" in spec ? await startDirectly(spec, { dir, env, ms: startTimeoutMs, signal }) : undefined;
  if (local && !local.answered) return { ...nothing, stages: { start: local, calls: [] } };
  const began = performance.now();
  let server: ToolServer;
  try {
    server = await connect(spec, { name, dir, env, signal });
  } catch (error) {
    const start = "url" in spec ? await requestPlainly(spec, signal) : local;
    return { ...nothing, stages: { ...(start && { start }), connected: describeFailure(error), calls: [] } };
  }
  try {
    const startMs = local?.ms ?? performance.now() - began;
    const { stages, seen } = await listAndCall(server, settings);
    return { stages: { ...(local && { start: local }), ...stages }, seen: { startMs, ...seen } };
  } finally {
    await server.close();
  }
}

/** Whether a local server answered late or timed out. */
export function isSlowStart({ stages: { start } }: Observed): boolean {
  return start?.kind === "local" && start.ended === undefined && (isSlow(start) || !start.answered);
}

/**
 * Starts a server with a slow start again, alone. The faster start counts. A server that answered before is not listed and
 * called a second time.
 */
export async function observeAgain(written: LiveSpec, before: Observed, settings: Settings): Promise<Observed> {
  const { start } = before.stages;
  if (start?.kind !== "local" || !("command" in written)) return before;
  if (!start.answered) return await observe(written, settings);
  const { dir, io, startMs } = settings;
  const again = await startDirectly(written, { dir, env: io.env, ms: startMs, signal: io.signal });
  if (!again.answered || again.ms >= start.ms) return before;
  return { stages: { ...before.stages, start: again }, seen: { ...before.seen, startMs: again.ms } };
}

async function listAndCall(server: ToolServer, { execute, io }: Settings): Promise<Observed> {
  const { about } = server;
  const began = performance.now();
  try {
    const tools = await server.list(io.signal);
    const listMs = performance.now() - began;
    const { calls, ...tried } = await callTools(server, tools, execute, io.signal);
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
  signal: AbortSignal,
): Promise<Pick<ServerFacts, "calls"> & Pick<Examined, "called" | "notCalled">> {
  const calls: ServerFacts["calls"][number][] = [];
  const called: Examined["called"] = [];
  const notCalled: Examined["notCalled"] = [];
  for (const tool of tools) {
    const why = explainNotCalled(tool, execute, called.length, server.alive());
    if (why !== undefined) {
      notCalled.push({ tool: tool.name, why });
      continue;
    }
    const began = performance.now();
    const outcome = await server.call(tool.name, {}, signal);
    const answered = outcome.kind === "result" && !outcome.result.isError;
    called.push({ tool: tool.name, answered, ms: performance.now() - began });
    calls.push({ tool: tool.name, outcome });
  }
  return { calls, called, notCalled };
}

function explainNotCalled(tool: Tool, execute: ExecutionPolicy, called: number, alive: boolean): string | undefined {
  if (!alive) return "the server has exited";
  const permitted = executable({ ...tool, server: "", origin: "server" }, execute);
  if (!permitted.yes) return execute === "never" ? "--execute never" : "not annotated read-only or non-destructive";
  const { required } = tool.inputSchema;
  if (Array.isArray(required) && required.length > 0) return "needs arguments";
  if (asksToWait(tool.inputSchema, {})) return "waits by its defaults";
  return called >= maxCalls ? `limit of ${maxCalls} calls` : undefined;
}

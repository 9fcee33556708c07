import type { ServerFacts } from "../../diagnosis/diagnose.ts";
import { diagnose } from "../../diagnosis/diagnose.ts";
import type { Examined } from "../../diagnosis/report.ts";
import { EvalsError } from "../../errors.ts";
import type { Io } from "../../io.ts";
import { executable } from "../../scoring/policy.ts";
import { connect } from "../../toolsets/connect.ts";
import type { LiveSpec } from "../../toolsets/spec.ts";
import type { ToolServer } from "../../types/server.ts";
import type { ExecutionPolicy } from "../../types/suite.ts";
import type { Tool } from "../../types/tool.ts";
import { runDirectly } from "./local.ts";
import type { Patient } from "./patients.ts";
import { askPlainly } from "./remote.ts";
import { shownCommand } from "./shown.ts";

const mostCalls = 10;
const callTimeoutMs = 10_000;

type Settings = { execute: ExecutionPolicy; startMs: number; io: Io };
/** How far a server got: what a diagnosis rests on, and what a report tells beside. */
type Observed = {
  stages: Pick<ServerFacts, "start" | "connected" | "listed" | "calls">;
  seen: Pick<Examined, "about" | "startMs" | "listMs" | "tools" | "called" | "notCalled">;
};

const nothing: Observed = { stages: { calls: [] }, seen: { called: [], notCalled: [] } };

/** Starts, lists and calls one server, and says what is wrong with it. Does not throw for anything that a server does. */
export async function examine(patient: Patient, settings: Settings): Promise<Examined> {
  const { name, via, spec, shown, dir, entry, commands } = patient;
  const { starts, direct } = shown ? shownCommand(shown, dir) : { starts: "", direct: "" };
  const { stages, seen } = spec ? await observe(spec, patient, settings) : nothing;
  const call = commands.call && callPermitted(commands.call, settings.execute);
  const diagnoses = diagnose({ show: { direct, lint: direct, ...commands, ...(call && { call }) }, entry, ...stages });
  const healthy = spec !== undefined && diagnoses.every(({ severity }) => severity !== "error");
  return { name, starts, ...(via !== undefined && { via }), healthy, ...seen, diagnoses };
}

/** `evals probe` makes no call that it is not permitted to make. */
function callPermitted(call: (tool: string) => string, execute: ExecutionPolicy) {
  return (tool: string) => `${call(tool)}${execute === "always" ? " --execute always" : ""}`;
}

async function observe(written: LiveSpec, { name, dir }: Patient, settings: Settings): Promise<Observed> {
  const { env, signal } = settings.io;
  const startTimeoutMs = written.startTimeoutMs ?? settings.startMs;
  const spec = { ...written, startTimeoutMs, callTimeoutMs };
  const local = "command" in spec ? await runDirectly(spec, { dir, env, ms: startTimeoutMs, signal }) : undefined;
  if (local && !local.answered) return { ...nothing, stages: { start: local, calls: [] } };
  const began = performance.now();
  let server: ToolServer;
  try {
    server = await connect(spec, { name, dir, env, signal });
  } catch (error) {
    const start = "url" in spec ? await askPlainly(spec, signal) : local;
    return { ...nothing, stages: { ...(start && { start }), connected: said(error), calls: [] } };
  }
  try {
    const startMs = local?.ms ?? performance.now() - began;
    const { stages, seen } = await use(server, settings);
    return { stages: { ...(local && { start: local }), ...stages }, seen: { startMs, ...seen } };
  } finally {
    await server.close();
  }
}

/** Lists the tools of a server that is connected, and calls those that may be. */
async function use(server: ToolServer, { execute, io }: Settings): Promise<Observed> {
  const { about } = server;
  const began = performance.now();
  try {
    const tools = await server.list(io.signal);
    const listMs = performance.now() - began;
    const { calls, ...tried } = await callHarmless(server, tools, execute, io.signal);
    return {
      stages: { connected: { kind: "yes" }, listed: { kind: "yes", tools }, calls },
      seen: { about, listMs, tools: tools.length, ...tried },
    };
  } catch (error) {
    return { stages: { connected: { kind: "yes" }, listed: said(error), calls: [] }, seen: { ...nothing.seen, about } };
  }
}

/** What went wrong, as a value; a defect of the harness is thrown on. */
function said(error: unknown): { kind: "no"; message: string; hint: string } {
  if (!(error instanceof EvalsError)) throw error;
  const [{ message, hint = "" } = { message: "" }] = error.problems;
  return { kind: "no", message, hint };
}

/** Calls what the policy permits and what needs no argument, once each. */
async function callHarmless(
  server: ToolServer,
  tools: readonly Tool[],
  execute: ExecutionPolicy,
  signal: AbortSignal,
): Promise<Pick<ServerFacts, "calls"> & Pick<Examined, "called" | "notCalled">> {
  const calls: ServerFacts["calls"][number][] = [];
  const called: Examined["called"] = [];
  const notCalled: Examined["notCalled"] = [];
  for (const tool of tools) {
    const why = whyNot(tool, execute, called.length, server.alive());
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

function whyNot(tool: Tool, execute: ExecutionPolicy, called: number, alive: boolean): string | undefined {
  if (!alive) return "the server is gone";
  const permitted = executable({ ...tool, server: "", origin: "server" }, execute);
  if (!permitted.yes) return execute === "never" ? "--execute never" : "not annotated read-only or non-destructive";
  const { required } = tool.inputSchema;
  if (Array.isArray(required) && required.length > 0) return "needs arguments";
  return called >= mostCalls ? `${mostCalls} were called` : undefined;
}

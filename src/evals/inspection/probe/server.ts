import type { ProbeFlags } from "../../commands/probe.ts";
import { EvalsError, exitCodes, type Problem } from "../../errors.ts";
import type { Io } from "../../io.ts";
import { unknownToolChecks } from "../../probes/checks/index.ts";
import { probesFor, unknownToolProbe } from "../../probes/plan.ts";
import { type ProbedServer, unknownToolRow } from "../../reports/probe.ts";
import { executable } from "../../scoring/policy.ts";
import { deriveSeed } from "../../stats/random.ts";
import { openSource } from "../../toolsets/source.ts";
import type { OfferedTool } from "../../types/tool.ts";
import { makeCalls } from "./calls.ts";
import { probedTool, unknownTool } from "./probedTool.ts";
import { sessionWith } from "./session.ts";
import { addTool, newTally, rowOf } from "./tally.ts";
import type { Target } from "./targets.ts";
import { makeProbes, type Probing } from "./tool.ts";

/** What a server came to, as far as it was probed, and what kept it from more. */
export type Probed = { server?: ProbedServer; problems: readonly Problem[]; warnings: readonly Problem[] };

export type Asked = { flags: ProbeFlags; seed: number; io: Io };

/** Probes one server, then ends it. Throws EvalsError for a mistake in the command line or in a file. */
export async function probeServer(target: Target, asked: Asked): Promise<Probed> {
  const { io, flags } = asked;
  const source = await openSource({ server: target.spec, distractors: [], dir: target.dir }, io.env, io.signal);
  const { tools, warnings } = source;
  const first = source.server;
  if (!first) throw new Error("a target is a live server");
  const server: ProbedServer = {
    ...{ server: tools[0]?.server ?? first.name, calls: 0, starts: 1 },
    ...{ tools: [], skipped: [], findings: [], answers: [] },
  };
  const session = sessionWith(source, first, io.signal);
  const probing: Probing = { session, target, maxCalls: flags.maxCalls, signal: io.signal };
  try {
    if (flags.call) await makeCalls(flags.call, tools, server, probing);
    else await probeTools(tools, server, probing, asked);
    const called = flags.call !== undefined || server.tools.some(({ tool }) => tool !== unknownToolRow);
    return { server, problems: called || io.signal.aborted ? [] : [nothingCalled(server)], warnings };
  } catch (error) {
    if (!(error instanceof EvalsError) || error.exitCode === exitCodes.usage) throw error;
    return { server, problems: io.signal.aborted ? [] : error.problems, warnings };
  } finally {
    Object.assign(server, { calls: session.calls, starts: session.starts });
    await source.close();
  }
}

/** A server none of whose tools was called has not passed. */
function nothingCalled({ server, skipped }: ProbedServer): Problem {
  if (skipped.length === 0)
    return {
      severity: "error",
      message: `"${server}" lists no tool that was asked for`,
      hint: "Check the server and --tool.",
    };
  const message = `no tool of "${server}" was called, so nothing is known of them`;
  const hint = "Annotate harmless tools as read-only, or give --execute always where nothing can be lost.";
  return { severity: "error", message, hint };
}

async function probeTools(
  tools: readonly OfferedTool[],
  server: ProbedServer,
  probing: Probing,
  { flags, seed }: Asked,
): Promise<void> {
  const { session, target, signal } = probing;
  const wanted = tools.filter(({ name }) => flags.tool?.some((pattern) => matches(pattern, name)) ?? true);
  for (const tool of wanted) {
    if (signal.aborted) return;
    const permitted = executable(tool, target.execute);
    const probed = permitted.yes ? probedTool(tool) : permitted.reason;
    const probes =
      typeof probed === "string" ? [] : probesFor(probed, { seed: deriveSeed(seed, tool.name), runs: flags.runs });
    if (typeof probed === "string" || probes.length === 0) {
      const reason = typeof probed === "string" ? probed : "no valid input could be made from its inputSchema";
      server.skipped.push({ tool: tool.name, reason });
      continue;
    }
    const before = session.calls;
    const tally = newTally();
    try {
      await makeProbes(probed, probes, tally, probing);
    } finally {
      addTool(server, rowOf(tool.name, session.calls - before, tally), tally);
    }
  }
  if (target.execute !== "never" && !signal.aborted) await probeUnknownTool(server, tools, probing, seed);
}

async function probeUnknownTool(
  server: ProbedServer,
  tools: readonly OfferedTool[],
  probing: Probing,
  seed: number,
): Promise<void> {
  const names = new Set(tools.map(({ name }) => name));
  let name = `no_such_tool_${deriveSeed(seed, "unknown tool").toString(36)}`;
  while (names.has(name)) name += "_";
  const before = probing.session.calls;
  const tally = newTally();
  try {
    await makeProbes(unknownTool(name), [unknownToolProbe()], tally, probing);
  } finally {
    addTool(server, rowOf(unknownToolRow, probing.session.calls - before, tally, unknownToolChecks), tally);
  }
}

/** `*` is any text. */
function matches(pattern: string, name: string): boolean {
  const parts = pattern.split("*").map((part) => part.replace(/[.+?^${}()|[\]\\]/g, "\\$&"));
  return new RegExp(`^${parts.join(".*?")}$`, "su").test(name);
}

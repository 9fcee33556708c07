import type { Answer, Observation, Probe, ProbedTool } from "../../probes/probe.ts";
import type { ProbeCall } from "../../reports/probe.ts";
import type { Source } from "../../toolsets/source.ts";
import type { JsonObject } from "../../types/json.ts";
import type { ToolServer } from "../../types/server.ts";

/** One server, called one call at a time, and started again when it is gone. */
export type Session = {
  readonly calls: number;
  /** How often the server was started. */
  readonly starts: number;
  /** The calls that were made since it was last started, in order. */
  readonly history: readonly ProbeCall[];
  /** Throws EvalsError when the server is gone and cannot be had again. */
  call(tool: string, args: JsonObject): Promise<Answer>;
  /** Ends the server: the next call finds it as it starts. */
  renew(): Promise<void>;
};

/** A session with a source's own server. The source closes what is opened here. */
export function sessionWith(source: Source, first: ToolServer, signal: AbortSignal): Session {
  let server = first;
  const counted = { calls: 0, starts: 1 };
  let history: ProbeCall[] = [];
  const ready = async () => {
    if (server.alive()) return server;
    server = await source.reopen(signal);
    counted.starts += 1;
    history = [];
    // What it lists is how it is told an unknown tool from a failing one.
    await server.list(signal);
    return server;
  };
  return {
    get calls() {
      return counted.calls;
    },
    get starts() {
      return counted.starts;
    },
    get history() {
      return history;
    },
    renew: () => server.close(),
    call: async (tool, args) => {
      const called = await ready();
      counted.calls += 1;
      history.push({ tool, arguments: args });
      const outcome = await called.call(tool, args, signal);
      const alive = called.alive();
      // It may still be at it, and the next call would be blamed.
      if (outcome.kind === "broken" && outcome.stage === "timeout") await called.close();
      return { outcome, alive };
    },
  };
}

/** Makes the calls of a probe, until one breaks. */
export async function observe(session: Session, probe: Probe, tool: ProbedTool): Promise<Observation> {
  const calls = probe.calls(probe.base);
  const answers: Answer[] = [];
  for (const args of calls) {
    const answer = await session.call(tool.name, args);
    answers.push(answer);
    if (answer.outcome.kind === "broken") break;
  }
  return { tool, probe, calls, answers };
}

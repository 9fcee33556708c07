import { compileSchema, type Validate } from "../../base/jsonSchema/validate.ts";
import type { JsonObject } from "../../base/types/json.ts";
import type { Tool, ToolServer } from "../../base/types/tool.ts";
import type { Source } from "../../servers/source.ts";
import type { Probe, ProbeAnswer, ProbedTool, ProbeObservation } from "./plan/probe.ts";

/** Calls one server, one call at a time. Restarts it when it has ended. */
export type ProbeSession = {
  readonly calls: number;
  readonly starts: number;
  /** Throws EvalsError when the server has ended and cannot be restarted. */
  call(tool: string, args: JsonObject): Promise<ProbeAnswer>;
  /** Ends the server, so that the next call starts it again. */
  stop(): Promise<void>;
};

/** Opens a session on the server of a source. Closing the source also closes servers that were restarted here. */
export function openSession(source: Source, first: ToolServer, signal: AbortSignal): ProbeSession {
  let server = first;
  let calls = 0;
  let starts = 1;
  const start = async () => {
    server = await source.reopen(signal);
    starts += 1;
    // The list distinguishes an unknown tool from a failing one.
    await server.list(signal);
  };
  return {
    get calls() {
      return calls;
    },
    get starts() {
      return starts;
    },
    stop: () => server.close(),
    call: async (tool, args) => {
      if (!server.alive()) await start();
      calls += 1;
      const outcome = await server.call(tool, args, signal);
      const alive = server.alive();
      // After a timeout the server may still be busy, which would slow down the next call.
      if (outcome.kind === "broken" && outcome.stage === "timeout") await server.close();
      return { outcome, alive };
    },
  };
}

/** Makes the calls of a probe, until one breaks. */
export async function makeProbe(session: ProbeSession, probe: Probe, tool: ProbedTool): Promise<ProbeObservation> {
  const calls = probe.calls(probe.base);
  const answers: ProbeAnswer[] = [];
  for (const args of calls) {
    const answer = await session.call(tool.name, args);
    answers.push(answer);
    if (answer.outcome.kind === "broken") break;
  }
  return { tool, probe, calls, answers };
}

/** Compiles the schemas of a listed tool. Returns the reason if its inputSchema cannot be compiled. */
export function compileTool({ name, inputSchema, outputSchema, annotations }: Tool): ProbedTool | string {
  const input = compileSchema(inputSchema);
  if (typeof input === "string") return `its inputSchema cannot be compiled: ${input}`;
  const output = outputSchema && compileSchema(outputSchema);
  return {
    name,
    inputSchema,
    readOnly: annotations?.readOnlyHint === true,
    allows: (args) => input(args, "arguments").kind === "valid",
    ...(typeof output === "function" && { outputFault: (structured) => explainInvalid(output, structured) }),
  };
}

function explainInvalid(validate: Validate, structured: JsonObject): string | undefined {
  const validity = validate(structured, "structuredContent");
  return validity.kind === "invalid" ? validity.why : undefined;
}

/** A tool that the server does not list, as one without parameters. */
export function makeUnknownTool(name: string): ProbedTool {
  return { name, inputSchema: {}, readOnly: false, allows: () => true };
}

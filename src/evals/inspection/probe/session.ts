import { existsSync, mkdtempSync, readdirSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { isAbsolute, join, resolve } from "node:path";
import { compileSchema, type Validate } from "../../base/jsonSchema/validate.ts";
import type { JsonObject } from "../../base/types/json.ts";
import type { Tool, ToolServer } from "../../base/types/tool.ts";
import type { Source } from "../../servers/source.ts";
import type { LiveServer } from "../../servers/spec.ts";
import type { Probe, ProbeAnswer, ProbedTool, ProbeObservation } from "./plan/probe.ts";
import type { ProbeCall } from "./report.ts";

/** Calls one server, one call at a time. Restarts it when it has ended. */
export type ProbeSession = {
  readonly calls: number;
  readonly starts: number;
  /** The calls since the last start, in order. */
  readonly history: readonly ProbeCall[];
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
  let history: ProbeCall[] = [];
  const start = async () => {
    server = await source.reopen(signal);
    starts += 1;
    history = [];
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
    get history() {
      return history;
    },
    stop: () => server.close(),
    call: async (tool, args) => {
      if (!server.alive()) await start();
      calls += 1;
      history.push({ tool, arguments: args });
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
    idempotent: annotations?.idempotentHint === true,
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
  return { name, inputSchema: {}, readOnly: false, idempotent: false, allows: () => true };
}

/** An empty folder in which a server runs while it is probed, so that its calls leave no files in a project. */
export type Scratch = {
  server: LiveServer;
  /** The files in it, sorted, at most `most`. */
  listFiles(most: number): string[];
  remove(): void;
};

/** Programs that use the working directory to look up what to run. */
const boundToFolder = /^(?:npx|npm|pnpm|yarn|bunx?|uvx?|poetry|cargo|go|make|docker)$/;

/**
 * A scratch folder for a server that is started from a command line; paths of existing files in its arguments are made
 * absolute. Undefined for a server that is registered or reached by a URL, that has a folder of its own, or whose
 * program depends on the folder.
 */
export function makeScratch(server: LiveServer, dir: string): Scratch | undefined {
  if (!("command" in server) || server.cwd !== undefined || boundToFolder.test(server.command)) return undefined;
  const settle = (word: string) => {
    const isPath = !isAbsolute(word) && !word.startsWith("-") && existsSync(resolve(dir, word));
    return isPath ? resolve(dir, word) : word;
  };
  const command = server.command.includes("/") ? settle(server.command) : server.command;
  const cwd = realpathSync(mkdtempSync(join(tmpdir(), "evals-probe-")));
  return {
    server: { ...server, command, ...(server.args && { args: server.args.map(settle) }), cwd },
    listFiles: (most) =>
      readdirSync(cwd, { recursive: true, withFileTypes: true })
        .filter((entry) => !entry.isDirectory())
        .map((entry) => join(entry.parentPath, entry.name).slice(cwd.length + 1))
        .sort()
        .slice(0, most),
    remove: () => rmSync(cwd, { recursive: true, force: true }),
  };
}

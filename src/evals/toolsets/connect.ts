import * as z from "zod";
import type { JsonObject } from "../types/json.ts";
import type { CallOutcome, ToolServer } from "../types/server.ts";
import type { Tool } from "../types/tool.ts";
import { parseTools, readPages } from "./listing.ts";
import { errorResult, saysUnknownTool, toToolResult } from "./results.ts";
import {
  type ConnectContext,
  noClientTimeout,
  openSession,
  type Session,
  troubleError,
  troubleOf,
  within,
} from "./session.ts";
import { type LiveSpec, serverError } from "./spec.ts";

const defaultStartMs = 30_000;
const defaultCallMs = 60_000;

/** A server that is connected, which also tells its list as it sent it. */
export type Connection = ToolServer & {
  /** The entries of the list, all pages, unchecked and with all of their fields. Throws EvalsError as `list` does. */
  listRaw(signal: AbortSignal): Promise<readonly unknown[]>;
};

/**
 * Connects to a server: a process over stdio, or a URL over Streamable HTTP or SSE; of protocol revision 2026-07-28 or
 * older, whichever it speaks. `startTimeoutMs` covers connecting and the first listing together.
 * Throws EvalsError, saying why, when there is no answer.
 */
export async function connect(spec: LiveSpec, context: ConnectContext): Promise<Connection> {
  const startMs = spec.startTimeoutMs ?? defaultStartMs;
  const began = performance.now();
  const session = await openSession(spec, context, startMs);
  const leftMs = Math.max(1, Math.round(startMs - (performance.now() - began)));
  return new ConnectedServer(context.name, session, leftMs, spec.callTimeoutMs ?? defaultCallMs);
}

const pageSchema = z.looseObject({ tools: z.array(z.unknown()), nextCursor: z.string().optional() });

class ConnectedServer implements Connection {
  readonly name: string;
  readonly about: JsonObject;
  readonly #session: Session;
  readonly #listMs: number;
  readonly #callMs: number;
  #known: ReadonlyMap<string, Tool> | undefined;
  #closing: Promise<void> | undefined;

  constructor(name: string, session: Session, listMs: number, callMs: number) {
    this.name = name;
    this.about = aboutOf(session);
    this.#session = session;
    this.#listMs = listMs;
    this.#callMs = callMs;
  }

  alive(): boolean {
    return !this.#session.link.lost.aborted;
  }

  close(): Promise<void> {
    this.#closing ??= this.#session.link.close();
    return this.#closing;
  }

  async list(signal: AbortSignal): Promise<readonly Tool[]> {
    const tools = parseTools(this.name, await this.listRaw(signal));
    this.#known = new Map(tools.map((tool) => [tool.name, tool]));
    return tools;
  }

  async listRaw(signal: AbortSignal): Promise<readonly unknown[]> {
    const { client, link, sdk } = this.#session;
    try {
      return await within(this.#listMs, signal, link, (abort) =>
        readPages(this.name, (cursor) =>
          client.request({ method: "tools/list", ...(cursor !== undefined && { params: { cursor } }) }, pageSchema, {
            ...noClientTimeout,
            signal: abort,
          }),
        ),
      );
    } catch (error) {
      if (error instanceof sdk.ProtocolError) {
        throw serverError(
          `server "${this.name}" answered tools/list with an error: ${error.message}`,
          "It must declare the tools capability, and list its tools.",
        );
      }
      throw troubleError(this.name, link, await troubleOf(error, link));
    }
  }

  async call(tool: string, args: JsonObject, signal: AbortSignal): Promise<CallOutcome> {
    const { client, link, sdk } = this.#session;
    const listed = this.#known?.has(tool);
    // Without its outputSchema: the client would withhold an answer that breaks it, and that answer is to be judged.
    const toolDefinition = {
      name: tool,
      inputSchema: { type: "object" as const, ...this.#known?.get(tool)?.inputSchema },
    };
    try {
      const answer = await within(this.#callMs, signal, link, (abort) =>
        client.callTool({ name: tool, arguments: args }, { ...noClientTimeout, signal: abort, toolDefinition }),
      );
      const result = toToolResult(answer);
      const text = result.content.map((item) => item.text ?? "").join("\n");
      return result.isError && saysUnknownTool(tool, text, listed)
        ? { kind: "unknown-tool", message: text }
        : { kind: "result", result };
    } catch (error) {
      if (!(error instanceof sdk.ProtocolError)) return this.#broken(tool, error);
      // The server answered: its error is what the model would be told.
      return saysUnknownTool(tool, error.message, listed, error.code)
        ? { kind: "unknown-tool", message: error.message }
        : { kind: "result", result: errorResult(error.message) };
    }
  }

  async #broken(tool: string, error: unknown): Promise<CallOutcome> {
    const { link } = this.#session;
    const trouble = await troubleOf(error, link);
    if (trouble === "cancelled") {
      return { kind: "broken", stage: "cancelled", message: `the call of "${tool}" was cancelled` };
    }
    const stage = trouble.kind === "silent" ? "timeout" : "server";
    return {
      kind: "broken",
      stage,
      message: `server "${this.name}", called for "${tool}", ${link.explain(trouble).message}`,
    };
  }
}

function aboutOf({ client, link }: Session): JsonObject {
  const { name, version } = client.getServerVersion() ?? {};
  const protocol = client.getNegotiatedProtocolVersion();
  return {
    ...(name !== undefined && { name }),
    ...(version !== undefined && { version }),
    ...(protocol !== undefined && { protocol }),
    transport: link.kind,
  };
}

import type { JsonObject } from "./json.ts";
import type { Tool, ToolResult } from "./tool.ts";

/** The outcome of a call to a live server. `unknown-tool`: the server has no tool of that name. */
export type CallOutcome =
  | { kind: "result"; result: ToolResult }
  | { kind: "unknown-tool"; message: string }
  | { kind: "broken"; stage: "server" | "timeout" | "cancelled"; message: string };

/** A connected tool server. All servers, the reference server included, are used through this interface only. */
export type ToolServer = {
  readonly name: string;
  /** The name and version of the server, protocol revision and transport, for the record. */
  readonly about: JsonObject;
  /** Every tool, all pages. Throws EvalsError when the server cannot list. */
  list(signal: AbortSignal): Promise<readonly Tool[]>;
  /** Does not throw: a server that died, does not answer or sends invalid messages is a broken outcome. */
  call(tool: string, args: JsonObject, signal: AbortSignal): Promise<CallOutcome>;
  /** False after the server process or its connection has ended; then a new one must be opened. */
  alive(): boolean;
  /** Ends the connection and the whole process group. Does not throw; safe to call twice. */
  close(): Promise<void>;
};

import type { JsonObject } from "./json.ts";
import type { Tool, ToolResult } from "./tool.ts";

/** What a call to a live server came to. `unknown-tool`: the server has no tool of that name (both known forms). */
export type CallOutcome =
  | { kind: "result"; result: ToolResult }
  | { kind: "unknown-tool"; message: string }
  | { kind: "broken"; stage: "server" | "timeout" | "cancelled"; message: string };

/** A connected tool server. The harness meets every server, its own reference server too, through this and only this. */
export type ToolServer = {
  readonly name: string;
  /** The server's own name and version, protocol revision and transport, for the record. */
  readonly about: JsonObject;
  /** Every tool, all pages. Throws EvalsError when the server cannot list. */
  list(signal: AbortSignal): Promise<readonly Tool[]>;
  /** Must not throw: a server that died, never answers or sends garbage is a broken outcome. */
  call(tool: string, args: JsonObject, signal: AbortSignal): Promise<CallOutcome>;
  /** False once the server process or its connection is gone; then a new one must be opened. */
  alive(): boolean;
  /** Ends the connection and the whole process group. Does not throw; safe to call twice. */
  close(): Promise<void>;
};

import type * as Sdk from "@modelcontextprotocol/client";
import type { LocalStart } from "./diagnosis/start.ts";

export type ClientSdk = typeof Sdk;

/** Why a request failed: the connection was lost, no answer came in time, or the client threw. */
export type Failure =
  | { kind: "lost"; reason: string }
  | { kind: "silent"; ms: number }
  | { kind: "error"; error: unknown };

/**
 * `message` continues a sentence that starts with "Server …"; `hint` says how to fix it. `isExplained`: the message names the
 * cause.
 */
export type Explanation = { message: string; hint: string; isExplained?: boolean };

/** A transport to one server. */
export type Link = {
  readonly kind: "stdio" | "http" | "sse";
  readonly transport: Sdk.Transport;
  /** Aborts when the connection is lost or closed. Its reason continues a sentence that starts with "Server …". */
  readonly lost: AbortSignal;
  /** Called with errors that the client reports outside of requests, once it is connected. */
  onError?(error: unknown): void;
  explain(failure: Failure): Explanation;
  /** How the process of a local server has started so far. */
  start?(): LocalStart;
  /** Does not throw; safe to call twice. */
  close(): Promise<void>;
};

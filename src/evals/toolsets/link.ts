import type * as Sdk from "@modelcontextprotocol/client";

export type ClientSdk = typeof Sdk;

/** What went wrong with a request: the connection is gone, no answer came in time, or the client threw. */
export type Trouble =
  | { kind: "lost"; reason: string }
  | { kind: "silent"; ms: number }
  | { kind: "error"; error: unknown };

/** A trouble in words that follow "the server …", with what to do about it. */
export type Explanation = { message: string; hint: string };

/** A transport to one server, and what its troubles mean. */
export type Link = {
  readonly kind: "stdio" | "http" | "sse";
  readonly transport: Sdk.Transport;
  /** Aborts when the connection is lost or closed, with the reason in words that follow "the server". */
  readonly lost: AbortSignal;
  /** Told what the client reports out of band once it is connected. */
  onError?(error: unknown): void;
  explain(trouble: Trouble): Explanation;
  /** Does not throw; safe to call twice. */
  close(): Promise<void>;
};

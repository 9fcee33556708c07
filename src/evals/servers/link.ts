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

/**
 * Thrown for an answer that says nothing about the request itself: the session is lost (`session`), the server takes no
 * request now (`busy`), or a gateway had no answer from it (`gateway`), which may have processed the request.
 */
export class Unanswered extends Error {
  /** `code` is the HTTP status; `waitMs` how long the server asks to wait. */
  constructor(
    readonly kind: "session" | "busy" | "gateway",
    readonly code: number,
    text: string,
    readonly waitMs?: number,
  ) {
    super(text);
  }
}

/** An error with its causes, the outermost first. */
export function listCauses(error: unknown): unknown[] {
  const chain: unknown[] = [];
  for (let at = error; at instanceof Error && !chain.includes(at); at = at.cause) chain.push(at);
  return chain;
}

export const findUnanswered = (error: unknown) => listCauses(error).find((one) => one instanceof Unanswered);

/** The HTTP status that an error carries: `status` (Streamable HTTP) or a numeric `code` (SSE, `Unanswered`). */
export function readStatus(error: unknown): number | undefined {
  return listCauses(error)
    .flatMap((one) => {
      const { data, code } = one as { data?: { status?: unknown }; code?: unknown };
      return [data?.status, code];
    })
    .find((value): value is number => typeof value === "number" && value >= 400);
}

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

import type { Fault } from "./remote.ts";

/** The part of both SDKs' errors that is read here. Everything may be absent: a connection error has no status. */
type SdkError = Error & {
  status?: number;
  headers?: { get(name: string): string | null };
  requestID?: string | null;
  error?: unknown;
};

/**
 * What an SDK threw, as a fault. Transient are: broken connections, time-outs, statuses 408, 409, 429 and 5xx (unless
 * the service says otherwise in `x-should-retry`), and a body that is not JSON.
 */
export function faultOf(thrown: unknown, kind: { timeout: boolean; connection: boolean }, timeoutMs: number): Fault {
  if (kind.timeout) {
    const message = `no reply within ${timeoutMs / 1000} s (or no connection within 10 s)`;
    return { kind: "fault", stage: "timeout", message, transient: true };
  }
  if (!(thrown instanceof Error)) return lasting(String(thrown));
  if (kind.connection) return garbled(`the connection failed: ${deepest(thrown)}`);
  if (thrown instanceof SyntaxError) return garbled(`the reply is not JSON (${thrown.message})`);
  const error: SdkError = thrown;
  return error.status === undefined ? lasting(error.message) : statusFault(error, error.status);
}

/** A reply that cannot be read. Transient: a service that is well does not send such. */
export function garbled(message: string): Fault {
  return { kind: "fault", stage: "model", message, transient: true };
}

/** A fault that would come again. */
export function lasting(message: string): Fault {
  return { kind: "fault", stage: "model", message, transient: false };
}

function statusFault(error: SdkError, status: number): Fault {
  const said = error.headers?.get("x-should-retry");
  const transient = said === "true" || (said !== "false" && ([408, 409, 429].includes(status) || status >= 500));
  const retryAfterMs = askedWait(error);
  const request = error.requestID ? ` (request ${error.requestID})` : "";
  const fault = { kind: "fault", stage: "model", message: `${described(error, status)}${request}`, transient } as const;
  return { ...fault, ...(retryAfterMs !== undefined && { retryAfterMs }) };
}

/** `429 rate_limit_error: Too many requests`. One SDK keeps the whole body in `error`, the other its `error` member. */
function described(error: SdkError, status: number): string {
  const outer = error.error as { error?: unknown } | null | undefined;
  const detail = (outer?.error ?? outer ?? {}) as { type?: unknown; message?: unknown };
  const text = typeof detail.message === "string" ? detail.message : error.message.replace(/^\d{3} /, "");
  const type = typeof detail.type === "string" ? ` ${detail.type}` : "";
  return `${status}${type}: ${text.replace(/\s+/g, " ").slice(0, 400)}`;
}

/** `retry-after-ms`, or `retry-after` in seconds. A date (rare, and in need of a clock) is left to the usual wait. */
function askedWait({ headers }: SdkError): number | undefined {
  const ms = Number.parseFloat(headers?.get("retry-after-ms") ?? "");
  const seconds = Number(headers?.get("retry-after") ?? Number.NaN);
  const wait = Number.isFinite(ms) ? ms : seconds * 1000;
  return wait > 0 ? wait : undefined;
}

/** The message of the first cause: the SDKs wrap "connect ECONNREFUSED 127.0.0.1:1" in "Connection error." */
function deepest(error: Error): string {
  let cause: unknown = error;
  while (cause instanceof Error && cause.cause instanceof Error) cause = cause.cause;
  if (!(cause instanceof Error)) return error.message;
  const parts = cause instanceof AggregateError ? cause.errors : [];
  return cause.message || parts.map((part) => (part instanceof Error ? part.message : String(part))).join(", ");
}

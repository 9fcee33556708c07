import { setMaxListeners } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import type { Delay } from "../types/endpoint.ts";
import { messageOf } from "../types/errors.ts";
import { isNestedDeeper, maxDepth } from "../types/json.ts";
import type { Reply } from "../types/model.ts";
import { excerpt } from "../types/text.ts";
import type { Call, Turn } from "../types/trial.ts";
import { OversizedReplyError } from "./fetch.ts";

/** Why an attempt returned no reply, and whether it is worth a retry. `retryAfterMs` is what the service asked for. */
export type Fault = {
  kind: "fault";
  stage: "model" | "timeout";
  message: string;
  isTransient: boolean;
  retryAfterMs?: number;
};

export type Attempt = Fault | { kind: "turn"; turn: Omit<Turn, "ms">; native: unknown };

const maxWaitMs = 60_000;

/** The real delay, up to a quarter longer than asked for: requests refused together must not come back together. */
export const jitteredDelay: Delay = async (ms, signal) => {
  await sleep(ms * (1 + Math.random() / 4), undefined, { signal }).catch(() => undefined);
};

/**
 * Attempts until there is a turn, a permanent fault, or no retry left. Does not reject.
 *
 * The SDKs' own retries are off: they do not retry a reply that is cut off, empty or not JSON, and wait as long as a
 * service asks. Here all transient faults share one retry budget. Waits are 0.5, 1, 2, 4, 8, 8, ... seconds, or what the
 * service asked for up to a minute; a timeout is retried once only. So one ask ends within
 * (retries + 1) x timeout + retries x 75 s in the worst case.
 */
export async function askRemote(
  attempt: (signal: AbortSignal) => Promise<Attempt>,
  limits: { retries: number; delay: Delay },
  signal: AbortSignal,
): Promise<Reply> {
  if (signal.aborted) return cancelled;
  const startedAt = performance.now();
  // One controller per ask: an SDK that leaves listeners behind would fill up the run's signal.
  const own = new AbortController();
  const abort = () => own.abort(signal.reason);
  setMaxListeners(0, signal, own.signal);
  signal.addEventListener("abort", abort, { once: true });
  try {
    for (let made = 1; ; made++) {
      const result = await attempt(own.signal);
      if (result.kind === "turn") {
        return { kind: "turn", turn: { ...result.turn, ms: performance.now() - startedAt }, native: result.native };
      }
      if (signal.aborted) return cancelled;
      const maxAttempts = !result.isTransient ? 1 : result.stage === "timeout" ? 2 : Number.POSITIVE_INFINITY;
      if (made > limits.retries || made >= maxAttempts) return toBroken(result, made);
      await limits.delay(waitMs(result, made), own.signal);
      if (signal.aborted) return cancelled;
    }
  } catch (thrown) {
    return {
      kind: "broken",
      stage: "model",
      message: boundMessage(`the request could not be made: ${messageOf(thrown)}`),
    };
  } finally {
    signal.removeEventListener("abort", abort);
  }
}

const boundMessage = (message: string) => excerpt(message, 2_000);

export const cancelled: Reply = { kind: "broken", stage: "cancelled", message: "the request was cancelled" };

function waitMs({ retryAfterMs }: Fault, made: number): number {
  return Math.min(retryAfterMs ?? Math.min(500 * 2 ** (made - 1), 8_000), maxWaitMs);
}

function toBroken({ stage, message: whole }: Fault, made: number): Reply {
  const message = boundMessage(whole);
  return { kind: "broken", stage, message: made > 1 ? `${message} (after ${made} attempts)` : message };
}

/** A fault that a retry may fix, such as an unreadable reply. */
export function transientFault(message: string): Fault {
  return { kind: "fault", stage: "model", message, isTransient: true };
}

/** A fault that would occur again. */
export function permanentFault(message: string): Fault {
  return { kind: "fault", stage: "model", message, isTransient: false };
}

/** Limits of what a model wrote, far above what its limit of tokens lets it write. */
const maxArguments = 1024 * 1024;
const maxText = 256 * 1024;

/** The arguments of a call as the record can hold them: as text, cut, where they are too deep or too large. */
export function boundArguments(written: Pick<Call, "arguments" | "argumentsText">): typeof written {
  const { arguments: value, argumentsText: text } = written;
  if (isNestedDeeper(value)) return { argumentsText: `[nested more than ${maxDepth} levels deep]` };
  const whole = text ?? (typeof value === "object" ? JSON.stringify(value) : "");
  return whole.length > maxArguments ? { argumentsText: excerpt(whole, 4_096) } : written;
}

/** The text of a reply as the record can hold it. */
export const boundText = (text: string) => excerpt(text, maxText);

/** The common part of both SDKs' errors. Every field may be absent: a connection error has no status. */
type SdkError = Error & {
  status?: number;
  headers?: { get(name: string): string | null };
  requestID?: string | null;
  error?: unknown;
};

/**
 * Converts what an SDK threw into a fault. Transient are: broken connections, timeouts, statuses 408, 409, 429 and 5xx
 * (unless the service says otherwise in `x-should-retry`), and a body that is not JSON.
 */
export function toFault(
  thrown: unknown,
  { isTimeout, isConnection }: { isTimeout: boolean; isConnection: boolean },
  timeoutMs: number,
): Fault {
  if (isTimeout) {
    const message = `no reply within ${timeoutMs / 1000} s (or no connection within 10 s)`;
    return { kind: "fault", stage: "timeout", message, isTransient: true };
  }
  if (!(thrown instanceof Error)) return permanentFault(String(thrown));
  if (isConnection) return connectionFault(rootCause(thrown));
  if (thrown instanceof SyntaxError) return transientFault(`the reply is not JSON (${thrown.message})`);
  const error: SdkError = thrown;
  return error.status === undefined ? permanentFault(error.message) : statusFault(error, error.status);
}

/** OpenSSL's codes for a certificate whose issuer is not among the trusted ones. */
const untrustedIssuer = /UNABLE_TO_(VERIFY_LEAF_SIGNATURE|GET_ISSUER_CERT)|SELF_SIGNED_CERT/;

function connectionFault(cause: Error): Fault {
  if (cause instanceof OversizedReplyError) return permanentFault(cause.message);
  const failed = `the connection failed: ${connectionMessage(cause)}`;
  const code = "code" in cause ? String(cause.code) : "";
  if (!untrustedIssuer.test(code)) return transientFault(failed);
  return permanentFault(`${failed} (${code}); set NODE_EXTRA_CA_CERTS to a PEM file with your organization's CA`);
}

/** The SDKs wrap "connect ECONNREFUSED 127.0.0.1:1" in "Connection error." */
function rootCause(error: Error): Error {
  return error.cause instanceof Error ? rootCause(error.cause) : error;
}

function connectionMessage(cause: Error): string {
  return cause.message || (cause instanceof AggregateError ? cause.errors.map(messageOf).join(", ") : cause.name);
}

function statusFault(error: SdkError, status: number): Fault {
  const advice = error.headers?.get("x-should-retry");
  const isTransient = advice === "true" || (advice !== "false" && ([408, 409, 429].includes(status) || status >= 500));
  const retryAfterMs = readRetryAfter(error);
  const request = error.requestID ? ` (request ${error.requestID})` : "";
  const message = `${describeStatus(error, status)}${request}`;
  return { kind: "fault", stage: "model", message, isTransient, ...(retryAfterMs !== undefined && { retryAfterMs }) };
}

/** `429 rate_limit_error: Too many requests`. One SDK keeps the whole body in `error`, the other its `error` member. */
function describeStatus(error: SdkError, status: number): string {
  const outer = error.error as { error?: unknown } | null | undefined;
  const detail = (outer?.error ?? outer ?? {}) as { type?: unknown; message?: unknown };
  const text = typeof detail.message === "string" ? detail.message : error.message.replace(/^\d{3} /, "");
  const type = typeof detail.type === "string" ? ` ${detail.type}` : "";
  return `${status}${type}: ${text.replace(/\s+/g, " ").slice(0, 400)}`;
}

/** `retry-after-ms`, or `retry-after` in seconds. A date is rare and needs a clock: the usual wait is used. */
function readRetryAfter({ headers }: SdkError): number | undefined {
  const ms = Number.parseFloat(headers?.get("retry-after-ms") ?? "");
  const seconds = Number(headers?.get("retry-after") ?? Number.NaN);
  const wait = Number.isFinite(ms) ? ms : seconds * 1000;
  return wait > 0 ? wait : undefined;
}

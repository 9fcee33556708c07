import { setMaxListeners } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { OversizedReplyError, readWait } from "../../base/network.ts";
import { cut, excerpt, quote } from "../../base/text/text.ts";
import type { Delay } from "../../base/types/endpoint.ts";
import { messageOf, rootCause } from "../../base/types/errors.ts";
import { isNestedDeeper, maxDepth } from "../../base/types/json.ts";
import {
  type Attempt,
  boundMessage,
  type Fault,
  isRetried,
  type ModelRequest,
  permanentFault,
  type Reply,
  toBroken,
  transientFault,
} from "../../base/types/model.ts";
import { addUsage, broken, type Call, type ToolSearch, type Usage } from "../../base/types/trial.ts";
import { numberCalls, type Protocol, type ReceivedReply, readQuery } from "../protocols/protocol.ts";
import { Pacer, type Report, realClock } from "./pacer.ts";
import type { WireNames } from "./wireNames.ts";

const maxWaitMs = 60_000;
/** If a service asks for a longer wait than this, the model is stopped: a quota of hours or days is exhausted. */
const maxAskedWaitMs = 10 * 60_000;

/** Waits up to a quarter longer than asked, so that requests that were refused together are not retried together. */
export const jitteredDelay: Delay = async (ms, signal) => {
  await sleep(ms * (1 + Math.random() / 4), undefined, { signal }).catch(() => undefined);
};

/** The limits of all requests to one model. With the `delay` of a test, the pacer does not wait either. */
export function createLimits(retries: number, delay: Delay | undefined) {
  const pacer = new Pacer(retries + 1, delay ? { now: realClock.now, sleep: async () => {} } : realClock);
  return { retries, delay: delay ?? jitteredDelay, pacer };
}

/**
 * Tries until there is a turn, a permanent fault, or no retry left. Does not reject.
 *
 * The SDKs' own retries are off: they do not retry a reply that is cut off, empty or not JSON, and wait as long as a
 * service asks. Here all transient faults share one retry budget. Waits are 0.5, 1, 2, 4, 8, 8, ... seconds, or what
 * the service asked for, up to a minute; a wait of more than ten minutes stops the model. A timeout is retried only
 * once. `pacer` decides when an attempt is made, and ends all requests to a model that refuses or fails all of them.
 * Apart from its waits, one request ends within (retries + 1) x timeout + retries x 75 s in the worst case.
 */
export async function askRemote(
  { suite, case: id }: ModelRequest["cell"],
  attempt: (signal: AbortSignal) => Promise<Attempt>,
  limits: { retries: number; delay: Delay; pacer: Pacer },
  signal: AbortSignal,
): Promise<Reply> {
  if (signal.aborted) return cancelled;
  const startedAt = performance.now();
  const { pacer } = limits;
  let lost: Usage | undefined;
  const withLost = (reply: Reply): Reply => ({ ...reply, ...(lost && { lost }) });
  let resent = 0;
  // One controller per request, because an SDK that leaves listeners behind would fill up the run's signal.
  const own = new AbortController();
  const abort = () => own.abort(signal.reason);
  setMaxListeners(0, signal, own.signal);
  signal.addEventListener("abort", abort, { once: true });
  try {
    for (let made = 1, total = 1; ; total++) {
      const answersBefore = pacer.answers;
      const make = () => attempt(own.signal);
      const result = await pacer.send(own.signal, make, (one) => readReport(one, made, pacer, `${suite}/${id}`));
      if (signal.aborted) return withLost(cancelled);
      if (!result) {
        // The trial runs again when the run is resumed. Without any attempt it counts as cancelled, and need not be
        // recorded.
        const message = boundMessage(`not asked again: the model was stopped after: ${pacer.stopped ?? ""}`);
        return withLost({ ...broken(total > 1 ? "model" : "cancelled", message), again: true });
      }
      if (result.kind === "turn") {
        const turn = { ...result.turn, ms: performance.now() - startedAt, ...(resent > 0 && { resent }) };
        return withLost({ kind: "turn", turn, native: result.native });
      }
      if (result.usage) lost = addUsage(lost, result.usage);
      if (pacer.stopped !== undefined) return withLost({ ...toBroken(result, total), again: true });
      if (!isRetried(result, made, limits.retries)) return withLost(toBroken(result, total));
      if (!isTurnedAway(result)) resent++;
      await limits.delay(waitMs(result, made), own.signal);
      // Being throttled while other requests are answered is not a failure: requests are sent at the rate that is
      // granted.
      const isCrowded = isThrottled(result) && pacer.answers !== answersBefore;
      if (!isCrowded || total > maxThrottled) made++;
    }
  } catch (thrown) {
    return broken("model", boundMessage(`the request could not be made: ${messageOf(thrown)}`));
  } finally {
    signal.removeEventListener("abort", abort);
  }
}

/** A request that is throttled more often than this counts every further time as a failure. */
const maxThrottled = 50;

const isThrottled = ({ status }: Fault) => status === 429 || status === 529;

/** Whether the model never saw the request, so that its answer to the next attempt is no second draw. */
const isTurnedAway = (fault: Fault) =>
  isThrottled(fault) || fault.status === 503 || /ECONNREFUSED|ENOTFOUND|EAI_AGAIN/.test(fault.message);

/** Faults that every request to a model would have: a wrong or missing key, no credit, no permission, no such model. */
const refusedStatuses = [401, 402, 403, 404];
/** A part of the request that an error names, such as `tools.3.custom.input_schema` or `schema for function 'read'`. */
const requestPart =
  /\b(tools?|functions?|schema|parameters|properties|prompt|content|context|policy)\b|\b(messages?|input|system)[.[]/i;
/** The status of a request that is too large, which does not concern other requests. */
const tooLarge = 413;

/**
 * The report of an attempt to the pacer. A permanent fault may concern its request alone, except while no request has
 * been answered: then an error status counts as a refusal of all requests, and an unusable reply as a failure.
 */
function readReport(attempt: Attempt, made: number, { answers }: Pacer, about: string): Report {
  if (attempt.kind === "turn") return { kind: "answered" };
  const { status, message, isTransient, retryAfterMs = 0 } = attempt;
  if (retryAfterMs > maxAskedWaitMs) return { kind: "refused", message };
  const isFirst = answers === 0 && !isTransient;
  const isRefused = (code: number) => refusedStatuses.includes(code) || (isFirst && code < 500 && code !== tooLarge);
  if (status !== undefined && isRefused(status)) return { kind: "refused", message };
  // 529, an overloaded service, says nothing about the rate that it would grant.
  if (status === 429) return { kind: "throttled", message, waitMs: waitMs(attempt, made) };
  if (isTransient || isFirst) return { kind: "failed", message };
  // A part of the request that is at fault is that of one suite or case; "no credit left" names none.
  const isOfAll = status !== undefined && status !== tooLarge && !requestPart.test(message);
  if (!isOfAll) return { kind: "answered" };
  return { kind: "rejected", message: message.replace(/ \(request \S+\)$/, ""), about };
}

export const cancelled = broken("cancelled", "the request was cancelled");

function waitMs({ retryAfterMs }: Fault, made: number): number {
  return Math.min(retryAfterMs ?? Math.min(500 * 2 ** (made - 1), 8_000), maxWaitMs);
}

/**
 * A reply as an attempt: under the shown names of the tools, and within the limits of the record. One to the user
 * without a text, a call or a token is a fault of the service.
 * @param body the whole body, to which the SDKs add the id of the request
 * @param native what goes back to the provider
 */
export function toAttempt(
  reply: ReceivedReply | Fault,
  { toShown }: WireNames,
  { turn, messages, answerSchema }: Pick<ModelRequest, "turn" | "messages" | "answerSchema">,
  body: unknown,
  native: (calls: readonly Call[]) => unknown,
): Attempt {
  if ("kind" in reply) return reply;
  const { id, model, thoughts, calls: all, answered, usage, stop, problem } = reply;
  const text = reply.text || (answerSchema && thoughts) || "";
  if (problem) return { ...problem, usage };
  const isEmpty = stop === "done" && all.length === 0 && text.trim() === "" && usage.outputTokens === 0;
  if (isEmpty && messages.at(-1)?.role === "user")
    return { ...transientFault("the reply has neither a text nor a call, and no output tokens"), usage };
  const searches = all
    .filter(({ role }) => role === "search")
    .map((search): ToolSearch => {
      const { found = [] } = answered.find(({ callId }) => callId === search.id) ?? {};
      return { query: boundText(readQuery(search)), found: found.map(toShown) };
    });
  // The last call of a reply that was cut off may be incomplete, and one that a filter stopped is not the model's
  // answer.
  const whole = stop === "cut" || stop === "refused" ? [] : all.filter(({ role }) => role !== "search");
  const calls = numberCalls(whole, turn);
  const { _request_id: requestId } = body as { _request_id?: unknown };
  return {
    kind: "turn",
    native: native(calls),
    turn: {
      text: boundText(text),
      calls: calls.map(({ id: call, tool, ...args }) => ({ id: call, tool: toShown(tool), ...boundArguments(args) })),
      ...(searches.length > 0 && { searches }),
      stop,
      usage,
      ...(typeof requestId === "string" && { requestId }),
      ...(id !== "" && { responseId: id }),
      ...(model !== "" && { model }),
    },
  };
}

/** The reply of an SDK as an attempt, and what goes back of it. */
export function readAttempt(
  { parseReply, readBody, sendBack }: Protocol,
  reply: unknown,
  names: WireNames,
  request: ModelRequest,
): Attempt {
  const whole = parseReply(reply);
  if (!("body" in whole)) return whole;
  return toAttempt(readBody(whole.body), names, request, whole.body, (calls) => sendBack(whole.body, calls));
}

/** Limits of what a model wrote, far above what its token limit allows. */
const maxArguments = 1024 * 1024;
const maxText = 256 * 1024;

/** The arguments of a call as the record can hold them: as cut text if they are too deep or too large. */
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
 * Converts an error of an SDK into a fault. Broken connections, timeouts, statuses 408, 409, 429 and 5xx (unless the
 * service says otherwise in `x-should-retry`) and bodies that are not JSON are transient.
 */
export function toFault(thrown: unknown, kind: "timeout" | "connection" | "other", timeoutMs = 0): Fault {
  if (kind === "timeout") {
    const message = `no reply within ${timeoutMs / 1000} s (or no connection within 10 s); --timeout allows more`;
    return { kind: "fault", stage: "timeout", message, isTransient: true };
  }
  if (!(thrown instanceof Error)) return permanentFault(String(thrown));
  if (kind === "connection") return connectionFault(rootCause(thrown));
  if (thrown instanceof SyntaxError) return transientFault(`the reply is not JSON (${thrown.message})`);
  const error: SdkError = thrown;
  return error.status === undefined ? permanentFault(error.message) : statusFault(error, error.status);
}

/** Reads the errors of an SDK. Both SDKs have these two error classes. */
export const createFaultReader =
  (Timeout: new (...args: never[]) => Error, Connection: new (...args: never[]) => Error) =>
  (thrown: unknown, timeoutMs: number): Fault => {
    const kind = thrown instanceof Timeout ? "timeout" : thrown instanceof Connection ? "connection" : "other";
    return toFault(thrown, kind, timeoutMs);
  };

/** A tool by its position: in Bedrock from 1, in Gemini among declarations, else in the tools or a namespace. */
const toolPosition = new RegExp(
  [
    /\btools\.(?<first>\d+)\.member\b/,
    /\bfunction_?declarations[.[](?<declared>\d+)\b/,
    /\btools[.[/](?<at>\d+)\b(?!\]?\.function_?declarations)(?:\]?[.[/]tools[.[/](?<inner>\d+)\b)?/,
  ]
    .map(({ source }) => source)
    .join("|"),
  "i",
);

/** The tools of a request in their order, those of namespaces inside. */
export type SentTools = readonly { name: string; tools?: SentTools }[];

/** A fault with the name of the tool that it means by a position, as in `tools.19.custom.input_schema`. */
export function nameRefused<T extends Attempt>(fault: T, tools: SentTools): T {
  if (fault.kind !== "fault") return fault;
  const { 0: part = "", groups: { first, declared, at, inner } = {} } = toolPosition.exec(fault.message) ?? { 0: "" };
  const found = tools[first === undefined ? Number(declared ?? at) : Number(first) - 1];
  const { name } = (inner === undefined ? found : found?.tools?.[Number(inner)]) ?? {};
  if (name === undefined) return fault;
  return { ...fault, message: `${fault.message} (${part.replace(/\]?[.[/]/g, ".")} is ${quote(name)})` };
}

/** Words by which a service refuses the form of an answer (structured output). */
const formWords =
  /\bformat(?:ted output)?\b|(?:response|output|json)[_ ]?(?:format|schema|mode|mime_?type)|output_?config|structured[_ -](?:output|generation)|guided[_ ]|grammar|controlled generation/i;

/**
 * Attempts at a service that may refuse to be given the form of an answer: it is left out from the first refusal on.
 * The prompts that want a form state it too. `written`: the request as it is sent.
 */
export function withoutRefusedForm(
  attempt: (request: ModelRequest, signal: AbortSignal, written: ModelRequest) => Promise<Attempt>,
): (request: ModelRequest, signal: AbortSignal) => Promise<Attempt> {
  let isRefused = false;
  return async (request, signal) => {
    const { answerSchema, ...plain } = request;
    if (answerSchema === undefined) return attempt(request, signal, request);
    if (!isRefused) {
      const result = await attempt(request, signal, request);
      const status = result.kind === "fault" && formWords.test(result.message) ? result.status : undefined;
      if (status === undefined || ![400, 404, 415, 422, 500, 501].includes(status)) return result;
      isRefused = true;
    }
    return attempt(request, signal, plain);
  };
}

/** OpenSSL's codes for a certificate whose issuer is not among the trusted ones. */
const untrustedIssuer = /UNABLE_TO_(VERIFY_LEAF_SIGNATURE|GET_ISSUER_CERT)|SELF_SIGNED_CERT/;

function connectionFault(cause: Error): Fault {
  if (cause instanceof OversizedReplyError) return permanentFault(cause.message);
  const unnamed = cause instanceof AggregateError ? cause.errors.map(messageOf).join(", ") : cause.name;
  const failed = `the connection failed: ${cause.message || unnamed}`;
  const code = "code" in cause ? String(cause.code) : "";
  if (code === "ECONNREFUSED") return transientFault(`${failed}; no server listens there`);
  if (/wrong version|packet length/.test(failed)) return permanentFault("the server has no TLS: write http:// instead");
  if (!untrustedIssuer.test(code)) return transientFault(failed);
  return permanentFault(`${failed} (${code}); set NODE_EXTRA_CA_CERTS to a PEM file with your organization's CA`);
}

function statusFault(error: SdkError, status: number): Fault {
  const advice = error.headers?.get("x-should-retry");
  const isTransient = advice === "true" || (advice !== "false" && ([408, 409, 429].includes(status) || status >= 500));
  const retryAfterMs = readRetryAfter(error);
  const request = error.requestID ? ` (request ${error.requestID})` : "";
  const isLong = retryAfterMs !== undefined && retryAfterMs > maxAskedWaitMs;
  const asks = isLong ? `; it asks to wait ${Math.ceil(retryAfterMs / 60_000)} minutes` : "";
  const message = `${describeStatus(error, status)}${request}${asks}`;
  const wait = retryAfterMs !== undefined && { retryAfterMs };
  return { kind: "fault", stage: "model", message, isTransient, status, ...wait };
}

/** What a body says. One SDK keeps the whole body in `error`, the other its `error` member. */
function readDetail({ error }: SdkError): { type?: unknown; message?: unknown; retryAfterMs?: unknown } {
  return Object((error as { error?: unknown } | null | undefined)?.error ?? error);
}

/** `429 rate_limit_error: Too many requests`. */
function describeStatus(error: SdkError, status: number): string {
  const detail = readDetail(error);
  const text = typeof detail.message === "string" ? detail.message : error.message.replace(/^\d{3} /, "");
  const type = typeof detail.type === "string" ? ` ${detail.type}` : "";
  return `${status}${type}: ${cut(text.replace(/\s+/g, " "), 400)}`;
}

/** The wait that the headers ask for, or else the body, in ms. */
function readRetryAfter(error: SdkError): number | undefined {
  const wait = (error.headers && readWait(error.headers)) ?? Number(readDetail(error).retryAfterMs);
  return wait > 0 ? wait : undefined;
}

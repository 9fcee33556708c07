import type * as Sdk from "@modelcontextprotocol/client";
import { cut, quote } from "../base/text/text.ts";
import { formatIssues, messageOf } from "../base/types/errors.ts";
import { isJsonObject, type Json, type JsonObject, markWholes, parseJsonText } from "../base/types/json.ts";
import type { LocalStart } from "./diagnosis/start.ts";

export type ClientSdk = typeof Sdk;

/** Why a request failed: the connection was lost, no answer came in time, or the client threw. */
export type Failure =
  | { kind: "lost"; reason: string }
  | { kind: "silent"; ms: number }
  | { kind: "error"; error: unknown };

/**
 * `message` continues a sentence that starts with "Server …"; `hint` says how to fix it. `isExplained`: the message
 * names the cause. `rule`: what doctor calls it, where the start of a process does not show it.
 */
export type Explanation = { message: string; hint: string; isExplained?: boolean; rule?: string };

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

/** How servers say that a session is over. Words about one of several, as a tool may have them, are not meant. */
const lostSession =
  /^(?:[\w -]{1,30}: )?(?:(?:mcp[- ])?session(?:[- ]id)? (?:(?:is|was|has|been|does|no longer) )*(?:not found|not exist|exists|expired|terminated|closed|ended|invalid|unknown|not initialized)\b|(?:(?:invalid|unknown|expired|missing|no|valid|active|or) )+(?:mcp[- ])?session(?:[- ]id)?(?= header| provided| found|[.,;:!]|$)|(?:server )?not initialized)/i;

/** The error (with status 200) that says that the session is over; undefined for one about arguments, or of a tool. */
export function findLostSession(error: unknown, session: string | undefined): Unanswered | undefined {
  const { code, message } = Object(error) as { code?: unknown; message?: unknown };
  if (session === undefined || typeof message !== "string" || code === -32602 || code === -32603) return undefined;
  const said = message.replaceAll(session, "").replace(/["'\s]+/g, " ");
  return lostSession.test(said) ? new Unanswered("session", 200, message) : undefined;
}

/** An error with its causes, the outermost first. */
export function listCauses(error: unknown): unknown[] {
  const chain: unknown[] = [];
  for (let at = error; at instanceof Error && !chain.includes(at); at = at.cause) chain.push(at);
  return chain;
}

/** Thrown for an answer that the client would refuse. Its message is the fault, as a predicate. */
export class RefusedAnswer extends Error {}

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

/** What is wrong with a message, as a predicate. `answers`: a request, or with `hasNoId` perhaps a notification. */
export type RefusedMessage = { fault: string; answers: boolean; hasNoId?: true };

const unread = /^\s*\{[^{}]*"method":\s*"notifications\/(?:progress|message)"/;
/** Whether a text is a notification of progress or a log, which nothing reads: thousands may precede an answer. */
export const isUnread = (text: string) => unread.test(text);

const members = { request: ["jsonrpc", "id", "method", "params"], response: ["jsonrpc", "id", "result", "error"] };

/**
 * What is wrong with a text that is meant as a message of JSON-RPC 2.0 and not as a log line: the member at fault, what
 * is expected of it, and the message itself. Undefined if the client accepts it. `isAsked`: whether a request has this
 * id.
 */
export function explainRefusal(text: string, isAsked?: (id: string) => boolean): RefusedMessage | undefined {
  const message = parseJsonText(text);
  if (Array.isArray(message) && message.some((one) => isJsonObject(one) && one.jsonrpc !== undefined))
    return { fault: `sent a batch, which the protocol does not have: ${cut(text)}`, answers: true };
  if (message === undefined && text.includes('"jsonrpc"'))
    return { fault: `sent a message that is not one line of JSON: ${cut(text)}`, answers: false };
  if (!isJsonObject(message)) return undefined;
  const names = Object.keys(message);
  const answers = names.includes("id") && (names.includes("result") || names.includes("error"));
  const isMessage = names.includes("jsonrpc") || (answers && names.every((name) => members.response.includes(name)));
  const { id = null, error } = message;
  if (isAsked && isMessage && id === null && isJsonObject(error) && typeof error.message === "string") {
    // JSON-RPC has no id in an error about a request whose id could not be read.
    const what = /^-32[67]00$/.test(String(error.code)) ? "could not read a request" : "sent an error without an id";
    return { fault: `${what}: ${quote(cut(error.message))} (${error.code})`, answers, hasNoId: true };
  }
  const what = isMessage && findFault(message, names.includes("method") ? "request" : "response");
  if (what) return { fault: `sent a message that JSON-RPC does not permit: ${what}: ${cut(text)}`, answers };
  if (!isAsked || !isMessage || names.includes("method") || isAsked(String(message.id))) return undefined;
  return { fault: `sent an answer to no request (its id is another one): ${cut(text)}`, answers: false };
}

/** The text of a message in which large whole numbers of the structured content of a result are marked texts. */
export function markStructured(text: string): string {
  const marked = text.includes('"structuredContent"') ? markWholes(text) : text;
  if (marked === text) return text;
  const [message, exact] = [text, marked].map((one) => Object(parseJsonText(one)) as JsonObject);
  if (!isJsonObject(message?.result) || !isJsonObject(exact?.result) || exact.result.structuredContent === undefined)
    return text;
  const { structuredContent } = exact.result;
  return JSON.stringify({ ...message, result: { ...message.result, structuredContent } });
}

function findFault(message: JsonObject, kind: keyof typeof members): string | undefined {
  const { jsonrpc, id, result, error, params = {} } = message;
  if (jsonrpc !== "2.0") return describeFault("jsonrpc", '"2.0"', jsonrpc);
  const extra = Object.keys(message).find((name) => !members[kind].includes(name));
  if (extra !== undefined) return `"${extra}" is no member of a ${kind}`;
  const mayLackId = id === undefined && (kind === "request" || error !== undefined);
  if (!mayLackId && typeof id !== "string" && !Number.isInteger(id))
    return describeFault("id", "text or a whole number", id);
  if (kind === "request") return isJsonObject(params) ? undefined : describeFault("params", "an object", params);
  if (result !== undefined && error !== undefined) return 'it has both "result" and "error"';
  if (error === undefined) return isJsonObject(result) ? undefined : describeFault("result", "an object", result);
  if (!isJsonObject(error)) return describeFault("error", "an object", error);
  if (!Number.isInteger(error.code)) return describeFault("error.code", "a whole number", error.code);
  return typeof error.message === "string" ? undefined : describeFault("error.message", "text", error.message);
}

function describeFault(name: string, expected: string, given: Json | undefined): string {
  return `"${name}" must be ${expected}${given === undefined ? ", but is missing" : `, got ${cut(JSON.stringify(given), 60)}`}`;
}

/** With the issues as JSON, or as a path and what is wrong there, by the version of the SDK's validation. */
const refusedResult = /^Invalid result for (\S+): (\[.*\]|[\w.[\]]+: .*)$/s;

/** What is wrong with an answer that the client refused, as a predicate; undefined for another error. */
export function explainResult(error: unknown): string | undefined {
  const cause = listCauses(error).at(-1) ?? error;
  if (cause instanceof RefusedAnswer) return cause.message;
  const [, method, text = ""] = refusedResult.exec(messageOf(cause)) ?? [];
  const issues = parseJsonText(text);
  if (method === undefined) return undefined;
  const fault = Array.isArray(issues) ? formatIssues({ issues: issues as never }) : cut(text);
  return `sent a malformed result of ${method}: ${fault}`;
}

/** Explains a failure by an answer that the client refused. `refused`: what was wrong with the first one. */
export function explainRefused(failure: Failure, refused: string | undefined): Explanation | undefined {
  const isRefused = failure.kind === "silent" || (failure.kind === "lost" && failure.reason === refused);
  const fault = failure.kind === "error" ? explainResult(failure.error) : isRefused ? refused : undefined;
  const hint = "Correct this in the server: hosts fail on it as well.";
  return fault === undefined ? undefined : { rule: "protocol", message: `${fault}.`, hint, isExplained: true };
}

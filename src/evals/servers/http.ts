import type { AuthProvider, OAuthClientProvider } from "@modelcontextprotocol/client";
import { createPatientFetch, type Fetch, readBytes, readWait } from "../base/network.ts";
import { decodePercent } from "../base/secrets/secrets.ts";
import { cut, quoteWhole } from "../base/text/text.ts";
import { messageOf, usageError } from "../base/types/errors.ts";
import { isJsonObject, type Json, type JsonObject, parseJsonText, unmarkWholes } from "../base/types/json.ts";
import { findMissingKey } from "./diagnosis/signatures.ts";
import {
  type ClientSdk,
  type Explanation,
  explainRefusal,
  explainRefused,
  type Failure,
  findLostSession,
  findUnanswered,
  isUnread,
  type Link,
  listCauses,
  markStructured,
  RefusedAnswer,
  readStatus,
  Unanswered,
} from "./link.ts";
import type { Env, UrlSpec } from "./spec.ts";
import { useLogin } from "./tokens.ts";

const maxAnswerBytes = 10 * 1024 * 1024;
const terminateMs = 1_000;

/** A link to a server behind a URL. Throws EvalsError for a URL or a proxy that is not http or https. */
export function createHttpLink(spec: UrlSpec, sdk: ClientSdk, env: Env): Link {
  const kind = spec.transport ?? "http";
  const url = parseHttpUrl(spec.url);
  const shown = omitQuery(url);
  const headers = { ...takeCredentials(url), ...spec.headers };
  const loss = new AbortController();
  let refused: string | undefined;
  const redirecting = new Set<string>();
  const send = createPatientFetch(env);
  const sendNoting: Fetch = async (input, init) => {
    const response = await send(input, init);
    if (response.status >= 300 && response.status < 400) redirecting.add(omitQuery(new URL(String(input))));
    return response;
  };
  const isAuthorized = Object.keys(headers).some((name) => name.toLowerCase() === "authorization");
  const login = isAuthorized ? undefined : useLogin(spec.url, env);
  const options = {
    requestInit: { headers },
    ...(login && { authProvider: refreshTogether(login, sdk) }),
    fetch: createWatchedFetch(sendNoting, (what, error) => {
      const isRefused = error instanceof RefusedAnswer;
      // The older transport answers on another stream.
      if (isRefused && kind === "http") refused ??= error.message;
      if (what !== undefined) loss.abort(isRefused ? error.message : `${what} at ${shown} (${getRootMessage(error)})`);
    }),
  };
  const transport =
    kind === "sse" ? new sdk.SSEClientTransport(url, options) : new sdk.StreamableHTTPClientTransport(url, options);
  return {
    kind,
    transport,
    lost: loss.signal,
    onError: (error) => {
      // A new event stream is a new session: requests of the old one are never answered.
      if (error instanceof sdk.SseError) loss.abort(`broke the connection at ${shown} (${getRootMessage(error)})`);
    },
    explain: (failure) => explainRefused(failure, refused) ?? explain(shown, spec, failure, redirecting),
    close: async () => {
      loss.abort("was closed");
      const late = new Promise((resolve) => setTimeout(resolve, terminateMs).unref());
      if ("terminateSession" in transport) await Promise.race([transport.terminateSession().catch(() => {}), late]);
      await transport.close().catch(() => {});
    },
  };
}

/** A query may contain a secret. */
const omitQuery = ({ origin, pathname }: URL) => `${origin}${pathname}`;

function parseHttpUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url && ["http:", "https:"].includes(url.protocol)) return url;
  const hint = "Write the server's URL as https://host/path.";
  throw usageError(`"${text.split("?")[0]}" is not an http or https URL.`, hint);
}

/** Moves the user and password of the URL, where fetch refuses them, to the authorization header. */
function takeCredentials(url: URL): Record<string, string> {
  const pair = [url.username, url.password].map(decodePercent).join(":");
  url.username = "";
  url.password = "";
  return pair === ":" ? {} : { authorization: `Basic ${Buffer.from(pair).toString("base64")}` };
}

type Unauthorized = Parameters<NonNullable<AuthProvider["onUnauthorized"]>>[0];

/**
 * Requests that are refused together refresh the login once: a refresh token is valid for one use, so that the second
 * of two requests with it would be refused, and the login with it.
 */
function refreshTogether(login: OAuthClientProvider, sdk: ClientSdk): AuthProvider {
  let refreshing: Promise<void> | undefined;
  const refresh = async ({ response, serverUrl, fetchFn }: Unauthorized) => {
    const { resourceMetadataUrl, scope } = sdk.extractWWWAuthenticateParams(response);
    const where = { ...(resourceMetadataUrl && { resourceMetadataUrl }), ...(scope !== undefined && { scope }) };
    await sdk.auth(login, { serverUrl, fetchFn, ...where });
  };
  return {
    token: async () => (await login.tokens())?.access_token,
    onUnauthorized: async (context) => {
      refreshing ??= refresh(context).finally(() => {
        refreshing = undefined;
      });
      await refreshing;
    },
  };
}

/**
 * A `fetch` that reports when a POST can no longer be answered, and (undefined: nothing is lost) an answer that the
 * client passes over. The client does not end a request when the stream of its answer breaks: the end of a server would
 * be noticed by the timeout. It resumes a stream whose events have ids: its request is lost only when that fails.
 * Throws `Unanswered`.
 */
function createWatchedFetch(send: Fetch, onFault: (lost: string | undefined, error: unknown) => void): Fetch {
  let answered = false;
  let awaitsResumption = false;
  return async (input, init) => {
    const report = (error: unknown) => {
      if (!init?.signal?.aborted) onFault(answered ? "broke the connection" : "cannot be reached", error);
      return error;
    };
    if (init?.method !== "POST") {
      const response = await send(input, init);
      const isRefused = awaitsResumption && !response.ok && new Headers(init?.headers).has("last-event-id");
      awaitsResumption = false;
      if (isRefused) report(new Error(`the stream is not resumed: HTTP ${response.status}`));
      return response.body ? withBody(response, limitEvents(response.body, report)) : response;
    }
    const body = typeof init.body === "string" ? { body: unmarkWholes(init.body) } : {};
    const response = await send(input, { ...init, ...body }).catch((error: unknown) => {
      throw report(error);
    });
    answered = true;
    const sent = Object(typeof init.body === "string" ? parseJsonText(init.body) : undefined) as JsonObject;
    // An answer to what the server asks has an id too, and is not answered.
    const id = sent.method === undefined ? undefined : sent.id;
    let isOpen = id !== undefined;
    const check = (text: string) => {
      const refusal = explainRefusal(text, (one) => id === undefined || one === String(id));
      return refusal?.hasNoId && id === undefined ? undefined : refusal;
    };
    const pass = (fault: string) => onFault(undefined, new RefusedAnswer(fault));
    if (isOpen && response.status === 202) pass("accepted a request (HTTP 202) without an answer");
    if (!response.body) return response;
    if (response.ok && response.headers.get("content-type")?.includes("text/event-stream")) {
      const onBroken = (error: unknown, isResumable: boolean) => {
        if (!isResumable) return report(error);
        awaitsResumption = true;
        return error;
      };
      const onData = (data?: string) => {
        const refusal = data === undefined ? undefined : check(data);
        if (refusal?.answers && isOpen) throw report(new RefusedAnswer(refusal.fault));
        if (refusal) pass(refusal.fault);
        else if (data === undefined && isOpen) pass("ended the stream of its answer without one");
        else if (data !== undefined && Object(parseJsonText(data)).method === undefined) isOpen = false;
      };
      return withBody(response, limitEvents(response.body, report, { onBroken, onData }));
    }
    const bytes = await readBytes(response.body, maxAnswerBytes).catch((error: unknown) => {
      throw report(error);
    });
    if (!bytes) throw report(new Error("the answer is larger than 10 MiB"));
    const text = bytes.toString().replace(/^\uFEFF/, "");
    return response.ok ? readMessage(response, text, check, isOpen) : readRefusal(response, text, init, id);
  };
}

/** A complete answer. Throws `RefusedAnswer`. `isOpen`: it has to answer a request. */
function readMessage(response: Response, sent: string, check: typeof explainRefusal, isOpen: boolean): Response {
  const { status, statusText, headers } = response;
  const text = markStructured(sent);
  const refusal = check(text);
  if (refusal) throw new RefusedAnswer(refusal.fault);
  const { jsonrpc, method } = Object(parseJsonText(text)) as JsonObject;
  if (isOpen && headers.get("content-type")?.includes("json") && (jsonrpc === undefined || method !== undefined))
    throw new RefusedAnswer(`sent ${text.trim() === "" ? "nothing" : quoteWhole(cut(text))} for an answer`);
  // As bytes: a text without a type would be given one.
  return new Response([204, 205].includes(status) ? null : Buffer.from(text), { status, statusText, headers });
}

/**
 * A refused POST. An error of the protocol that answers its request is returned as the answer that it is, whatever the
 * status. Throws `Unanswered`.
 */
function readRefusal(response: Response, text: string, init: RequestInit, id: Json | undefined): Response {
  const { status, statusText, headers } = response;
  const fail = (kind: Unanswered["kind"]) => new Unanswered(kind, status, text, readWait(headers));
  const answer = parseJsonText(text);
  const isAnswer = isJsonObject(answer) && isJsonObject(answer.error) && id !== undefined && answer.id === id;
  const session = new Headers(init.headers).get("mcp-session-id") ?? undefined;
  // An expired login may be called a session too, and is answered with 401.
  const isNamed = status < 500 && status !== 401 && status !== 429 && /session|not initialized/i.test(text);
  const isLost = isAnswer ? findLostSession(answer.error, session) : isNamed || status === 404;
  if (session !== undefined && isLost) throw fail("session");
  if (status === 429 || status === 503) throw fail("busy");
  if (status > 500) throw fail("gateway");
  if (isAnswer && status !== 401 && status !== 403)
    return new Response(text, { status: 200, headers: { "content-type": "application/json" } });
  return new Response(text, { status, statusText, headers });
}

function withBody({ status, statusText, headers }: Response, body: AsyncIterable<Uint8Array>): Response {
  return new Response(ReadableStream.from(body), { status, statusText, headers });
}

const eventId = /^id:/m;

/**
 * Ends an event stream if one of its events is too large; the stream itself may be as long as a session. `answer` gets
 * the data of each event of an answer, whose last one may lack its empty line, and undefined at an end that nothing can
 * follow.
 */
async function* limitEvents(
  body: AsyncIterable<Uint8Array>,
  onExceeded: (error: unknown) => unknown,
  answer?: { onBroken(error: unknown, isResumable: boolean): unknown; onData(data?: string): void },
) {
  let held: Buffer[] = [];
  let bytes = 0;
  let tail = "";
  let isResumable = false;
  try {
    for await (const chunk of body) {
      const part = Buffer.from(chunk);
      // A blank line may be split over two chunks.
      const text = tail + part.toString("latin1");
      const present = blankLines.filter((blank) => text.includes(blank));
      const end = Math.max(0, ...present.map((blank) => text.lastIndexOf(blank) + blank.length - tail.length));
      tail = text.slice(-3);
      isResumable ||= eventId.test(text);
      bytes = end > 0 ? part.length - end : bytes + part.length;
      if (bytes > maxAnswerBytes) break;
      if (!answer) yield part;
      else if (end > 0) yield readEvents([...held, part.subarray(0, end)], answer.onData);
      if (answer) held = end > 0 ? [part.subarray(end)] : [...held, part];
    }
  } catch (error) {
    throw answer ? answer.onBroken(error, isResumable) : error;
  }
  if (bytes > maxAnswerBytes) throw onExceeded(new Error("an event is larger than 10 MiB"));
  if (!answer) return;
  yield readEvents([...held, Buffer.from("\n\n")], answer.onData);
  if (!isResumable) answer.onData();
}

const blankLines = ["\n\n", "\r\n\r\n", "\r\r"];

/** Whole events, in which results keep every digit of large numbers. */
function readEvents(parts: readonly Buffer[], onData: (data: string) => void): Buffer {
  const events = Buffer.concat(parts).toString();
  for (const event of events.split(/\r\n\r\n|\n\n|\r\r/)) {
    const data = [...event.matchAll(/^data:([^\r\n]*)/gm)].map(([, line = ""]) => line).join("\n");
    if (data.trim() !== "" && !isUnread(data)) onData(data);
  }
  const pass = (_: string, data: string) => (isUnread(data) ? ":" : `data: ${markStructured(data)}`);
  return Buffer.from(events.replace(/^data: ?([^\r\n]*)/gm, pass));
}

/** `redirecting`: the URLs that answered with a redirect. One that leads to such a URL is a loop. */
function explain(shown: string, { transport }: UrlSpec, failure: Failure, redirecting: Set<string>): Explanation {
  const hint = "Check the URL, and whether the server's transport is http (Streamable HTTP) or sse.";
  if (failure.kind === "silent")
    return { rule: "no-answer", message: `did not answer within ${failure.ms / 1000} s at ${shown}.`, hint };
  if (failure.kind === "lost" && /wrong version number|packet length/.test(failure.reason))
    return { rule: "tls", message: `has no TLS at ${shown}.`, hint: "Write http:// in place of https://." };
  if (failure.kind === "lost") {
    const [, rule, remedy] = networkErrors.find(([pattern]) => pattern.test(failure.reason)) ?? anyNetworkError;
    return { rule, message: `${failure.reason}.`, hint: remedy };
  }
  const chain = listCauses(failure.error);
  const status = findUnanswered(failure.error)?.code ?? readStatus(failure.error);
  if (status) {
    const words = chain.map(readWords).find(Boolean);
    const message = `answers with HTTP ${status} at ${shown}${words ? `: ${words}` : ""}.`;
    // Some services answer a missing key with another status, and name it in the body.
    const asksForKey = words !== undefined && findMissingKey(words, "running") !== undefined;
    return { message, ...explainStatus(asksForKey ? 401 : status, transport, shown) };
  }
  const root = getRootMessage(failure.error);
  const [, target] = /\bRedirect to (\S+) not followed/.exec(root) ?? [];
  if (target === undefined)
    return { rule: "not-mcp", message: `does not answer as an MCP server at ${shown}: ${root}.`, hint };
  const isLoop = redirecting.has(target);
  return {
    rule: "redirect",
    message: isLoop ? `redirects in a loop at ${shown}.` : `redirects from ${shown} to ${target}.`,
    hint: isLoop
      ? "Correct the redirects of the server."
      : "Use the target URL: hosts drop headers on redirects, or do not follow them.",
  };
}

type NetworkError = readonly [pattern: RegExp, rule: string, remedy: string];
const networkErrors: readonly NetworkError[] = [
  [/\bECONNREFUSED\b/, "port-refused", "Start the server, and check host and port of the URL, and its log."],
  [/\b(?:ENOTFOUND|EAI_AGAIN)\b/, "host-unknown", "Correct the URL, and check the network and its proxy."],
  [
    /certificate|\bCERT_/i,
    "certificate",
    "Install a trusted certificate, or set NODE_EXTRA_CA_CERTS to the file of its certificate authority.",
  ],
  [/\b(?:SSL|TLS|EPROTO)\b/, "tls", "Use the scheme that the server has: https:// with TLS, http:// without."],
  [/\bETIMEDOUT\b|timeout/i, "no-answer", "Check that it is running, and that no firewall blocks the connection."],
];
const anyNetworkError: NetworkError = [
  /(?:)/,
  "unreachable",
  "Check that the server is running, its host and port, and its log.",
];

function explainStatus(status: number, transport: UrlSpec["transport"], url: string): { rule: string; hint: string } {
  if (status === 401 || status === 403) {
    const hint = `Log in with \`evals login ${url}\`, or give its credentials under "headers" in .mcp.json or in a suite.`;
    return { rule: "credentials", hint };
  }
  if (status === 429)
    return { rule: "rate-limit", hint: "Ask less at a time with --concurrency, or raise the limit of the server." };
  if (status >= 500 || status === 200) return { rule: "server-fault", hint: "See the log of the server." };
  const other = transport === "http" ? "sse" : "http";
  const name = other === "sse" ? "with the older SSE transport" : "with Streamable HTTP";
  const hint =
    transport === undefined
      ? "Check the path of the URL: it answers neither Streamable HTTP nor the older SSE transport."
      : `Check the path of the URL; a server ${name} needs --transport ${other}, or "transport: ${other}" in a suite.`;
  return { rule: "no-endpoint", hint };
}

const maxWords = 2_000;
/** What a refusal says in its body, in quotes: the message of a JSON-RPC error, or a short text that is not a page. */
function readWords(error: unknown): string | undefined {
  const { data } = error as { data?: { text?: unknown } };
  const text = error instanceof Unanswered ? error.message : data?.text;
  if (typeof text !== "string" || text.trim() === "" || text.trim().startsWith("<")) return undefined;
  const body = parseJsonText(text);
  const message = isJsonObject(body) && isJsonObject(body.error) ? body.error.message : undefined;
  return quoteWhole(cut(typeof message === "string" ? message : text.trim(), maxWords));
}

const getRootMessage = (error: unknown) => cut(messageOf(listCauses(error).at(-1) ?? error));

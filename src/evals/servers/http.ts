import type { AuthProvider, OAuthClientProvider } from "@modelcontextprotocol/client";
import { createPatientFetch, type Fetch } from "../base/network.ts";
import { decodePercent } from "../base/secrets/secrets.ts";
import { cut, quoteWhole } from "../base/text/text.ts";
import { messageOf, usageError } from "../base/types/errors.ts";
import { isJsonObject, parseJsonText, unmarkWholes } from "../base/types/json.ts";
import {
  type ClientSdk,
  type Explanation,
  explainRefusal,
  explainResult,
  type Failure,
  type Link,
  listCauses,
  markStructured,
  readStatus,
  refusedHint,
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
  // Omits the query, which may contain a secret.
  const shown = `${url.origin}${url.pathname}`;
  const headers = { ...takeCredentials(url), ...spec.headers };
  const loss = new AbortController();
  const isAuthorized = Object.keys(headers).some((name) => name.toLowerCase() === "authorization");
  const login = isAuthorized ? undefined : useLogin(spec.url, env);
  const options = {
    requestInit: { headers },
    ...(login && { authProvider: refreshTogether(login, sdk) }),
    fetch: createWatchedFetch(createPatientFetch(env), (what, error) =>
      loss.abort(`${what} at ${shown} (${getRootMessage(error)})`),
    ),
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
    explain: (failure) => explain(shown, spec.transport, failure),
    close: async () => {
      loss.abort("was closed");
      if ("terminateSession" in transport) {
        await Promise.race([
          transport.terminateSession().catch(() => {}),
          new Promise((resolve) => setTimeout(resolve, terminateMs).unref()),
        ]);
      }
      await transport.close().catch(() => {});
    },
  };
}

function parseHttpUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url && ["http:", "https:"].includes(url.protocol)) return url;
  throw usageError(
    `"${text.split("?")[0]}" is not an http or https URL.`,
    "Write the server's URL as https://host/path.",
  );
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
 * Requests that are refused together refresh the login once: a refresh token is valid for one use, so that the second of two
 * requests with it would be refused, and the login with it.
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
 * A `fetch` that reports when a POST can no longer be answered. The client does not end a request when the stream of its
 * answer breaks, so without this, a server that dies during a call would only be noticed by the timeout. The client resumes a
 * stream whose events have ids, so that its request is lost only when that fails. Throws `Unanswered`.
 */
function createWatchedFetch(send: Fetch, onLost: (what: string, error: unknown) => void): Fetch {
  let answered = false;
  let awaitsResumption = false;
  return async (input, init) => {
    const report = (error: unknown) => {
      if (!init?.signal?.aborted) onLost(answered ? "broke the connection" : "cannot be reached", error);
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
    if (!response.body) return response;
    if (response.ok && response.headers.get("content-type")?.includes("text/event-stream")) {
      const onBroken = (error: unknown, isResumable: boolean) => {
        if (!isResumable) return report(error);
        awaitsResumption = true;
        return error;
      };
      return withBody(response, limitEvents(response.body, report, onBroken));
    }
    const limited = withBody(response, limitSize(response.body, report));
    return response.ok ? await readMessage(limited) : await readRefusal(limited, init);
  };
}

/** A complete answer. Throws an `Error` that names the fault of a message that the client would refuse. */
async function readMessage(response: Response): Promise<Response> {
  const { status, statusText, headers } = response;
  const text = markStructured(await response.text());
  const refusal = explainRefusal(text.replace(/^\uFEFF/, ""));
  if (refusal) throw new Error(refusal.fault);
  // As bytes: a text without a type would be given one.
  return new Response([204, 205].includes(status) ? null : Buffer.from(text), { status, statusText, headers });
}

/**
 * A refused POST. An error of the protocol that answers its request is returned as the answer that it is, whatever the
 * status. Throws `Unanswered`.
 */
async function readRefusal(response: Response, init: RequestInit): Promise<Response> {
  const { status, statusText, headers } = response;
  const text = await response.text();
  const fail = (kind: Unanswered["kind"]) => new Unanswered(kind, status, text, readWait(headers.get("retry-after")));
  const sent = typeof init.body === "string" ? parseJsonText(init.body) : undefined;
  const answer = parseJsonText(text);
  const isAnswer = isJsonObject(answer) && isJsonObject(answer.error) && isJsonObject(sent) && answer.id === sent.id;
  if (new Headers(init.headers).has("mcp-session-id")) {
    const isNamed = [400, 404, 410].includes(status) && /session|not initialized/i.test(text);
    if (isNamed || (status === 404 && !isAnswer)) throw fail("session");
  }
  if (status === 429 || status === 503) throw fail("busy");
  if (status > 500) throw fail("gateway");
  if (isAnswer && status !== 401 && status !== 403)
    return new Response(text, { status: 200, headers: { "content-type": "application/json" } });
  return new Response(text, { status, statusText, headers });
}

/** The milliseconds of a `retry-after` header: seconds, or a date. */
function readWait(header: string | null): number | undefined {
  if (header === null) return undefined;
  const ms = /^[\d.]+$/.test(header.trim()) ? Number(header) * 1000 : Date.parse(header) - Date.now();
  return Number.isFinite(ms) ? Math.max(0, ms) : undefined;
}

function withBody({ status, statusText, headers }: Response, body: AsyncIterable<Uint8Array>): Response {
  return new Response(ReadableStream.from(body), { status, statusText, headers });
}

const eventId = /^id:/m;

/**
 * Ends an event stream if one of its events is too large; the stream itself may be as long as a session. `onBroken` is for the
 * stream of an answer, whose last event may lack its empty line.
 */
async function* limitEvents(
  body: AsyncIterable<Uint8Array>,
  onExceeded: (error: unknown) => unknown,
  onBroken?: (error: unknown, isResumable: boolean) => unknown,
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
      if (!onBroken) yield part;
      else if (end > 0) yield markEvents([...held, part.subarray(0, end)]);
      if (onBroken) held = end > 0 ? [part.subarray(end)] : [...held, part];
    }
  } catch (error) {
    throw onBroken ? onBroken(error, isResumable) : error;
  }
  if (bytes > maxAnswerBytes) throw onExceeded(new Error("an event is larger than 10 MiB"));
  if (onBroken) yield markEvents([...held, Buffer.from("\n\n")]);
}

const blankLines = ["\n\n", "\r\n\r\n", "\r\r"];

/** Whole events, in which results keep every digit of large numbers. */
function markEvents(parts: readonly Buffer[]): Buffer {
  const events = Buffer.concat(parts).toString();
  return Buffer.from(events.replace(/^data: ?(.*)$/gm, (_, data: string) => `data: ${markStructured(data)}`));
}

async function* limitSize(body: AsyncIterable<Uint8Array>, report: (error: unknown) => unknown) {
  let bytes = 0;
  try {
    for await (const chunk of body) {
      bytes += chunk.length;
      if (bytes > maxAnswerBytes) throw new Error("the answer is larger than 10 MiB");
      yield chunk;
    }
  } catch (error) {
    throw report(error);
  }
}

function explain(shown: string, transport: UrlSpec["transport"], failure: Failure): Explanation {
  const hint = "Check the URL, and whether the server's transport is http (Streamable HTTP) or sse.";
  const malformed = failure.kind === "error" ? explainResult(failure.error) : undefined;
  if (malformed !== undefined) return { message: `${malformed}.`, hint: refusedHint };
  if (failure.kind === "silent") return { message: `did not answer within ${failure.ms / 1000} s at ${shown}.`, hint };
  if (failure.kind === "lost")
    return { message: `${failure.reason}.`, hint: "Check that the server is running, its host and port, and its log." };
  const chain = listCauses(failure.error);
  const status = readStatus(failure.error);
  if (status) {
    const words = chain.map(readWords).find(Boolean);
    return {
      message: `answers with HTTP ${status} at ${shown}${words ? `: ${words}` : ""}.`,
      hint: hintForStatus(status, transport, shown),
    };
  }
  return { message: `does not answer as an MCP server at ${shown}: ${getRootMessage(failure.error)}.`, hint };
}

function hintForStatus(status: number, transport: UrlSpec["transport"], url: string): string {
  if (status === 401 || status === 403)
    return `Log in with evals login ${url}, or give its credentials under "headers".`;
  if (status === 429) return "Ask less at a time with --concurrency, or raise the limit of the server.";
  if (status >= 500) return "See the log of the server.";
  if (transport === undefined)
    return "Check the path of the URL: it answers neither Streamable HTTP nor the older SSE transport.";
  return transport === "http"
    ? 'Check the path of the URL; a server with the older SSE transport needs --transport sse, or "transport: sse" in a suite.'
    : 'Check the path of the URL; a Streamable HTTP server needs --transport http, or "transport: http" in a suite.';
}

/** What a refusal says in its body, in quotes: the message of a JSON-RPC error, or a short text that is not a page. */
function readWords(error: unknown): string | undefined {
  const { data } = error as { data?: { text?: unknown } };
  const text = error instanceof Unanswered ? error.message : data?.text;
  if (typeof text !== "string" || text.trim() === "" || text.trim().startsWith("<")) return undefined;
  const body = parseJsonText(text);
  const message = isJsonObject(body) && isJsonObject(body.error) ? body.error.message : undefined;
  return quoteWhole(cut(typeof message === "string" ? message : text.trim()));
}

function getRootMessage(error: unknown): string {
  return cut(messageOf(listCauses(error).at(-1) ?? error));
}

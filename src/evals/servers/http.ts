import { type Fetch, openFetch } from "../base/network/proxy.ts";
import { cut } from "../base/text/text.ts";
import { messageOf, usageError } from "../base/types/errors.ts";
import type { ClientSdk, Explanation, Failure, Link } from "./link.ts";
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
    ...(login && { authProvider: login }),
    fetch: createWatchedFetch(openFetch(env), (what, error) =>
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
    explain: (failure) => explain(shown, kind, failure),
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
  const pair = [url.username, url.password].map(decodeURIComponent).join(":");
  url.username = "";
  url.password = "";
  return pair === ":" ? {} : { authorization: `Basic ${Buffer.from(pair).toString("base64")}` };
}

/**
 * A `fetch` that reports when a POST can no longer be answered. The client does not end a request when the stream of its
 * answer breaks, so without this, a server that dies during a call would only be noticed by the timeout.
 */
function createWatchedFetch(send: Fetch, onLost: (what: string, error: unknown) => void): Fetch {
  let answered = false;
  return async (input, init) => {
    if (init?.method !== "POST") {
      const response = await send(input, init);
      if (!response.body) return response;
      const limited = limitEvents(response.body, (error) => onLost("broke the connection", error));
      return withBody(response, limited);
    }
    const report = (error: unknown) => {
      if (!init.signal?.aborted) onLost(answered ? "broke the connection" : "cannot be reached", error);
      return error;
    };
    const response = await send(input, init).catch((error: unknown) => {
      throw report(error);
    });
    answered = true;
    if (!response.body) return response;
    return withBody(response, limitSize(response.body, report));
  };
}

function withBody({ status, statusText, headers }: Response, body: AsyncIterable<Uint8Array>): Response {
  return new Response(ReadableStream.from(body), { status, statusText, headers });
}

/** Ends an event stream if one of its events is too large. The stream itself may be as long as a session. */
async function* limitEvents(body: AsyncIterable<Uint8Array>, onExceeded: (error: Error) => void) {
  let bytes = 0;
  for await (const chunk of body) {
    const text = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    const end = Math.max(text.lastIndexOf("\n\n"), text.lastIndexOf("\r\n\r\n"), text.lastIndexOf("\r\r"));
    bytes = end < 0 ? bytes + chunk.length : chunk.length - end;
    if (bytes > maxAnswerBytes) {
      const error = new Error("an event is larger than 10 MiB");
      onExceeded(error);
      throw error;
    }
    yield chunk;
  }
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

function explain(shown: string, kind: "http" | "sse", failure: Failure): Explanation {
  const hint = "Check the URL, and whether the server's transport is http (Streamable HTTP) or sse.";
  if (failure.kind === "silent") return { message: `did not answer within ${failure.ms / 1000} s at ${shown}.`, hint };
  if (failure.kind === "lost")
    return { message: `${failure.reason}.`, hint: "Check that the server is running, its host and port, and its log." };
  const chain = listCauses(failure.error);
  const status = chain.map(getStatus).find(Boolean);
  if (status) return { message: `answers with HTTP ${status} at ${shown}.`, hint: hintForStatus(status, kind, shown) };
  return { message: `does not answer as an MCP server at ${shown}: ${getRootMessage(failure.error)}.`, hint };
}

function hintForStatus(status: number, kind: "http" | "sse", url: string): string {
  if (status === 401 || status === 403)
    return `Log in with evals login ${url}, or give its credentials under "headers".`;
  if (status >= 500) return "See the log of the server.";
  return kind === "http"
    ? 'Check the path of the URL; a server with the older SSE transport needs --transport sse, or "transport: sse" in a suite.'
    : 'Check the path of the URL; a Streamable HTTP server needs --transport http, or "transport: http" in a suite.';
}

function listCauses(error: unknown): unknown[] {
  const chain: unknown[] = [];
  for (let at = error; at instanceof Error && !chain.includes(at); at = at.cause) chain.push(at);
  return chain;
}

function getRootMessage(error: unknown): string {
  return cut(messageOf(listCauses(error).at(-1) ?? error));
}

/** The HTTP status that the SDK's errors carry: `status` (Streamable HTTP) or a numeric `code` (SSE). */
function getStatus(error: unknown): number | undefined {
  const { data, code } = error as { data?: { status?: unknown }; code?: unknown };
  return [data?.status, code].find((value): value is number => typeof value === "number" && value >= 400);
}

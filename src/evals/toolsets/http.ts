import { messageOf, usageError } from "../errors.ts";
import type { ClientSdk, Explanation, Link, Trouble } from "./link.ts";
import type { UrlSpec } from "./spec.ts";

const maxAnswerBytes = 10 * 1024 * 1024;
const goodbyeMs = 1_000;

/** A link to a server behind a URL. Throws EvalsError for a URL that is not http or https. */
export function httpLink(spec: UrlSpec, sdk: ClientSdk): Link {
  const kind = spec.transport ?? "http";
  const url = httpUrl(spec.url);
  const shown = showUrl(url);
  const headers = { ...basicAuth(url), ...spec.headers };
  const loss = new AbortController();
  const options = {
    requestInit: { headers },
    fetch: watchedFetch((what, error) => loss.abort(`${what} at ${shown} (${rootMessage(error)})`)),
  };
  const transport =
    kind === "sse" ? new sdk.SSEClientTransport(url, options) : new sdk.StreamableHTTPClientTransport(url, options);
  return {
    kind,
    transport,
    lost: loss.signal,
    onError: (error) => {
      // A new event stream is a new session: answers to the requests of the old one never come.
      if (error instanceof sdk.SseError) loss.abort(`broke the connection at ${shown} (${rootMessage(error)})`);
    },
    explain: (trouble) => explain(shown, kind, trouble),
    close: async () => {
      loss.abort("was closed");
      if ("terminateSession" in transport) {
        await Promise.race([
          transport.terminateSession().catch(() => {}),
          new Promise((resolve) => setTimeout(resolve, goodbyeMs).unref()),
        ]);
      }
      await transport.close().catch(() => {});
    },
  };
}

function httpUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url && ["http:", "https:"].includes(url.protocol)) return url;
  throw usageError(
    `"${text.split("?")[0]}" is not an http or https URL`,
    "Write the server's url as https://host/path.",
  );
}

/** Takes user and password out of the URL, where fetch refuses them, and puts them where HTTP wants them. */
function basicAuth(url: URL): Record<string, string> {
  const pair = [url.username, url.password].map(decodeURIComponent).join(":");
  url.username = "";
  url.password = "";
  return pair === ":" ? {} : { authorization: `Basic ${Buffer.from(pair).toString("base64")}` };
}

/** A URL without what may be a secret in it: a query. */
function showUrl(url: URL): string {
  return `${url.origin}${url.pathname}`;
}

/**
 * `fetch`, telling when the answer to a POST cannot come any more. The client ends no request when its answer stream
 * breaks, so a server that dies during a call would else be found out by the time-out.
 */
function watchedFetch(onLost: (what: string, error: unknown) => void): typeof fetch {
  let answered = false;
  return async (input, init) => {
    if (init?.method !== "POST") return fetch(input, init);
    const report = (error: unknown) => {
      if (!init.signal?.aborted) onLost(answered ? "broke the connection" : "cannot be reached", error);
      return error;
    };
    const response = await fetch(input, init).catch((error: unknown) => {
      throw report(error);
    });
    answered = true;
    if (!response.body) return response;
    const { status, statusText, headers } = response;
    return new Response(ReadableStream.from(bounded(response.body, report)), { status, statusText, headers });
  };
}

async function* bounded(body: AsyncIterable<Uint8Array>, report: (error: unknown) => unknown) {
  let bytes = 0;
  try {
    for await (const chunk of body) {
      bytes += chunk.length;
      if (bytes > maxAnswerBytes) throw new Error("an answer of more than 10 MiB");
      yield chunk;
    }
  } catch (error) {
    throw report(error);
  }
}

function explain(shown: string, kind: "http" | "sse", trouble: Trouble): Explanation {
  const hint = "Check the url, and whether the server's transport is http (Streamable HTTP) or sse.";
  if (trouble.kind === "silent") return { message: `did not answer within ${trouble.ms / 1000} s at ${shown}`, hint };
  if (trouble.kind === "lost") {
    return { message: trouble.reason, hint: "Is the server running? Check host and port, and the server's own log." };
  }
  const chain = causes(trouble.error);
  const status = chain.map(statusOf).find(Boolean);
  if (status) return { message: `answers HTTP ${status} at ${shown}`, hint: statusHint(status, kind) };
  return { message: `does not answer as an MCP server at ${shown}: ${rootMessage(trouble.error)}`, hint };
}

function statusHint(status: number, kind: "http" | "sse"): string {
  if (status === 401 || status === 403) return "Give the credentials that it asks for under headers.";
  if (status >= 500) return "The server failed: see its own log.";
  return kind === "http"
    ? "Check the url's path; a server of the older SSE transport needs transport: sse."
    : "Check the url's path; a Streamable HTTP server needs transport: http.";
}

function causes(error: unknown): unknown[] {
  const chain: unknown[] = [];
  for (let at = error; at instanceof Error && !chain.includes(at); at = at.cause) chain.push(at);
  return chain;
}

function rootMessage(error: unknown): string {
  return messageOf(causes(error).at(-1) ?? error).slice(0, 200);
}

/** The HTTP status that the SDK's errors carry: `status` (Streamable HTTP) or a numeric `code` (SSE). */
function statusOf(error: unknown): number | undefined {
  const { data, code } = error as { data?: { status?: unknown }; code?: unknown };
  return [data?.status, code].find((value): value is number => typeof value === "number" && value >= 400);
}

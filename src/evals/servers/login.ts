import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type {
  OAuthClientProvider,
  OAuthDiscoveryState,
  StoredOAuthClientInformation,
  StoredOAuthTokens,
} from "@modelcontextprotocol/client";
import { abortAfter, type Fetch, openFetch, readBytes } from "../base/network.ts";
import { knownSecrets } from "../base/secrets/secrets.ts";
import { cut, excerpt } from "../base/text/text.ts";
import { EvalsError, messageOf, usageError } from "../base/types/errors.ts";
import { type Env, serverError } from "./spec.ts";
import { clientMetadata, TokenStore } from "./tokens.ts";

export type LoginSettings = {
  env: Env;
  signal: AbortSignal;
  /** Shows the page on which the user grants access. */
  open(page: string): void;
  /** The id of a client that was registered by hand. Absent: the client registers itself. */
  clientId?: string | undefined;
  /** Scopes to request, separated by spaces. Absent: those that the server names. */
  scope?: string | undefined;
  /** Absent: any free port. */
  port?: number | undefined;
  /** The maximum wait for the user, in ms. */
  timeoutMs: number;
};

/**
 * Logs in to a server by OAuth 2.1 with PKCE: finds its authorization server, registers a client, shows the page,
 * receives the code on a loopback port and stores the tokens. Returns false if the server needs no login. Throws
 * EvalsError.
 */
export async function login(url: string, settings: LoginSettings): Promise<boolean> {
  const { env, signal, timeoutMs } = settings;
  const secrets = knownSecrets(env);
  secrets.addUrl("login", url);
  const sdk = await import("@modelcontextprotocol/client");
  const fetchFn = createBoundedFetch(openFetch(env), signal, Math.min(requestMs, timeoutMs));
  const challenge = await findChallenge(url, fetchFn);
  if (!challenge) return false;
  const { resourceMetadataUrl, scope: named } = sdk.extractWWWAuthenticateParams(challenge);
  const scope = settings.scope ?? named;
  const discovered = { ...(resourceMetadataUrl && { resourceMetadataUrl }), ...(scope !== undefined && { scope }) };
  const callback = await receiveCallback(abortAfter(signal, timeoutMs), settings.port);
  try {
    const provider = createProvider(url, callback, settings);
    const options = { serverUrl: url, ...discovered, fetchFn };
    if ((await sdk.auth(provider, options)) === "AUTHORIZED") return true;
    const { code, iss } = await callback.answer;
    secrets.add("login", code);
    await sdk.auth(provider, { ...options, authorizationCode: code, ...(iss !== undefined && { iss }) });
    return true;
  } catch (error) {
    if (error instanceof EvalsError) throw error;
    const reason = excerpt(secrets.redact(messageOf(error)), 500);
    const hint = "Check the URL, and whether the server permits clients to register; else give --client-id.";
    throw serverError(`The login at ${url} failed: ${reason}.`, hint);
  } finally {
    callback.close();
  }
}

/**
 * The answer of a server that requires a login; undefined if it needs none. Some servers let everybody initialize, and
 * require a login only to list the tools.
 */
async function findChallenge(url: string, send: Fetch): Promise<Response | undefined> {
  const headers = { accept: "application/json, text/event-stream", "content-type": "application/json" };
  const client = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "tool-evals", version: "0" } };
  let session: Record<string, string> = {};
  for (const [method, params] of [["initialize", client] as const, ["tools/list", {}] as const]) {
    const body = JSON.stringify({ jsonrpc: "2.0", id: 0, method, params });
    const response = await send(url, { method: "POST", headers: { ...headers, ...session }, body }).catch((error) => {
      throw serverError(`${url} cannot be reached: ${messageOf(error)}.`, "Check the URL and the network.");
    });
    void response.body?.cancel().catch(() => {});
    if (response.status === 401) return response;
    const id = response.headers.get("mcp-session-id");
    if (id !== null) session = { "mcp-session-id": id };
  }
  return undefined;
}

/** Registers a client for this login, and stores the tokens of the authorization server. */
function createProvider(url: string, { redirectUrl, state }: Callback, settings: LoginSettings): OAuthClientProvider {
  const { env, open, clientId } = settings;
  const store = new TokenStore(url, env);
  const secret = env.OAUTH_CLIENT_SECRET;
  let client: StoredOAuthClientInformation | undefined;
  let verifier = "";
  let discovery: OAuthDiscoveryState | undefined;
  return {
    redirectUrl,
    clientMetadata: clientMetadata(redirectUrl),
    state: () => state,
    // A client that was registered by hand belongs to the authorization server that the first request finds.
    clientInformation: (context) => {
      const more = { ...(secret && { client_secret: secret }), ...(context && { issuer: context.issuer }) };
      if (clientId !== undefined) client ??= { client_id: clientId, ...more };
      return client;
    },
    saveClientInformation: (registered) => {
      client = registered;
      if (registered.client_secret !== undefined) knownSecrets(env).add("login", registered.client_secret);
    },
    tokens: () => undefined,
    saveTokens: (tokens: StoredOAuthTokens) => store.write({ tokens, ...(client && { client }) }),
    saveCodeVerifier: (text) => {
      verifier = text;
      knownSecrets(env).add("login", text);
    },
    codeVerifier: () => verifier,
    // The code goes to the authorization server of the page, whatever the server names later.
    saveDiscoveryState: (state) => {
      discovery = state;
    },
    discoveryState: () => discovery,
    redirectToAuthorization: (page) => {
      // The system opens the page, and it would open a URL of another scheme with another program.
      const message = `The login at ${url} has a page that is not on the web: ${excerpt(page.href, 100)}.`;
      const hint = "Do not open it, and tell whoever runs the server.";
      if (!/^https?:$/.test(page.protocol)) throw serverError(message, hint);
      open(page.href);
    },
  };
}

/** The maximum wait for an answer of a server or its authorization server, in ms, and the maximum size of its body. */
const requestMs = 30_000;
const maxBytes = 1024 * 1024;

/**
 * A `fetch` for a login. It follows no redirect, because the code and its verifier are for one origin. An answer that
 * is too large or too slow is an error.
 */
function createBoundedFetch(send: Fetch, signal: AbortSignal, ms: number): Fetch {
  return async (input, init) => {
    const limit = abortAfter(init?.signal ? AbortSignal.any([signal, init.signal]) : signal, ms);
    const response = await send(input, { ...init, redirect: "manual", signal: limit });
    const { status, statusText, headers } = response;
    const where = new URL(input instanceof Request ? input.url : input).origin;
    if (status >= 300 && status < 400) throw new Error(`${where} redirects elsewhere, which a login does not follow`);
    // The event stream of a server without a login may never end.
    const isRead = response.body && !headers.get("content-type")?.includes("text/event-stream");
    if (!isRead) void response.body?.cancel().catch(() => {});
    const bytes = await readBytes(isRead ? response.body : null, maxBytes);
    if (!bytes) throw new Error(`an answer of ${where} is larger than 1 MiB`);
    const isEmpty = [204, 205].includes(status);
    return new Response(isEmpty ? null : new Uint8Array(bytes), { status, statusText, headers });
  };
}

type Callback = {
  redirectUrl: string;
  /** Proves that an answer belongs to this login. */
  state: string;
  /** Rejects when the user denies access, and when the signal aborts. */
  answer: Promise<{ code: string; iss?: string }>;
  close(): void;
};

/** Waits on a loopback port for the browser, which delivers the code of the authorization server. */
async function receiveCallback(signal: AbortSignal, port = 0): Promise<Callback> {
  const state = randomBytes(16).toString("base64url");
  const server = createServer();
  server.listen(port, "127.0.0.1");
  await once(server, "listening").catch((error: unknown) => {
    throw usageError(`The port ${port} is not free: ${messageOf(error)}.`, "Choose another one with --port.");
  });
  const answer = new Promise<{ code: string; iss?: string }>((resolve, reject) => {
    const refuse = (why: string) =>
      reject(serverError(`The login was not completed: ${why}.`, "Run the command again, and permit access."));
    signal.addEventListener("abort", () => refuse("nobody answered in time"), { once: true });
    server.on("request", (req, res) => {
      const { pathname, searchParams } = new URL(req.url ?? "/", "http://127.0.0.1");
      const reply = (status: number, text: string) => {
        res.writeHead(status, { "content-type": "text/plain; charset=utf-8", connection: "close" }).end(`${text}\n`);
      };
      if (pathname !== "/callback" || searchParams.get("state") !== state) return reply(404, "Not found.");
      const [code, error, iss] = ["code", "error", "iss"].map((name) => searchParams.get(name));
      reply(200, code ? "You are logged in. Close this page." : "Access was refused. Close this page.");
      if (code) resolve({ code, ...(iss && { iss }) });
      else refuse(`the server answered ${cut(searchParams.get("error_description") ?? error ?? "nothing")}`);
    });
  });
  // Prevents an unhandled rejection: the answer is awaited only after the page is shown.
  answer.catch(() => {});
  const { port: free } = server.address() as AddressInfo;
  const close = () => {
    server.close();
    server.closeAllConnections();
  };
  return { redirectUrl: `http://127.0.0.1:${free}/callback`, state, answer, close };
}

import { randomUUID } from "node:crypto";
import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { SSEServerTransport } from "@modelcontextprotocol/sdk/server/sse.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { isInitializeRequest } from "@modelcontextprotocol/sdk/types.js";
import { createGuard, urlHost } from "./guard.ts";
import { HttpError, readJson, sendError } from "./requests.ts";
import { createServer } from "./server.ts";

type Handler = (request: IncomingMessage, response: ServerResponse, url: URL) => Promise<void>;

/** Path -> method -> handler. */
type Routes = Record<string, Record<string, Handler>>;

/** `newServer` makes the server of one session; a session is closed after `idleMs` without a request. */
type EndpointOptions = { newServer(): Server; maxSessions: number; idleMs: number; maxBodyBytes: number };

/** What a transport serves: `path` is the one that clients are given. */
type Endpoint = { path: string; routes: Routes; close(): Promise<void> };

/** Server-sent events: a GET opens a session, which lasts as long as its event stream; messages are posted separately. */
function sseEndpoint({ newServer, maxSessions, idleMs, maxBodyBytes }: EndpointOptions): Endpoint {
  const sessions = new Sessions<SSEServerTransport>(maxSessions, idleMs);
  const routes: Routes = {
    "/sse": {
      GET: async (_request, response) => {
        const transport = new SSEServerTransport("/messages", response);
        await sessions.open(transport.sessionId, transport, newServer());
        sessions.find(transport.sessionId, response);
      },
    },
    "/messages": {
      POST: async (request, response, url) => {
        const id = url.searchParams.get("sessionId");
        if (id === null) throw new HttpError(400, "The sessionId is missing. Open the event stream at /sse first.");
        sessions.find(id);
        const body = await readJson(request, maxBodyBytes);
        // The session may have ended while the body was read.
        await sessions.find(id).handlePostMessage(request, response, body);
      },
    },
  };
  return { path: "/sse", routes, close: () => sessions.closeAll() };
}

/** Streamable HTTP: an initialize request opens a session; GET is its event stream, and DELETE ends it. */
function streamableEndpoint({ newServer, maxSessions, idleMs, maxBodyBytes }: EndpointOptions): Endpoint {
  const sessions = new Sessions<StreamableHTTPServerTransport>(maxSessions, idleMs);

  async function open(request: IncomingMessage, response: ServerResponse, body: unknown): Promise<void> {
    if (!isInitializeRequest(body)) {
      throw new HttpError(400, "The Mcp-Session-Id header is missing. Send an initialize request first.");
    }
    const id = randomUUID();
    const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: () => id });
    await sessions.open(id, transport, newServer());
    await transport.handleRequest(request, response, body);
    // The transport refused the request for another reason, such as its Accept header: no client knows the session.
    if (transport.sessionId === undefined) await transport.close();
  }

  const inSession = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    await sessions.find(sessionId(request) ?? "", response).handleRequest(request, response);
  };

  const routes: Routes = {
    "/mcp": {
      GET: inSession,
      POST: async (request, response) => {
        const id = sessionId(request);
        if (id !== undefined) sessions.find(id);
        const body = await readJson(request, maxBodyBytes);
        if (id === undefined) return open(request, response, body);
        // The session may have ended while the body was read.
        await sessions.find(id, response).handleRequest(request, response, body);
      },
      DELETE: inSession,
    },
  };
  return { path: "/mcp", routes, close: () => sessions.closeAll() };
}

function sessionId(request: IncomingMessage): string | undefined {
  return request.headers["mcp-session-id"]?.toString();
}

/** `answering`: its responses that are still open, an event stream among them. */
type Session<T> = { server: Server; transport: T; idle: NodeJS.Timeout; answering: number };

/**
 * The open sessions of one listener by id, least recently used first, each closed after `idleMs` without a request. There
 * are at most `limit`. Because most clients never end their session, a new session replaces the least recently used one, if
 * possible one without an open response.
 */
class Sessions<T extends Transport> {
  readonly #open = new Map<string, Session<T>>();
  readonly #limit: number;
  readonly #idleMs: number;

  constructor(limit: number, idleMs: number) {
    this.#limit = limit;
    this.#idleMs = idleMs;
  }

  /** Connects a new server to the transport. */
  async open(id: string, transport: T, server: Server): Promise<void> {
    if (this.#open.size >= this.#limit) await this.#dropOldest();
    // The timer alone does not keep the process alive.
    const idle = setTimeout(() => void server.close(), this.#idleMs).unref();
    this.#open.set(id, { server, transport, idle, answering: 0 });
    server.onclose = () => {
      clearTimeout(idle);
      this.#open.delete(id);
    };
    await server.connect(transport);
  }

  /**
   * The transport of a session, which counts as used now and until the response, if one is given, is closed. Throws
   * HttpError 404 for an unknown session.
   */
  find(id: string, response?: ServerResponse): T {
    const session = this.#open.get(id);
    if (!session) {
      throw new HttpError(404, "Session not found: it was closed or never opened. Open a new one.", {}, -32001);
    }
    session.idle.refresh();
    this.#open.delete(id);
    this.#open.set(id, session);
    if (response) {
      session.answering++;
      response.once("close", () => session.answering--);
    }
    return session.transport;
  }

  async closeAll(): Promise<void> {
    await Promise.all([...this.#open.values()].map(({ server }) => server.close()));
  }

  async #dropOldest(): Promise<void> {
    const sessions = [...this.#open.values()];
    const oldest = sessions.find(({ answering }) => answering === 0) ?? sessions[0];
    await oldest?.server.close();
  }
}

export type ListenOptions = {
  transport: "sse" | "http";
  /** The server's name. */
  name: string;
  host: string;
  /** 0: any free port. */
  port: number;
  /** Names under which clients reach the server, in addition to the loopback names and `host`. */
  allowHosts: readonly string[];
  /** A session is closed after this time without a request. */
  idleMs: number;
  maxSessions?: number;
  maxBodyBytes?: number;
};

/** `url` is the endpoint for clients; `close` ends all sessions and connections. */
export type Listener = { url: string; close(): Promise<void> };

/** Starts to listen. Rejects with the error of the system when the address is not available. */
export async function listen(options: ListenOptions): Promise<Listener> {
  const { transport, name, host, port, allowHosts, idleMs, maxSessions = 64, maxBodyBytes = 1024 * 1024 } = options;
  const endpointOptions = { newServer: () => createServer(name), maxSessions, idleMs, maxBodyBytes };
  const endpoint = transport === "sse" ? sseEndpoint(endpointOptions) : streamableEndpoint(endpointOptions);
  const refusal = createGuard(host, allowHosts);

  const http = createHttpServer({ requestTimeout: 30_000 }, async (request, response) => {
    try {
      const reason = refusal(request.headers);
      if (reason !== undefined) throw new HttpError(403, reason);
      await route(endpoint.routes, request, response);
    } catch (thrown) {
      sendError(response, thrown);
    }
  });
  await new Promise<void>((resolve, reject) => {
    http.once("error", reject).listen(port, host, resolve);
  });

  return {
    url: `http://${urlHost(host)}:${(http.address() as AddressInfo).port}${endpoint.path}`,
    async close() {
      const closed = new Promise<void>((resolve) => http.close(() => resolve()));
      await endpoint.close();
      http.closeAllConnections();
      await closed;
    },
  };
}

async function route(routes: Routes, request: IncomingMessage, response: ServerResponse): Promise<void> {
  // The base is only there to parse path and query; a target like `//x` must remain a path.
  const url = new URL(`http://localhost${request.url?.startsWith("/") ? request.url : "/"}`);
  const methods = Object.hasOwn(routes, url.pathname) ? routes[url.pathname] : undefined;
  if (!methods) {
    throw new HttpError(404, `Path not found. The endpoints are ${Object.keys(routes).join(" and ")}.`);
  }
  const method = request.method ?? "";
  const handler = Object.hasOwn(methods, method) ? methods[method] : undefined;
  if (!handler) {
    const allow = Object.keys(methods).join(", ");
    throw new HttpError(405, `The method ${method} is not allowed here. Use ${allow}.`, { allow });
  }
  await handler(request, response, url);
}

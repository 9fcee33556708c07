import { randomUUID } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { SSEServerTransport } from "@modelcontextprotocol/sdk/server/sse.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { isInitializeRequest } from "@modelcontextprotocol/sdk/types.js";
import { HttpError, readJson } from "./requests.ts";

type Handler = (request: IncomingMessage, response: ServerResponse, url: URL) => Promise<void>;

/** Path -> method -> handler. */
export type Routes = Record<string, Record<string, Handler>>;

/** `newServer` makes the server of one session; a session is closed after `idleMs` without a request. */
export type EndpointOptions = { newServer(): Server; maxSessions: number; idleMs: number; maxBodyBytes: number };

/** What a transport serves: `path` is the one that clients are given. */
export type Endpoint = { path: string; routes: Routes; close(): Promise<void> };

/** Server-sent events: a GET opens a session, which lasts as long as its event stream; messages are posted separately. */
export function sseEndpoint({ newServer, maxSessions, idleMs, maxBodyBytes }: EndpointOptions): Endpoint {
  const sessions = new Sessions<SSEServerTransport>(maxSessions, idleMs);
  const routes: Routes = {
    "/sse": {
      GET: async (_request, response) => {
        const transport = new SSEServerTransport("/messages", response);
        await sessions.open(transport.sessionId, transport, newServer());
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
export function streamableEndpoint({ newServer, maxSessions, idleMs, maxBodyBytes }: EndpointOptions): Endpoint {
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
    await sessions.find(sessionId(request) ?? "").handleRequest(request, response);
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
        await sessions.find(id).handleRequest(request, response, body);
      },
      DELETE: inSession,
    },
  };
  return { path: "/mcp", routes, close: () => sessions.closeAll() };
}

function sessionId(request: IncomingMessage): string | undefined {
  return request.headers["mcp-session-id"]?.toString();
}

/** The open sessions of one listener by id: at most `limit`, each closed after `idleMs` without a request. */
class Sessions<T extends Transport> {
  readonly #open = new Map<string, { server: Server; transport: T; idle: NodeJS.Timeout }>();
  readonly #limit: number;
  readonly #idleMs: number;

  constructor(limit: number, idleMs: number) {
    this.#limit = limit;
    this.#idleMs = idleMs;
  }

  /** Connects a new server to the transport. Throws HttpError 503 when `limit` sessions are open. */
  async open(id: string, transport: T, server: Server): Promise<void> {
    if (this.#open.size >= this.#limit) {
      const message = `Too many sessions: ${this.#limit} are open. Close one or try again later.`;
      throw new HttpError(503, message, { "retry-after": "60" });
    }
    // The timer alone does not keep the process alive.
    const idle = setTimeout(() => void server.close(), this.#idleMs).unref();
    this.#open.set(id, { server, transport, idle });
    server.onclose = () => {
      clearTimeout(idle);
      this.#open.delete(id);
    };
    await server.connect(transport);
  }

  /** The transport of a session; resets its idle time. Throws HttpError 404 for an unknown session. */
  find(id: string): T {
    const session = this.#open.get(id);
    if (!session) {
      throw new HttpError(404, "Session not found: it was closed or never opened. Open a new one.", {}, -32001);
    }
    session.idle.refresh();
    return session.transport;
  }

  async closeAll(): Promise<void> {
    await Promise.all([...this.#open.values()].map(({ server }) => server.close()));
  }
}

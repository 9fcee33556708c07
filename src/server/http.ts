import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { type Routes, sseEndpoint, streamableEndpoint } from "./endpoints.ts";
import { createGuard, urlHost } from "./guard.ts";
import { HttpError, sendError } from "./requests.ts";
import { createServer } from "./server.ts";

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
  // The base is there to parse path and query only; a target like `//x` must remain a path.
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

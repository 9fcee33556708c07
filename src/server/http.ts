import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from "node:http";
import { type AddressInfo, isIP } from "node:net";
import { SSEServerTransport } from "@modelcontextprotocol/sdk/server/sse.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
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
  /** How long a client may take to send a request. Default: 30 s. */
  requestTimeoutMs?: number;
};

/** `url` is the endpoint for clients; `close` ends all connections. */
export type Listener = { url: string; close(): Promise<void> };

/** Starts to listen. Rejects with the error of the system when the address is not available. */
export async function listen(options: ListenOptions): Promise<Listener> {
  const { transport, name, host, port, allowHosts, requestTimeoutMs: requestTimeout = 30_000 } = options;
  const endpoint = transport === "sse" ? new SseEndpoint(name) : new StreamableEndpoint(name);
  let checks: HostChecks = {};
  const http = createHttpServer(
    { requestTimeout, connectionsCheckingInterval: requestTimeout },
    (request, response) => {
      endpoint.answer(request, response, checks).catch((error: unknown) => {
        console.error("error:", error);
        response.destroy();
      });
    },
  );
  await new Promise<void>((resolve, reject) => {
    http.once("error", reject).listen(port, host, resolve);
  });

  const address = `${urlHost(host)}:${(http.address() as AddressInfo).port}`;
  checks = createHostChecks(address, isLoopback(host), allowHosts);
  return {
    url: `http://${address}${endpoint.path}`,
    close: () =>
      new Promise((resolve) => {
        http.close(() => resolve());
        http.closeAllConnections();
      }),
  };
}

/** Whether only this machine can reach the address. */
export function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || (isIP(host) === 4 && host.startsWith("127."));
}

/** A host as written in a URL: IPv6 addresses in brackets. */
export function urlHost(host: string): string {
  return isIP(host) === 6 ? `[${host}]` : host;
}

/** The SDK's protection against DNS rebinding. It compares whole headers, port included. */
type HostChecks = { enableDnsRebindingProtection?: boolean; allowedHosts?: string[]; allowedOrigins?: string[] };

/**
 * A web page can reach a local server under the name of its own site. So the Host must name this server, and an Origin,
 * which browsers send, must be a page of this server. A server that listens beyond loopback is reached under addresses
 * that it cannot know: it checks only if it is given its names.
 */
function createHostChecks(address: string, isLocal: boolean, allowHosts: readonly string[]): HostChecks {
  if (!isLocal && allowHosts.length === 0) return {};
  const port = new URL(`http://${address}`).port || "80";
  const names = ["localhost", "127.0.0.1", "[::1]", ...allowHosts.map(urlHost)];
  const allowedHosts = [address, ...names.map((name) => `${name}:${port}`), ...(port === "80" ? names : [])];
  return {
    enableDnsRebindingProtection: true,
    allowedHosts,
    allowedOrigins: allowedHosts.map((one) => `http://${one}`),
  };
}

/** Streamable HTTP without sessions: every request has its own server, because `echo` remembers nothing. */
class StreamableEndpoint {
  readonly path = "/mcp";

  constructor(private readonly name: string) {}

  async answer(request: IncomingMessage, response: ServerResponse, checks: HostChecks): Promise<void> {
    if (request.url !== this.path) return refuse(response, 404, `The endpoint is ${this.path}.`);
    // Without sessions, there is no stream to open and nothing to delete.
    if (request.method !== "POST") return refuse(response, 405, "Use POST.");
    const transport = new StreamableHTTPServerTransport(checks);
    const server = createServer(this.name);
    response.once("close", () => void server.close());
    // With exactOptionalPropertyTypes, the SDK's class does not implement the SDK's interface.
    await server.connect(transport as Transport);
    await transport.handleRequest(request, response);
  }
}

/** Server-sent events: a GET opens a session, which lasts as long as its event stream; messages are posted to it. */
class SseEndpoint {
  readonly path = "/sse";
  readonly #sessions = new Map<string, SSEServerTransport>();

  constructor(private readonly name: string) {}

  async answer(request: IncomingMessage, response: ServerResponse, checks: HostChecks): Promise<void> {
    const [path, query] = (request.url ?? "").split("?");
    if (path === this.path && request.method === "GET") {
      const transport = new SSEServerTransport("/messages", response, checks);
      this.#sessions.set(transport.sessionId, transport);
      response.once("close", () => this.#sessions.delete(transport.sessionId));
      return createServer(this.name).connect(transport);
    }
    if (path !== "/messages" || request.method !== "POST") {
      return refuse(response, 404, `Open the event stream with GET ${this.path}, and POST to the URL that it names.`);
    }
    const session = this.#sessions.get(new URLSearchParams(query).get("sessionId") ?? "");
    if (!session) return refuse(response, 404, "Session not found: its event stream is closed. Open a new one.");
    await session.handlePostMessage(request, response);
  }
}

function refuse(response: ServerResponse, status: number, message: string): void {
  response
    .writeHead(status, { "content-type": "application/json", ...(status === 405 && { allow: "POST" }) })
    .end(JSON.stringify({ jsonrpc: "2.0", error: { code: -32000, message }, id: null }));
}

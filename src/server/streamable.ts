import { randomUUID } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { isInitializeRequest } from "@modelcontextprotocol/sdk/types.js";
import type { EndpointOptions, Routes } from "./http.ts";
import { HttpError, readJson } from "./requests.ts";
import { Sessions } from "./sessions.ts";

/** Streamable HTTP: an initialize request opens a session; GET is its event stream, and DELETE ends it. */
export function streamableEndpoint({ newServer, maxSessions, idleMs, maxBodyBytes }: EndpointOptions) {
  const sessions = new Sessions<StreamableHTTPServerTransport>(maxSessions, idleMs);

  async function open(request: IncomingMessage, response: ServerResponse, body: unknown): Promise<void> {
    if (!isInitializeRequest(body)) {
      throw new HttpError(400, "The Mcp-Session-Id header is missing. Send an initialize request first.");
    }
    const id = randomUUID();
    const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: () => id });
    await sessions.open(id, transport, newServer());
    await transport.handleRequest(request, response, body);
    // The transport refused the request for another reason, such as its Accept header: nobody knows the session.
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
        // Looked up again: the session may have ended while the body came in.
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

import { SSEServerTransport } from "@modelcontextprotocol/sdk/server/sse.js";
import type { EndpointOptions, Routes } from "./http.ts";
import { HttpError, readJson } from "./requests.ts";
import { Sessions } from "./sessions.ts";

/** Server-sent events: a GET opens a session, which lasts as long as its event stream; messages are posted beside. */
export function sseEndpoint({ newServer, maxSessions, idleMs, maxBodyBytes }: EndpointOptions) {
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
        // Looked up again: the session may have ended while the body came in.
        await sessions.find(id).handlePostMessage(request, response, body);
      },
    },
  };
  return { path: "/sse", routes, close: () => sessions.closeAll() };
}

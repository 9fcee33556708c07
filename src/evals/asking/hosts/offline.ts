import { text } from "node:stream/consumers";
import { startLoopback } from "../../base/network/loopback.ts";
import { findProtocol } from "../protocols/index.ts";

/** A provider on this machine whose model answers "Done." to everything. `bodies` are the model requests, in order. */
type OfflineProvider = { url: string; bodies: readonly string[]; close(): Promise<void> };

/** Starts a free provider that shows what a host sends. */
export async function startOfflineProvider(): Promise<OfflineProvider> {
  const bodies: string[] = [];
  const { http, url } = await startLoopback(async (request, response) => {
    const body = await text(request);
    const protocol = findProtocol((request.url ?? "").split("?", 1)[0] ?? "");
    if (!protocol) return void response.writeHead(404).end();
    bodies.push(body);
    response.writeHead(200, { "content-type": "text/event-stream" }).end(protocol.writeReply("Done."));
  });
  return {
    url,
    bodies,
    async close() {
      http.closeAllConnections();
      await new Promise((done) => http.close(done));
    },
  };
}

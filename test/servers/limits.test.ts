import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, expect, it } from "vitest";
import { connect } from "../../src/evals/servers/connect.ts";

let stop = async () => {};
afterEach(() => stop());

/** A server of the older SSE transport whose stream is written by `write`. */
async function serveStream(
  write: (send: (part: string | Buffer) => boolean, drained: () => Promise<unknown>) => Promise<void>,
) {
  let sent = 0;
  const server = createServer((_, response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.on("error", () => {});
    const send = (part: string | Buffer) => {
      sent += part.length;
      return response.write(part);
    };
    response.setMaxListeners(0);
    const drained = () => Promise.race([once(response, "drain"), once(response, "close")]);
    void write((part) => !response.destroyed && send(part), drained);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  stop = async () => {
    server.closeAllConnections();
    await new Promise((done) => server.close(done));
  };
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/sse`, sent: () => sent };
}

it("ends an event stream of the older SSE transport whose event does not end", async () => {
  const part = Buffer.alloc(1024 * 1024, "x");
  const { url, sent } = await serveStream(async (send, drained) => {
    send("event: endpoint\ndata: ");
    for (let at = 0; at < 200; at++) if (!send(part)) await drained();
  });
  const spec = { url, transport: "sse" as const, startTimeoutMs: 20_000 };
  const opening = connect(spec, { name: "sut", dir: "/", env: {}, signal: new AbortController().signal });
  await expect(opening).rejects.toThrow("an event is larger than 10 MiB");
  // What was sent beyond the limit waits in the buffers of the two sockets.
  expect(sent()).toBeLessThan(60 * 1024 * 1024);
});

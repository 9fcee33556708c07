import { once } from "node:events";
import { createServer } from "node:http";
import { type AddressInfo, createServer as listenTo, connect as openSocket } from "node:net";
import { PassThrough, Writable } from "node:stream";
import * as sdk from "@modelcontextprotocol/client";
import { afterEach, expect, it } from "vitest";
import { connect } from "../../src/evals/servers/connect.ts";
import { createHttpLink } from "../../src/evals/servers/http.ts";
import type { Link } from "../../src/evals/servers/link.ts";
import { withDeadline } from "../../src/evals/servers/session.ts";
import { createStdioLink } from "../../src/evals/servers/stdio.ts";

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

const answer = { jsonrpc: "2.0", id: 1, result: { content: [] } };
const flood = [
  { jsonrpc: "2.0", method: "notifications/progress", params: { progressToken: 1, progress: 5 } },
  { method: "notifications/message", params: { level: "info", data: "{}" }, jsonrpc: "2.0" },
  // A malformed one changes no answer either, and hosts ignore it.
  { method: "notifications/progress" },
  { jsonrpc: "2.0", method: "notifications/message", params: "starting", level: "info" },
];

/** A link to a process that writes these lines, and does not read. */
function linkTo(stdout: PassThrough): Link {
  const stdin = new Writable({ write() {}, highWaterMark: 1 });
  const ended = new Promise<string>(() => {});
  const process = { pid: 1, stdin, stdout, ended, stderrTail: () => "", stop: async () => {} };
  return createStdioLink(process as never, sdk, (seen) => seen as never);
}

it("does not give the client progress and log messages, of which thousands may precede an answer", async () => {
  const stdout = new PassThrough();
  const { url } = await serveStream(async (send) => {
    for (const one of [...flood, answer]) send(`event: message\ndata: ${JSON.stringify(one)}\n\n`);
  });
  const links = [linkTo(stdout), createHttpLink({ url, transport: "http" }, sdk, {})];
  for (const { transport, close, explain } of links) {
    const received: unknown[] = [];
    const isDone = new Promise<void>((resolve) => {
      transport.onmessage = (message) => {
        received.push(message);
        if ("result" in message) resolve();
      };
    });
    await transport.start();
    const request = transport.send({ jsonrpc: "2.0", id: 1, method: "tools/call", params: {} });
    stdout.write([...flood, answer].map((one) => `${JSON.stringify(one)}\n`).join(""));
    await Promise.race([isDone, request.then(() => isDone)]);
    expect(received).toEqual([answer]);
    expect(explain({ kind: "silent", ms: 1_000 }).message).toMatch(/^did not answer within 1 s/);
    await close();
  }
});

it("is lost if it does not read the answers to what it asks", () => {
  const link = linkTo(new PassThrough());
  for (let at = 0; at <= 50_000; at++) void link.transport.send({ jsonrpc: "2.0", id: at, result: {} });
  expect(link.lost.reason).toBe("does not read its stdin: 50000 messages wait for it");
});

it("takes an answer that came in time while this program was busy", async () => {
  const server = listenTo();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const socket = openSocket((server.address() as AddressInfo).port, "127.0.0.1");
  const [peer] = await once(server, "connection");
  const link = { lost: new AbortController().signal } as Link;
  const answered = withDeadline(20, new AbortController().signal, link, async () => String(await once(socket, "data")));
  peer.write("answer");
  const until = performance.now() + 40;
  while (performance.now() < until);
  expect(await answered).toBe("answer");
  socket.destroy();
  server.close();
});

import { once } from "node:events";
import { connect } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Listener, listen } from "../../src/server/http.ts";
import { conforms } from "./conformance.ts";
import {
  initialize,
  json,
  later,
  messagesUrl,
  ping,
  type Request,
  refusal,
  send,
  sessionOf,
  started,
  tidyUp,
} from "./raw.ts";

tidyUp();

describe("the guard", () => {
  // A live session each time, so that only the guard can be what refuses.
  const routes: [string, () => Promise<[string, Request]>][] = [
    ["GET /sse", async () => [await started("sse"), {}]],
    [
      "POST /messages",
      async () => [await messagesUrl(await started("sse")), { method: "POST", headers: json, body: ping }],
    ],
    ["POST /mcp", async () => [await started("http"), { method: "POST", headers: json, body: initialize }]],
    [
      "GET /mcp",
      async () => {
        const url = await started("http");
        return [url, { headers: await sessionOf(url) }];
      },
    ],
    [
      "DELETE /mcp",
      async () => {
        const url = await started("http");
        return [url, { method: "DELETE", headers: await sessionOf(url) }];
      },
    ],
    ["OPTIONS /mcp", async () => [await started("http"), { method: "OPTIONS" }]],
    ["GET /elsewhere", async () => [new URL("/elsewhere", await started("http")).href, {}]],
  ];

  it.each(routes)("refuses foreign hosts and origins on %s", async (_route, make) => {
    const [url, request] = await make();
    const { port } = new URL(url);
    const withHeaders = (headers: Record<string, string>) =>
      send(url, { ...request, headers: { ...request.headers, ...headers } });

    expect(refusal(await withHeaders({ host: `evil.example:${port}` }))).toEqual({
      status: 403,
      code: -32000,
      message: `The Host header "evil.example:${port}" does not name this server. Use its address, or allow the name with --allow-hosts.`,
    });
    expect(refusal(await withHeaders({ origin: "http://evil.example" }))).toEqual({
      status: 403,
      code: -32000,
      message: 'The Origin "http://evil.example" is not allowed. Only pages of this server may call it.',
    });
    expect((await withHeaders({ host: `localhost:${port}`, origin: `http://localhost:${port}` })).status).not.toBe(403);
  });

  it("refuses a request without a Host header", async () => {
    const socket = connect(Number(new URL(await started("sse")).port), "127.0.0.1");
    socket.end("GET /sse HTTP/1.0\r\n\r\n");
    const [head] = (await once(socket, "data")) as [Buffer];
    expect(head.toString()).toMatch(/^HTTP\/1.1 403 /);
  });
});

describe("routing", () => {
  it.each([
    ["sse", "/sse", "POST", "GET"],
    ["sse", "/messages", "GET", "POST"],
    ["http", "/mcp", "PUT", "GET, POST, DELETE"],
    ["http", "/mcp", "OPTIONS", "GET, POST, DELETE"],
  ] as const)("over %s, %s does not take %s", async (transport, path, method, allow) => {
    const answer = await send(new URL(path, await started(transport)).href, { method });
    expect(answer.headers.allow).toBe(allow);
    const message = `The method ${method} is not allowed here. Use ${allow}.`;
    expect(refusal(answer)).toEqual({ status: 405, code: -32000, message });
  });

  it.each(["/", "/nope", "//mcp", "/toString"])("names the endpoints for the unknown path %s", async (path) => {
    const { origin } = new URL(await started("sse"));
    expect(refusal(await send(origin + path))).toEqual({
      status: 404,
      code: -32000,
      message: "Path not found. The endpoints are /sse and /messages.",
    });
  });

  it("refuses an unknown or closed session", async () => {
    const message = "Session not found: it was closed or never opened. Open a new one.";
    const notFound = { status: 404, code: -32001, message };
    const sse = new URL("/messages?sessionId=nope", await started("sse")).href;
    expect(refusal(await send(sse, { method: "POST", headers: json, body: ping }))).toEqual(notFound);

    const http = await started("http");
    const headers = await sessionOf(http);
    expect((await send(http, { method: "POST", headers, body: ping })).status).toBe(200);
    expect((await send(http, { method: "DELETE", headers })).status).toBe(200);
    for (const request of [{ method: "POST", body: ping }, { method: "GET" }, { method: "DELETE" }]) {
      expect(refusal(await send(http, { ...request, headers }))).toEqual(notFound);
    }
  });

  it("asks for a session first", async () => {
    const sse = new URL("/messages", await started("sse")).href;
    expect(refusal(await send(sse, { method: "POST", headers: json, body: ping }))).toMatchObject({
      status: 400,
      message: "The sessionId is missing. Open the event stream at /sse first.",
    });
    expect(refusal(await send(await started("http"), { method: "POST", headers: json, body: ping }))).toMatchObject({
      status: 400,
      message: "The Mcp-Session-Id header is missing. Send an initialize request first.",
    });
  });
});

describe.each(["sse", "http"] as const)("bodies over %s", (transport) => {
  async function post(body: string, headers: Record<string, string> = json, maxBodyBytes = 1000) {
    const url = await started(transport, { maxBodyBytes });
    const target = transport === "sse" ? await messagesUrl(url) : url;
    return send(target, { method: "POST", headers, body });
  }

  it("accepts the maximum size and refuses one byte more", async () => {
    const fits = initialize.padEnd(1000);
    expect((await post(fits)).status).toBeLessThan(300);
    expect(refusal(await post(`${fits} `))).toEqual({
      status: 413,
      code: -32000,
      message: "The request body exceeds the limit of 1000 bytes.",
    });
  });

  it("refuses one without a declared size as soon as it is over the limit", async () => {
    const url = await started(transport, { maxBodyBytes: 1000 });
    const { pathname, search, port } = new URL(transport === "sse" ? await messagesUrl(url) : url);
    const head = `POST ${pathname}${search} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json`;
    const socket = connect(Number(port), "127.0.0.1");
    later(async () => void socket.destroy());
    // The body never ends.
    socket.write(`${head}\r\nTransfer-Encoding: chunked\r\n\r\n800\r\n${"x".repeat(2048)}\r\n`);
    const [answer] = (await once(socket, "data")) as [Buffer];
    expect(answer.toString()).toMatch(/^HTTP\/1.1 413 /);
  });

  it("refuses invalid JSON, and other content types", async () => {
    expect(refusal(await post("{"))).toEqual({
      status: 400,
      code: -32700,
      message: "The request body is not valid JSON.",
    });
    expect(refusal(await post(initialize, { ...json, "content-type": "text/plain" }))).toEqual({
      status: 415,
      code: -32000,
      message: "The Content-Type must be application/json.",
    });
  });

  it("refuses JSON that is not a protocol message, and keeps serving", async () => {
    expect((await post('{"a":1}')).status).toBe(400);
    expect((await post("null")).status).toBe(400);
    expect((await post(initialize)).status).toBeLessThan(300);
  });
});

it("does not start on a port that is taken", async () => {
  const port = Number(new URL(await started("http")).port);
  await expect(started("sse", { port })).rejects.toMatchObject({ code: "EADDRINUSE" });
});

describe.each(["sse", "http"] as const)("the reference server over %s", (transport) => {
  let listener: Listener;
  beforeAll(async () => {
    const options = { transport, name: "a name, given", host: "127.0.0.1", port: 0, allowHosts: [], idleMs: 60_000 };
    listener = await listen(options);
  });
  afterAll(() => listener.close());

  conforms("a name, given", () => ({ url: listener.url, transport }));
});

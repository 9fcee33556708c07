import { once } from "node:events";
import { get, request as httpRequest, type IncomingMessage } from "node:http";
import { connect } from "node:net";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { isLoopback, type Listener, type ListenOptions, listen, urlHost } from "../../src/server/http.ts";
import { conforms } from "./conformance.ts";

const opened: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of opened.splice(0).reverse()) await close();
});

/** A new listener, closed after the test. */
async function start(transport: "sse" | "http", more: Partial<ListenOptions> = {}): Promise<Listener> {
  const listener = await listen({ ...{ transport, name: "n", host: "127.0.0.1", port: 0, allowHosts: [] }, ...more });
  opened.push(listener.close);
  return listener;
}

/** One HTTP request as given, Host header included. Returns the status, and the error of the body. */
async function send(url: string, method: string, headers: Record<string, string> = {}, body = "") {
  const request = httpRequest(url, { method, headers, agent: false }).end(body);
  const [response] = (await once(request, "response")) as [IncomingMessage];
  let text = "";
  for await (const chunk of response.setEncoding("utf8")) text += chunk;
  return { status: response.statusCode, message: /"message":"([^"]*)"/.exec(text)?.[1] ?? text };
}

/** An open event stream, and the URL that it names for messages. */
async function openStream(url: string) {
  const request = get(url, { agent: false }).on("error", () => undefined);
  opened.push(() => request.destroy());
  const [stream] = (await once(request, "response")) as [IncomingMessage];
  stream.on("error", () => undefined);
  const [event] = (await once(stream.setEncoding("utf8"), "data")) as [string];
  return { stream, messages: new URL(/data: (.*)/.exec(event)?.[1] ?? "", url).href };
}

const json = { "content-type": "application/json", accept: "application/json, text/event-stream" };
const ping = '{"jsonrpc":"2.0","id":2,"method":"ping"}';

describe.each(["sse", "http"] as const)("over %s", (transport) => {
  const open = async (more: Partial<ListenOptions> = {}) => {
    const { url } = await start(transport, more);
    return transport === "sse" ? (await openStream(url)).messages : url;
  };

  it.each([
    ["localhost:PORT", undefined, true],
    ["[::1]:PORT", "http://localhost:PORT", true],
    ["tools.example:PORT", undefined, true],
    ["localhost:PORT", "http://evil.example", false],
    ["localhost:PORT", "null", false],
    ["evil.example:PORT", undefined, false],
    ["localhost.evil.example:PORT", undefined, false],
    ["localhost:1", undefined, false],
  ])("a request to the host %s from the origin %s is allowed: %s", async (host, origin, isAllowed) => {
    const url = await open({ allowHosts: ["tools.example"] });
    const fill = (text: string) => text.replace("PORT", new URL(url).port);
    const headers = { ...json, host: fill(host), ...(origin !== undefined && { origin: fill(origin) }) };
    expect((await send(url, "POST", headers, ping)).status !== 403).toBe(isAllowed);
  });

  it("checks no names beyond loopback, unless it is given them", async () => {
    const beyond = await open({ host: "0.0.0.0" });
    expect((await send(beyond, "POST", { ...json, host: "any.example" }, ping)).status).toBeLessThan(300);
    const named = await open({ host: "0.0.0.0", allowHosts: ["tools.example"] });
    expect((await send(named, "POST", { ...json, host: "any.example" }, ping)).status).toBe(403);
  });

  it("refuses other content types, invalid JSON and large bodies, and keeps serving", async () => {
    const url = await open({ requestTimeoutMs: 1_000 });
    expect((await send(url, "POST", { ...json, "content-type": "text/plain" }, ping)).status).toBeGreaterThan(399);
    for (const body of ["{", "null", '{"a":1}']) expect((await send(url, "POST", json, body)).status).toBe(400);
    const large = { ...json, "content-length": String(5 * 1024 * 1024) };
    expect((await send(url, "POST", large)).status).toBeGreaterThan(399);
    expect((await send(url, "POST", json, ping)).status).toBeLessThan(300);
  });

  it("closes while a request is half sent, and frees the port", async () => {
    const { url, close } = await start(transport);
    const half = connect(Number(new URL(url).port), "127.0.0.1").on("error", () => undefined);
    half.write("POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{");
    await once(half, "connect");
    await close();
    await expect(send(url, "POST")).rejects.toMatchObject({ code: "ECONNREFUSED" });
  });
});

it.each([
  ["http", "GET", "/mcp", 405, "Use POST."],
  ["http", "DELETE", "/mcp", 405, "Use POST."],
  ["http", "POST", "/nope", 404, "The endpoint is /mcp."],
  ["sse", "POST", "/sse", 404, "Open the event stream with GET /sse, and POST to the URL that it names."],
  ["sse", "GET", "//sse", 404, "Open the event stream with GET /sse, and POST to the URL that it names."],
  ["sse", "POST", "/messages", 404, "Session not found: its event stream is closed. Open a new one."],
  ["sse", "POST", "/messages?sessionId=nope", 404, "Session not found: its event stream is closed. Open a new one."],
] as const)("over %s, answers %s %s with %i", async (transport, method, path, status, message) => {
  const { origin } = new URL((await start(transport)).url);
  expect(await send(origin + path, method, json, method === "POST" ? ping : "")).toEqual({ status, message });
});

it("ends an SSE session with its event stream, and the streams with the listener", async () => {
  const { url, close } = await start("sse");
  const [first, second] = [await openStream(url), await openStream(url)];
  first.stream.destroy();
  await expect.poll(async () => (await send(first.messages, "POST", json, ping)).status).toBe(404);
  expect((await send(second.messages, "POST", json, ping)).status).toBe(202);
  await close();
  await expect.poll(() => second.stream.destroyed).toBe(true);
});

it("knows loopback addresses, and puts IPv6 addresses in brackets", () => {
  const hosts = ["localhost", "127.0.0.1", "127.9.9.9", "::1", "0.0.0.0", "::", "10.0.0.1", "127.evil.example"];
  expect(hosts.filter(isLoopback)).toEqual(["localhost", "127.0.0.1", "127.9.9.9", "::1"]);
  expect(["::1", "127.0.0.1", "localhost"].map(urlHost)).toEqual(["[::1]", "127.0.0.1", "localhost"]);
});

describe.each(["sse", "http"] as const)("the reference server over %s", (transport) => {
  let listener: Listener;
  beforeAll(async () => {
    listener = await listen({ transport, name: "a name, given", host: "127.0.0.1", port: 0, allowHosts: [] });
  });
  afterAll(() => listener.close());

  conforms("a name, given", () => ({ url: listener.url, transport }));
});

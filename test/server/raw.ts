import { once } from "node:events";
import { get, request as httpRequest, type IncomingHttpHeaders, type IncomingMessage } from "node:http";
import { afterEach, expect } from "vitest";
import { type ListenOptions, listen } from "../../src/server/http.ts";

export type Answer = { status: number; headers: IncomingHttpHeaders; text: string };
export type Request = { method?: string; headers?: Record<string, string>; body?: string };

/** One HTTP request as it is given, Host header included. An event stream is left as soon as its head is there. */
export function send(url: string, { method = "GET", headers = {}, body }: Request = {}): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const request = httpRequest(url, { method, headers, agent: false }, async (response) => {
      const head = { status: response.statusCode ?? 0, headers: response.headers };
      const chunks: Buffer[] = [];
      if (method === "GET" && head.headers["content-type"] === "text/event-stream") {
        response.destroy();
      } else {
        for await (const chunk of response) chunks.push(chunk);
      }
      resolve({ ...head, text: Buffer.concat(chunks).toString() });
    });
    request.on("error", reject).end(body);
  });
}

export const json = { "content-type": "application/json", accept: "application/json, text/event-stream" };

export const initialize = JSON.stringify({
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "raw", version: "0" } },
});

/** The whole error that the server refused a request with. */
export function refusal({ status, text }: Answer) {
  return { status, ...JSON.parse(text).error };
}

export const ping = '{"jsonrpc":"2.0","id":2,"method":"ping"}';

const opened: (() => Promise<void>)[] = [];

/** Has to stand once in a test file that starts listeners: closes them all, and what was opened on them, after each test. */
export function tidyUp(): void {
  afterEach(async () => {
    for (const close of opened.splice(0).reverse()) await close();
  });
}

/** Closes this after the test. */
export function later(close: () => Promise<void>): void {
  opened.push(close);
}

/** The URL of a new listener. */
export async function started(transport: "sse" | "http", more: Partial<ListenOptions> = {}) {
  const options = { transport, name: "reference", host: "127.0.0.1", port: 0, allowHosts: [], idleMs: 60_000, ...more };
  const listener = await listen(options);
  opened.push(listener.close);
  return listener.url;
}

/** An open event stream. */
async function eventStream(url: string, headers: Record<string, string> = {}) {
  const request = get(url, { agent: false, headers: { accept: "text/event-stream", ...headers } });
  const [response] = (await once(request, "response")) as [IncomingMessage];
  opened.push(async () => void request.destroy());
  return response.setEncoding("utf8");
}

/** The URL to post to, which the event stream at /sse begins with. */
export async function messagesUrl(url: string, stream?: IncomingMessage): Promise<string> {
  const [event] = (await once(stream ?? (await eventStream(url)), "data")) as [string];
  return new URL(/data: (.*)/.exec(event)?.[1] ?? "", url).href;
}

/** The headers of requests in a new session over Streamable HTTP. */
export async function sessionOf(url: string): Promise<Record<string, string>> {
  const { status, headers } = await send(url, { method: "POST", headers: json, body: initialize });
  expect(status).toBe(200);
  return { ...json, "mcp-session-id": String(headers["mcp-session-id"]) };
}

/** A session opened by hand: how to use it, how to end it, and its event stream. */
export async function openSession(transport: "sse" | "http", url: string) {
  if (transport === "sse") {
    const stream = await eventStream(url);
    const messages = await messagesUrl(url, stream);
    const use = () => send(messages, { method: "POST", headers: json, body: ping });
    return { use, end: async () => void stream.destroy(), stream };
  }
  const headers = await sessionOf(url);
  const stream = await eventStream(url, headers);
  const use = () => send(url, { method: "POST", headers, body: ping });
  return { use, end: async () => void (await send(url, { method: "DELETE", headers })), stream };
}

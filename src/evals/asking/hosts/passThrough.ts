import { randomUUID } from "node:crypto";
import { once } from "node:events";
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import { brotliDecompressSync, gunzipSync, inflateSync } from "node:zlib";
import { type Fetch, readBytes, startLoopback } from "../../base/network.ts";
import { addSearch } from "../../base/types/endpoint.ts";
import { messageOf } from "../../base/types/errors.ts";
import { isJsonObject } from "../../base/types/json.ts";
import { completions } from "../protocols/completions.ts";
import { messages } from "../protocols/messages.ts";
import type { Protocol, ReceivedReply, SentRequest } from "../protocols/protocol.ts";
import { readRefusal } from "../protocols/refusals.ts";
import { responses } from "../protocols/responses.ts";

/** The APIs that the recording proxy reads. A script may add one. */
export const protocols: Protocol[] = [messages, responses, completions];

/** The API that a POST to this path (without its query) asks a model with; undefined for other requests. */
export function findProtocol(path: string): Protocol | undefined {
  return protocols.find((protocol) => protocol.matches(path));
}

/** A model request, with its reply or fault, if any. `ms`: until the whole reply; `sentAt`: on the monotonic clock. */
export type Exchange = {
  request: SentRequest;
  bytes: number;
  sentAt: number;
  ms: number;
  reply?: ReceivedReply;
  fault?: Fault;
};

/** Why a request has no reply. `status` is the provider's, absent when there was no usable response. */
type Fault = { message: string; status?: number };

/** Where the host of one trial sends its requests. */
export type Tap = {
  /** The base URL for the host's configuration. Paths below it are forwarded to the same paths below the provider's. */
  url: string;
  /** In the order in which they were sent. */
  exchanges: readonly Exchange[];
  /** Cuts the connections of the trial. */
  close(): void;
};

/**
 * `upstream` is the base URL of the provider. `admit` is called before a model request, the last of the exchanges, is
 * forwarded. A request that is not admitted gets no response, because the host is about to be stopped.
 */
export type TapOptions = { upstream: string; admit(exchanges: readonly Exchange[]): boolean };

/** A loopback proxy between hosts and their providers, which records what passes through. */
export type PassThrough = { open(options: TapOptions): Tap };

type Route = TapOptions & { exchanges: Exchange[]; cut: AbortController };

type AddedHeaders = Readonly<Record<string, string | null>>;

const maxRequestBytes = 64 * 1024 * 1024;
const maxReplyBytes = 32 * 1024 * 1024;

/**
 * Starts listening. Everything is forwarded unchanged, credentials included, except that replies are asked for without
 * compression; of what passes, only the content of model requests and replies is kept, and no header. `send` reaches
 * the provider, with `added` headers in place of those of the host. The server does not keep the process alive.
 */
export async function startPassThrough(send: Fetch, added: AddedHeaders = {}): Promise<PassThrough> {
  const routes = new Map<string, Route>();
  const { http, url } = await startLoopback((request, response) => {
    const [, key = "", rest = ""] = /^\/([^/?]+)(.*)$/s.exec(request.url ?? "") ?? [];
    const route = routes.get(key);
    if (!route) return void response.writeHead(404).end();
    forward(route, rest, request, response, { send, added }).catch((error) => refuse(response, 502, messageOf(error)));
  });
  // Prevents that a kept connection is closed just as the host sends its next request.
  http.keepAliveTimeout = 600_000;
  return {
    open(options) {
      const key = randomUUID();
      const route: Route = { ...options, exchanges: [], cut: new AbortController() };
      routes.set(key, route);
      return {
        url: `${url}/${key}`,
        exchanges: route.exchanges,
        close: () => {
          routes.delete(key);
          route.cut.abort();
        },
      };
    },
  };
}

async function forward(
  route: Route,
  path: string,
  request: IncomingMessage,
  response: ServerResponse,
  { send, added }: { send: Fetch; added: AddedHeaders },
): Promise<void> {
  const body = await readBytes(request, maxRequestBytes);
  if (!body) return refuse(response, 413, `the request is longer than ${maxRequestBytes} bytes`);
  const started = startExchange(path, request, body);
  const exchange = started?.exchange;
  if (exchange) {
    route.exchanges.push(exchange);
    const isAdmitted = route.admit(route.exchanges);
    if (!isAdmitted) return void route.cut.signal.addEventListener("abort", () => response.destroy(), { once: true });
  }
  const fail = (message: string) => {
    if (exchange) exchange.fault ??= { message };
  };
  const gone = new AbortController();
  response.once("close", () => gone.abort());
  const signal = AbortSignal.any([gone.signal, route.cut.signal]);
  try {
    const init = { method: request.method ?? "GET", headers: requestHeaders(request.headers, added), signal };
    const hasBody = !["GET", "HEAD"].includes(init.method);
    const [upstream = "", search = ""] = route.upstream.split("?", 2);
    const received = await send(addSearch(`${upstream.replace(/\/$/, "")}${path}`, search), {
      ...init,
      redirect: "manual",
      ...(hasBody && { body: new Uint8Array(body) }),
    });
    response.writeHead(received.status, responseHeaders(received.headers));
    const kept = await pipe(received, response);
    if (started) finish(started, received.status, kept);
    response.end();
  } catch (error) {
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
    const unreachable = `the provider cannot be reached: ${messageOf(cause)}`;
    if (route.cut.signal.aborted) fail("the trial ended before the reply was complete");
    else if (gone.signal.aborted) fail("the host closed the connection before the reply was complete");
    else fail(unreachable);
    refuse(response, 502, unreachable);
  } finally {
    if (exchange) exchange.ms = performance.now() - exchange.sentAt;
  }
}

type Started = { exchange: Exchange; protocol: Protocol };

/** The exchange that a model request starts; undefined for other requests. */
function startExchange(path: string, request: IncomingMessage, body: Buffer): Started | undefined {
  const [plain = ""] = path.split("?", 1);
  const protocol = request.method === "POST" ? findProtocol(plain) : undefined;
  if (!protocol) return undefined;
  const facts = { bytes: body.length, sentAt: performance.now(), ms: 0 };
  try {
    const parsed: unknown = JSON.parse(decode(body, request.headers["content-encoding"]).toString());
    if (!isJsonObject(parsed)) throw new Error("it is not a JSON object");
    return { protocol, exchange: { ...facts, request: protocol.readRequest(parsed, plain) } };
  } catch (error) {
    const fault = { message: `the request cannot be read: ${messageOf(error)}` };
    const empty = { model: "", tools: [], texts: [], opening: "", outputs: [], notes: [] };
    return { protocol, exchange: { ...facts, request: empty, fault } };
  }
}

function decode(body: Buffer, encoding = "identity"): Buffer {
  if (encoding === "identity") return body;
  if (encoding === "gzip") return gunzipSync(body, { maxOutputLength: maxRequestBytes });
  if (encoding === "br") return brotliDecompressSync(body, { maxOutputLength: maxRequestBytes });
  if (encoding === "deflate") return inflateSync(body, { maxOutputLength: maxRequestBytes });
  throw new Error(`its encoding "${encoding}" is not supported`);
}

/** Forwards the body chunk by chunk. Returns what was forwarded, or undefined if it is too long to keep. */
async function pipe(received: Response, response: ServerResponse): Promise<string | undefined> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of received.body ?? []) {
    bytes += chunk.length;
    if (bytes <= maxReplyBytes) chunks.push(chunk);
    if (!response.write(chunk)) await once(response, "drain");
  }
  return bytes <= maxReplyBytes ? Buffer.concat(chunks).toString() : undefined;
}

function finish({ exchange, protocol }: Started, status: number, body: string | undefined): void {
  const tooLong = { message: `the reply is longer than ${maxReplyBytes} bytes` };
  const whole = body === undefined ? tooLong : protocol.readReply(body);
  const reply = status === 200 ? whole : readRefusal(body ?? "");
  if ("message" in reply) exchange.fault = { message: reply.message, status };
  else exchange.reply = reply;
}

const hopHeaders =
  /^(host|connection|keep-alive|proxy-connection|te|trailer|transfer-encoding|upgrade|expect|content-length|accept-encoding)$/i;

function requestHeaders(headers: IncomingHttpHeaders, added: AddedHeaders): [string, string][] {
  const kept = Object.entries({ ...headers, ...added }).flatMap(([name, value]): [string, string][] => {
    if (value === undefined || value === null || hopHeaders.test(name)) return [];
    return [[name, Array.isArray(value) ? value.join(", ") : value]];
  });
  return [...kept, ["accept-encoding", "identity"]];
}

/** `fetch` has already decoded the body if the provider compressed it anyway. */
function responseHeaders(headers: Headers): Record<string, string> {
  return Object.fromEntries([...headers].filter(([name]) => !hopHeaders.test(name) && name !== "content-encoding"));
}

function refuse(response: ServerResponse, status: number, message: string): void {
  if (response.headersSent) return void response.destroy();
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify({ error: { message } }));
}

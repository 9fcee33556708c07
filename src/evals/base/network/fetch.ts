import {
  type IncomingHttpHeaders,
  type IncomingMessage,
  Agent as PlainAgent,
  request as plainRequest,
} from "node:http";
import { Agent as SecureAgent, request as secureRequest } from "node:https";
import { pipeline, type Readable, type Transform } from "node:stream";
import { urlToHttpOptions } from "node:url";
import { createBrotliDecompress, createGunzip, createInflate } from "node:zlib";
import { parseExactJson, unmarkWholes } from "../types/exactJson.ts";
import { createProxyFetch } from "./proxy.ts";

/** The part of `RequestInit` that the SDKs use here. */
type Init = { method?: string; headers?: unknown; body?: unknown; signal?: AbortSignal | null };

type Fetch = (url: string | URL | Request, init?: RequestInit) => Promise<Response>;

/**
 * A `fetch` for the SDKs, through the proxies of the environment or on pooled connections. It is made for one JSON request
 * and one JSON reply:
 * - It resolves after the whole body is read. So the SDK's timeout, which ends when `fetch` resolves, covers the body too,
 *   and a body that is cut off rejects like any other broken connection. It cannot stream.
 * - It follows no redirects and keeps no cookies, and ends a body that is larger than 16 MiB.
 * Timeouts are left to the caller's signal. Throws a usage error for an invalid proxy.
 */
export function createFetch(env: Readonly<Record<string, string | undefined>>): Fetch {
  const proxied = createProxyFetch(env);
  if (!proxied) return createPooledFetch();
  return async (url, init) => {
    const body = typeof init?.body === "string" && { body: unmarkWholes(init.body) };
    const response = await proxied(url, { ...init, ...body, redirect: "manual" });
    const text = await readText(response.body).catch((error: unknown) => {
      // The SDKs recognize a timeout by the abort error.
      throw init?.signal?.aborted || error instanceof OversizedReplyError ? error : new Error(cutOff);
    });
    return bufferedResponse(String(url), response.status, Object.fromEntries(response.headers), text);
  };
}

const cutOff = "the reply was cut off";

/** Far more than a reply with the maximum number of tokens. */
const maxReplyBytes = 16 * 1024 * 1024;

/** Thrown for a reply that is larger than any reply of a model. */
export class OversizedReplyError extends Error {
  constructor() {
    super(`the reply is larger than ${maxReplyBytes / 1024 / 1024} MiB`);
  }
}

/** The text of a body of at most 16 MiB. Throws an `OversizedReplyError` for a larger one. */
export async function readText(body: ReadableStream<Uint8Array> | null): Promise<string> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of body ?? []) {
    bytes += part.length;
    if (bytes > maxReplyBytes) throw new OversizedReplyError();
    parts.push(part);
  }
  return Buffer.concat(parts).toString();
}

/** More than `maxSockets` connections to one host are not faster; further requests wait for one. */
const pool = { keepAlive: true, maxSockets: 256 };

/** Uses Node's own HTTP client: the built-in `fetch` needs more CPU time per request than the rest of the program. */
function createPooledFetch(): Fetch {
  const [plain, secure] = [new PlainAgent(pool), new SecureAgent(pool)];
  // Nearly all requests have the same URL.
  let last = { url: "", target: {} };
  const parse = (url: string) => {
    if (url !== last.url) last = { url, target: urlToHttpOptions(new URL(url)) };
    return last.target;
  };
  return (url, init: Init = {}) =>
    new Promise((resolve, reject) => {
      const options = {
        ...parse(String(url)),
        method: init.method === "POST" ? "POST" : "GET",
        headers: { ...Object.fromEntries(headerEntries(init.headers)), "accept-encoding": "identity" },
      };
      const onResponse = (response: IncomingMessage) => {
        const body = decode(response);
        const parts: Buffer[] = [];
        let bytes = 0;
        body.on("data", (part: Buffer) => {
          bytes += part.length;
          if (bytes <= maxReplyBytes) parts.push(part);
          else {
            reject(new OversizedReplyError());
            body.destroy();
          }
        });
        body.on("error", () => reject(new Error(cutOff)));
        body.on("end", () => {
          const text = Buffer.concat(parts).toString();
          resolve(bufferedResponse(String(url), response.statusCode ?? 0, response.headers, text));
        });
      };
      const request = String(url).startsWith("https:")
        ? secureRequest({ ...options, agent: secure }, onResponse)
        : plainRequest({ ...options, agent: plain }, onResponse);
      request.on("error", reject);
      // Without a listener, a reply with status 101 never ends.
      request.on("upgrade", (_, socket) => {
        socket.destroy();
        reject(new Error("the service switched to another protocol (101 Switching Protocols)"));
      });
      // Not the `signal` option of a request, which watches all of its events and is slower.
      const abort = () => request.destroy(new DOMException("This operation was aborted", "AbortError"));
      init.signal?.addEventListener("abort", abort, { once: true });
      request.on("close", () => init.signal?.removeEventListener("abort", abort));
      if (init.signal?.aborted) abort();
      request.end(typeof init.body === "string" ? unmarkWholes(init.body) : undefined);
    });
}

const decoders: Partial<Record<string, () => Transform>> = {
  gzip: createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
};

/** Some gateways compress a reply although they were asked not to. */
function decode(response: IncomingMessage): Readable {
  const decoder = decoders[response.headers["content-encoding"] ?? ""]?.();
  return decoder ? pipeline(response, decoder, () => {}) : response;
}

function headerEntries(headers: unknown): Iterable<[string, string]> {
  if (headers instanceof Headers) return headers.entries();
  return Object.entries((headers ?? {}) as Record<string, string>);
}

/** The part of a `Response` that the SDKs read. A real one would create a stream and a header list that nobody uses. */
function bufferedResponse(url: string, status: number, raw: IncomingHttpHeaders, text: string): Response {
  const value = (name: string) => {
    const found = raw[name.toLowerCase()];
    return Array.isArray(found) ? found.join(", ") : (found ?? null);
  };
  const headers = {
    get: value,
    has: (name: string) => raw[name.toLowerCase()] !== undefined,
    entries: () => Object.keys(raw).map((name) => [name, value(name) ?? ""]),
  };
  const response = {
    url,
    status,
    ok: status >= 200 && status < 300,
    headers,
    body: null,
    text: async () => text,
    json: async () => parseExactJson(text) as unknown,
  };
  return response as unknown as Response;
}

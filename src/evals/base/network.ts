import { once } from "node:events";
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  Agent as PlainAgent,
  request as plainRequest,
  type RequestListener,
  type Server,
} from "node:http";
import { Agent as SecureAgent, request as secureRequest } from "node:https";
import type { AddressInfo } from "node:net";
import { pipeline, type Transform } from "node:stream";
import { urlToHttpOptions } from "node:url";
import { createBrotliDecompress, createGunzip, createInflate } from "node:zlib";
import { usageError } from "./types/errors.ts";
import { parseExactJson, unmarkWholes } from "./types/json.ts";

type Env = Readonly<Record<string, string | undefined>>;

/** The built-in `fetch`, or one like it. Other code gets it from here, so that no request passes the proxies by. */
export type Fetch = typeof fetch;

/** A `fetch` through the proxies of the environment, or the built-in one where none is set. */
export const openFetch = (env: Env): Fetch => createProxyFetch(env) ?? fetch;

/**
 * A `fetch` that uses the proxies in HTTPS_PROXY and HTTP_PROXY, except for this machine and the hosts in NO_PROXY;
 * undefined when no proxy is set. Lower-case names take precedence, as in curl. undici is loaded with the first
 * request. Certificates are checked against Node's list and NODE_EXTRA_CA_CERTS. Timeouts are left to the caller's
 * signal. Throws a usage error for a proxy that is not an http or https URL.
 */
function createProxyFetch(env: Env): Fetch | undefined {
  const proxies = readProxies(env);
  return proxies.httpProxy === "" && proxies.httpsProxy === "" ? undefined : createLateFetch(proxies);
}

/** With or without a proxy. Never ends a request by itself, as the built-in `fetch` does after 300 s. */
export function createPatientFetch(env: Env): Fetch {
  return createLateFetch(readProxies(env));
}

function readProxies(env: Env) {
  const read = (name: string) => env[name.toLowerCase()] || env[name] || "";
  const readProxy = (name: string) => {
    const value = read(name);
    if (value === "" || /^https?:\/\/./.test(value)) return value;
    // The value may hold a password.
    throw usageError(`${name} is not an http or https URL.`, "Write it as http://host:port.");
  };
  const excluded = read("NO_PROXY");
  const noProxy = excluded === "*" ? excluded : `${excluded},localhost,127.0.0.1,[::1]`;
  return { httpProxy: readProxy("HTTP_PROXY"), httpsProxy: readProxy("HTTPS_PROXY"), noProxy };
}

function createLateFetch(proxies: ReturnType<typeof readProxies>): Fetch {
  const options = { ...proxies, proxyTunnel: false, headersTimeout: 0, bodyTimeout: 0 };
  let loading: Promise<Fetch> | undefined;
  return async (url, init) => {
    loading ??= import("./proxied.ts").then(({ createProxiedFetch }) => createProxiedFetch(options));
    return (await loading)(url, init);
  };
}

/** The part of `RequestInit` that the SDKs use here. */
type Init = { method?: string; headers?: unknown; body?: unknown; signal?: AbortSignal | null };

/**
 * A `fetch` for the SDKs, through the proxies of the environment or on pooled connections. It is made for one JSON
 * request and one JSON reply:
 * - It resolves after the whole body is read. So the SDK's timeout, which ends when `fetch` resolves, covers the body
 *   too, and a body that is cut off rejects like any other broken connection. It cannot stream.
 * - It follows no redirects and keeps no cookies, and ends a body that is larger than 16 MiB.
 * Timeouts are left to the caller's signal. Throws a usage error for an invalid proxy.
 */
export function createFetch(env: Env): Fetch {
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

/**
 * The wait that headers ask for, in ms: `retry-after-ms`, or `retry-after` in seconds or as a date (RFC 9110, 10.2.3).
 * A date is compared with that of the response, if it has one: the clocks of the two machines may differ.
 */
export function readWait(headers: { get(name: string): string | null }): number | undefined {
  const ms = Number.parseFloat(headers.get("retry-after-ms") ?? "");
  const after = headers.get("retry-after") ?? "";
  const seconds = Number(after || Number.NaN);
  const untilDate = () => Date.parse(after) - (Date.parse(headers.get("date") ?? "") || Date.now());
  const wait = Number.isFinite(ms) ? ms : Number.isNaN(seconds) ? untilDate() : seconds * 1000;
  return Number.isFinite(wait) ? Math.max(0, wait) : undefined;
}

/** Far more than a reply with the maximum number of tokens. */
const maxReplyBytes = 16 * 1024 * 1024;

/** Thrown for a reply that is larger than any reply of a model. */
export class OversizedReplyError extends Error {
  constructor() {
    super(`the reply is larger than ${maxReplyBytes / 1024 / 1024} MiB`);
  }
}

/** The bytes of a body; undefined if there are more than `most`. */
export async function readBytes(body: AsyncIterable<Uint8Array> | null, most: number): Promise<Buffer | undefined> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of body ?? []) {
    bytes += part.length;
    if (bytes > most) return undefined;
    parts.push(part);
  }
  return Buffer.concat(parts);
}

/** The text of a body of at most 16 MiB. Throws an `OversizedReplyError` for a larger one. */
export async function readText(body: AsyncIterable<Uint8Array> | null): Promise<string> {
  const bytes = await readBytes(body, maxReplyBytes);
  if (!bytes) throw new OversizedReplyError();
  return bytes.toString();
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
        headers: { ...readHeaders(init.headers), "accept-encoding": "identity" },
      };
      const onResponse = async (response: IncomingMessage) => {
        try {
          // Some gateways compress a reply although they were asked not to.
          const decoder = decoders[response.headers["content-encoding"] ?? ""]?.();
          const text = await readText(decoder ? pipeline(response, decoder, () => {}) : response);
          resolve(bufferedResponse(String(url), response.statusCode ?? 0, response.headers, text));
        } catch (error) {
          reject(error instanceof OversizedReplyError ? error : new Error(cutOff));
        }
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

const readHeaders = (headers: unknown) => (headers instanceof Headers ? Object.fromEntries(headers) : Object(headers));

/** The part of a `Response` that the SDKs read. A real one would create a stream and a header list that nobody uses. */
function bufferedResponse(url: string, status: number, raw: IncomingHttpHeaders, body: string): Response {
  const text = body.replace(/^\uFEFF/, "");
  const value = (name: string) => {
    if (name.toLowerCase() === "content-type" && /^\s*\{/.test(text)) return "application/json";
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

/**
 * A signal that aborts when `signal` does, and after `ms` with a TimeoutError. It stands for `AbortSignal.timeout`
 * inside of `AbortSignal.any`, which Node may collect too early (https://github.com/nodejs/node/issues/57736).
 */
export function abortAfter(signal: AbortSignal, ms: number): AbortSignal {
  const late = new AbortController();
  setTimeout(() => late.abort(new DOMException(`no answer within ${ms / 1000} s`, "TimeoutError")), ms).unref();
  return AbortSignal.any([signal, late.signal]);
}

/** Starts a server on 127.0.0.1 that does not keep the process alive. `url` has no path. */
export async function startLoopback(answer: RequestListener): Promise<{ http: Server; url: string }> {
  const http = createServer(answer);
  http.listen(0, "127.0.0.1").unref();
  await once(http, "listening");
  return { http, url: `http://127.0.0.1:${(http.address() as AddressInfo).port}` };
}

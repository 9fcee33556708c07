import {
  type IncomingHttpHeaders,
  type IncomingMessage,
  Agent as PlainAgent,
  request as plainRequest,
} from "node:http";
import { Agent as SecureAgent, request as secureRequest } from "node:https";

/** What the SDKs hand to the `fetch` they are given; everything else of the web's `RequestInit` they never use here. */
type Init = { method?: string; headers?: unknown; body?: unknown; signal?: AbortSignal | null };

/** `maxSockets`: as many to one host as are ever useful at once; further requests wait for one. */
const pool = { keepAlive: true, maxSockets: 256 };

/**
 * A `fetch` for the SDKs, on Node's own HTTP client: the built-in `fetch` spends more processor time on a request than the
 * rest of the harness does. It differs from the web's in ways that suit one JSON request and one JSON reply:
 * - it resolves when the whole body is read. So the SDK's time-out, which ends when `fetch` resolves, covers the body
 *   too, and a body that breaks off rejects here like any other connection that broke. It cannot stream.
 * - it follows no redirects, keeps no cookies, knows no proxies, and asks for no compression.
 * Time-outs are left to the caller's signal. Sockets are kept alive and reused; idle ones do not keep the process alive.
 */
export function pooledFetch(): (url: string | URL | Request, init?: RequestInit) => Promise<Response> {
  const [plain, secure] = [new PlainAgent(pool), new SecureAgent(pool)];
  return (url, init: Init = {}) =>
    new Promise((resolve, reject) => {
      const options = {
        method: init.method === "POST" ? "POST" : "GET",
        headers: { ...Object.fromEntries(headerEntries(init.headers)), "accept-encoding": "identity" },
        ...(init.signal && { signal: init.signal }),
      };
      const answered = (answer: IncomingMessage) => {
        const parts: Buffer[] = [];
        answer.on("data", (part: Buffer) => parts.push(part));
        answer.on("error", () => reject(new Error("the reply broke off")));
        answer.on("end", () => {
          const text = Buffer.concat(parts).toString();
          resolve(bufferedResponse(String(url), answer.statusCode ?? 0, answer.headers, text));
        });
      };
      const request = String(url).startsWith("https:")
        ? secureRequest(String(url), { ...options, agent: secure }, answered)
        : plainRequest(String(url), { ...options, agent: plain }, answered);
      request.on("error", reject);
      request.end(typeof init.body === "string" ? init.body : undefined);
    });
}

function headerEntries(headers: unknown): Iterable<[string, string]> {
  if (headers instanceof Headers) return headers.entries();
  return Object.entries((headers ?? {}) as Record<string, string>);
}

/** The part of a `Response` that the SDKs read. A real one costs a stream and a header list that nobody looks at. */
function bufferedResponse(url: string, status: number, raw: IncomingHttpHeaders, text: string): Response {
  const value = (name: string) => {
    const found = raw[name.toLowerCase()];
    return Array.isArray(found) ? found.join(", ") : (found ?? null);
  };
  const headers = {
    get: value,
    has: (name: string) => raw[name.toLowerCase()] !== undefined,
    *entries(): Generator<[string, string]> {
      for (const name of Object.keys(raw)) yield [name, value(name) ?? ""];
    },
  };
  const response = {
    url,
    status,
    ok: status >= 200 && status < 300,
    headers,
    body: null,
    text: async () => text,
    json: async () => JSON.parse(text) as unknown,
  };
  return response as unknown as Response;
}

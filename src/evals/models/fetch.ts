import { Agent, request } from "undici";

/** What the SDKs hand to the `fetch` they are given; everything else of the web's `RequestInit` they never use here. */
type Init = { method?: string; headers?: unknown; body?: unknown; signal?: AbortSignal | null };

/** As many sockets to one host as are ever useful at once; further requests wait in the pool. */
const connections = 256;

/**
 * A `fetch` for the SDKs, on undici's `request`: the built-in one spends more processor time on a request than the rest
 * of the harness does. It differs from the web's in ways that suit one JSON request and one JSON reply:
 * - it resolves when the whole body is read. So the SDK's time-out, which ends when `fetch` resolves, covers the body
 *   too, and a body that breaks off rejects here like any other connection that broke. It cannot stream.
 * - it follows no redirects, keeps no cookies, knows no proxies, and asks for no compression.
 * Time-outs are left to the caller's signal, but for ten seconds to connect. Sockets are kept alive and reused; idle
 * ones do not keep the process alive.
 */
export function pooledFetch(): (url: string | URL | Request, init?: RequestInit) => Promise<Response> {
  const dispatcher = new Agent({ connections, headersTimeout: 0, bodyTimeout: 0, keepAliveTimeout: 10_000 });
  return async (url, init: Init = {}) => {
    const { statusCode, headers, body } = await request(String(url), {
      dispatcher,
      method: init.method === "POST" ? "POST" : "GET",
      headers: { ...Object.fromEntries(headerEntries(init.headers)), "accept-encoding": "identity" },
      body: typeof init.body === "string" ? init.body : null,
      ...(init.signal && { signal: init.signal }),
    });
    return bufferedResponse(String(url), statusCode, headers, await body.text());
  };
}

function headerEntries(headers: unknown): Iterable<[string, string]> {
  if (headers instanceof Headers) return headers.entries();
  return Object.entries((headers ?? {}) as Record<string, string>);
}

/** The part of a `Response` that the SDKs read. A real one costs a stream and a header list that nobody looks at. */
function bufferedResponse(
  url: string,
  status: number,
  raw: Record<string, string | string[] | undefined>,
  text: string,
): Response {
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

import { readText } from "../../base/network/fetch.ts";
import { createProxyFetch } from "../../base/network/proxy.ts";
import { type Fault, transientFault } from "../../base/types/attempt.ts";
import { messageOf } from "../../base/types/errors.ts";
import { toFault } from "./remote.ts";

/** Long, because a submission can be large and is answered only after it was read. */
export const batchTimeoutMs = 600_000;

/** The header of a request whose reply is a file, to be read as a stream. */
export const asFile = { headers: { accept: "application/binary" } };

/**
 * A `fetch` for the batch APIs, whose bodies are too large for the `fetch` of single requests, or are forms. Replies are
 * read whole, up to the same limit; files are streams. It follows no redirects.
 */
export function createBatchFetch(env: Readonly<Record<string, string | undefined>>): typeof fetch {
  const send = createProxyFetch(env) ?? fetch;
  return async (url, init) => {
    const response = await send(url, { ...init, redirect: "manual" });
    if (new Headers(init?.headers).get("accept") === asFile.headers.accept && response.ok) return response;
    const { status, headers } = response;
    return new Response(await readText(response.body), { status, headers });
  };
}

/** The maximum length of a line, which is one reply. */
const maxLineBytes = 16 * 1024 * 1024;
const idleMs = 120_000;

type ErrorClass = new (...args: never[]) => Error;

/** Makes a request of an SDK resolve with a fault instead of rejecting. Both SDKs have these two error classes. */
export function catchFaults(Timeout: ErrorClass, Connection: ErrorClass) {
  return async <T>(request: () => Promise<T>): Promise<T | Fault> => {
    try {
      return await request();
    } catch (thrown) {
      const isTimeout = thrown instanceof Timeout;
      return toFault(thrown, { isTimeout, isConnection: thrown instanceof Connection }, batchTimeoutMs);
    }
  };
}

/** Calls `onLine` with each parsed line of a results file. Resolves with a fault if it cannot be read to its end. */
export async function readResultLines(file: Response, onLine: (value: unknown) => void): Promise<Fault | undefined> {
  try {
    await readJsonLines(file, onLine);
    return undefined;
  } catch (thrown) {
    return transientFault(`the results cannot be read to their end: ${messageOf(thrown)}`);
  }
}

/**
 * Throws if the file is cut off, stalls for two minutes, or has a line that is larger than any reply or not JSON.
 */
async function readJsonLines(file: Response, onLine: (value: unknown) => void): Promise<void> {
  const reader = file.body?.getReader();
  if (!reader) return;
  let parts: Buffer[] = [];
  let bytes = 0;
  const take = (part: Buffer) => {
    bytes += part.length;
    if (bytes > maxLineBytes) throw new Error(`a line of the results is larger than ${maxLineBytes / 1024 / 1024} MiB`);
    parts.push(part);
  };
  const end = () => {
    const text = Buffer.concat(parts).toString().trim();
    parts = [];
    bytes = 0;
    if (text !== "") onLine(JSON.parse(text));
  };
  try {
    for (;;) {
      const { done, value } = await withinIdleTime(reader.read());
      if (done) break;
      let rest = Buffer.from(value.buffer, value.byteOffset, value.length);
      for (let at = rest.indexOf(10); at >= 0; at = rest.indexOf(10)) {
        take(rest.subarray(0, at));
        end();
        rest = rest.subarray(at + 1);
      }
      take(rest);
    }
    end();
  } finally {
    await reader.cancel().catch(() => {});
  }
}

async function withinIdleTime<T>(reading: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const idle = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`the results stopped for ${idleMs / 1000} s`)), idleMs);
  });
  try {
    return await Promise.race([reading, idle]);
  } finally {
    clearTimeout(timer);
  }
}

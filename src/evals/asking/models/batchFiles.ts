import { type Fetch, openFetch, readText } from "../../base/network.ts";
import { messageOf } from "../../base/types/errors.ts";
import {
  type Attempt,
  type BatchState,
  type Fault,
  type ModelRequest,
  transientFault,
} from "../../base/types/model.ts";

/** How a request is built and its reply is read, in a batch or alone. */
export type BatchForm<Body> = {
  build(request: ModelRequest): Body;
  read(reply: unknown, request: ModelRequest): Attempt;
};

/** Long, because a submission can be large and is answered only after it was read. */
export const batchTimeoutMs = 600_000;

/** The header of a request whose reply is a file, to be read as a stream. */
export const asFile = { headers: { accept: "application/binary" } };

/**
 * A `fetch` for the batch APIs, whose bodies are too large for the `fetch` of single requests, or are forms. Replies
 * are read whole, up to the same limit; files are streams. It follows no redirects.
 */
export function createBatchFetch(env: Readonly<Record<string, string | undefined>>): Fetch {
  const send = openFetch(env);
  return async (url, init) => {
    const response = await send(url, { ...init, redirect: "manual" });
    if (new Headers(init?.headers).get("accept") === asFile.headers.accept && response.ok) return response;
    const { status, headers } = response;
    return new Response(await readText(response.body), { status, headers });
  };
}

/** Makes a request of an SDK resolve with a fault instead of rejecting. */
export function catchFaults(readFault: (thrown: unknown, timeoutMs: number) => Fault) {
  return <T>(request: () => Promise<T>): Promise<T | Fault> =>
    request().catch((thrown: unknown) => readFault(thrown, batchTimeoutMs));
}

/** The batches of a list that are newer than `after`, at most `most`, or the first fault. */
export async function takeNewer(
  batches: AsyncIterable<unknown>,
  readState: (batch: unknown) => BatchState | Fault,
  after: string | undefined,
  most: number,
): Promise<BatchState[] | Fault> {
  const found: BatchState[] = [];
  for await (const batch of batches) {
    const state = readState(batch);
    if ("kind" in state) return state;
    if (state.id === after) break;
    found.push(state);
    if (found.length >= most) break;
  }
  return found;
}

/** The maximum length of a line, which is one reply. */
const maxLineLength = 16 * 1024 * 1024;
const idleMs = 120_000;

/**
 * Calls `onLine` with each parsed line of a results file. Resolves with a fault if the file is cut off, stalls for two
 * minutes, or has a line that is larger than any reply or not JSON.
 */
export async function readResultLines(file: Response, onLine: (value: unknown) => void): Promise<Fault | undefined> {
  const reader = file.body?.pipeThrough(new TextDecoderStream()).getReader();
  const readLine = (line: string) => {
    if (line.trim() !== "") onLine(JSON.parse(line));
  };
  let rest = "";
  try {
    while (reader) {
      const { done, value = "" } = await withinIdleTime(reader.read());
      const lines = (rest + value).split("\n");
      rest = done ? "" : (lines.pop() ?? "");
      for (const line of lines) readLine(line);
      if (rest.length > maxLineLength) throw new Error("a line of the results is larger than 16 MiB");
      if (done) break;
    }
    return undefined;
  } catch (thrown) {
    return transientFault(`the results cannot be read to their end: ${messageOf(thrown)}`);
  } finally {
    await reader?.cancel().catch(() => {});
  }
}

async function withinIdleTime<T>(reading: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const idle = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`the results stopped for ${idleMs / 1000} s`)), idleMs);
  });
  return await Promise.race([reading, idle]).finally(() => clearTimeout(timer));
}

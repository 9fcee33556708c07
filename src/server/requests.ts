import type { IncomingMessage, ServerResponse } from "node:http";

/** A refused request: HTTP status and headers, and the code of the JSON-RPC error in the body. */
export class HttpError extends Error {
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly code: number;

  constructor(status: number, message: string, headers: Record<string, string> = {}, code = -32000) {
    super(message);
    this.status = status;
    this.headers = headers;
    this.code = code;
  }
}

/** Answers with what was thrown. An internal error is logged to stderr, and the client does not see its message. */
export function sendError(response: ServerResponse, thrown: unknown): void {
  // The client disconnected.
  if (response.destroyed) return;
  const known = thrown instanceof HttpError;
  if (!known) console.error("error:", thrown);
  if (response.headersSent) return void response.destroy();
  const { status, headers, code, message } = known ? thrown : new HttpError(500, "Internal error", {}, -32603);
  response
    .writeHead(status, { "content-type": "application/json", ...headers })
    .end(JSON.stringify({ jsonrpc: "2.0", error: { code, message }, id: null }));
}

/** The JSON body of a request, of at most `maxBytes`. Throws HttpError 415, 413 or 400. */
export async function readJson(request: IncomingMessage, maxBytes: number): Promise<unknown> {
  // A page of another site can send text/plain without a preflight request, but not application/json.
  if (!/^application\/json\s*(;|$)/i.test(request.headers["content-type"] ?? "")) {
    throw new HttpError(415, "The Content-Type must be application/json.");
  }
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > maxBytes) throw new HttpError(413, `The request body exceeds the limit of ${maxBytes} bytes.`);
    chunks.push(chunk);
  }
  try {
    return JSON.parse(Buffer.concat(chunks).toString("utf8"));
  } catch {
    throw new HttpError(400, "The request body is not valid JSON.", {}, -32700);
  }
}

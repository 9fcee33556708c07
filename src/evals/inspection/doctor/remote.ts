import type { RemoteStart } from "../../diagnosis/remote.ts";
import { messageOf } from "../../errors.ts";
import type { UrlSpec } from "../../toolsets/spec.ts";
import { greeting } from "./greeting.ts";

const patienceMs = 5_000;

/** Asks a URL plainly, without following where it leads. Does not throw. */
export async function askPlainly(spec: UrlSpec, signal: AbortSignal): Promise<RemoteStart> {
  const transport = spec.transport ?? "http";
  const shared = { kind: "remote" as const, url: spec.url, transport };
  const accept = transport === "sse" ? "text/event-stream" : "application/json, text/event-stream";
  const headers = { ...spec.headers, accept, "content-type": "application/json" };
  const body = transport === "sse" ? {} : { method: "POST", body: greeting };
  try {
    const patience = AbortSignal.any([signal, AbortSignal.timeout(patienceMs)]);
    const response = await fetch(spec.url, { ...body, headers, redirect: "manual", signal: patience });
    void response.body?.cancel().catch(() => {});
    const header = (name: string) => response.headers.get(name) ?? undefined;
    const [type, location, authenticate] = [header("content-type"), header("location"), header("www-authenticate")];
    return {
      ...shared,
      answer: {
        kind: "status",
        status: response.status,
        ...(type !== undefined && { type }),
        ...(location !== undefined && { location }),
        ...(authenticate !== undefined && { authenticate }),
      },
    };
  } catch (error) {
    const cause = rootOf(error);
    const code = cause instanceof Error && "code" in cause && typeof cause.code === "string" ? cause.code : "";
    const timeout = cause instanceof Error && cause.name === "TimeoutError";
    return { ...shared, answer: { kind: "none", code: timeout ? "TIMEOUT" : code, message: messageOf(cause) } };
  }
}

function rootOf(error: unknown): unknown {
  let at = error;
  for (let depth = 0; depth < 10 && at instanceof Error && at.cause !== undefined; depth++) at = at.cause;
  return at;
}

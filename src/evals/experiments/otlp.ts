import { createProxyFetch } from "../network/proxy.ts";
import { buildTraces } from "../reports/otlp.ts";
import { readTrials } from "../runs/record.ts";
import { type Problem, usageError } from "../types/errors.ts";
import type { Io } from "../types/io.ts";
import type { Trial } from "../types/trial.ts";
import { version } from "../workspace/version.ts";

/** Trials in one request: collectors refuse bodies of some megabytes. */
const batchSize = 200;
const timeoutMs = 30_000;

/** Where traces are sent: `url`, with `/v1/traces` unless it ends so. Throws a usage error for what is not a URL. */
export function parseCollector(url: string): string {
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol))
    throw usageError(`--otlp ${url} is not an HTTP or HTTPS URL.`, "Write it as http://localhost:4318.");
  return /\/v1\/traces\/?$/.test(new URL(url).pathname) ? url : `${url.replace(/\/$/, "")}/v1/traces`;
}

/**
 * Sends the trials of a record to a collector (OTLP/HTTP, JSON), with the headers of OTEL_EXPORTER_OTLP_HEADERS. Returns
 * the problem where it failed: a run never does.
 */
export async function exportTraces(
  record: { dir: string; run: string },
  url: string,
  io: Io,
): Promise<Problem | undefined> {
  const target = parseCollector(url);
  let sent = 0;
  let batch: Trial[] = [];
  try {
    const flush = async () => {
      if (batch.length > 0) await post(target, JSON.stringify(buildTraces(batch, { run: record.run, version })), io);
      sent += batch.length;
      batch = [];
    };
    for await (const trial of readTrials(record.dir, record.run)) {
      batch.push(trial);
      if (batch.length === batchSize) await flush();
    }
    await flush();
    return undefined;
  } catch (error) {
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause.message : "";
    const why = [error instanceof Error ? error.message : String(error), cause].filter(Boolean).join(": ");
    return {
      severity: "warning",
      message: `The traces could not be sent to ${target} after ${sent} trials: ${why}.`,
      hint: `The run is complete. Send them again with \`evals report ${record.run} --otlp <url>\`.`,
    };
  }
}

async function post(url: string, body: string, { env, signal }: Io): Promise<void> {
  const headers = { "content-type": "application/json", ...parseHeaders(env.OTEL_EXPORTER_OTLP_HEADERS) };
  const send = createProxyFetch(env) ?? fetch;
  const response = await send(url, {
    ...{ method: "POST", headers, body, redirect: "error" },
    signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
  });
  await response.body?.cancel();
  if (!response.ok) throw new Error(`it answered ${response.status}`);
}

/** `name=value,other=value`, with the values percent-encoded (the OpenTelemetry specification of exporters). */
function parseHeaders(text = ""): Record<string, string> {
  const pairs = text.split(",").filter((pair) => pair.includes("="));
  return Object.fromEntries(
    pairs.map((pair): [string, string] => {
      const at = pair.indexOf("=");
      return [pair.slice(0, at).trim(), decodeURIComponent(pair.slice(at + 1).trim())];
    }),
  );
}

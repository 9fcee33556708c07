import querystring from "node:querystring";
import * as z from "zod";
import { abortAfter } from "../../base/network/deadline.ts";
import { readText } from "../../base/network/fetch.ts";
import { createProxyFetch } from "../../base/network/proxy.ts";
import { knownSecrets } from "../../base/secrets/secrets.ts";
import { cut } from "../../base/text/text.ts";
import { withoutSecrets } from "../../base/types/endpoint.ts";
import { type Problem, usageError } from "../../base/types/errors.ts";
import type { Io } from "../../base/types/io.ts";
import { parseJsonText } from "../../base/types/json.ts";
import type { Trial } from "../../base/types/trial.ts";
import { readTrials } from "../../records/record.ts";
import { count } from "../../reports/format.ts";
import { version } from "../workspace/version.ts";
import { buildTraces } from "./otlpReport.ts";

/** Number of trials per request: collectors refuse bodies of several megabytes. */
const batchSize = 200;
const timeoutMs = 30_000;

/** Parses the URL of a collector, and registers its secrets. Throws a usage error for an unusable URL. */
export function parseCollector(text: string, { env }: Pick<Io, "env">): URL {
  const secrets = knownSecrets(env);
  secrets.addUrl("otlp", text);
  for (const value of Object.values(parseHeaders(env.OTEL_EXPORTER_OTLP_HEADERS)))
    for (const part of [value, ...value.split(" ")]) secrets.add("OTEL_EXPORTER_OTLP_HEADERS", part);
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !/^https?:$/.test(url.protocol))
    throw usageError(`--otlp ${text} is not an HTTP or HTTPS URL.`, "Write it as http://localhost:4318.");
  if (url.username !== "" || url.password !== "")
    throw usageError(
      `--otlp ${withoutSecrets(url)} was given with credentials in the URL, which requests cannot have.`,
      "Give them as a header: OTEL_EXPORTER_OTLP_HEADERS=authorization=Basic%20<base64 of user:password>.",
    );
  if (!/\/v1\/traces\/?$/.test(url.pathname)) url.pathname = `${url.pathname.replace(/\/$/, "")}/v1/traces`;
  return url;
}

/** Sends the trials of a record by OTLP/HTTP. Returns the problem if that fails, because it must not fail a run. */
export async function exportTraces(
  record: { dir: string; run: string },
  url: string,
  io: Io,
): Promise<Problem | undefined> {
  const target = parseCollector(url, io);
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
      message: `The traces could not be sent to ${withoutSecrets(target)} after ${sent} trials: ${why}.`,
      hint: `The run is complete. Send them again with \`evals report ${record.run} --otlp <url>\`.`,
    };
  }
}

async function post(url: URL, body: string, { env, signal }: Io): Promise<void> {
  const headers = { "content-type": "application/json", ...parseHeaders(env.OTEL_EXPORTER_OTLP_HEADERS) };
  const send = createProxyFetch(env) ?? fetch;
  const response = await send(url, {
    ...{ method: "POST", headers, body, redirect: "error" },
    signal: abortAfter(signal, timeoutMs),
  });
  if (!response.ok) {
    await response.body?.cancel();
    throw new Error(`it answered ${response.status}`);
  }
  // A collector of another version may send no JSON.
  const answer = partialSuccessSchema.safeParse(parseJsonText(await readText(response.body)));
  const { rejectedSpans = 0, errorMessage = "" } = answer.data?.partialSuccess ?? {};
  if (!(Number(rejectedSpans) > 0)) return;
  const why = errorMessage === "" ? "" : `: ${cut(errorMessage)}`;
  throw new Error(`it rejected ${count(Number(rejectedSpans), "span")}${why}`);
}

/** A collector that refuses some spans answers with success; a number of 64 bits is a text in JSON. */
const partialSuccessSchema = z.object({
  partialSuccess: z
    .object({ rejectedSpans: z.union([z.number(), z.string()]), errorMessage: z.string() })
    .partial()
    .nullish(),
});

/** Parses `name=value,other=value` with percent-encoded values, as in the OpenTelemetry specification of exporters. */
function parseHeaders(text = ""): Record<string, string> {
  const pairs = text.split(",").filter((pair) => pair.includes("="));
  return Object.fromEntries(
    pairs.map((pair): [string, string] => {
      const at = pair.indexOf("=");
      return [pair.slice(0, at).trim(), querystring.unescape(pair.slice(at + 1).trim())];
    }),
  );
}

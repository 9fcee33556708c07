import { createHash } from "node:crypto";
import querystring from "node:querystring";
import * as z from "zod";
import { abortAfter, openFetch, readText } from "../../base/network.ts";
import { knownSecrets } from "../../base/secrets/secrets.ts";
import { cut } from "../../base/text/text.ts";
import { withoutSecrets } from "../../base/types/endpoint.ts";
import { type Problem, usageError } from "../../base/types/errors.ts";
import type { Io } from "../../base/types/io.ts";
import { type Json, type JsonObject, parseJsonText } from "../../base/types/json.ts";
import { cellKey, readOutcome, type Trial } from "../../base/types/trial.ts";
import { readTrials } from "../../records/record.ts";
import { count } from "../../reports/format.ts";
import { promptTokens } from "../results/tally.ts";
import { version } from "../workspace/version.ts";

// Traces in the JSON form of OTLP/HTTP (opentelemetry-proto, trace/v1: ids in hex, times in nanoseconds as decimal
// strings), with the attributes of the semantic conventions for generative AI (1.41: gen_ai.*) and for tests (test.*).
// A trace holds names, counts, times and verdicts, but no text that a user, a model or a tool wrote.

/** Number of trials per request: collectors refuse bodies of several megabytes. */
const batchSize = 200;
const timeoutMs = 30_000;

/** Parses the URL of a collector, and registers its secrets. Throws a usage error for an unusable URL. */
export function parseCollector(text: string, { env }: Pick<Io, "env">): URL {
  const secrets = knownSecrets(env);
  secrets.addUrl("otlp", text);
  for (const value of Object.values(parseHeaders(env)))
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

/** Parses `name=value,other=value` with percent-encoded values, as in the OpenTelemetry specification of exporters. */
function parseHeaders({ OTEL_EXPORTER_OTLP_HEADERS: text = "" }: Io["env"]): Record<string, string> {
  const pairs = [...text.matchAll(/(?:^|,)\s*([^=,]+?)\s*=([^,]*)/g)];
  return Object.fromEntries(pairs.map(([, name = "", value = ""]) => [name, querystring.unescape(value.trim())]));
}

/** Sends the trials of a record. Returns the problem if that fails, because it must not fail a run. */
export async function exportTraces(
  { dir, run }: { dir: string; run: string },
  url: string,
  io: Io,
): Promise<Problem | undefined> {
  const target = parseCollector(url, io);
  let sent = 0;
  let batch: Trial[] = [];
  const flush = async () => {
    if (batch.length > 0) await post(target, JSON.stringify(buildTraces(batch, { run, version })), io);
    sent += batch.length;
    batch = [];
  };
  try {
    for await (const trial of readTrials(dir, run)) if (batch.push(trial) === batchSize) await flush();
    await flush();
    return undefined;
  } catch (error) {
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause.message : "";
    const why = [error instanceof Error ? error.message : String(error), cause].filter(Boolean).join(": ");
    return {
      severity: "warning",
      message: `The traces could not be sent to ${withoutSecrets(target)} after ${sent} trials: ${why}.`,
      hint: `The run is complete. Send them again with \`evals show ${run} --otlp <url>\`.`,
    };
  }
}

async function post(url: URL, body: string, { env, signal }: Io): Promise<void> {
  const headers = { "content-type": "application/json", ...parseHeaders(env) };
  const send = openFetch(env);
  const request = { method: "POST", headers, body, redirect: "error", signal: abortAfter(signal, timeoutMs) } as const;
  const response = await send(url, request);
  if (!response.ok) {
    await response.body?.cancel();
    throw new Error(`it answered ${response.status}`);
  }
  // A collector of another version may send no JSON.
  const answer = partialSuccessSchema.safeParse(parseJsonText(await readText(response.body)));
  const { rejectedSpans = 0, errorMessage = "" } = answer.data?.partialSuccess ?? {};
  if (!(Number(rejectedSpans) > 0)) return;
  throw new Error(
    `it rejected ${count(Number(rejectedSpans), "span")}${errorMessage === "" ? "" : `: ${cut(errorMessage)}`}`,
  );
}

/** A collector that refuses some spans answers with success; a number of 64 bits is a text in JSON. */
const partialSuccessSchema = z.object({
  partialSuccess: z
    .object({ rejectedSpans: z.union([z.number(), z.string()]), errorMessage: z.string() })
    .partial()
    .nullish(),
});

/** Builds the request body: one trace per trial, with a span for each reply and each tool call. */
export function buildTraces(trials: readonly Trial[], about: { run: string; version: string }): JsonObject {
  const scope = { name: "tool-evals", version: about.version };
  const resource = { "service.name": scope.name, "service.version": scope.version, "test.suite.run.id": about.run };
  const spans = trials.flatMap((trial) => buildSpans(trial, about.run));
  return {
    resourceSpans: [{ resource: { attributes: listAttributes(resource) }, scopeSpans: [{ scope, spans }] }],
  };
}

/** Values of the enumerations Span.SpanKind and Status.StatusCode. */
const kinds = { internal: 1, client: 3 } as const;
const statusCodes = { ok: 1, error: 2 } as const;
const finishReasons = { done: "stop", calls: "tool_call", refused: "content_filter", cut: "length" } as const;

function buildSpans({ cell, outcome, verdict, turns, startedAt, ms, costUsd }: Trial, run: string): JsonObject[] {
  const key = `${run}\n${cellKey(cell)}`;
  const traceId = hash(key, 32);
  const rootId = hash(`${key}\nroot`, 16);
  const { suite, model } = cell;
  const colon = model.indexOf(":");
  const start = Date.parse(startedAt);
  let now = start;
  /** A span that begins when the one before it ended. `at`: its place in the trial. */
  const addSpan = (at: string, name: string, kind: keyof typeof kinds, length: number, attributes: Attributes) => {
    const from = now;
    now += length;
    const ids = { traceId, spanId: hash(`${key}\n${at}`, 16), parentSpanId: rootId };
    return { ...ids, name, kind: kinds[kind], ...describeSpan(from, now, attributes) };
  };
  const children = turns.flatMap(({ usage, stop, ms: length, responseId, model: replied, calls }, at) => [
    addSpan(String(at), `chat ${model.slice(colon + 1)}`, "client", length, {
      "gen_ai.operation.name": "chat",
      "gen_ai.provider.name": colon > 0 ? model.slice(0, colon) : "tool-evals",
      "gen_ai.request.model": model.slice(colon + 1),
      "gen_ai.response.model": replied,
      "gen_ai.response.id": responseId,
      "gen_ai.response.finish_reasons": [finishReasons[stop]],
      // The convention counts cached tokens as input.
      "gen_ai.usage.input_tokens": promptTokens(usage),
      "gen_ai.usage.output_tokens": usage.outputTokens,
      "gen_ai.usage.cache_read.input_tokens": usage.cacheReadTokens || undefined,
      "gen_ai.usage.cache_creation.input_tokens": usage.cacheWriteTokens || undefined,
    }),
    ...calls.map(({ tool, inner, id, execution }, nth) => {
      const isExecuted = execution?.status === "executed";
      const name = inner?.tool ?? tool;
      return addSpan(`${at}\n${nth}`, `execute_tool ${name}`, "internal", isExecuted ? execution.ms : 0, {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": name,
        "gen_ai.tool.type": "function",
        "gen_ai.tool.call.id": id,
        "tool_evals.dispatcher": inner && tool,
        "tool_evals.executed": isExecuted,
      });
    }),
  ]);
  const isGraded = verdict && verdict.grade !== "not-gradable";
  const evaluation = verdict && {
    timeUnixNano: toNanoseconds(start + ms),
    name: "gen_ai.evaluation.result",
    attributes: listAttributes({
      "gen_ai.evaluation.name": "tool selection",
      "gen_ai.evaluation.score.label": readOutcome(verdict),
      "gen_ai.evaluation.score.value": isGraded ? Number(verdict.grade === "pass") : undefined,
      "tool_evals.expected": verdict.expected,
      "tool_evals.picked": verdict.picked,
    }),
  };
  const broken = outcome.kind === "broken" ? outcome.stage : undefined;
  const root = {
    ...{ traceId, spanId: rootId, name: `invoke_agent ${suite}`, kind: kinds.internal },
    ...describeSpan(start, Math.max(start + ms, now), {
      "gen_ai.operation.name": "invoke_agent",
      "gen_ai.agent.name": suite,
      "gen_ai.request.model": model,
      "gen_ai.conversation.id": traceId,
      "test.suite.name": suite,
      "test.case.name": cell.case,
      "test.case.result.status": isGraded ? verdict.grade : undefined,
      "tool_evals.arm": cell.arm,
      "tool_evals.trial": cell.trial,
      "tool_evals.cost_usd": costUsd === "unknown" ? undefined : costUsd,
      "error.type": broken,
    }),
    ...(evaluation && { events: [evaluation] }),
    status: broken ? { code: statusCodes.error, message: `broken: ${broken}` } : { code: statusCodes.ok },
  };
  return [root, ...children];
}

const hash = (text: string, length: number) => createHash("sha256").update(text).digest("hex").slice(0, length);

const describeSpan = (from: number, to: number, attributes: Attributes) => ({
  startTimeUnixNano: toNanoseconds(from),
  endTimeUnixNano: toNanoseconds(to),
  attributes: listAttributes(attributes),
});

const toNanoseconds = (ms: number) => `${BigInt(Math.round(ms * 1000)) * 1000n}`;

type Value = string | number | boolean | readonly string[];
type Attributes = Readonly<Record<string, Value | undefined>>;

function listAttributes(attributes: Attributes): Json[] {
  return Object.entries(attributes).flatMap(([key, value]) =>
    value === undefined ? [] : [{ key, value: toAnyValue(value) }],
  );
}

function toAnyValue(value: Value): Json {
  if (typeof value === "string") return { stringValue: value };
  if (typeof value === "boolean") return { boolValue: value };
  if (typeof value === "number") return Number.isInteger(value) ? { intValue: String(value) } : { doubleValue: value };
  return { arrayValue: { values: value.map(toAnyValue) } };
}

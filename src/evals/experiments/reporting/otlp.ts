import { createHash } from "node:crypto";
import querystring from "node:querystring";
import { abortAfter, openFetch } from "../../base/network.ts";
import { knownSecrets } from "../../base/secrets/secrets.ts";
import { withoutSecrets } from "../../base/types/endpoint.ts";
import { messageOf, type Problem, rootCause, usageError } from "../../base/types/errors.ts";
import type { Io } from "../../base/types/io.ts";
import type { Json, JsonObject } from "../../base/types/json.ts";
import { cellKey, readOutcome, type Trial } from "../../base/types/trial.ts";
import { readTrials } from "../../records/record.ts";
import { promptTokens } from "../results/tally.ts";
import { version } from "../workspace/version.ts";

// Traces in the JSON form of OTLP/HTTP, with the attributes of the semantic conventions for generative AI (1.41) and
// for tests. A trace holds names, counts, times and verdicts, but no text that a user, a model or a tool wrote.

/** Trials per request, since collectors refuse bodies of several megabytes, and the time for one request. */
const limits = { trials: 200, ms: 30_000 } as const;

/** Parses the URL of a collector, and registers its secrets. Throws a usage error for an unusable URL. */
export function parseCollector(text: string, { env }: Pick<Io, "env">): URL {
  const secrets = knownSecrets(env);
  secrets.addUrl("otlp", text);
  for (const value of Object.values(parseHeaders(env)))
    for (const part of [value, ...value.split(" ")]) secrets.add("OTEL_EXPORTER_OTLP_HEADERS", part);
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !/^https?:$/.test(url.protocol) || url.username !== "" || url.password !== "")
    throw usageError(
      `--otlp ${text} is not an HTTP or HTTPS URL without a user and password.`,
      "Write it as http://localhost:4318, with OTEL_EXPORTER_OTLP_HEADERS=authorization=Basic%20<base64 of user:password>.",
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
export async function exportTraces(dir: string, run: string, url: string, io: Io): Promise<Problem | undefined> {
  const target = parseCollector(url, io);
  let batch: Trial[] = [];
  const flush = async () => {
    if (batch.length > 0) await post(target, JSON.stringify(buildTraces(batch, run)), io);
    batch = [];
  };
  try {
    for await (const trial of readTrials(dir, run)) if (batch.push(trial) === limits.trials) await flush();
    await flush();
    return undefined;
  } catch (error) {
    const why = messageOf(rootCause(error as Error));
    const message = `The traces could not all be sent to ${withoutSecrets(target)}: ${why}.`;
    const hint = `The run is complete. Send them again with \`evals show ${run} --otlp <url>\`.`;
    return { severity: "warning", message, hint };
  }
}

async function post(url: URL, body: string, { env, signal }: Io): Promise<void> {
  const headers = { "content-type": "application/json", ...parseHeaders(env) };
  const request = { method: "POST", headers, body, redirect: "error", signal: abortAfter(signal, limits.ms) } as const;
  const response = await openFetch(env)(url, request);
  await response.body?.cancel();
  if (!response.ok) throw new Error(`it answered ${response.status}`);
}

/** Builds the request body: one trace per trial, with a span for each reply and each tool call. */
export function buildTraces(trials: readonly Trial[], run: string): JsonObject {
  const scope = { name: "tool-evals", version };
  const attributes = listAttributes({ "service.name": scope.name, "test.suite.run.id": run });
  const spans = trials.flatMap((trial) => buildSpans(trial, run));
  return { resourceSpans: [{ resource: { attributes }, scopeSpans: [{ scope, spans }] }] };
}

function buildSpans({ cell, outcome, verdict, turns, startedAt, ms, costUsd }: Trial, run: string): JsonObject[] {
  const key = `${run}\n${cellKey(cell)}`;
  const traceId = hash(key, 32);
  const { suite, model } = cell;
  const colon = model.indexOf(":");
  const start = Date.parse(startedAt);
  /** `at`: the place of the span in the trial. `kind`: of Span.SpanKind. */
  const makeSpan = (at: string, [operation, name]: [string, string], from: number, to: number, about: Attributes) => ({
    ...{ traceId, spanId: hash(`${key}\n${at}`, 16), name: `${operation} ${name}`, kind: operation === "chat" ? 3 : 1 },
    ...{ startTimeUnixNano: toNanoseconds(from), endTimeUnixNano: toNanoseconds(to) },
    attributes: listAttributes({ "gen_ai.operation.name": operation, ...about }),
  });
  let now = start;
  /** A span that begins when the one before it ended. */
  const addChild = (at: string, name: [string, string], length: number, about: Attributes) => {
    now += length;
    return { ...makeSpan(at, name, now - length, now, about), parentSpanId: hash(`${key}\nroot`, 16) };
  };
  const children = turns.flatMap(({ usage, stop, ms: length, responseId, model: replied, calls }, at) => [
    addChild(String(at), ["chat", model.slice(colon + 1)], length, {
      "gen_ai.provider.name": colon > 0 ? model.slice(0, colon) : "tool-evals",
      "gen_ai.request.model": model.slice(colon + 1),
      "gen_ai.response.model": replied,
      "gen_ai.response.id": responseId,
      "gen_ai.response.finish_reasons": [stop],
      // The convention counts cached tokens as input.
      "gen_ai.usage.input_tokens": promptTokens(usage),
      "gen_ai.usage.output_tokens": usage.outputTokens,
    }),
    ...calls.map(({ tool, inner, id, execution }, nth) => {
      const isExecuted = execution?.status === "executed";
      const name = inner?.tool ?? tool;
      return addChild(`${at}\n${nth}`, ["execute_tool", name], isExecuted ? execution.ms : 0, {
        "gen_ai.tool.name": name,
        "gen_ai.tool.call.id": id,
        "tool_evals.dispatcher": inner && tool,
        "tool_evals.executed": isExecuted,
      });
    }),
  ]);
  const broken = outcome.kind === "broken" ? outcome.stage : undefined;
  const root = makeSpan("root", ["invoke_agent", suite], start, Math.max(start + ms, now), {
    "gen_ai.agent.name": suite,
    "gen_ai.request.model": model,
    "test.case.name": cell.case,
    "test.case.result.status": verdict && verdict.grade !== "not-gradable" ? verdict.grade : undefined,
    "gen_ai.evaluation.score.label": verdict && readOutcome(verdict),
    "tool_evals.expected": verdict?.expected,
    "tool_evals.picked": verdict?.picked,
    "tool_evals.arm": cell.arm,
    "tool_evals.trial": cell.trial,
    "tool_evals.cost_usd": costUsd === "unknown" ? undefined : costUsd,
    "error.type": broken,
  });
  // The codes of Status.StatusCode: ok, and error.
  return [{ ...root, status: { code: broken === undefined ? 1 : 2 } }, ...children];
}

const hash = (text: string, length: number) => createHash("sha256").update(text).digest("hex").slice(0, length);
const toNanoseconds = (ms: number) => `${BigInt(Math.round(ms * 1000)) * 1000n}`;

type Attributes = Readonly<Record<string, Json | undefined>>;

const listAttributes = (attributes: Attributes): Json[] =>
  Object.entries(attributes).flatMap(([key, value]) =>
    value === undefined ? [] : [{ key, value: writeValue(value) }],
  );

function writeValue(value: Json): Json {
  if (Array.isArray(value)) return { arrayValue: { values: value.map(writeValue) } };
  if (typeof value === "number") return Number.isInteger(value) ? { intValue: String(value) } : { doubleValue: value };
  return typeof value === "string" ? { stringValue: value } : { boolValue: value };
}

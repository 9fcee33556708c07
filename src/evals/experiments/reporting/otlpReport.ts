import { createHash } from "node:crypto";
import type { Json, JsonObject } from "../../base/types/json.ts";
import { type Call, cellKey, readOutcome, type Trial, type Turn } from "../../base/types/trial.ts";

// OTLP in its JSON form (opentelemetry-proto, trace/v1: ids in hex, times in nanoseconds as decimal strings), with the
// attributes of the semantic conventions for generative AI (1.41: gen_ai.*) and for tests (test.*). A trace holds
// names, counts, times and verdicts, but no text that a user, a model or a tool wrote.

type Attributes = Readonly<Record<string, string | number | boolean | readonly string[] | undefined>>;

/** Builds the OTLP/HTTP request body: one trace per trial, with a span for each reply and each tool call. */
export function buildTraces(trials: readonly Trial[], { run, version }: { run: string; version: string }): JsonObject {
  const resource = { "service.name": "tool-evals", "service.version": version, "test.suite.run.id": run };
  return {
    resourceSpans: [
      {
        resource: { attributes: listAttributes(resource) },
        scopeSpans: [
          { scope: { name: "tool-evals", version }, spans: trials.flatMap((trial) => buildSpans(trial, run)) },
        ],
      },
    ],
  };
}

type Span = { id: string; name: string; kind: "internal" | "client"; from: number; to: number; attributes: Attributes };

/** Values of the enumerations Span.SpanKind and Status.StatusCode. */
const kinds = { internal: 1, client: 3 } as const;
const statusCodes = { ok: 1, error: 2 } as const;

function buildSpans(trial: Trial, run: string): Json[] {
  const key = [run, cellKey(trial.cell)].join("\n");
  const traceId = hash(key, 32);
  const rootId = hash(`${key}\nroot`, 16);
  const start = Date.parse(trial.startedAt);
  const { suite, case: id, arm, model, trial: number } = trial.cell;
  const { outcome, verdict } = trial;
  const write = (
    { id: spanId, name, kind, from, to, attributes }: Span,
    parent?: string,
    rest: JsonObject = {},
  ): Json => ({
    traceId,
    spanId,
    ...(parent !== undefined && { parentSpanId: parent }),
    name,
    kind: kinds[kind],
    startTimeUnixNano: toNanoseconds(from),
    endTimeUnixNano: toNanoseconds(to),
    attributes: listAttributes(attributes),
    ...rest,
  });
  const root = {
    "gen_ai.operation.name": "invoke_agent",
    "gen_ai.agent.name": suite,
    "gen_ai.request.model": model,
    "gen_ai.conversation.id": traceId,
    "test.suite.name": suite,
    "test.case.name": id,
    "test.case.result.status": verdict && verdict.grade !== "not-gradable" ? verdict.grade : undefined,
    "tool_evals.arm": arm,
    "tool_evals.trial": number,
    "tool_evals.cost_usd": trial.costUsd === "unknown" ? undefined : trial.costUsd,
    "error.type": outcome.kind === "broken" ? outcome.stage : undefined,
  };
  const evaluated = verdict && [
    {
      timeUnixNano: toNanoseconds(start + trial.ms),
      name: "gen_ai.evaluation.result",
      attributes: listAttributes({
        "gen_ai.evaluation.name": "tool selection",
        "gen_ai.evaluation.score.label": readOutcome(verdict),
        "gen_ai.evaluation.score.value":
          verdict.grade === "not-gradable" ? undefined : verdict.grade === "pass" ? 1 : 0,
        "tool_evals.expected": verdict.expected,
        "tool_evals.picked": verdict.picked,
      }),
    },
  ];
  const status =
    outcome.kind === "broken"
      ? { code: statusCodes.error, message: `broken: ${outcome.stage}` }
      : { code: statusCodes.ok };
  let now = start;
  const children = trial.turns.flatMap((turn, at) => {
    const spans = [buildReply(turn, model, now, `${key}\n${at}`)];
    now += turn.ms;
    for (const [nth, call] of turn.calls.entries()) {
      const span = buildCall(call, now, `${key}\n${at}\n${nth}`);
      spans.push(span);
      now = span.to;
    }
    return spans;
  });
  const whole: Span = {
    id: rootId,
    name: `invoke_agent ${suite}`,
    kind: "internal",
    from: start,
    to: Math.max(start + trial.ms, now),
    attributes: root,
  };
  return [
    write(whole, undefined, { ...(evaluated && { events: evaluated }), status }),
    ...children.map((span) => write(span, rootId)),
  ];
}

const finishReasons = { done: "stop", calls: "tool_call", refused: "content_filter", cut: "length" } as const;

function buildReply(
  { usage, stop, ms, responseId, model: replied }: Turn,
  model: string,
  from: number,
  key: string,
): Span {
  const colon = model.indexOf(":");
  const cached = { read: usage.cacheReadTokens, written: usage.cacheWriteTokens };
  return {
    id: hash(key, 16),
    name: `chat ${model.slice(colon + 1)}`,
    kind: "client",
    from,
    to: from + ms,
    attributes: {
      "gen_ai.operation.name": "chat",
      "gen_ai.provider.name": colon > 0 ? model.slice(0, colon) : "tool-evals",
      "gen_ai.request.model": model.slice(colon + 1),
      "gen_ai.response.model": replied,
      "gen_ai.response.id": responseId,
      "gen_ai.response.finish_reasons": [finishReasons[stop]],
      // The convention counts cached tokens as input.
      "gen_ai.usage.input_tokens": usage.inputTokens + cached.read + cached.written,
      "gen_ai.usage.output_tokens": usage.outputTokens,
      "gen_ai.usage.cache_read.input_tokens": cached.read || undefined,
      "gen_ai.usage.cache_creation.input_tokens": cached.written || undefined,
    },
  };
}

function buildCall({ tool, inner, id, execution }: Call, from: number, key: string): Span {
  const isExecuted = execution?.status === "executed";
  const name = inner?.tool ?? tool;
  return {
    id: hash(key, 16),
    name: `execute_tool ${name}`,
    kind: "internal",
    from,
    to: from + (isExecuted ? execution.ms : 0),
    attributes: {
      "gen_ai.operation.name": "execute_tool",
      "gen_ai.tool.name": name,
      "gen_ai.tool.type": "function",
      "gen_ai.tool.call.id": id,
      "tool_evals.dispatcher": inner && tool,
      "tool_evals.executed": isExecuted,
    },
  };
}

const hash = (text: string, length: number) => createHash("sha256").update(text).digest("hex").slice(0, length);

const toNanoseconds = (ms: number) => `${BigInt(Math.round(ms * 1000)) * 1000n}`;

function listAttributes(attributes: Attributes): Json[] {
  return Object.entries(attributes).flatMap(([key, value]) =>
    value === undefined ? [] : [{ key, value: toAnyValue(value) }],
  );
}

function toAnyValue(value: string | number | boolean | readonly string[]): Json {
  if (typeof value === "string") return { stringValue: value };
  if (typeof value === "boolean") return { boolValue: value };
  if (typeof value === "number") return Number.isInteger(value) ? { intValue: String(value) } : { doubleValue: value };
  return { arrayValue: { values: value.map(toAnyValue) } };
}

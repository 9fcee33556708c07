import { join } from "node:path";
import protobuf from "protobufjs";
import { describe, expect, it } from "vitest";
import type { Json } from "../../../src/evals/base/types/json.ts";
import { isJsonObject } from "../../../src/evals/base/types/json.ts";
import type { Trial } from "../../../src/evals/base/types/trial.ts";
import { buildTraces, parseCollector } from "../../../src/evals/experiments/reporting/otlp.ts";

const root = new protobuf.Root();
root.resolvePath = (_, target) => join(import.meta.dirname, "../../fixtures/otlp", target);
root.loadSync("opentelemetry/proto/collector/trace/v1/trace_service.proto");
const request = root.lookupType("opentelemetry.proto.collector.trace.v1.ExportTraceServiceRequest");

/** What in a JSON value is not of its published message type: unknown fields and values of another type. */
function findMisfits(value: Json | undefined, type: protobuf.Type, at: string): string[] {
  if (!isJsonObject(value)) return [`${at}: not an object`];
  return Object.entries(value).flatMap(([name, member]) => {
    const field = type.fields[name]?.resolve();
    if (!field) return [`${at}.${name}: unknown field of ${type.name}`];
    const members = field.repeated ? (Array.isArray(member) ? member : [null]) : [member];
    return members.flatMap((one, index) => findMisfit(one, field, `${at}.${name}[${index}]`));
  });
}

const hexLength: Record<string, number> = { traceId: 32, spanId: 16, parentSpanId: 16 };

function findMisfit(value: Json | undefined, field: protobuf.Field, at: string): string[] {
  if (field.resolvedType instanceof protobuf.Type) return findMisfits(value, field.resolvedType, at);
  if (field.resolvedType instanceof protobuf.Enum)
    return Object.values(field.resolvedType.values).includes(Number(value))
      ? []
      : [`${at}: no value of the enumeration`];
  const fits =
    field.type === "bytes"
      ? typeof value === "string" && new RegExp(`^[0-9a-f]{${hexLength[field.name]}}$`).test(value)
      : /64$/.test(field.type)
        ? typeof value === "string" && /^-?\d+$/.test(value)
        : typeof value === (field.type === "string" ? "string" : field.type === "bool" ? "boolean" : "number");
  return fits ? [] : [`${at}: ${JSON.stringify(value)} is no ${field.type}`];
}

const usage = { inputTokens: 800, outputTokens: 40, cacheReadTokens: 200, cacheWriteTokens: 0 };
const answered: Trial = {
  cell: { suite: "files", case: "read", arm: "head", model: "anthropic:claude-haiku-5-5", trial: 2 },
  ...{ toolset: "t", orderSeed: 1 },
  outcome: { kind: "answered" },
  turns: [
    {
      text: "secret words of the model",
      calls: [
        {
          id: "toolu_1",
          tool: "read_file",
          arguments: { path: "secret.txt" },
          execution: { status: "executed", ms: 5, result: { isError: false, content: [] } },
        },
      ],
      ...{ stop: "calls", usage, ms: 700, responseId: "msg_1", model: "claude-haiku-5-5-20260801" },
    },
    { text: "done", calls: [], stop: "done", usage, ms: 300 },
  ],
  verdict: { grade: "pass", selection: "right-tool", expected: "read_file", picked: "read_file", checks: [] },
  ...{ costUsd: 0.001, startedAt: "2026-11-22T10:00:00.000Z", ms: 1010 },
} as Trial;
const broken: Trial = {
  ...answered,
  cell: { ...answered.cell, trial: 3 },
  ...{ outcome: { kind: "broken", stage: "model", message: "secret of the provider" }, turns: [], verdict: undefined },
};
const run = "2026-11-22T10-00-00-000";

type Sent = { resourceSpans: { scopeSpans: { spans: Record<string, Json>[] }[] }[] };
const listSpans = (sent: unknown) =>
  (sent as Sent).resourceSpans.flatMap((one) => one.scopeSpans).flatMap((one) => one.spans);

describe("the traces of trials", () => {
  const traces = buildTraces([answered, broken], run);

  it("fit the published schema of OTLP", () => {
    expect(findMisfits(traces, request, "request")).toEqual([]);
    expect(findMisfits({ resourceSpans: [{ spans: [] }] }, request, "request")).toHaveLength(1);
  });

  it("are one per trial, with a span for each reply and each call", () => {
    const spans = listSpans(traces);
    expect(new Set(spans.map(({ traceId }) => traceId)).size).toBe(2);
    expect(spans.map(({ name, parentSpanId }) => [name, parentSpanId !== undefined])).toEqual([
      ["invoke_agent files", false],
      ["chat claude-haiku-5-5", true],
      ["execute_tool read_file", true],
      ["chat claude-haiku-5-5", true],
      ["invoke_agent files", false],
    ]);
    expect(spans[0]).toMatchSnapshot();
    expect(spans[1]).toMatchSnapshot();
    expect(spans[2]).toMatchSnapshot();
    expect(spans[4]).toMatchObject({ status: { code: 2 } });
  });

  it("hold no text of a user, a model, a tool or a provider", () => {
    expect(JSON.stringify(traces)).not.toMatch(/secret/);
  });

  it("have the same ids whenever they are built", () => {
    expect(buildTraces([answered, broken], run)).toEqual(traces);
    expect(buildTraces([answered], "another")).not.toMatchObject({
      resourceSpans: traces.resourceSpans,
    });
  });
});

describe("a collector", () => {
  it.each([
    ["http://localhost:4318", "http://localhost:4318/v1/traces"],
    ["https://example.com/otlp/", "https://example.com/otlp/v1/traces"],
    ["http://localhost:4318/v1/traces", "http://localhost:4318/v1/traces"],
    ["http://localhost:4318/?key=x", "http://localhost:4318/v1/traces?key=x"],
  ])("%s gets traces at %s", (given, target) => {
    expect(parseCollector(given, { env: {} }).href).toBe(target);
  });

  it.each(["localhost:4318", "ftp://example.com", "collector", "http://user:word@localhost:4318"])(
    "is not %s",
    (given) => {
      expect(() => parseCollector(given, { env: {} })).toThrow("is not an HTTP or HTTPS URL");
    },
  );
});

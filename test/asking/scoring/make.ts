import type { JsonObject } from "../../../src/evals/base/types/json.ts";
import { noUsage } from "../../../src/evals/base/types/model.ts";
import type { Case, Expectation, ExpectedCall } from "../../../src/evals/base/types/suite.ts";
import type { OfferedTool, Toolset } from "../../../src/evals/base/types/tool.ts";
import type { Call, Execution, Turn } from "../../../src/evals/base/types/trial.ts";

type ToolExpectation = Extract<Expectation, { kind: "tool" }>;
type CallsExpectation = Extract<Expectation, { kind: "calls" }>;

export function caseOf(expect: Expectation | undefined, expectedBehavior: readonly string[] = []): Case {
  return {
    id: "read-one",
    hash: "0",
    messages: [{ role: "user", content: "hello" }],
    ...(expect && { expect }),
    expectedBehavior,
    trials: 1,
    passRate: 0.8,
    maxTurns: 1,
    location: { file: "evals/files.yaml", line: 3, column: 5 },
  };
}

export function expectTool(call: ExpectedCall, rules: Partial<ToolExpectation> = {}): ToolExpectation {
  return { kind: "tool", call, extras: false, argsMode: "partial", avoid: [], ...rules };
}

export function expectCalls(calls: readonly ExpectedCall[], rules: Partial<CallsExpectation> = {}): CallsExpectation {
  const defaults = { order: "strict", extras: false, argsMode: "partial", avoid: [] } as const;
  return { kind: "calls", calls, ...defaults, ...rules };
}

export function toolsetOf(tools: readonly (Pick<OfferedTool, "name"> & Partial<OfferedTool>)[]): Toolset {
  const anything = { type: "object" };
  return {
    hash: "0",
    tools: tools.map((tool) => ({ inputSchema: anything, server: "files", origin: "server", ...tool })),
  };
}

export function call(tool: string, args: JsonObject = {}, execution?: Execution): Call {
  return { id: "1", tool, arguments: args, ...(execution && { execution }) };
}

export function turn(...calls: Call[]): Turn {
  return { text: "", calls, stop: calls.length > 0 ? "calls" : "done", usage: noUsage, ms: 1 };
}

export const refusal: Turn = { ...turn(), stop: "refused" };

export function executed(text: string, structuredContent?: JsonObject, isError = false): Execution {
  const content = [{ type: "text", text }];
  return { status: "executed", ms: 1, result: { isError, content, ...(structuredContent && { structuredContent }) } };
}

import { compileSchema } from "../../../../src/evals/base/jsonSchema/validate.ts";
import type { Json, JsonObject } from "../../../../src/evals/base/types/json.ts";
import type { ToolResult } from "../../../../src/evals/base/types/tool.ts";
import type {
  ProbeAnswer,
  ProbedTool,
  ProbeKind,
  ProbeObservation,
} from "../../../../src/evals/inspection/probe/plan/probe.ts";

/** A tool as probes see it, its schemas compiled by the validator of the product. */
export function probed(
  inputSchema: JsonObject,
  more: Partial<ProbedTool> & { outputSchema?: JsonObject } = {},
): ProbedTool {
  const input = compileSchema(inputSchema);
  if (typeof input === "string") throw new Error(input);
  const { outputSchema, ...rest } = more;
  const output = outputSchema && compileSchema(outputSchema);
  return {
    ...{ name: "act", inputSchema },
    allows: (args) => input(args, "arguments").kind === "valid",
    ...(typeof output === "function" && {
      outputFault: (value) => {
        const validity = output(value, "structuredContent");
        return validity.kind === "invalid" ? validity.why : undefined;
      },
    }),
    ...rest,
  };
}

export const result = (body: Json | undefined, more: Partial<ToolResult> = {}): ProbeAnswer => ({
  alive: true,
  outcome: {
    kind: "result",
    result: {
      isError: false,
      content:
        body === undefined ? [] : [{ type: "text", text: typeof body === "string" ? body : JSON.stringify(body) }],
      ...more,
    },
  },
});

export const failure = (body: Json | undefined, more: Partial<ToolResult> = {}): ProbeAnswer =>
  result(body, { isError: true, ...more });

export const broken = (stage: "server" | "timeout", alive: boolean): ProbeAnswer => ({
  alive,
  outcome: { kind: "broken", stage, message: "it broke" },
});

/** A probe of a kind that was answered so. */
export function seen(
  kind: ProbeKind,
  answer: ProbeAnswer,
  {
    tool = probed({ type: "object" }),
    parameter,
    args = {},
  }: { tool?: ProbedTool; parameter?: string; args?: JsonObject } = {},
): ProbeObservation {
  return { tool, probe: { kind, base: args, args: () => args, ...(parameter && { parameter }) }, args, answer };
}

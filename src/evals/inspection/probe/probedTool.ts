import type { ProbedTool } from "../../probes/probe.ts";
import { compileSchema, type Validate } from "../../scoring/listing.ts";
import type { JsonObject } from "../../types/json.ts";
import type { Tool } from "../../types/tool.ts";

/** A listed tool with its schemas compiled, or why its inputSchema cannot be. */
export function probedTool({ name, inputSchema, outputSchema, annotations }: Tool): ProbedTool | string {
  const input = compileSchema(inputSchema);
  if (typeof input === "string") return `its inputSchema cannot be compiled: ${input}`;
  const output = outputSchema && compileSchema(outputSchema);
  return {
    name,
    inputSchema,
    readOnly: annotations?.readOnlyHint === true,
    idempotent: annotations?.idempotentHint === true,
    allows: (args) => allowed(input, args),
    ...(typeof output === "function" && { outputFault: (structured) => output(structured, "structuredContent") }),
  };
}

/** What the validator cannot decide is not allowed: a schema may refer to itself without end. */
function allowed(validate: Validate, args: JsonObject): boolean {
  try {
    return validate(args, "arguments") === undefined;
  } catch {
    return false;
  }
}

/** A name that the server does not offer, as a tool that takes no arguments. */
export function unknownTool(name: string): ProbedTool {
  return { name, inputSchema: {}, readOnly: false, idempotent: false, allows: () => true };
}

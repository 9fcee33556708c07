import type { ToolResult } from "../../types/tool.ts";
import { failed, isMirrored, resultOf, textOf, unmarked } from "../outcome.ts";
import type { Check, Observation } from "../probe.ts";
import { quoted } from "./quoted.ts";

const successes = ({ answers }: Observation): ToolResult[] =>
  answers.flatMap((answer) => resultOf(answer) ?? []).filter((result) => !failed(result));

export const outputSchema: Check = {
  id: "output-schema",
  severity: "error",
  why: "Hosts check structured content against the outputSchema, and withhold what breaks it.",
  docs: "https://modelcontextprotocol.io/specification/2025-11-25/server/tools#output-schema",
  fix: "Return what the outputSchema says, or change it.",
  needs: "a success of a tool with an outputSchema",
  check: (seen) => {
    const { outputFault } = seen.tool;
    const [first, ...others] = successes(seen);
    if (!outputFault || !first) return "does not apply";
    for (const { structuredContent } of [first, ...others]) {
      const fault = structuredContent === undefined ? "there is none" : outputFault(structuredContent);
      if (fault !== undefined) return { wrong: `the structured content breaks the outputSchema: ${fault}` };
    }
    return "ok";
  },
};

export const mirrored: Check = {
  id: "mirrored-as-text",
  severity: "warning",
  why: "Some hosts show a model the structured content, others only the text.",
  docs: "https://modelcontextprotocol.io/specification/2025-11-25/server/tools#structured-content",
  fix: "Put the same JSON into a text item.",
  needs: "structured content",
  check: ({ answers }) => {
    const results = answers.flatMap((answer) => resultOf(answer) ?? []);
    const structured = results.flatMap((result) =>
      result.structuredContent ? [isMirrored(result.structuredContent, result)] : [],
    );
    if (structured.length === 0) return "does not apply";
    return structured.includes(false) ? { wrong: "the text does not hold what the structured content does" } : "ok";
  },
};

export const repeats: Check = {
  id: "repeats",
  severity: "error",
  why: "A model repeats a query that is annotated read-only without a second thought.",
  docs: "https://modelcontextprotocol.io/specification/2025-11-25/schema#toolannotations",
  fix: "Leave no trace of a query, or do not annotate the tool as read-only.",
  needs: "a read-only tool that succeeds",
  check: ({ probe, answers }) => {
    const [first, second] = answers.map(resultOf);
    if (probe.kind !== "repeat" || !first || !second || failed(first)) return "does not apply";
    return failed(second) ? { wrong: "the same call fails the second time" } : "ok";
  },
};

/** The answers of a probe of defaults: without them, and, of a read-only tool, with them before and after. */
function byDefaults({ probe, tool, answers }: Observation) {
  const results = answers.map(resultOf);
  const [before, omitted, after] = tool.readOnly ? results : [undefined, ...results];
  return probe.kind === "defaults" && omitted ? { before, omitted, after } : undefined;
}

export const defaultsWork: Check = {
  id: "defaults-work",
  severity: "error",
  why: "A model leaves out what has a default.",
  docs: "https://json-schema.org/understanding-json-schema/reference/annotations",
  fix: "Fill in the default before the work, or remove it from the schema and require the parameter.",
  needs: "parameters with defaults, and a success without them (of a read-only tool: or with them)",
  check: (seen) => {
    const found = byDefaults(seen);
    if (!found) return "does not apply";
    if (!failed(found.omitted)) return "ok";
    return found.before && !failed(found.before)
      ? { wrong: "the call fails without the parameters that have defaults, and succeeds with the defaults given" }
      : "does not apply";
  },
};

export const defaultsMeant: Check = {
  id: "defaults-as-declared",
  severity: "warning",
  why: "The schema tells a model another default than the one that is used.",
  docs: "https://json-schema.org/understanding-json-schema/reference/annotations",
  fix: "Declare the default that is used.",
  needs: "parameters with defaults of a read-only, idempotent tool that answers the same twice",
  check: (seen) => {
    const { before, omitted, after } = byDefaults(seen) ?? {};
    if (!before || !omitted || !after || failed(before) || failed(omitted)) return "does not apply";
    const [given, left, again] = [before, omitted, after].map((result) => JSON.stringify(result));
    if (given !== again) return "does not apply";
    return given === left ? "ok" : { wrong: "the result differs from the one with the declared defaults given" };
  },
};

export const unknownToolForm: Check = {
  id: "unknown-tool-message",
  severity: "warning",
  why: "Hosts and models know the error by its form, Unknown tool: <name>.",
  docs: "https://modelcontextprotocol.io/specification/2025-11-25/server/tools#error-handling",
  fix: "Handle tools/call on the low-level server, and raise -32602 with the message Unknown tool: <name>.",
  needs: "an error for a call of an unknown tool",
  check: ({ probe, tool, answers }) => {
    const answer = answers.at(-1);
    const result = resultOf(answer);
    const message = answer?.outcome.kind === "unknown-tool" ? answer.outcome.message : result && textOf(result);
    if (probe.kind !== "unknown tool" || message === undefined || (result && !failed(result))) return "does not apply";
    const said = unmarked(message);
    if (said === `Unknown tool: ${tool.name}`) return "ok";
    const own = said === `Tool ${tool.name} not found` ? "McpServer's own form" : "another form";
    return { wrong: `the error has ${own}: ${quoted(said)}` };
  },
};

import { jsonPath } from "../jsonSchema/walk.ts";
import { schemaRules } from "../lint/rules/schemas.ts";
import { isJsonObject } from "../types/json.ts";
import { quote } from "../types/text.ts";
import type { CallOutcome, Tool } from "../types/tool.ts";
import type { Diagnosis } from "./report.ts";

/** A call of a tool without arguments, and its outcome. */
export type TestCall = { tool: string; outcome: CallOutcome };

/** Without `tool` it is about the list. */
type ToolDiagnosis = Omit<Diagnosis, "show"> & { tool?: string };

/** Schema rules whose violation makes a host refuse the tool or its calls. */
const decisive = new Set(
  "input-schema-missing input-schema-type root-combinator required-shape required-unknown schema-not-valid ref-unresolved".split(
    " ",
  ),
);
const maxFaults = 10;

/** What is wrong with the listed tools, and with the calls that were made. */
export function diagnoseTools(tools: readonly Tool[], calls: readonly TestCall[]): ToolDiagnosis[] {
  if (tools.length === 0)
    return [
      {
        id: "no-tools",
        severity: "error",
        wrong: "The server lists no tools.",
        evidence: [],
        remedy: "Register tools before the server answers tools/list. Some servers need settings to offer any.",
      },
    ];
  const faultsByTool = new Map(tools.map((tool) => [tool.name, findSchemaFaults(tool)]));
  return [
    ...diagnoseSchemas(faultsByTool),
    ...calls.flatMap(({ tool, outcome }) => {
      const diagnosis = diagnoseCall(tool, outcome, (faultsByTool.get(tool) ?? []).length > 0);
      return diagnosis ? [{ ...diagnosis, tool }] : [];
    }),
  ];
}

function diagnoseSchemas(faultsByTool: ReadonlyMap<string, readonly string[]>): ToolDiagnosis[] {
  const invalid = [...faultsByTool].filter(([, faults]) => faults.length > 0);
  if (invalid.length === 0) return [];
  const lines = invalid.flatMap(([name, faults]) => faults.map((fault) => `${name}: ${fault}`));
  const rest = lines.length - maxFaults;
  return [
    {
      id: "malformed-schema",
      severity: "error",
      wrong: `${invalid.length === 1 ? "1 tool has" : `${invalid.length} tools have`} an invalid inputSchema.`,
      evidence: [...lines.slice(0, maxFaults), ...(rest > 0 ? [`and ${rest} more`] : [])],
      remedy: "Correct the schema: hosts refuse such a tool, or its calls fail.",
    },
  ];
}

function findSchemaFaults(tool: Tool): string[] {
  const subject = {
    server: "",
    tool: JSON.parse(JSON.stringify(tool)),
    siblings: new Set<string>(),
    shownName: tool.name,
  };
  return schemaRules
    .filter(({ id }) => decisive.has(id))
    .flatMap((rule) => [...rule.check(subject)].map(({ at, message }) => `${jsonPath(at)}: ${message}`));
}

const unknownTool = /\bunknown tool\b|\btool\b.{0,80}\b(?:not found|does not exist|is not known)\b/i;
/** The schema of a tool without required parameters allows a call without arguments: refusing it contradicts the schema. */
const refusal =
  /\b(?:invalid|missing|required|expected|unrecognized|validation|schema|-32602|undefined|is not a function|cannot read)\b/i;

function diagnoseCall(tool: string, outcome: CallOutcome, hasFaults: boolean): Omit<Diagnosis, "show"> | undefined {
  if (outcome.kind === "broken" && outcome.stage === "timeout")
    return {
      // Only a warning: some work takes long.
      id: "call-silent",
      severity: "warning",
      wrong: `A call of "${tool}" was not answered in time.`,
      evidence: [outcome.message],
      remedy: "If the tool hangs, return an error result instead. If it is slow by nature, say so in its description.",
    };
  if (outcome.kind === "broken")
    return {
      id: "call-breaks",
      severity: "error",
      wrong: `A call of "${tool}" breaks the server.`,
      evidence: [outcome.message],
      remedy: "Catch the exception in the tool, and return an error result that says how to recover.",
    };
  const result = outcome.kind === "result" ? outcome.result : undefined;
  const text =
    outcome.kind === "result" ? outcome.result.content.map((item) => item.text ?? "").join("\n") : outcome.message;
  if (result && (!result.isError || isStructuredFailure(result.structuredContent ?? text))) return undefined;
  const evidence = [`the server answered ${quote(text)}`];
  if (outcome.kind === "unknown-tool" || unknownTool.test(text))
    return {
      id: "call-unknown",
      severity: "error",
      wrong: `"${tool}" is listed, but the server does not know it when it is called.`,
      evidence,
      remedy: "Handle calls under the names that are listed.",
    };
  const contradicts = hasFaults || refusal.test(text);
  return {
    id: "call-fails",
    severity: contradicts ? "error" : "warning",
    wrong: `A call of "${tool}" without arguments fails, although its schema requires none.`,
    evidence,
    remedy: contradicts
      ? 'Correct its inputSchema: usually a type is wrong, or a required parameter is missing from "required".'
      : "If it needs another step first, say so in its description and in the retry_hint of its result.",
  };
}

/** Whether a failure tells a model what to do about it. */
function isStructuredFailure(result: unknown): boolean {
  if (typeof result !== "string") return isJsonObject(result) && result.success === false && "retry_hint" in result;
  try {
    return result.startsWith("{") && isStructuredFailure(JSON.parse(result));
  } catch {
    return false;
  }
}

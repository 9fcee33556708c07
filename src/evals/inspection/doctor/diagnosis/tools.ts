import { formatJsonPath } from "../../../base/jsonSchema/walk.ts";
import { excerpt, quoteWhole } from "../../../base/text/text.ts";
import { isJsonObject } from "../../../base/types/json.ts";
import type { CallOutcome, Tool } from "../../../base/types/tool.ts";
import { schemaRules } from "../../lint/rules/schemas.ts";
import { findKnownError, type KnownError } from "./knownErrors.ts";
import { findRefusal } from "./remote.ts";
import type { Diagnosis } from "./report.ts";

/** A call of a tool without arguments, and its outcome. */
export type TestCall = { tool: string; outcome: CallOutcome };

/** A diagnosis without `tool` is about the list. */
type ToolDiagnosis = Omit<Diagnosis, "show"> & { tool?: string };

/** Schema rules whose violation makes a host refuse the tool or its calls. */
const decisive = new Set(
  "input-schema-missing input-schema-type root-combinator required-shape required-unknown schema-not-valid ref-unresolved".split(
    " ",
  ),
);
const maxFaults = 10;

/** The faults of the listed tools, and of the calls that were made. */
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
  const explained = calls.flatMap(({ tool, outcome }) => {
    const text = readFailure(outcome);
    const known = text === undefined ? undefined : findOuterCause(text);
    return text !== undefined && known ? [{ tool, text, known }] : [];
  });
  const others = calls.filter(({ tool }) => !explained.some((one) => one.tool === tool));
  return [
    ...mergeOuterCauses(explained),
    ...diagnoseSchemas(faultsByTool),
    ...mergeEqualAnswers(
      others.flatMap(({ tool, outcome }) => {
        const diagnosis = diagnoseCall(tool, outcome, (faultsByTool.get(tool) ?? []).length > 0);
        return diagnosis ? [{ ...diagnosis, tool }] : [];
      }),
    ),
  ];
}

/** One diagnosis for all tools that fail in the same way with the same answer. */
function mergeEqualAnswers(diagnoses: readonly (ToolDiagnosis & { tool: string })[]): ToolDiagnosis[] {
  const keys = diagnoses.map(({ id, evidence }) => JSON.stringify([id, evidence]));
  return diagnoses.flatMap((one, at) => {
    if (keys.indexOf(keys[at] as string) !== at) return [];
    const others = diagnoses.filter((_, other) => other !== at && keys[other] === keys[at]);
    return [{ ...one, evidence: [...one.evidence, ...listOthers(others.map(({ tool }) => tool))] }];
  });
}

const listOthers = (tools: readonly string[]) => (tools.length > 0 ? [`for the same reason: ${tools.join(", ")}`] : []);

/** The text of a failed call; undefined if it was answered, or not at all. */
function readFailure(outcome: CallOutcome): string | undefined {
  if (outcome.kind === "unknown-tool") return outcome.message;
  if (outcome.kind === "broken" || !outcome.result.isError) return undefined;
  const { content, structuredContent } = outcome.result;
  const text = content.map((item) => item.text ?? "").join("\n");
  return text.trim() === "" && structuredContent ? JSON.stringify(structuredContent) : text;
}

/** Causes outside of the tool: what the server was not given, or cannot reach. */
const outerCauses = new Set(["variable-missing", "credentials", "service-unreachable"]);
const aboutArguments = /-32602|\binvalid arguments?\b|\bvalidation\b|\bparameters?\b/i;

function findOuterCause(text: string): KnownError | undefined {
  const known = findKnownError(text);
  if (!known || !outerCauses.has(known.id)) return undefined;
  // An argument can be called a token, too.
  return known.variables === undefined && aboutArguments.test(text) ? undefined : known;
}

/** One diagnosis per cause, with the first answer in full: it is the same for every tool. */
function mergeOuterCauses(failures: readonly { tool: string; text: string; known: KnownError }[]): ToolDiagnosis[] {
  const firsts = failures.filter(
    (one, at) => failures.findIndex(({ known }) => known.wrong === one.known.wrong) === at,
  );
  return firsts.map(({ tool, text, known: { id, wrong, remedy } }): ToolDiagnosis => {
    const isService = id === "service-unreachable";
    const others = failures.filter((one) => one.known.wrong === wrong && one.tool !== tool).map((one) => one.tool);
    return {
      id,
      severity: isService ? "warning" : "error",
      wrong: `A call of "${tool}" fails: ${isService ? "the server cannot reach a service." : lowerFirst(wrong)}`,
      evidence: [quoteAnswer(text), ...listOthers(others)],
      remedy: isService ? "Check the network and its proxy, and the address of the service." : remedy,
      tool,
    };
  });
}

const lowerFirst = (text: string) => text.charAt(0).toLowerCase() + text.slice(1);
const maxAnswer = 2_000;
const quoteAnswer = (text: string) => `the server answered ${quoteWhole(excerpt(text, maxAnswer))}`;

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
    .flatMap((rule) => [...rule.check(subject)].map(({ at, message }) => `${formatJsonPath(at)}: ${message}`));
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
  const status = outcome.kind === "broken" ? findRefusal(outcome.message) : undefined;
  if (outcome.kind === "broken" && status)
    return {
      id: "credentials",
      severity: "error",
      wrong: `A call of "${tool}" is refused with HTTP ${status}.`,
      evidence: [outcome.message],
      remedy: 'Give credentials that may call it, under "headers" or with `evals login`.',
    };
  if (outcome.kind === "broken")
    return {
      id: "call-breaks",
      severity: "error",
      wrong: `A call of "${tool}" breaks the server.`,
      evidence: [outcome.message],
      remedy: "Catch the exception in the tool, and return an error result that says how to recover.",
    };
  const text = readFailure(outcome);
  if (text === undefined) return undefined;
  if (outcome.kind === "result" && isStructuredFailure(outcome.result.structuredContent ?? text)) return undefined;
  const evidence = [quoteAnswer(text)];
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
      : "If it needs something first, such as another call, a program or a setting, say so in its description.",
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

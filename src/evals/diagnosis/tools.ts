import { jsonPath } from "../jsonSchema/paths.ts";
import { schemaRules } from "../lint/rules/schemas.ts";
import { isJsonObject } from "../types/json.ts";
import { quote } from "../types/quote.ts";
import type { CallOutcome } from "../types/server.ts";
import type { Tool } from "../types/tool.ts";
import type { ServerFacts } from "./facts.ts";
import type { Diagnosis } from "./report.ts";

/** Without `tool` it is about the list. */
type Finding = Omit<Diagnosis, "show"> & { tool?: string };

/** Rules of inputSchemas that, when broken, make a host refuse the tool or its calls. */
const decisive = new Set(
  "input-schema-missing input-schema-type root-combinator required-shape required-unknown schema-not-valid ref-unresolved".split(
    " ",
  ),
);
const mostShown = 10;

/** What is wrong with the tools of a server that lists some, and with the calls of them that were tried. */
export function wrongTools(tools: readonly Tool[], calls: ServerFacts["calls"]): Finding[] {
  if (tools.length === 0)
    return [
      {
        id: "no-tools",
        severity: "error",
        wrong: "It lists no tools.",
        evidence: [],
        remedy: "Register tools before the server answers tools/list; some servers need settings to offer any.",
      },
    ];
  const malformed = new Map(tools.map((tool) => [tool.name, schemaFaults(tool)]));
  const faults = [...malformed].flatMap(([name, list]) => list.map((fault) => `${name}: ${fault}`));
  const some = [...malformed.values()].filter((list) => list.length > 0).length;
  const schemas: Finding[] =
    faults.length === 0
      ? []
      : [
          {
            id: "malformed-schema",
            severity: "error",
            wrong: `${some === 1 ? "1 tool has" : `${some} tools have`} a malformed inputSchema.`,
            evidence: firstOf(faults),
            remedy: "Mend it: such a tool is listed, but hosts refuse it or its calls fail.",
          },
        ];
  return [
    ...schemas,
    ...calls.flatMap(({ tool, outcome }) =>
      failed(tool, outcome, malformed.get(tool) ?? []).map((one) => ({ ...one, tool })),
    ),
  ];
}

function schemaFaults(tool: Tool): string[] {
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

const unknown = /\bunknown tool\b|\btool\b.{0,80}\b(?:not found|does not exist|is not known)\b/i;
/** An empty call is right by the schema of a tool that requires nothing: a server that refuses it breaks its word. */
const refused =
  /\b(?:invalid|missing|required|expected|unrecognized|validation|schema|-32602|undefined|is not a function|cannot read)\b/i;

function failed(tool: string, outcome: CallOutcome, faults: readonly string[]): Finding[] {
  const named = `${tool} is listed`;
  if (outcome.kind === "broken" && outcome.stage === "timeout")
    return [
      {
        // Some work takes longer by its nature, so this alone makes no server unhealthy.
        id: "call-silent",
        severity: "warning",
        wrong: `${named}, but does not answer a call in time.`,
        evidence: [outcome.message],
        remedy:
          "If it hangs, end it with a result that says so; if it takes long by its nature, say so in its description.",
      },
    ];
  if (outcome.kind === "broken")
    return [
      {
        id: "call-breaks",
        severity: "error",
        wrong: `${named}, but a call of it breaks the server.`,
        evidence: [outcome.message],
        remedy: "Catch the failure in the tool, and return it as a result that says how to recover.",
      },
    ];
  const result = outcome.kind === "result" ? outcome.result : undefined;
  const text =
    outcome.kind === "result" ? outcome.result.content.map((item) => item.text ?? "").join("\n") : outcome.message;
  if (result && (!result.isError || isStructured(result.structuredContent ?? text))) return [];
  if (outcome.kind === "unknown-tool" || unknown.test(text))
    return [
      {
        id: "call-unknown",
        severity: "error",
        wrong: `${named}, but the server does not know it when it is called.`,
        evidence: [`it answers ${quote(text)}`],
        remedy: "Answer calls under the names that are listed.",
      },
    ];
  const contradicts = faults.length > 0 || refused.test(text);
  return [
    {
      id: "call-fails",
      severity: contradicts ? "error" : "warning",
      wrong: `${named}, but a call of it without arguments fails.`,
      evidence: [`it answers ${quote(text)}`],
      remedy: contradicts
        ? "Mend its inputSchema: the usual cause is a wrong type, or a parameter that is needed and not in required."
        : "If it needs something first, say so in its description, and in a retry_hint of its result.",
    },
  ];
}

/** Whether a failure is told as it should be: with what a model can do about it. */
function isStructured(result: unknown): boolean {
  if (typeof result !== "string") return isJsonObject(result) && result.success === false && "retry_hint" in result;
  try {
    return result.startsWith("{") && isStructured(JSON.parse(result));
  } catch {
    return false;
  }
}

function firstOf(lines: readonly string[]): string[] {
  const left = lines.length - mostShown;
  return left <= 0 ? [...lines] : [...lines.slice(0, mostShown), `and ${left} more`];
}

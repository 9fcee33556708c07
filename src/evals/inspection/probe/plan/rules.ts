import * as z from "zod";
import { parseWords } from "../../../base/collections.ts";
import { showJson } from "../../../base/text/text.ts";
import { formatIssues } from "../../../base/types/errors.ts";
import { isJsonObject, type Json, parseJsonText } from "../../../base/types/json.ts";
import { joinText, type ToolResult } from "../../../base/types/tool.ts";
import { asksToWait } from "../../parameters.ts";
import type { ProbeAnswer, ProbeObservation, ProbeRule, RuleResult } from "./probe.ts";

/** The result of a call; undefined if the call broke or the tool is unknown. */
export function getResult({ outcome }: ProbeAnswer): ToolResult | undefined {
  return outcome.kind === "result" ? outcome.result : undefined;
}

/** Whether a result reports a failure: by isError, or as a structured outcome. */
export function isFailure(result: ToolResult): boolean {
  const body = getBody(result);
  return result.isError || (isJsonObject(body) && body.success === false);
}

/** How a call broke; undefined if it did not. */
function getBroken({ answer: { outcome, alive } }: ProbeObservation): { stage: string; alive: boolean } | undefined {
  return outcome.kind === "broken" ? { stage: outcome.stage, alive } : undefined;
}

function getFailure({ answer }: ProbeObservation): ToolResult | undefined {
  const result = getResult(answer);
  return result && isFailure(result) ? result : undefined;
}

/** The structured content, or the text parsed as JSON; undefined if there is neither. */
function getBody(result: ToolResult): Json | undefined {
  const { structuredContent = {} } = result;
  return Object.keys(structuredContent).length > 0 ? structuredContent : parseJsonText(joinText(result));
}

/** A message without the prefix that the SDK adds to the message of an error. */
const stripErrorPrefix = (message: string) => message.replace(/^(?:MCP error -?\d+: )+/, "");

const fillerWords = parseWords(
  "a access an and argument arguments at bad call caused code could denied did error errors err exception execution",
  "exit fail failed failure false forbidden found gateway generic happened has http input internal invalid is issue",
  "method mcp no none not nothing null occurred ok oops operation params permission problem request result return",
  "server service something sorry status success the there timeout tool unable unauthorized unavailable undefined",
  "unexpected unhandled unknown unsuccessful was went with wrong",
);

/** Whether a failure has no content, or a few words that fit any failure: "500 Internal Server Error". */
function isUninformative(result: ToolResult): boolean {
  const structured = result.structuredContent ?? {};
  const text =
    stripErrorPrefix(joinText(result)) + (Object.keys(structured).length > 0 ? JSON.stringify(structured) : "");
  const words = text.toLowerCase().match(/[\p{L}\p{M}']+/gu) ?? [];
  return words.length <= 8 && words.every((word) => fillerWords.has(word));
}

const filledText = z.string().refine((text) => text.trim() !== "", "it is blank");
const outcomeSchema = z.object({
  success: z.literal(false),
  error: filledText,
  retry_hint: filledText,
  code: z
    .string()
    .regex(/^[A-Z][A-Z0-9_]*$/, "it is not in UPPER_CASE")
    .optional(),
});

/** How a failure deviates from the structure {success, error, retry_hint, code?}; undefined if it does not. */
function explainOutcome(result: ToolResult): string | undefined {
  const body = getBody(result);
  if (!isJsonObject(body)) return "it is plain text, not an object with success, error and retry_hint";
  const { error } = outcomeSchema.safeParse(body);
  return error && formatIssues(error);
}

const specification = "https://modelcontextprotocol.io/specification/2025-11-25";
const ownDocs = "docs/probes-and-doctor.md#probe";

const refusal = {
  severity: "error",
  docs: `${specification}/server/tools#error-handling`,
  fix: "Validate the arguments against the inputSchema first, and return a failure that names the parameter.",
} as const;

const callRules: readonly ProbeRule[] = [
  {
    id: "answers-in-time",
    severity: "error",
    why: "The host waits for the answer, and so does the user.",
    docs: `${specification}/server/tools#calling-tools`,
    fix: "Answer every call, with a failure if the work cannot be done in time.",
    check: (seen) => {
      const broken = getBroken(seen);
      if (broken === undefined) return "ok";
      if (broken.stage !== "timeout") return broken.alive ? "ok" : "does not apply";
      const isAskedToWait = asksToWait(seen.tool.inputSchema, seen.args);
      return isAskedToWait ? "does not apply" : { violation: "The call was not answered in time." };
    },
  },
  {
    id: "survives",
    severity: "error",
    why: "When the server exits, all its tools are gone until the host restarts it.",
    docs: `${specification}/basic/lifecycle`,
    fix: "Catch exceptions of the tool, and return them as failures.",
    check: ({ answer }) => (answer.alive ? "ok" : { violation: "The call ended the server." }),
  },
  {
    id: "well-formed",
    severity: "error",
    why: "Hosts drop an answer that is not a list of content items, for example null.",
    docs: `${specification}/server/tools#tool-result`,
    fix: 'Return { content: [{ type: "text", text }] }.',
    check: (seen) => {
      const broken = getBroken(seen);
      if (broken === undefined) return "ok";
      const isUnreadable = broken.stage === "server" && broken.alive;
      return isUnreadable ? { violation: "The answer is not a list of content items." } : "does not apply";
    },
  },
];

/** The rules for every listed tool, in the order of reports. */
export const toolRules: readonly ProbeRule[] = [
  ...callRules,
  {
    id: "not-empty",
    severity: "error",
    why: "A model cannot distinguish success from failure by null, nothing or an empty object.",
    docs: ownDocs,
    fix: "Return as text what was done or found, and a structured failure if that was not possible.",
    check: ({ answer }) => {
      const result = getResult(answer);
      if (!result || isFailure(result)) return "does not apply";
      const [item, ...others] = result.content;
      if (!item) return { violation: "The result has no content items." };
      const only = others.length === 0 ? item.text?.trim() : undefined;
      return only !== undefined && ["null", "undefined", "{}"].includes(only)
        ? { violation: `The result is only ${only}.` }
        : "ok";
    },
  },
  {
    id: "failure-not-bare",
    severity: "error",
    why: "A model that learns only that it failed can do nothing but try again.",
    docs: ownDocs,
    fix: "Say what is wrong with the input, and what to do instead.",
    check: (seen) => {
      const failure = getFailure(seen);
      if (!failure) return "does not apply";
      return isUninformative(failure) ? { violation: `The failure says only ${showJson(joinText(failure))}.` } : "ok";
    },
  },
  // Plain text is enough for invalid input, because SDKs often refuse it before the tool is called.
  {
    id: "failure-structured",
    severity: "warning",
    profile: "spec",
    why: "The retry_hint tells a model how to recover: retry, change the input, or use another tool.",
    docs: ownDocs,
    fix: 'Return { "success": false, "error": "...", "retry_hint": "...", "code": "UPPER_CASE" } as text and structured content.',
    check: (seen) => {
      const { kind } = seen.probe;
      const failure = getFailure(seen);
      if (!failure || isUninformative(failure) || kind === "unknown tool") return "does not apply";
      // "Method not found": the tool cannot be called in this way, so the failure is not its own.
      if (/^MCP error -32601\b/.test(joinText(failure))) return "does not apply";
      const body = getBody(failure);
      const isAttempt = typeof body === "object" && body !== null && "success" in body;
      if ((kind === "missing" || kind === "wrong type") && !isAttempt) return "does not apply";
      const why = explainOutcome(failure);
      return why === undefined ? "ok" : { violation: `The failure is not a structured outcome: ${why}.` };
    },
  },
  {
    ...refusal,
    id: "refuses-missing",
    why: "Without a required parameter, the tool does something other than what was asked for.",
    check: ({ probe, answer }) => {
      const result = getResult(answer);
      if (probe.kind !== "missing" || !result) return "does not apply";
      return isFailure(result) ? "ok" : { violation: "A call without a required parameter succeeds." };
    },
  },
  {
    ...refusal,
    id: "refuses-wrong-type",
    why: "A value that violates the schema is a misunderstanding, which nobody notices.",
    check: ({ probe, answer, args }) => {
      const result = getResult(answer);
      if (probe.kind !== "wrong type" || !result) return "does not apply";
      if (isFailure(result)) return "ok";
      const value = probe.parameter === undefined ? undefined : args[probe.parameter];
      const shown = value === undefined ? "" : `: ${showJson(value)}`;
      return { violation: `A call with a value of the wrong type succeeds${shown}.` };
    },
  },
  {
    id: "output-schema",
    severity: "error",
    why: "Hosts validate structured content against the outputSchema, and withhold what violates it.",
    docs: `${specification}/server/tools#output-schema`,
    fix: "Return what the outputSchema declares, or change the outputSchema.",
    check: ({ tool: { outputFault }, answer }) => {
      const result = getResult(answer);
      if (!outputFault || !result || isFailure(result)) return "does not apply";
      const { structuredContent } = result;
      const fault = structuredContent === undefined ? "there is none" : outputFault(structuredContent);
      return fault === undefined ? "ok" : { violation: `The structured content violates the outputSchema: ${fault}.` };
    },
  },
];

/** The rules for the answer of a server to a call of a tool that it does not list. */
export const unknownToolRules: readonly ProbeRule[] = [
  ...callRules,
  {
    id: "unknown-tool-refused",
    severity: "error",
    why: "A model that invents a tool has to learn that it does not exist.",
    docs: refusal.docs,
    fix: "Answer with an error: Unknown tool: <name>.",
    check: ({ probe, answer }) => {
      const result = getResult(answer);
      if (probe.kind !== "unknown tool" || answer.outcome.kind === "broken") return "does not apply";
      return result && !isFailure(result) ? { violation: "A call of a tool that is not listed succeeds." } : "ok";
    },
  },
  {
    id: "unknown-tool-message",
    severity: "warning",
    profile: "spec",
    why: "Hosts and models recognize the error by the form Unknown tool: <name>.",
    docs: refusal.docs,
    fix: "Handle tools/call on the low-level server, and raise -32602 with the message Unknown tool: <name>.",
    check: ({ probe, tool, answer }) => {
      const { outcome } = answer;
      const result = getResult(answer);
      const message = outcome.kind === "unknown-tool" ? outcome.message : result && joinText(result);
      if (probe.kind !== "unknown tool" || message === undefined || (result && !isFailure(result)))
        return "does not apply";
      const text = stripErrorPrefix(message);
      if (text === `Unknown tool: ${tool.name}`) return "ok";
      const form = text === `Tool ${tool.name} not found` ? "the form of McpServer" : "another form";
      return { violation: `The error has ${form}: ${showJson(text)}.` };
    },
  },
];

/** Applies all rules for its kind of probe to an observation. */
export function checkRules(observation: ProbeObservation): { rule: ProbeRule; result: RuleResult }[] {
  const rules = observation.probe.kind === "unknown tool" ? unknownToolRules : toolRules;
  return rules.map((rule) => ({ rule, result: rule.check(observation) }));
}

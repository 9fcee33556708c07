import { joinText, type ToolResult } from "../../../base/types/tool.ts";
import { asksToWait } from "../../parameters.ts";
import type { ProbeObservation, ProbeRule, RuleResult } from "./probe.ts";
import {
  findFailure,
  findOutcomeFaults,
  getBody,
  getBroken,
  getResult,
  isFailure,
  isMirrored,
  isUninformative,
  quoteJson,
  stripErrorPrefix,
} from "./results.ts";

const specification = "https://modelcontextprotocol.io/specification/2025-11-25";
const ownDocs = "docs/probes-and-doctor.md#probe";

const refusal = {
  severity: "error",
  docs: `${specification}/server/tools#error-handling`,
  fix: "Validate the arguments against the inputSchema first, and return a failure that names the parameter.",
} as const;

const defaultsDocs = "https://json-schema.org/understanding-json-schema/reference/annotations";

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
      const isAskedToWait = asksToWait(seen.tool.inputSchema, seen.calls[seen.answers.length - 1] ?? {});
      if (broken.stage === "timeout")
        return isAskedToWait ? "does not apply" : { violation: "The call was not answered in time." };
      return broken.alive ? "ok" : "does not apply";
    },
  },
  {
    id: "survives",
    severity: "error",
    why: "When the server exits, all its tools are gone until the host restarts it.",
    docs: `${specification}/basic/lifecycle`,
    fix: "Catch exceptions of the tool, and return them as failures.",
    check: ({ answers }) => (answers.every(({ alive }) => alive) ? "ok" : { violation: "The call ended the server." }),
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
    check: eachResult((result) => {
      if (isFailure(result)) return "does not apply";
      const [item, ...others] = result.content;
      if (!item) return { violation: "The result has no content items." };
      const only = others.length === 0 ? item.text?.trim() : undefined;
      return only !== undefined && ["null", "undefined", "{}"].includes(only)
        ? { violation: `The result is only ${only}.` }
        : "ok";
    }),
  },
  {
    id: "failure-not-bare",
    severity: "error",
    why: "A model that learns only that it failed can do nothing but try again.",
    docs: ownDocs,
    fix: "Say what is wrong with the input, and what to do instead.",
    check: (seen) => {
      const failure = findFailure(seen);
      if (!failure) return "does not apply";
      return isUninformative(failure) ? { violation: `The failure says only ${quoteJson(joinText(failure))}.` } : "ok";
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
      const failure = findFailure(seen);
      if (!failure || isUninformative(failure) || kind === "unknown tool") return "does not apply";
      // "Method not found": the tool cannot be called in this way, so the failure is not its own.
      if (/^MCP error -32601\b/.test(joinText(failure))) return "does not apply";
      const body = getBody(failure);
      const isAttempt = typeof body === "object" && body !== null && "success" in body;
      if ((kind === "missing" || kind === "wrong type") && !isAttempt) return "does not apply";
      const faults = findOutcomeFaults(failure);
      return faults.length === 0
        ? "ok"
        : { violation: `The failure is not a structured outcome: ${faults.join("; ")}.` };
    },
  },
  {
    ...refusal,
    id: "refuses-missing",
    why: "Without a required parameter, the tool does something other than what was asked for.",
    check: ({ probe, answers }) => {
      const result = getResult(answers.at(-1));
      if (probe.kind !== "missing" || !result) return "does not apply";
      return isFailure(result) ? "ok" : { violation: "A call without a required parameter succeeds." };
    },
  },
  {
    ...refusal,
    id: "refuses-wrong-type",
    why: "A value that violates the schema is a misunderstanding, which nobody notices.",
    check: ({ probe, answers, calls }) => {
      const result = getResult(answers.at(-1));
      if (probe.kind !== "wrong type" || !result) return "does not apply";
      if (isFailure(result)) return "ok";
      const value = probe.parameter === undefined ? undefined : calls.at(-1)?.[probe.parameter];
      return {
        violation: `A call with a value of the wrong type succeeds${value === undefined ? "" : `: ${quoteJson(value)}`}.`,
      };
    },
  },
  {
    id: "output-schema",
    severity: "error",
    why: "Hosts validate structured content against the outputSchema, and withhold what violates it.",
    docs: `${specification}/server/tools#output-schema`,
    fix: "Return what the outputSchema declares, or change the outputSchema.",
    check: ({ tool: { outputFault }, answers }) => {
      const successes = answers.flatMap((answer) => getResult(answer) ?? []).filter((result) => !isFailure(result));
      if (!outputFault || successes.length === 0) return "does not apply";
      for (const { structuredContent } of successes) {
        const fault = structuredContent === undefined ? "there is none" : outputFault(structuredContent);
        if (fault !== undefined) return { violation: `The structured content violates the outputSchema: ${fault}.` };
      }
      return "ok";
    },
  },
  {
    id: "mirrored-as-text",
    severity: "warning",
    why: "Some hosts show a model the structured content, others only the text.",
    docs: `${specification}/server/tools#structured-content`,
    fix: "Put the same JSON into a text item.",
    check: eachResult((result) => {
      if (!result.structuredContent) return "does not apply";
      return isMirrored(result.structuredContent, result)
        ? "ok"
        : { violation: "The text does not contain the structured content." };
    }),
  },
  {
    id: "defaults-work",
    severity: "error",
    why: "Models omit parameters that have a default.",
    docs: defaultsDocs,
    fix: "Fill in the default first, or remove it from the schema and require the parameter.",
    check: ({ probe, tool, answers }) => {
      const results = probe.kind === "defaults" ? answers.map(getResult) : [];
      const [given, omitted] = tool.readOnly ? results : [undefined, ...results];
      if (!omitted) return "does not apply";
      if (!isFailure(omitted)) return "ok";
      return given && !isFailure(given)
        ? {
            violation:
              "The call fails without the parameters that have defaults, but succeeds with the defaults given.",
          }
        : "does not apply";
    },
  },
  {
    id: "repeats",
    severity: "error",
    why: "Models freely repeat calls of a tool that is annotated read-only.",
    docs: `${specification}/schema#toolannotations`,
    fix: "Do not change state in the tool, or do not annotate it as read-only.",
    check: ({ probe, answers }) => {
      const [first, second] = answers.map(getResult);
      if (probe.kind !== "repeat" || !first || !second || isFailure(first)) return "does not apply";
      return isFailure(second) ? { violation: "The same call fails the second time." } : "ok";
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
    check: ({ probe, answers }) => {
      const result = getResult(answers.at(-1));
      if (probe.kind !== "unknown tool" || answers.at(-1)?.outcome.kind === "broken") return "does not apply";
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
    check: ({ probe, tool, answers }) => {
      const answer = answers.at(-1);
      const result = getResult(answer);
      const message = answer?.outcome.kind === "unknown-tool" ? answer.outcome.message : result && joinText(result);
      if (probe.kind !== "unknown tool" || message === undefined || (result && !isFailure(result)))
        return "does not apply";
      const text = stripErrorPrefix(message);
      if (text === `Unknown tool: ${tool.name}`) return "ok";
      const form = text === `Tool ${tool.name} not found` ? "the form of McpServer" : "another form";
      return { violation: `The error has ${form}: ${quoteJson(text)}.` };
    },
  },
];

/** Applies all rules for its kind of probe to an observation. */
export function checkRules(observation: ProbeObservation): { rule: ProbeRule; result: RuleResult }[] {
  const rules = observation.probe.kind === "unknown tool" ? unknownToolRules : toolRules;
  return rules.map((rule) => ({ rule, result: rule.check(observation) }));
}

/** A check of every result: wrong if any is wrong, otherwise ok if any is ok, otherwise does not apply. */
function eachResult(check: (result: ToolResult) => RuleResult): ProbeRule["check"] {
  return ({ answers }) => {
    const results = answers.flatMap((answer) => getResult(answer) ?? []).map(check);
    return results.find((one) => typeof one === "object") ?? (results.includes("ok") ? "ok" : "does not apply");
  };
}

import { isJsonObject } from "../../types/json.ts";
import type { ToolResult } from "../../types/tool.ts";
import { bodyOf, failed, isBare, outcomeFaults, resultOf, textOf } from "../outcome.ts";
import type { Check, Observation } from "../probe.ts";
import { quoted } from "./quoted.ts";

const outcomeDocs = "README.md#probes-and-health";

function failureIn({ answers }: Observation) {
  return answers.flatMap((answer) => resultOf(answer) ?? []).find(failed);
}

export const notBare: Check = {
  id: "failure-not-bare",
  severity: "error",
  why: "A model that is told only that it failed can but try the same again.",
  docs: "README.md#probes-and-health",
  fix: "Say what is wrong with the input, and what to do instead.",
  needs: "a failure",
  check: (seen) => {
    const failure = failureIn(seen);
    if (!failure) return "does not apply";
    return isBare(failure) ? { wrong: `the failure says no more than ${quoted(textOf(failure))}` } : "ok";
  },
};

/** The protocol's "method not found": the tool cannot be called in this way, so it is not the tool that fails. */
const isUnsupported = (failure: ToolResult) => /^MCP error -32601\b/.test(textOf(failure));

/** Invalid input is often refused by an SDK in its own words before the tool sees it, so there plain words will do. */
export const structuredFailure: Check = {
  id: "failure-structured",
  severity: "error",
  why: "The retry_hint is what lets a model recover: retry, change the input, or use another tool.",
  docs: outcomeDocs,
  fix: 'Return { "success": false, "error": "...", "retry_hint": "...", "code": "UPPER_CASE" } as text and structured content.',
  needs: "a failure on valid input",
  check: (seen) => {
    const { kind } = seen.probe;
    const failure = failureIn(seen);
    if (!failure || isBare(failure) || kind === "unknown tool" || isUnsupported(failure)) return "does not apply";
    const body = bodyOf(failure);
    const tries = isJsonObject(body) && "success" in body;
    if ((kind === "missing" || kind === "wrong type") && !tries) return "does not apply";
    const faults = outcomeFaults(failure);
    return faults.length === 0 ? "ok" : { wrong: `the failure is not the structured outcome: ${faults.join("; ")}` };
  },
};

const refused: Pick<Check, "severity" | "docs" | "fix"> = {
  severity: "error",
  docs: "https://modelcontextprotocol.io/specification/2025-11-25/server/tools#error-handling",
  fix: "Check the arguments against the inputSchema before the work, and refuse them with a failure that names the parameter.",
};

export const refusesMissing: Check = {
  ...refused,
  id: "refuses-missing",
  why: "A call without what the tool needs does something else than what was asked for.",
  needs: "a required parameter, and an answer without it",
  check: ({ probe, answers }) => {
    const result = resultOf(answers.at(-1));
    if (probe.kind !== "missing" || !result) return "does not apply";
    return failed(result) ? "ok" : { wrong: "a call without a required parameter succeeds" };
  },
};

export const refusesWrongType: Check = {
  ...refused,
  id: "refuses-wrong-type",
  why: "A value that is not what the schema says was misunderstood by someone, and nobody is told.",
  needs: "a parameter with a type, and an answer to another type",
  check: ({ probe, answers, calls }) => {
    const result = resultOf(answers.at(-1));
    if (probe.kind !== "wrong type" || !result) return "does not apply";
    if (failed(result)) return "ok";
    const value = probe.parameter === undefined ? undefined : calls.at(-1)?.[probe.parameter];
    return { wrong: `a call with a value of a wrong type succeeds${value === undefined ? "" : `: ${quoted(value)}`}` };
  },
};

export const unknownTool: Check = {
  id: "unknown-tool-refused",
  severity: "error",
  why: "A model that makes up a tool has to learn that there is none.",
  docs: "https://modelcontextprotocol.io/specification/2025-11-25/server/tools#error-handling",
  fix: "Answer with an error: Unknown tool: <name>.",
  needs: "an answer to a call of an unknown tool",
  check: ({ probe, answers }) => {
    const result = resultOf(answers.at(-1));
    if (probe.kind !== "unknown tool" || answers.at(-1)?.outcome.kind === "broken") return "does not apply";
    return result && !failed(result) ? { wrong: "a call of a tool that is not listed succeeds" } : "ok";
  },
};

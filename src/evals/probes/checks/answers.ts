import type { ToolResult } from "../../types/tool.ts";
import { failed, resultOf, textOf } from "../outcome.ts";
import type { Check, Observation, Verdict } from "../probe.ts";

const anyCall = "a call";
const anyResult = "a result";

/** Wrong when one answer is, ok when one is, else it does not apply. */
function eachResult({ answers }: Observation, judge: (result: ToolResult) => Verdict): Verdict {
  const verdicts = answers.flatMap((answer) => {
    const result = resultOf(answer);
    return result ? [judge(result)] : [];
  });
  return verdicts.find((verdict) => typeof verdict === "object") ?? (verdicts.includes("ok") ? "ok" : "does not apply");
}

/** The stage of the call that broke, the last one: none is made after it. */
function brokenAt({ answers }: Observation): { stage: string; alive: boolean } | undefined {
  const last = answers.at(-1);
  return last?.outcome.kind === "broken" ? { stage: last.outcome.stage, alive: last.alive } : undefined;
}

export const inTime: Check = {
  id: "answers-in-time",
  severity: "error",
  why: "A host waits for the answer, and so does the user.",
  docs: "https://modelcontextprotocol.io/specification/2025-11-25/server/tools#calling-tools",
  fix: "Answer every call, with a failure where the work cannot be done in time.",
  needs: anyCall,
  check: (seen) => {
    const broken = brokenAt(seen);
    if (broken === undefined) return "ok";
    if (broken.stage === "timeout") return { wrong: "the call was not answered in time" };
    return broken.alive ? "ok" : "does not apply";
  },
};

export const survives: Check = {
  id: "survives",
  severity: "error",
  why: "When the server ends, all its tools are gone until the host starts it again.",
  docs: "https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle",
  fix: "Catch what the tool throws, and return it as a failure.",
  needs: anyCall,
  check: ({ answers }) => (answers.every(({ alive }) => alive) ? "ok" : { wrong: "the server ended at this call" }),
};

export const wellFormed: Check = {
  id: "well-formed",
  severity: "error",
  why: "A host cannot read an answer that is no list of content items, for example null, and drops it.",
  docs: "https://modelcontextprotocol.io/specification/2025-11-25/server/tools#tool-result",
  fix: 'Return { content: [{ type: "text", text }] }.',
  needs: anyCall,
  check: (seen) => {
    const broken = brokenAt(seen);
    if (broken === undefined) return "ok";
    return broken.stage === "server" && broken.alive
      ? { wrong: "the answer is no list of content items" }
      : "does not apply";
  },
};

export const notEmpty: Check = {
  id: "not-empty",
  severity: "error",
  why: "From null, nothing or an empty object a model cannot tell success from failure.",
  docs: "README.md#probes-and-health",
  fix: "Return what was done or found as text, and a structured failure where that was not possible.",
  needs: anyResult,
  check: (seen) =>
    eachResult(seen, (result) => {
      if (failed(result)) return "does not apply";
      if (result.content.length === 0) return { wrong: "the result has no content item" };
      const [item] = result.content;
      const only = result.content.length === 1 ? item?.text?.trim() : undefined;
      return only !== undefined && ["null", "undefined", "{}"].includes(only)
        ? { wrong: `the result is only ${only}` }
        : "ok";
    }),
};

export const notBlank: Check = {
  id: "not-blank",
  severity: "info",
  why: 'An empty text may be right, but a sentence such as "The file is empty." leaves no doubt.',
  docs: "README.md#probes-and-health",
  fix: "Say in words that there is nothing.",
  needs: anyResult,
  check: (seen) =>
    eachResult(seen, (result) => {
      const texts = result.content.filter(({ type }) => type === "text");
      if (failed(result) || texts.length === 0 || texts.length < result.content.length) return "does not apply";
      return textOf(result).trim() === "" ? { wrong: "the result is an empty text" } : "ok";
    }),
};

export const textItems: Check = {
  id: "text-items",
  severity: "info",
  why: "The specification knows items of type text only; not every model is shown others.",
  docs: "https://modelcontextprotocol.io/specification/2025-11-25/server/tools#text-content",
  fix: "Give a text beside it that says what it is.",
  needs: "a result with content",
  check: (seen) =>
    eachResult(seen, ({ content }) => {
      const other = content.find(({ type }) => type !== "text");
      if (content.length === 0) return "does not apply";
      return other ? { wrong: `an item is of type ${other.type}` } : "ok";
    }),
};

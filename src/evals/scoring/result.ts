import { isJsonObject, type Json } from "../types/json.ts";
import type { ResultMatcher } from "../types/suite.ts";
import type { ToolResult } from "../types/tool.ts";
import type { Execution } from "../types/trial.ts";
import { cut, differs, every, type Judge, type Match, no, show, type Test, unknown, yes } from "./match.ts";
import { compileMatcher, compileRegex } from "./matchers.ts";

/**
 * Decides what came back from a call. All keywords must hold. The outcome that `success` and `json` look at is the
 * structured content, or else the result's text read as JSON. A call that was not executed is unknown, with the reason.
 */
export function compileResult(expected: ResultMatcher): (execution: Execution | undefined, judge: Judge) => Match {
  const { success, isError, contains, matches, json } = expected;
  const tests: ((result: ToolResult, judge: Judge) => Match)[] = [];
  if (isError !== undefined) {
    tests.push((result) =>
      result.isError === isError ? yes : no(`expected isError ${isError}, got ${excerpt(result)}`),
    );
  }
  if (success !== undefined) tests.push((result) => successIs(success, result));
  if (contains !== undefined) {
    tests.push((result) =>
      textOf(result).includes(contains) ? yes : no(`expected text with ${show(contains)}, got ${excerpt(result)}`),
    );
  }
  if (matches !== undefined) tests.push(textMatches(matches));
  if (json !== undefined) tests.push(outcomeMatches(compileMatcher(json)));

  return (execution, judge) => {
    if (execution === undefined) return unknown("the call was not executed");
    if (execution.status === "skipped") return unknown(`the call was not executed: ${execution.reason}`);
    return every(tests, (test) => test(execution.result, judge));
  };
}

function successIs(success: boolean, result: ToolResult): Match {
  const outcome = outcomeOf(result);
  if (!isJsonObject(outcome) || typeof outcome.success !== "boolean") {
    return no(`expected an outcome with success ${success}, got ${excerpt(result)}`);
  }
  return outcome.success === success ? yes : differs("result.success", String(success), outcome);
}

function textMatches(pattern: string): (result: ToolResult) => Match {
  const regex = compileRegex(pattern);
  if (typeof regex === "string") return () => unknown(regex);
  return (result) =>
    regex.test(textOf(result)) ? yes : no(`expected text that matches ${show(pattern)}, got ${excerpt(result)}`);
}

function outcomeMatches(test: Test): (result: ToolResult, judge: Judge) => Match {
  return (result, judge) => {
    const outcome = outcomeOf(result);
    return outcome === undefined ? no(`expected JSON, got ${excerpt(result)}`) : test(outcome, "result", judge);
  };
}

function textOf(result: ToolResult): string {
  return result.content.flatMap(({ text }) => text ?? []).join("\n");
}

function outcomeOf(result: ToolResult): Json | undefined {
  if (result.structuredContent) return result.structuredContent;
  try {
    return JSON.parse(textOf(result)) as Json;
  } catch {
    return undefined;
  }
}

function excerpt(result: ToolResult): string {
  const text = textOf(result);
  const shown = text === "" && result.structuredContent ? show(result.structuredContent) : cut(JSON.stringify(text));
  return result.isError ? `the error ${shown}` : shown;
}

import { cut, showJson } from "../../base/text/text.ts";
import { isJsonObject, isMarked, type Json, parseExactText } from "../../base/types/json.ts";
import { readMatcher } from "../../base/types/matcher.ts";
import type { ArgsMode, ExpectedCall } from "../../base/types/suite.ts";
import type { ResultMatcher } from "../../base/types/suiteFile.ts";
import { joinResult, joinText, listResultTexts, type ToolResult } from "../../base/types/tool.ts";
import type { Assertion, Call, Execution, Score, Selection } from "../../base/types/trial.ts";
import { differs, every, type Judge, type Match, member, no, own, type Test, unknown, yes } from "./match.ts";
import { compileMatcher, compileRegex } from "./matchers.ts";
import type { FindTool, ToolLookup } from "./tools.ts";

/** The results of scoring one call against one expected call, from worst to best. */
export const callSelections = [
  "unknown-tool",
  "wrong-tool",
  "malformed-arguments",
  "wrong-arguments",
  "wrong-result",
  "right-tool",
] as const satisfies readonly Selection[];

/** The score of a trial without its grade. */
export type Assessment = Pick<Score, "selection" | "picked" | "unchecked" | "substituted"> & {
  checks: readonly Assertion[];
};

/** `selection` is the first thing that is wrong. No assertions follow an unmet one about the tool or the schema. */
export type CallScore = Pick<Score, "unchecked" | "substituted"> & {
  selection: (typeof callSelections)[number];
  checks: readonly Assertion[];
};
export type ScoreCall = (call: Call, judge: Judge) => CallScore;

type FoundTool = NonNullable<ReturnType<FindTool>>;
type ArgsScore = CallScore & { selection: "malformed-arguments" | "wrong-arguments" | "right-tool" };

/**
 * Scores a call against one expected call, in this order: is the tool listed; is it an expected one; are the arguments a
 * JSON object that the tool's inputSchema allows; does every named argument match; is the result as expected. For an
 * acceptable substitute, only the schema is checked.
 */
export function compileCall(
  expected: ExpectedCall,
  argsMode: ArgsMode,
  { find, unjudged }: ToolLookup,
  label = expected.tools.join(" | "),
): ScoreCall {
  const accepted = new Set(expected.tools.map((name) => find(name)?.tool.name ?? name));
  const leaveUnjudged =
    unjudged !== undefined && ((): ArgsScore => ({ selection: "right-tool", checks: [], unchecked: [unjudged] }));
  const scoreArgs = leaveUnjudged || compileArgs(expected, argsMode);
  const matchResult = unjudged === undefined && expected.result ? compileResult(expected.result) : undefined;
  const substitutes = new Set(expected.acceptable?.map((name) => find(name)?.tool.name ?? name));
  const scoreSubstitute = leaveUnjudged || compileArgs({ tools: [] }, "partial");

  return (call, judge) => {
    const listed = find(call.tool, call.inner);
    if (!listed) return fail("unknown-tool", "tool", `expected ${label}, got ${call.tool}, which is not listed`);
    if (substitutes.has(listed.tool.name)) {
      const { checks, selection } = scoreSubstitute(call, listed, judge);
      const rest = selection === "right-tool" && { substituted: [listed.tool.name] };
      return { selection, checks: [{ what: "tool", met: "yes" }, ...checks], ...rest };
    }
    if (!accepted.has(listed.tool.name)) return fail("wrong-tool", "tool", `expected ${label}, got ${call.tool}`);
    const args = scoreArgs(call, listed, judge);
    const checks = [{ what: "tool", met: "yes" } as const, ...args.checks];
    const { selection: reached, checks: _, ...rest } = args;
    if (reached === "malformed-arguments" || !matchResult) return { selection: reached, checks, ...rest };
    const result = matchResult(call.execution, judge);
    const selection = reached === "right-tool" && result.met === "no" ? "wrong-result" : reached;
    return { selection, checks: [...checks, { what: "result", ...result }], ...rest };
  };
}

/** The better of two scores, by selection and then by the number of unmet assertions, for which a substitute counts half. */
export function chooseBetter(a: CallScore, b: CallScore): CallScore {
  const further = callSelections.indexOf(b.selection) - callSelections.indexOf(a.selection);
  const open = ({ checks, substituted }: CallScore) =>
    checks.filter(({ met }) => met !== "yes").length + (substituted ? 0.5 : 0);
  return further > 0 || (further === 0 && open(b) < open(a)) ? b : a;
}

function fail<S extends CallScore["selection"]>(selection: S, what: string, why: string) {
  return { selection, checks: [{ what, met: "no" as const, why }] };
}

function compileArgs(expected: ExpectedCall, mode: ArgsMode) {
  const args = expected.args ?? {};
  const tests = Object.entries(args).map(([name, value]) => {
    return { name, what: member("args", name), test: compileMatcher(value), expected: value };
  });
  // Without `args` nothing is compared.
  const isExact = mode === "exact" && expected.args !== undefined;

  return (call: Call, { validate, problem, tool: { name: tool } }: FoundTool, judge: Judge): ArgsScore => {
    const given = call.arguments;
    if (!isJsonObject(given)) return failNotAnObject(given, call);
    const validity = validate?.(given, "args");
    if (validity?.kind === "invalid" && !wasAccepted(call)) {
      const failed = { what: "args (schema)", met: "no" as const, why: validity.why };
      const [fault, ...furtherFaults] = (validity.faults ?? []).map(({ member: parameter, kind }) => ({
        tool,
        parameter,
        kind,
      }));
      const faults = { ...(fault && { fault }), ...(furtherFaults.length > 0 && { furtherFaults }) };
      return { selection: "malformed-arguments", checks: [{ ...failed, ...faults }] };
    }
    const checks: Assertion[] = validity?.kind === "valid" ? [{ what: "args (schema)", met: "yes" }] : [];
    const open =
      validity?.kind === "invalid"
        ? `the server accepted what its inputSchema refuses: ${validity.why}`
        : validity?.kind === "unchecked"
          ? validity.why
          : problem && `the inputSchema cannot be compiled: ${problem}`;
    const unchecked = open && [`arguments of ${call.tool}: ${open}`];
    for (const { name, what, test, expected: wanted } of tests) {
      const value = own(given, name);
      const match = test(value, what, judge);
      const fault = match.met === "no" && { fault: { tool, parameter: name, kind: classifyFault(wanted, value) } };
      checks.push({ what, ...match, ...fault });
    }
    if (isExact) {
      const extra = Object.keys(given).find((name) => !Object.hasOwn(args, name));
      const match: Match =
        extra === undefined
          ? yes
          : no(`${member("args", extra)}: expected no such argument, got ${showJson(given[extra] ?? null)}`);
      const fault = extra !== undefined && { fault: { tool, parameter: extra, kind: "invented" as const } };
      checks.push({ what: "args (exact)", ...match, ...fault });
    }
    const selection = checks.some(({ met }) => met === "no") ? "wrong-arguments" : "right-tool";
    return { selection, checks, ...(unchecked && { unchecked }) };
  };
}

/** Whether the server itself took the arguments, which decides where our reading of its schema differs. */
const wasAccepted = ({ execution }: Call) =>
  execution?.status === "executed" && execution.mock === undefined && !execution.result.isError;

/** The kind of a mismatch. A literal of another JSON type is a wrong type; an argument that must be absent is invented. */
function classifyFault(expected: Json, value: Json | undefined): NonNullable<Assertion["fault"]>["kind"] {
  if (value === undefined) return "missing";
  const read = readMatcher(expected);
  if (read.kind === "matcher" && read.operands.absent === true) return "invented";
  const kindOf = (one: Json) =>
    isMarked(one) ? "number" : Array.isArray(one) ? "array" : one === null ? "null" : typeof one;
  return read.kind === "literal" && kindOf(expected) !== kindOf(value) ? "wrong-type" : "wrong-value";
}

function failNotAnObject(given: Json | undefined, call: Call): ArgsScore {
  const actual = given === undefined ? `text that is not JSON: ${cut(call.argumentsText ?? "")}` : showJson(given);
  return fail("malformed-arguments", "args (schema)", `expected an object, got ${actual}`);
}

/**
 * Compiles the matcher of a call's result. All keywords must hold. `success` and `json` apply to the structured content, or
 * without it to the text parsed as JSON. A call that was not executed is unknown, with the reason.
 */
export function compileResult(expected: ResultMatcher): (execution: Execution | undefined, judge: Judge) => Match {
  const { success, isError, contains, matches, json } = expected;
  const tests: ((result: ToolResult, judge: Judge) => Match)[] = [];
  if (isError !== undefined) {
    tests.push((result) =>
      result.isError === isError ? yes : no(`expected isError ${isError}, got ${excerpt(result)}`),
    );
  }
  if (success !== undefined) tests.push((result) => matchSuccess(success, result));
  if (contains !== undefined) {
    tests.push((result) =>
      listTexts(result).some((text) => text.includes(contains))
        ? yes
        : no(`expected text with ${showJson(contains)}, got ${excerpt(result)}`),
    );
  }
  if (matches !== undefined) tests.push(compileTextMatcher(matches));
  if (json !== undefined) tests.push(compileOutcomeMatcher(compileMatcher(json)));

  return (execution, judge) => {
    if (execution === undefined) return unknown("the call was not executed");
    if (execution.status === "skipped") return unknown(`the call was not executed: ${execution.reason}`);
    return every(tests, (test) => test(execution.result, judge));
  };
}

function matchSuccess(success: boolean, result: ToolResult): Match {
  const outcome = readOutcome(result);
  if (outcome === undefined && result.omitted !== undefined) return unknown(result.omitted);
  if (!isJsonObject(outcome) || typeof outcome.success !== "boolean") {
    return no(`expected JSON with success ${success}, got ${excerpt(result)}`);
  }
  return outcome.success === success ? yes : differs("result.success", String(success), outcome);
}

/** What a matcher of text may hold for: the texts of a result, or all that a model reads of it. */
const listTexts = (result: ToolResult) => [joinText(result), joinResult(result)];

function compileTextMatcher(pattern: string): (result: ToolResult) => Match {
  const regex = compileRegex(pattern);
  if (typeof regex === "string") return () => unknown(regex);
  return (result) =>
    listTexts(result).some((text) => regex.test(text))
      ? yes
      : no(`expected text that matches ${showJson(pattern)}, got ${excerpt(result)}`);
}

function compileOutcomeMatcher(test: Test): (result: ToolResult, judge: Judge) => Match {
  return (result, judge) => {
    const outcome = readOutcome(result);
    if (outcome === undefined && result.omitted !== undefined) return unknown(result.omitted);
    return outcome === undefined ? no(`expected JSON, got ${excerpt(result)}`) : test(outcome, "result", judge);
  };
}

function readOutcome(result: ToolResult): Json | undefined {
  return result.structuredContent ?? parseExactText(joinText(result));
}

function excerpt(result: ToolResult): string {
  const text = joinText(result) || listResultTexts(result).join("\n");
  const shown = text === "" && result.structuredContent ? showJson(result.structuredContent) : showJson(text);
  return result.isError ? `the error ${shown}` : shown;
}

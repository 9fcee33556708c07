import { cut, showJson } from "../../base/text/text.ts";
import { isJsonObject, isMarked, type Json, parseExactText } from "../../base/types/json.ts";
import { readMatcher } from "../../base/types/matcher.ts";
import type { ArgsMode, Expectation, ExpectedCall } from "../../base/types/suite.ts";
import type { ResultMatcher } from "../../base/types/suiteFile.ts";
import { joinResult, joinText, listResultTexts, type ToolResult } from "../../base/types/tool.ts";
import type { Assertion, Call, Execution, Score, Selection } from "../../base/types/trial.ts";
import type { Activity } from "./activity.ts";
import { labelCalls } from "./labels.ts";
import {
  compileMatcher,
  compileRegex,
  complete,
  differs,
  every,
  isAbsent,
  type Judge,
  type Match,
  member,
  no,
  own,
  type Pairing,
  pairUp,
  unknown,
  yes,
} from "./matchers.ts";
import type { FoundTool, ToolLookup } from "./tools.ts";

/** The results of scoring one call against one expected call, from worst to best. */
const callSelections = [
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

/** Assesses what a model did in a trial by one expectation. */
export type Assess = (activity: Activity, judge: Judge) => Assessment;

/** `selection` is the first thing that is wrong. No assertions follow an unmet one about the tool or the schema. */
export type CallScore = Pick<Score, "unchecked" | "substituted"> & {
  selection: (typeof callSelections)[number];
  checks: readonly Assertion[];
};
export type ScoreCall = (call: Call, judge: Judge) => CallScore;

type ArgsScore = CallScore & { selection: "malformed-arguments" | "wrong-arguments" | "right-tool" };

/**
 * Scores a call against one expected call, in this order: is the tool listed; is it an expected one; are the arguments
 * a JSON object that the tool's inputSchema allows; does every named argument match; is the result as expected. For an
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

/** The better of two scores, by selection, then by the number of unmet assertions; a substitute counts half. */
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

  return (call: Call, { compile, tool: { name: tool } }: FoundTool, judge: Judge): ArgsScore => {
    const given = call.arguments;
    if (!isJsonObject(given)) {
      const actual = given === undefined ? `text that is not JSON: ${cut(call.argumentsText ?? "")}` : showJson(given);
      return fail("malformed-arguments", "args (schema)", `expected an object, got ${actual}`);
    }
    const validate = compile();
    const validity = typeof validate === "function" ? validate(given, "args") : undefined;
    if (validity?.kind === "invalid" && !wasAccepted(call)) {
      const failed = { what: "args (schema)", met: "no" as const, why: validity.why };
      const [fault, ...furtherFaults] = (validity.faults ?? []).map(({ member: parameter, kind }) => {
        return { tool, parameter, kind };
      });
      const faults = { ...(fault && { fault }), ...(furtherFaults.length > 0 && { furtherFaults }) };
      return { selection: "malformed-arguments", checks: [{ ...failed, ...faults }] };
    }
    const checks: Assertion[] = validity?.kind === "valid" ? [{ what: "args (schema)", met: "yes" }] : [];
    const open =
      validity?.kind === "invalid"
        ? `the server accepted what its inputSchema refuses: ${validity.why}`
        : validity?.kind === "unchecked"
          ? validity.why
          : typeof validate === "string" && `the inputSchema cannot be compiled: ${validate}`;
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

/** The kind of a mismatch. A literal of another JSON type is a wrong type; what must be absent is invented. */
function classifyFault(expected: Json, value: Json | undefined): NonNullable<Assertion["fault"]>["kind"] {
  if (value === undefined) return "missing";
  if (isAbsent(expected)) return "invented";
  const kindOf = (one: Json) =>
    isMarked(one) ? "number" : Array.isArray(one) ? "array" : one === null ? "null" : typeof one;
  const isLiteral = readMatcher(expected).kind === "literal";
  return isLiteral && kindOf(expected) !== kindOf(value) ? "wrong-type" : "wrong-value";
}

/**
 * Compiles the matcher of a call's result. All keywords must hold. `success` and `json` apply to the structured
 * content, or without it to the text parsed as JSON. A call that was not executed is unknown, with the reason.
 */
export function compileResult(expected: ResultMatcher): (execution: Execution | undefined, judge: Judge) => Match {
  const { success, isError, contains, matches, json } = expected;
  const tests: ((result: ToolResult, judge: Judge) => Match)[] = [];
  const matchError = (result: ToolResult) =>
    result.isError === isError ? yes : no(`expected isError ${isError}, got ${excerpt(result)}`);
  if (isError !== undefined) tests.push(matchError);
  if (success !== undefined) {
    const matchSuccess = (outcome: Json): Match | undefined => {
      if (!isJsonObject(outcome) || typeof outcome.success !== "boolean") return undefined;
      return outcome.success === success ? yes : differs("result.success", String(success), outcome);
    };
    tests.push(onOutcome(`JSON with success ${success}`, matchSuccess));
  }
  if (contains !== undefined) tests.push(matchTexts(`with ${showJson(contains)}`, (text) => text.includes(contains)));
  if (matches !== undefined) {
    const regex = compileRegex(matches);
    if (typeof regex === "string") tests.push(() => unknown(regex));
    else tests.push(matchTexts(`that matches ${showJson(matches)}`, (text) => regex.test(text)));
  }
  if (json !== undefined) {
    const test = compileMatcher(json);
    tests.push(onOutcome("JSON", (outcome, judge) => test(outcome, "result", judge)));
  }

  return (execution, judge) => {
    if (execution === undefined) return unknown("the call was not executed");
    if (execution.status === "skipped") return unknown(`the call was not executed: ${execution.reason}`);
    return every(tests, (test) => test(execution.result, judge));
  };
}

/** Whether one of the texts of a result, or all that a model reads of it, is as wanted. */
function matchTexts(wanted: string, holds: (text: string) => boolean): (result: ToolResult) => Match {
  return (result) =>
    [joinText(result), joinResult(result)].some(holds) ? yes : no(`expected text ${wanted}, got ${excerpt(result)}`);
}

/** Tests the structured content of a result, or its text parsed as JSON. `test`: undefined where it is not `wanted`. */
function onOutcome(wanted: string, test: (outcome: Json, judge: Judge) => Match | undefined) {
  return (result: ToolResult, judge: Judge): Match => {
    const outcome = result.structuredContent ?? parseExactText(joinText(result));
    if (outcome === undefined && result.omitted !== undefined) return unknown(result.omitted);
    const match = outcome === undefined ? undefined : test(outcome, judge);
    return match ?? no(`expected ${wanted}, got ${excerpt(result)}`);
  };
}

function excerpt(result: ToolResult): string {
  const text = joinText(result) || listResultTexts(result).join("\n");
  const shown = text === "" && result.structuredContent ? showJson(result.structuredContent) : showJson(text);
  return result.isError ? `the error ${shown}` : shown;
}

type CallsExpectation = Extract<Expectation, { kind: "calls" }>;

/** The index of the selection in `callSelections`, plus one if everything is decided and the tool is no substitute. */
type GetFit = (expected: number, made: number) => number;
const named = callSelections.indexOf("malformed-arguments");
const undecided = callSelections.indexOf("right-tool");
const right = undecided + 1;

/**
 * Compiles an expectation of several calls over all turns. In strict order, the calls must be the expected ones one by
 * one (with `extras`, others may be between them); in any order, they are paired so that as many as possible fit. An
 * optional call may be missing, and an attempt at it that does not fit is one of the other calls where they are
 * allowed. The selection is the first of: no call, an unlisted tool, malformed arguments; then by the worst pair: wrong
 * arguments, wrong result, all expected calls and additional ones; else wrong tool.
 */
export function compileSequence(expect: CallsExpectation, lookup: ToolLookup): Assess {
  const scorers = expect.calls.map((call) => compileCall(call, expect.argsMode, lookup));
  const labels = expect.calls.map(({ tools }, index) => `calls[${index + 1}] ${tools.join(" | ")}`);
  const isOptional = (index: number) => expect.calls[index]?.optional === true;
  const { find } = lookup;

  return ({ all }, judge) => {
    const getScore = scorePairs(scorers, all, judge);
    const getFit: GetFit = (expected, made) => {
      const { selection, checks, substituted } = getScore(expected, made);
      const isOpen = substituted !== undefined || checks.some(({ met }) => met === "unknown");
      return callSelections.indexOf(selection) + (selection === "right-tool" && !isOpen ? 1 : 0);
    };
    const pairing = findPairing(expect, scorers.length, all.length, getFit);
    const scores = pairing.map((made, index) => (made === undefined ? undefined : getScore(index, made)));
    const extra = all.filter((_, index) => !pairing.includes(index));
    const picked = labelCalls(all, find, expect.order === "strict" ? ", " : " + ");
    const others = `expected no other calls, got ${labelCalls(extra, find)}`;
    const noExtras: Assertion = { what: "extras", ...(extra.length === 0 ? yes : no(others)) };
    const missing = `no such call${expect.order === "strict" ? " at this position" : ""}; the calls were: ${picked}`;
    const checks = [
      ...labels.flatMap((label, index) =>
        scores[index] || !isOptional(index) ? assertPair(label, scores[index], missing) : [],
      ),
      ...(expect.extras ? [] : [noExtras]),
    ];
    const open = scores.flatMap((score) => score?.unchecked ?? []);
    const unchecked = open.length > 0 && { unchecked: [...new Set(open)] };
    if (checks.every(({ met }) => met !== "no")) {
      const substitutes = scores.flatMap((score) => score?.substituted ?? []);
      const substituted = substitutes.length > 0 && { substituted: substitutes };
      return { selection: "right-tool", picked, checks, ...unchecked, ...substituted };
    }
    const fits = pairing.flatMap((made, index) =>
      made === undefined ? (isOptional(index) ? [] : [0]) : [getFit(index, made)],
    );
    const unpaired = all.flatMap((call, index) =>
      find(call.tool, call.inner) && !pairing.includes(index) ? [index] : [],
    );
    const isMalformed = unpaired.some((made) => scorers.some((_, index) => getFit(index, made) === named));
    const isUnknown = all.some((call) => !find(call.tool, call.inner));
    return { selection: select(all.length, fits, isUnknown, isMalformed), picked, checks, ...unchecked };
  };
}

/** Scores pairs of an expected and a made call, each once and only if needed. */
function scorePairs(scorers: readonly ScoreCall[], all: readonly Call[], judge: Judge) {
  const known = new Map<number, CallScore>();
  return (expected: number, made: number): CallScore => {
    const key = expected * all.length + made;
    const [scoreCall, call] = [scorers[expected], all[made]];
    const score = known.get(key) ?? (scoreCall && call && scoreCall(call, judge));
    if (!score) throw new RangeError(`no call ${made} for expected call ${expected}`);
    known.set(key, score);
    return score;
  };
}

/**
 * Pairs expected with made calls: first the right ones, then among the rest those that fit less well, so that a message
 * names what is wrong with the closest call.
 */
function findPairing(expect: CallsExpectation, expected: number, made: number, getFit: GetFit): Pairing {
  if (expect.order === "strict") {
    // With the best level of fit at which no call is missing.
    const levels = Array.from({ length: right - named + 1 }, (_, step) => right - step);
    const aligned = levels.map((level) => align(expect, made, getFit, level));
    return (aligned.find(({ isValid }) => isValid) ?? aligned.at(-1))?.pairing ?? [];
  }
  let pairing: Pairing = [];
  // Required calls come first, so that an optional one never takes the call that a required one needs.
  for (const optional of [undefined, true] as const) {
    // A call that fits an optional one badly is an additional call, if those are allowed; else a message names its
    // fault.
    const least = optional && expect.extras ? undecided : named;
    for (let level = right; level >= least && (level === right || !complete(pairing)); level--) {
      const isTurn = (i: number) => expect.calls[i]?.optional === optional;
      pairing = pairUp(expected, made, (i, j) => isTurn(i) && getFit(i, j) >= level, pairing);
    }
  }
  return pairing;
}

/**
 * The alignment with the fewest required calls missing, then the most calls paired, by dynamic programming over both
 * sequences. `isValid`: no required call is missing, and no call is additional where none may be.
 */
function align({ calls, extras }: CallsExpectation, made: number, getFit: GetFit, level: number) {
  // A missing required call outweighs any number of additional ones, and each of those a missing optional call.
  const missing = (i: number) => (calls[i]?.optional ? 1 : (made + 1) * (calls.length + 1) ** 2);
  const extra = calls.length + 1;
  const fits = (i: number, j: number) =>
    getFit(i, j) >= Math.max(level, calls[i]?.optional && extras ? undecided : level);
  const costs: number[][] = Array.from({ length: calls.length + 1 }, () => Array<number>(made + 1).fill(0));
  const cost = (i: number, j: number) => costs[i]?.[j] ?? 0;
  for (let i = calls.length; i >= 0; i--)
    for (let j = made; j >= 0; j--) {
      const row = costs[i];
      if (!row || (i === calls.length && j === made)) continue;
      row[j] = Math.min(
        i < calls.length ? missing(i) + cost(i + 1, j) : Number.POSITIVE_INFINITY,
        j < made ? extra + cost(i, j + 1) : Number.POSITIVE_INFINITY,
        i < calls.length && j < made && fits(i, j) ? cost(i + 1, j + 1) : Number.POSITIVE_INFINITY,
      );
    }
  const pairing: (number | undefined)[] = [];
  for (let i = 0, j = 0; i < calls.length; ) {
    if (j < made && fits(i, j) && cost(i, j) === cost(i + 1, j + 1)) {
      pairing.push(j++);
      i++;
    } else if (j < made && cost(i, j) === extra + cost(i, j + 1)) j++;
    else {
      pairing.push(undefined);
      i++;
    }
  }
  const isComplete = calls.every(({ optional }, i) => optional || pairing[i] !== undefined);
  const paired = pairing.filter((j) => j !== undefined).length;
  return { pairing, isValid: isComplete && (extras || paired === made) };
}

function assertPair(label: string, score: CallScore | undefined, missing: string): readonly Assertion[] {
  if (!score) return [{ what: label, met: "no", why: missing }];
  const open = score.checks.filter(({ met }) => met !== "yes");
  return open.length === 0 ? [{ what: label, met: "yes" }] : open.map((c) => ({ ...c, what: `${label} ${c.what}` }));
}

function select(made: number, fits: readonly number[], isUnknown: boolean, isMalformed: boolean): Selection {
  if (made === 0) return "no-call";
  if (isUnknown) return "unknown-tool";
  if (isMalformed || fits.includes(named)) return "malformed-arguments";
  const worst = Math.min(...fits);
  if (worst >= undecided) return "several-calls";
  return worst > named ? (callSelections[worst] ?? "wrong-tool") : "wrong-tool";
}

import { isJsonObject, type Json, type JsonObject } from "../../base/types/json.ts";
import { readMatcher } from "../../base/types/matcher.ts";
import type { Expectation, ExpectedCall } from "../../base/types/suite.ts";
import type { Assertion, Call } from "../../base/types/trial.ts";
import type { Activity } from "./activity.ts";
import type { Assessment } from "./call.ts";
import { labelCalls } from "./labels.ts";
import { type Judge, own } from "./match.ts";
import { compileMatcher } from "./matchers.ts";
import type { ToolLookup } from "./tools.ts";

/**
 * The rules of MongoDB's accuracy tests (mongodb-js/mongodb-mcp-server,
 * packages/accuracy-tests/src/sdk/accuracyScorer.ts and matcher.ts), which give a trial 0, 0.75 or 1 points:
 *
 * - Each expected call in turn takes the first unused call of its tool whose arguments match. A required one without a call: 0.
 * - More calls than expected ones, which count whether they are optional or not: at most 0.75. Otherwise 1.
 * - Arguments and literal objects may have at most as many members as are expected, arrays at most as many elements; every
 *   expected one must match, `null` also where there is none. Schemas and the order of calls are not checked.
 */
export function scoreMongodb(
  expected: readonly ExpectedCall[],
  made: readonly Call[],
  judge: Judge,
): { points: 0 | 0.75 | 1; missing?: ExpectedCall } {
  const used = new Set<number>();
  for (const call of expected) {
    const found = made.findIndex(
      ({ tool, arguments: args }, at) =>
        !used.has(at) && call.tools.includes(tool) && matchMembers(call.args ?? {}, args, judge, matchValue),
    );
    if (found >= 0) used.add(found);
    else if (!call.optional) return { points: 0, missing: call };
  }
  return { points: made.length > expected.length ? 0.75 : 1 };
}

/** The assessment of a case by these rules. 1 point passes; 0.75 points pass if `extras` allows additional calls. */
export function compileMongodb(
  expect: Extract<Expectation, { kind: "calls" }>,
  { find }: ToolLookup,
): (activity: Activity, judge: Judge) => Assessment & { points: number } {
  return ({ all }, judge) => {
    const picked = labelCalls(all, find);
    const { points, missing } = scoreMongodb(expect.calls, all, judge);
    const calls = missing ? explainMissing(missing, all, picked) : ({ what: "calls (mongodb)", met: "yes" } as const);
    const isMet = points === 1 || (points === 0.75 && expect.extras);
    const why = `expected at most ${expect.calls.length} calls, got ${all.length}: ${picked}`;
    const extras: Assertion = isMet ? { what: "extras", met: "yes" } : { what: "extras", met: "no", why };
    const checks = missing ? [calls] : [calls, extras];
    if (isMet) return { selection: "right-tool", picked, checks, points };
    if (!missing) return { selection: "several-calls", picked, checks, points };
    const isCalled = all.some(({ tool }) => missing.tools.includes(tool));
    const selection = all.length === 0 ? "no-call" : isCalled ? "wrong-arguments" : "wrong-tool";
    return { selection, picked, checks, points };
  };
}

function explainMissing({ tools }: ExpectedCall, all: readonly Call[], picked: string): Assertion {
  const label = tools.join(" | ");
  const isCalled = all.some(({ tool }) => tools.includes(tool));
  const why = isCalled
    ? `no call of ${label} has the expected arguments; the calls were: ${picked}`
    : `expected a call of ${label}, got ${picked}`;
  return { what: "calls (mongodb)", met: "no", why };
}

type MatchJson = (expected: Json, value: Json | undefined, judge: Judge) => boolean;

const matchValue: MatchJson = (expected, value, judge) => {
  const read = readMatcher(expected);
  if (read.kind === "literal") return matchLiteral(expected, value, judge, matchValue);
  if (read.kind === "invalid") return false;
  return Object.entries(read.operands).every(([keyword, operand]) => {
    switch (keyword) {
      case "equals":
        return matchLiteral(operand, value, judge, matchExactly);
      case "object":
        return isJsonObject(operand) && matchMembers(operand, value, judge, matchValue);
      case "anyOf":
        return Array.isArray(operand) && operand.some((item) => matchValue(item, value, judge));
      case "optional":
        return value === undefined || matchValue(operand, value, judge);
      case "not":
        return !matchValue(operand, value, judge);
      default:
        return compileMatcher({ [`$${keyword}`]: operand })(value, "value", judge).met === "yes";
    }
  });
};

/** Compares values without reading matchers in them. */
const matchExactly: MatchJson = (expected, value, judge) => matchLiteral(expected, value, judge, matchExactly);

function matchLiteral(expected: Json, value: Json | undefined, judge: Judge, match: MatchJson): boolean {
  if (expected === value) return true;
  if (expected === null) return value === undefined || value === null;
  if (Array.isArray(expected)) {
    if (!Array.isArray(value) || value.length > expected.length) return false;
    return expected.every((item, at) => match(item, value[at], judge));
  }
  return isJsonObject(expected) && matchMembers(expected, value, judge, match);
}

/** The number of members is compared, not their names: one that is expected as optional makes room for any other. */
function matchMembers(expected: JsonObject, value: Json | undefined, judge: Judge, match: MatchJson): boolean {
  if (typeof value !== "object" || value === null) return false;
  const keys = Object.keys(expected);
  if (Object.keys(value).length > keys.length) return false;
  const members: JsonObject = Array.isArray(value) ? Object.fromEntries(Object.entries(value)) : value;
  return keys.every((key) => match(expected[key] ?? null, own(members, key), judge));
}

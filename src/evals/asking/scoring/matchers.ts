import { RE2JS } from "re2js";
import { once } from "../../base/collections.ts";
import { isOfType } from "../../base/jsonSchema/keywords.ts";
import { showJson } from "../../base/text/text.ts";
import { messageOf } from "../../base/types/errors.ts";
import { isJsonObject, isMarked, type Json, type JsonObject, sameJson, toNumbers } from "../../base/types/json.ts";
import { type Keyword, type Matcher, matcherSchema, readMatcher } from "../../base/types/matcher.ts";
import type { Mocks } from "../../base/types/suite.ts";
import type { Call, Execution } from "../../base/types/trial.ts";

/** Whether a value is as expected, or why that could not be decided. `evidence` is a judge's verbatim quote. */
export type Match = { met: "yes"; evidence?: string } | { met: "no" | "unknown"; why: string; evidence?: string };

export const yes: Match = { met: "yes" };
export const no = (why: string): Match => ({ met: "no", why });
export const unknown = (why: string): Match => ({ met: "unknown", why });

/** A question for a judge: whether a sentence is true of a trial, or whether a value meets a criterion. */
export type JudgeQuestion =
  | { about: "behavior"; criterion: string }
  | { about: "value"; criterion: string; at: string; value: Json };

/** A question for a file of code: whether a trial or value is as wanted. `file` is the path in the suite. */
export type CodeQuestion =
  | { about: "trial"; file: string }
  | { about: "argument"; file: string; at: string; value: Json; with?: Json };

export type Question = JudgeQuestion | CodeQuestion;

/**
 * Answers a question synchronously, because scoring is pure and a judge model is not: a trial is graded first with a
 * judge that collects the questions; then the model answers them, and the trial is graded again with a judge that looks
 * up the answers.
 */
export type Judge = (question: Question) => Match;

/** The judge of a run without a judge model. */
export const noJudge: Judge = () => unknown("no judge model was given");

/** Matches one value; undefined is an absent value. `at` is its dotted path, which every `why` names. */
export type Test = (value: Json | undefined, at: string, judge: Judge) => Match;

/** Yes if all match, otherwise the first no, otherwise the first unknown. */
export function every<T>(items: readonly T[], match: (item: T, index: number) => Match): Match {
  let result: Match = yes;
  for (const [index, item] of items.entries()) {
    const found = match(item, index);
    if (found.met === "no") return found;
    if (found.met === "unknown" && result.met === "yes") result = found;
  }
  return result;
}

/** Yes if one matches, otherwise the first unknown, otherwise `otherwise`. */
function some<T>(items: readonly T[], match: (item: T, index: number) => Match, otherwise: () => Match): Match {
  let result: Match | undefined;
  for (const [index, item] of items.entries()) {
    const found = match(item, index);
    if (found.met === "yes") return found;
    if (found.met === "unknown") result ??= found;
  }
  return result ?? otherwise();
}

/** A no with the expected and the actual value at a path. */
export function differs(at: string, expected: string, actual: Json | undefined): Match {
  return no(`${at}: expected ${expected}, got ${actual === undefined ? "nothing" : showJson(actual)}`);
}

/** The path of a member: `at.key`, or `at["a key"]` if the key is not a plain word. */
export function member(at: string, key: string): string {
  return /^[\w$-]+$/.test(key) ? `${at}.${key}` : `${at}[${JSON.stringify(key)}]`;
}

/** An own member of the object: inherited ones (`constructor`, `toString`) are absent. */
export function own(object: { readonly [key: string]: Json }, key: string): Json | undefined {
  return Object.hasOwn(object, key) ? object[key] : undefined;
}

/** Whether a value is expected to be absent. */
export function isAbsent(expected: Json): boolean {
  const read = readMatcher(expected);
  return read.kind === "matcher" && read.operands.absent === true;
}

/** For each left item, the right item it is paired with; undefined if there is none. */
export type Pairing = readonly (number | undefined)[];

/**
 * The largest pairing of `left` items with `right` items along the edges, by augmenting paths (Kuhn's algorithm, so
 * that an early choice never blocks a later one). It starts from `seed`, and every left item that is paired there stays
 * paired.
 */
export function pairUp(
  left: number,
  right: number,
  edge: (left: number, right: number) => boolean,
  seed: Pairing = [],
): Pairing {
  const partner: (number | undefined)[] = Array.from({ length: left }, (_, index) => seed[index]);
  const takenBy: (number | undefined)[] = Array.from({ length: right });
  for (const [index, other] of partner.entries()) if (other !== undefined) takenBy[other] = index;

  const augment = (from: number, seen: Set<number>): boolean => {
    for (let to = 0; to < right; to++) {
      if (seen.has(to) || !edge(from, to)) continue;
      seen.add(to);
      const holder = takenBy[to];
      if (holder !== undefined && !augment(holder, seen)) continue;
      takenBy[to] = from;
      partner[from] = to;
      return true;
    }
    return false;
  };
  for (let from = 0; from < left; from++) if (partner[from] === undefined) augment(from, new Set());
  return partner;
}

/** True when every left item has its own right item. */
export const complete = (pairing: Pairing): boolean => pairing.every((other) => other !== undefined);

type Operands = { [K in Keyword]-?: Exclude<Matcher[K], undefined> };

/**
 * Compiles an expected value: a literal is compared deeply (JSON types, numbers by value, objects without additional
 * keys) and may contain matchers; all keywords of a matcher must hold. Compile once, test often. A matcher with an
 * unknown keyword or an invalid operand does not throw: it is unknown for every value. Suites are checked when they are
 * loaded.
 */
export function compileMatcher(expected: Json): Test {
  const read = readMatcher(expected);
  if (read.kind !== "literal") return compileKeywords(expected, read.kind === "matcher" ? read.operands : undefined);
  if (Array.isArray(expected)) return literalArray(expected);
  if (isJsonObject(expected)) return literalObject(expected);
  return (value, at) => (value === expected ? yes : differs(at, showJson(expected), value));
}

function compileKeywords(expected: Json, operands: JsonObject | undefined): Test {
  if (!operands || !hasValidOperands(operands))
    return (_value, at) => unknown(`${at}: ${showJson(expected)} is not a valid matcher`);
  // The operands as written: a parsed copy loses a member called __proto__.
  const matcher = operands as Matcher;
  const compile = <K extends Keyword>(keyword: K) => compilers[keyword](matcher[keyword] as Operands[K]);
  const tests = (Object.keys(matcher) as Keyword[]).map((keyword) => compile(keyword));
  const [only] = tests;
  if (only && tests.length === 1) return only;
  return (value, at, judge) => every(tests, (test) => test(value, at, judge));
}

/** The same as `matcherSchema`, for the keywords that are there: most matchers have one of twenty. */
function hasValidOperands(operands: JsonObject): boolean {
  const keywords = Object.keys(operands) as Keyword[];
  return keywords.length > 0 && keywords.every((key) => matcherSchema.shape[key]?.safeParse(operands[key]).success);
}

const compilers: { [K in Keyword]: (operand: Operands[K]) => Test } = {
  equals: (literal) => (value, at) => (sameJson(value, literal) ? yes : differs(at, showJson(literal), value)),
  anyOf: (items) => {
    const tests = items.map(compileMatcher);
    return (value, at, judge) => {
      const otherwise = () => differs(at, `any of ${showJson(items)}`, value);
      return some(tests, (test) => test(value, at, judge), otherwise);
    };
  },
  matches: (pattern) => {
    const regex = compileRegex(pattern);
    if (typeof regex === "string") return (_value, at) => unknown(`${at}: ${regex}`);
    return onText(`a string that matches ${JSON.stringify(pattern)}`, (text) => regex.test(text));
  },
  contains: (part) => {
    const test = compileMatcher(part);
    return (value, at, judge) => {
      const otherwise = () => differs(at, `a value that contains ${showJson(part)}`, value);
      if (Array.isArray(value)) return some(value, (item, index) => test(item, `${at}[${index}]`, judge), otherwise);
      return typeof value === "string" && typeof part === "string" && value.includes(part) ? yes : otherwise();
    };
  },
  startsWith: (start) => onText(`a string that starts with ${showJson(start)}`, (text) => text.startsWith(start)),
  endsWith: (end) => onText(`a string that ends with ${showJson(end)}`, (text) => text.endsWith(end)),
  ignoreCase: (wanted) => {
    const folded = wanted.toLowerCase();
    return onText(`${showJson(wanted)} in any case`, (text) => text.toLowerCase() === folded);
  },
  gte: (least) => (value, at) =>
    isNumber(value) && Number(toNumbers(value)) >= least ? yes : differs(at, `a number >= ${least}`, value),
  lte: (most) => (value, at) =>
    isNumber(value) && Number(toNumbers(value)) <= most ? yes : differs(at, `a number <= ${most}`, value),
  type: (type) => (value, at) =>
    value !== undefined && isOfType(toNumbers(value), type) ? yes : differs(at, `a value of type ${type}`, value),
  optional: (inner) => {
    const test = compileMatcher(inner);
    return (value, at, judge) => (value === undefined ? yes : test(value, at, judge));
  },
  any: () => (value, at) => (value === undefined ? differs(at, "some value", value) : yes),
  absent: () => (value, at) => (value === undefined ? yes : differs(at, "no value", value)),
  unordered: (items) => compileUnordered(items),
  judge: (criterion) => (value, at, judge) =>
    value === undefined
      ? differs(at, `a value that meets: ${criterion}`, value)
      : judge({ about: "value", criterion, at, value }),
  custom: (written) => (value, at, judge) =>
    value === undefined
      ? differs(at, "a value", value)
      : judge({ about: "argument", at, value, ...(typeof written === "string" ? { file: written } : written) }),
  not: (item) => {
    const test = compileMatcher(item);
    return (value, at, judge) => {
      const found = test(value, at, judge);
      if (found.met === "unknown") return found;
      return found.met === "no" ? yes : differs(at, `a value other than ${showJson(item)}`, value);
    };
  },
  object: literalObject,
};

const isNumber = (value: Json | undefined): value is Json => typeof value === "number" || isMarked(value);

function onText(expected: string, holds: (text: string) => boolean): Test {
  return (value, at) =>
    typeof value === "string" && !isMarked(value) && holds(value) ? yes : differs(at, expected, value);
}

function literalArray(items: readonly Json[]): Test {
  const tests = items.map(compileMatcher);
  return (value, at, judge) => {
    if (!Array.isArray(value) || value.length !== tests.length) return differs(at, showJson([...items]), value);
    return every(tests, (test, index) => test(value[index], `${at}[${index}]`, judge));
  };
}

function literalObject(expected: JsonObject): Test {
  const tests = Object.entries(expected).map(([key, item]) => ({ key, test: compileMatcher(item) }));
  return (value, at, judge) => {
    if (!isJsonObject(value)) return differs(at, showJson(expected), value);
    const extra = Object.keys(value).find((key) => !Object.hasOwn(expected, key));
    if (extra !== undefined)
      return no(`${member(at, extra)}: expected no such key, got ${showJson(value[extra] ?? null)}`);
    return every(tests, ({ key, test }) => test(own(value, key), member(at, key), judge));
  };
}

function compileUnordered(items: readonly Json[]): Test {
  const tests = items.map(compileMatcher);
  return (value, at, judge) => {
    const otherwise = () => differs(at, `${showJson([...items])} in any order`, value);
    if (!Array.isArray(value) || value.length !== tests.length) return otherwise();
    const matches = tests.map((test) => value.map((item, index) => test(item, `${at}[${index}]`, judge)));
    const pairs = (met: (found: string | undefined) => boolean) =>
      complete(pairUp(tests.length, value.length, (left, right) => met(matches[left]?.[right]?.met)));
    if (pairs((met) => met === "yes")) return yes;
    if (!pairs((met) => met !== "no")) return otherwise();
    return matches.flat().find((match) => match.met === "unknown") ?? otherwise();
  };
}

/** Compiles a regular expression that runs in linear time, or returns what is wrong with it. */
export function compileRegex(pattern: string): RE2JS | string {
  try {
    return RE2JS.compile(pattern);
  } catch (thrown) {
    return `${JSON.stringify(pattern)} is not a regular expression in RE2 syntax: ${messageOf(thrown)}`;
  }
}

/** The mocked result of a call; undefined if the call has to be executed. */
export type AnswerByMock = (call: Call) => Execution | undefined;

/** Compiles the mocks of a case. A dispatched call is answered by a mock of the inner tool, or of the dispatcher. */
export const compileMocks = once(({ list, unmatched }: Mocks): AnswerByMock => {
  const compiled = list.map((mock) => {
    const args = Object.entries(mock.args ?? {});
    return { mock, tests: args.map(([name, expected]) => [name, compileMatcher(expected)] as const) };
  });
  return (call) => {
    const made = [...(call.inner ? [call.inner] : []), call];
    for (const { tool, arguments: args } of made) {
      const given = isJsonObject(args) ? args : {};
      const matches = ([name, test]: readonly [string, Test]) =>
        test(own(given, name), member("args", name), noJudge).met === "yes";
      const found = compiled.find(({ mock, tests }) => mock.tool === tool && tests.every(matches));
      if (found) return { status: "executed", result: found.mock.result, ms: 0, mock: found.mock.label };
    }
    if (unmatched === "server") return undefined;
    const tool = made[0]?.tool ?? call.tool;
    const hasMock = list.some((mock) => mock.tool === tool);
    const why = hasMock ? `no mock of ${tool} matches these arguments` : `${tool} has no mock`;
    return { status: "skipped", reason: `${why} (unmatched: error)`, unmatched: true };
  };
});

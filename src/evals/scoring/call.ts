import { isJsonObject, type Json } from "../types/json.ts";
import type { Expectation, ExpectedCall } from "../types/suite.ts";
import type { Assertion, Call, Selection } from "../types/trial.ts";
import { bfclProblem, parseKeepingFloats } from "./bfcl.ts";
import type { Find, Listed, Listing } from "./listing.ts";
import { cut, every, type Judge, type Match, member, no, own, show, yes } from "./match.ts";
import { compileMatcher } from "./matchers.ts";
import { compileResult } from "./result.ts";

/** How arguments are compared, as a case sets it. */
export type ArgsRules = Pick<Extract<Expectation, { kind: "tool" }>, "argsMode" | "argsMatch">;

/** What one call came to against one expected call, from worst to best: how far it got. */
export const callWords = [
  "unknown-tool",
  "wrong-tool",
  "malformed-arguments",
  "wrong-arguments",
  "wrong-result",
  "right-tool",
] as const satisfies readonly Selection[];

/** `word` is the first thing that is wrong; checks end after the tool or the schema when those are not met. */
export type Judged = { word: (typeof callWords)[number]; checks: readonly Assertion[] };
export type JudgeCall = (call: Call, judge: Judge) => Judged;

type ArgsFound = { word: "malformed-arguments" | "wrong-arguments" | "right-tool"; checks: readonly Assertion[] };

/**
 * Decides one made call against one expected call, in this order: is the tool listed; is it an expected one; are the
 * arguments a JSON object that the tool's inputSchema allows; does every named argument match; is the result as expected.
 * The leaderboard's rules take the place of schema and matchers, since they allow some values despite the schema.
 */
export function compileCall(
  expected: ExpectedCall,
  rules: ArgsRules,
  listing: Listing,
  label = expected.tools.join(" | "),
): JudgeCall {
  const find = finderFor(rules, listing);
  const accepted = new Set(expected.tools.map((name) => find(name)?.tool.name ?? name));
  const judgeArgs = rules.argsMatch === "bfcl" ? compileBfcl(expected) : compileArgs(expected, rules.argsMode);
  const judgeResult = expected.result && compileResult(expected.result);

  return (call, judge) => {
    const listed = find(call.tool);
    if (!listed) return wrong("unknown-tool", "tool", `expected ${label}, got ${call.tool}, which is not listed`);
    if (!accepted.has(listed.tool.name)) return wrong("wrong-tool", "tool", `expected ${label}, got ${call.tool}`);
    const args = judgeArgs(call, listed, judge);
    const checks = [{ what: "tool", met: "yes" } as const, ...args.checks];
    if (args.word === "malformed-arguments" || !judgeResult) return { word: args.word, checks };
    const result = judgeResult(call.execution, judge);
    const word = args.word === "right-tool" && result.met === "no" ? "wrong-result" : args.word;
    return { word, checks: [...checks, { what: "result", ...result }] };
  };
}

/** How names are looked up under these rules: the leaderboard shows '.' as '_'. */
export function finderFor(rules: Pick<ArgsRules, "argsMatch">, listing: Listing): Find {
  return rules.argsMatch === "bfcl" ? listing.findDotless : listing.find;
}

/** The better of two judged calls: the one that got further, then the one with fewer checks that are not met. */
export function better(a: Judged, b: Judged): Judged {
  const further = callWords.indexOf(b.word) - callWords.indexOf(a.word);
  const open = ({ checks }: Judged) => checks.filter(({ met }) => met !== "yes").length;
  return further > 0 || (further === 0 && open(b) < open(a)) ? b : a;
}

function wrong<W extends Judged["word"]>(
  word: W,
  what: string,
  why: string,
): { word: W; checks: readonly Assertion[] } {
  return { word, checks: [{ what, met: "no", why }] };
}

function compileArgs(expected: ExpectedCall, mode: ArgsRules["argsMode"]) {
  const args = expected.args ?? {};
  const tests = Object.entries(args).map(([name, value]) => {
    const what = member("args", name);
    return { name, what, test: compileMatcher(value) };
  });
  // Without `args` there is nothing to be exact about.
  const exact = mode === "exact" && expected.args !== undefined;

  return (call: Call, { validate }: Listed, judge: Judge): ArgsFound => {
    const given = call.arguments;
    if (!isJsonObject(given)) return notAnObject(given, call);
    const violation = validate?.(given, "args");
    if (violation !== undefined) return wrong("malformed-arguments", "args (schema)", violation);
    const checks: Assertion[] = validate ? [{ what: "args (schema)", met: "yes" }] : [];
    for (const { name, what, test } of tests) checks.push({ what, ...test(own(given, name), what, judge) });
    if (exact) {
      const extras = Object.keys(given).filter((name) => !Object.hasOwn(args, name));
      const match: Match = every(extras, (name) =>
        no(`${member("args", name)}: expected no such argument, got ${show(given[name] ?? null)}`),
      );
      checks.push({ what: "args (exact)", ...match });
    }
    return { word: checks.some(({ met }) => met === "no") ? "wrong-arguments" : "right-tool", checks };
  };
}

function compileBfcl(expected: ExpectedCall) {
  return (call: Call, { tool }: Listed): ArgsFound => {
    const given = exactArguments(call);
    if (!isJsonObject(given)) return notAnObject(given, call);
    const problem = bfclProblem(given, expected.args ?? {}, tool.inputSchema);
    if (!problem) return { word: "right-tool", checks: [{ what: "args (bfcl)", ...yes }] };
    return wrong(problem.malformed ? "malformed-arguments" : "wrong-arguments", "args (bfcl)", problem.why);
  };
}

/** The arguments with floats marked as such, where the model's text was kept. */
function exactArguments(call: Call): Json | undefined {
  if (call.arguments === undefined || call.argumentsText === undefined) return call.arguments;
  try {
    return parseKeepingFloats(call.argumentsText);
  } catch {
    return call.arguments;
  }
}

function notAnObject(given: Json | undefined, call: Call): ArgsFound {
  const got = given === undefined ? `text that is not JSON: ${cut(call.argumentsText ?? "")}` : show(given);
  return wrong("malformed-arguments", "args (schema)", `expected an object, got ${got}`);
}

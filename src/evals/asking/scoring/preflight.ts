import { defined } from "../../base/collections.ts";
import { listRequired } from "../../base/jsonSchema/keywords.ts";
import { compileSchema, type Validate } from "../../base/jsonSchema/validate.ts";
import { didYouMean } from "../../base/text/nearest.ts";
import { showJson } from "../../base/text/text.ts";
import type { Problem } from "../../base/types/errors.ts";
import type { ExecutionPolicy } from "../../base/types/flagValues.ts";
import { isJsonObject, type Json, type JsonObject } from "../../base/types/json.ts";
import { readMatcher } from "../../base/types/matcher.ts";
import { skillEntryName } from "../../base/types/skill.ts";
import {
  type ArgsMode,
  type Case,
  type Expectation,
  type ExpectedCall,
  listExpectedCalls,
} from "../../base/types/suite.ts";
import type { OfferedTool, Toolset } from "../../base/types/tool.ts";
import { hasOpenCatalog } from "./dispatch.ts";
import { listExpectations } from "./labels.ts";
import { isAbsent, member, own } from "./matchers.ts";
import { type Executable, executable, type FindTool, getLookup, type ToolLookup } from "./tools.ts";

/** A problem of a case. Its message is printed after `Case "<id>": `. */
type CaseProblem = Omit<Problem, "location">;

/**
 * Finds the problems of a case before any model call. An error means that no trial could pass, or that one would pass
 * without checking anything; a warning means that the case may not check what its author intends. `toolset` is what the
 * model will be shown. A tool whose inputSchema cannot be compiled is a warning: its arguments are then not checked
 * against the schema.
 */
export function preflight(
  { id, location, expect, turns, dispatch, mocks, laterTools }: CaseToCheck,
  toolset: Toolset,
  policy: ExecutionPolicy,
): readonly Problem[] {
  const lookup = getLookup(toolset);
  const mocked = new Set(mocks?.list.map(({ tool }) => tool));
  const isAnswered: IsAnswered = (tool) => {
    if (mocked.has(tool.name)) return { yes: true };
    if (mocks?.unmatched === "error") return { yes: false, reason: `no mock answers calls of ${tool.name}` };
    if (tool.origin === "dispatched") return isDispatchExecuted(tool, dispatch, toolset, policy);
    return executable(tool, policy);
  };
  const isOpen = hasOpenCatalog(dispatch, toolset);
  const isUnchecked = (name: string) => isOpen || (laterTools?.includes(name) ?? false);
  const checkExpected = (expected: Expectation): CaseProblem[] => {
    const calls = listExpectedCalls(expected);
    const argsMode = "argsMode" in expected ? expected.argsMode : "partial";
    const wanted = calls.flatMap(({ tools }) => tools);
    return [
      ...checkNames(calls, expected.avoid, isUnchecked, lookup, toolset),
      ...warnOfReserved(expected.kind, lookup.findAny),
      ...warnOfDispatchers(wanted, dispatch),
      ...calls.flatMap((call) => checkCall(call, argsMode, lookup.findAny, isAnswered)),
      ...(expected.kind === "skill" ? checkSkill(expected.skill, toolset) : []),
      ...(expected.kind === "any" && expected.result ? checkAnyResult(toolset, isAnswered) : []),
      ...checkSchemas(expected.kind === "any" ? lookup.names : wanted, lookup.findAny),
    ];
  };
  const problems = listExpectations({ ...(expect && { expect }), ...(turns && { turns }) }).flatMap((one) => {
    const prefix = one.name === undefined ? `Case "${id}"` : `Case "${id}", ${one.name}`;
    return checkExpected(one.expect).map((problem) => {
      return { ...problem, message: `${prefix}: ${problem.message}`, location };
    });
  });
  const distinct = new Map(problems.map((problem) => [problem.message, problem]));
  return [...distinct.values()];
}

type CaseToCheck = Pick<Case, "id" | "location" | "expect" | "turns" | "dispatch" | "mocks" | "laterTools">;

/** `tool: none` is no call, also where a tool has that name. */
function warnOfReserved(kind: Expectation["kind"], find: FindTool): CaseProblem[] {
  if ((kind !== "none" && kind !== "any") || !find(kind)) return [];
  const meaning = kind === "none" ? "that no tool is called" : "a call of any tool";
  const message = `"tool: ${kind}" expects ${meaning}, and the server lists a tool called ${kind}.`;
  return [warning(message, `Write '"${kind}"', with both quotes, if you mean the tool.`)];
}

/** Whether a call of a tool gets a result, from a mock or from the server. */
type IsAnswered = (tool: OfferedTool) => Executable;

/** A tool behind dispatchers gets a result if one of its dispatchers is executed. */
function isDispatchExecuted(
  tool: OfferedTool,
  dispatch: Case["dispatch"] = {},
  { tools }: Toolset,
  policy: ExecutionPolicy,
): Executable {
  const callers = tools.filter(({ name }) => Object.hasOwn(dispatch, name) && dispatch[name]?.name !== undefined);
  const found = callers.map((one) => executable(one, policy));
  return found.find(({ yes }) => yes) ?? found[0] ?? executable(tool, policy);
}

const error = (message: string, hint: string): CaseProblem => ({ severity: "error", message, hint });
const warning = (message: string, hint: string): CaseProblem => ({ severity: "warning", message, hint });

function checkNames(
  calls: readonly ExpectedCall[],
  avoid: readonly string[],
  isUnchecked: (name: string) => boolean,
  { names, findAny: find }: ToolLookup,
  { tools }: Toolset,
): CaseProblem[] {
  const expected = calls.flatMap((call) => call.tools);
  const acceptable = calls.flatMap((call) => call.acceptable ?? []);
  const checkListed = (role: string) => (name: string) => {
    if (isUnchecked(name) || find(name)) return [];
    if (names.length === 0)
      return [error("a tool is expected, but none is listed.", "Name a server with tools in the suite: `server:`.")];
    const hint = didYouMean(name, names, `Use a listed tool: ${names.join(", ")}.`);
    return [error(`${role} tool "${name}" is not listed.`, hint)];
  };
  const findTwice = (list: readonly string[]) => [...new Set(list.filter((name, index) => list.indexOf(name) < index))];
  const lists = [...calls.map((call) => [...call.tools, ...(call.acceptable ?? [])]), avoid];
  const oneOfTwo = "Remove one of the two.";
  return [
    ...expected.flatMap(checkListed("expected")),
    ...acceptable.flatMap(checkListed("acceptable")),
    ...avoid.flatMap(checkListed("avoided")),
    ...expected
      .filter((name) => avoid.includes(name))
      .map((name) => error(`tool "${name}" is both expected and avoided: a call of it can never pass.`, oneOfTwo)),
    ...lists.flatMap(findTwice).map((name) => warning(`tool "${name}" is named twice in one list.`, oneOfTwo)),
    ...expected.flatMap((name) => {
      const listedName = find(name)?.tool.name;
      const servers = tools.flatMap((tool) => (tool.name === listedName ? [tool.server] : []));
      if (servers.length < 2) return [];
      const message = `expected tool "${name}" is listed ${servers.length} times (${servers.join(", ")}).`;
      return [error(message, "Rename all but one of them.")];
    }),
  ];
}

/** A call of a dispatcher counts as one of the tool inside, and a search as none. */
function warnOfDispatchers(expected: readonly string[], dispatch: Case["dispatch"]): CaseProblem[] {
  const own = [...new Set(expected)].filter((name) => dispatch && Object.hasOwn(dispatch, name));
  return own.map((name) => {
    const message = `expected tool "${name}" is under "dispatch": a call of it counts as the tool that it calls.`;
    return warning(message, "Expect the tool inside, or remove the dispatcher.");
  });
}

function checkSkill(skill: string, { tools }: Toolset): CaseProblem[] {
  const offered = tools.filter(({ origin }) => origin === "skill").map(({ name }) => name);
  if (skill === "none" || offered.includes(skillEntryName(skill))) return [];
  const none = "No skill is offered: name a folder of skills under `skills` in the suite.";
  const hint = offered.length > 0 ? `Use an offered skill: ${offered.join(", ")}.` : none;
  return [error(`expected skill "${skill}" is not offered.`, didYouMean(skillEntryName(skill), offered, hint))];
}

function checkCall(call: ExpectedCall, argsMode: ArgsMode, find: FindTool, isAnswered: IsAnswered): CaseProblem[] {
  const tools = call.tools.flatMap((name) => find(name)?.tool ?? []);
  const { args } = call;
  return [
    ...(args ? tools.flatMap((tool) => checkArgs(args, argsMode, tool)) : []),
    ...(call.result ? checkResult(tools, isAnswered) : []),
  ];
}

function checkArgs(args: JsonObject, argsMode: ArgsMode, tool: OfferedTool): CaseProblem[] {
  const schema = tool.inputSchema;
  const properties = isJsonObject(schema.properties) ? schema.properties : {};
  // Properties may also come from other keywords, so that a missing name is not a problem.
  const others = ["allOf", "anyOf", "oneOf", "$ref", "patternProperties", "if"];
  const isClosed = !others.some((key) => Object.hasOwn(schema, key));
  const problems = Object.entries(args).flatMap(([name, expected]) => {
    const property = own(properties, name);
    if (property === undefined) return isClosed ? [reportUnknown(name, tool, properties)] : [];
    const at = member("args", name);
    const reason =
      isAbsent(expected) && listRequired(schema).includes(name)
        ? `${at} must be absent, but is required`
        : explainRefused(expected, property, schema, at);
    if (reason === undefined) return [];
    return error(`can never match: ${reason}.`, `Fit it to the inputSchema of "${tool.name}": ${showJson(property)}.`);
  });
  // Required arguments that an exact comparison would reject.
  const missing = listRequired(schema).filter((required) => !Object.hasOwn(args, required));
  if (argsMode === "partial" || missing.length === 0) return problems;
  const message = `can never match: "${tool.name}" requires ${missing.join(", ")}, which argsMode exact does not allow.`;
  return [...problems, error(message, "Add them with { $any: true }, or set argsMode: partial.")];
}

function reportUnknown(name: string, tool: OfferedTool, properties: JsonObject): CaseProblem {
  const names = Object.keys(properties);
  const message = `"${tool.name}" has no argument "${name}".`;
  const known = names.length > 0 ? `Use one of: ${names.join(", ")}.` : "Remove it: the tool takes no arguments.";
  const report = tool.inputSchema.additionalProperties === false ? error : warning;
  return report(message, didYouMean(name, names, known));
}

/** Why the schema refuses a literally expected value; undefined for a matcher, and where that is not known. */
function explainRefused(expected: Json, property: Json, root: JsonObject, at: string): string | undefined {
  const literal = readLiteral(expected);
  if (!literal || !isJsonObject(property)) return undefined;
  const { $defs, definitions } = root;
  // Memoized: compiling costs far more than validating, and many cases name the same argument.
  const validate = validators.get(property) ?? compileSchema({ ...defined({ $defs, definitions }), ...property });
  validators.set(property, validate);
  const validity = typeof validate === "string" ? undefined : validate(literal.value, at);
  return validity?.kind === "invalid" ? validity.why : undefined;
}

/** The literally expected value: one without matchers, or the operand of a lone `$equals`. */
function readLiteral(expected: Json): { value: Json } | undefined {
  const read = readMatcher(expected);
  if (read.kind === "literal") return containsMatcher(expected) ? undefined : { value: expected };
  if (read.kind === "invalid" || Object.keys(read.operands).join() !== "equals") return undefined;
  return { value: read.operands.equals ?? null };
}

function containsMatcher(expected: Json): boolean {
  if (readMatcher(expected).kind !== "literal") return true;
  return typeof expected === "object" && expected !== null && Object.values(expected).some(containsMatcher);
}

const validators = new WeakMap<JsonObject, Validate | string>();

const onlyLive = "Remove `result`: only tools of the suite's own server are executed.";

function checkResult(tools: readonly OfferedTool[], isAnswered: IsAnswered): CaseProblem[] {
  return tools.flatMap((tool) => {
    const answer = isAnswered(tool);
    if (answer.yes) return [];
    const hint = tool.origin === "server" ? `Set execute: [${tool.name}], or remove \`result\`.` : onlyLive;
    return [error(`expected a result of "${tool.name}", but it is not executed: ${answer.reason}.`, hint)];
  });
}

function checkAnyResult({ tools }: Toolset, isAnswered: IsAnswered): CaseProblem[] {
  if (tools.some((tool) => isAnswered(tool).yes)) return [];
  const hint = "Set execute to `all` or to names of tools of the suite's own server, or remove `result`.";
  return [error("expected a result, but no listed tool is executed.", hint)];
}

function checkSchemas(names: readonly string[], find: FindTool): CaseProblem[] {
  return names.flatMap((name) => {
    const listed = find(name);
    const compiled = listed?.compile();
    const fault = typeof compiled === "function" ? compiled.leftOut : compiled;
    if (!listed || fault === undefined) return [];
    const [state, part] = compiled === fault ? ["cannot be compiled", "it"] : ["has a fault", "this part of it"];
    const hint = `Fix the schema in the server: until then, arguments are not checked against ${part}.`;
    return [warning(`the inputSchema of "${listed.tool.name}" ${state}: ${fault}.`, hint)];
  });
}

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
import { member, own } from "./matchers.ts";
import { type Executable, executable, type FindTool, getLookup, type ToolLookup } from "./tools.ts";

/** A problem of a case. Its message is printed after `Case "<id>": `. */
type CaseProblem = Omit<Problem, "location">;

/**
 * Finds the problems of a case before any model call. An error means that no trial could pass, or that one would pass
 * without checking anything; a warning means that the case may not check what its author intends. `toolset` is what the
 * model will be shown. A tool whose inputSchema cannot be compiled is a warning: its arguments are then not checked against the
 * schema.
 */
export function preflight(
  { id, location, expect, turns, dispatch, mocks, laterTools }: CaseToCheck,
  toolset: Toolset,
  policy: ExecutionPolicy,
): readonly Problem[] {
  const problems = listExpectations({ ...(expect && { expect }), ...(turns && { turns }) }).flatMap((one) => {
    const prefix = one.name === undefined ? `Case "${id}"` : `Case "${id}", ${one.name}`;
    return checkExpected(one.expect, { dispatch, mocks, laterTools }, toolset, policy).map((problem) => {
      return { ...problem, message: `${prefix}: ${problem.message}`, location };
    });
  });
  const distinct = new Map(problems.map((problem) => [problem.message, problem]));
  return [...distinct.values()];
}

type CaseToCheck = Pick<Case, "id" | "location" | "expect" | "turns" | "dispatch" | "mocks" | "laterTools">;

function checkExpected(
  expect: Expectation,
  { dispatch, mocks, laterTools = [] }: { [K in "dispatch" | "mocks" | "laterTools"]: Case[K] | undefined },
  toolset: Toolset,
  policy: ExecutionPolicy,
): CaseProblem[] {
  const lookup = getLookup(toolset);
  const calls = listExpectedCalls(expect);
  const argsMode = "argsMode" in expect ? expect.argsMode : "partial";
  const find: FindTool = lookup.findAny;
  const wanted = calls.flatMap(({ tools }) => tools);
  const mocked = new Set(mocks?.list.map(({ tool }) => tool));
  const isAnswered: IsAnswered = (tool) => {
    if (mocked.has(tool.name)) return { yes: true };
    if (mocks?.unmatched === "error") return unmocked(tool);
    return tool.origin === "dispatched"
      ? isDispatchExecuted(tool, dispatch, toolset, policy)
      : executable(tool, policy);
  };
  const isOpen = hasOpenCatalog(dispatch, toolset);
  const isUnchecked = (name: string) => isOpen || laterTools.includes(name);
  return [
    ...checkNames(calls, expect.avoid, find, isUnchecked, lookup, toolset),
    ...warnOfReserved(expect.kind, find),
    ...warnOfDispatchers(wanted, dispatch),
    ...calls.flatMap((call) => checkCall(call, argsMode, find, isAnswered)),
    ...(expect.kind === "skill" ? checkSkill(expect.skill, toolset) : []),
    ...(expect.kind === "any" && expect.result ? checkAnyResult(toolset, isAnswered) : []),
    ...checkSchemas(expect.kind === "any" ? lookup.names : wanted, find),
  ];
}

/** `tool: none` is no call, also where a tool has that name. */
function warnOfReserved(kind: Expectation["kind"], find: FindTool): CaseProblem[] {
  if ((kind !== "none" && kind !== "any") || !find(kind)) return [];
  const meaning = kind === "none" ? "that no tool is called" : "a call of any tool";
  const message = `"tool: ${kind}" expects ${meaning}, and the server lists a tool called ${kind}.`;
  return [{ severity: "warning", message, hint: `Write '"${kind}"', with both quotes, if you mean the tool.` }];
}

/** Whether a call of a tool gets a result, from a mock or from the server. */
type IsAnswered = (tool: OfferedTool) => Executable;

const unmocked = ({ name }: OfferedTool): Executable => ({ yes: false, reason: `no mock answers calls of ${name}` });

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

function error(message: string, hint: string): CaseProblem {
  return { severity: "error", message, hint };
}

function warning(message: string, hint: string): CaseProblem {
  return { severity: "warning", message, hint };
}

function checkNames(
  calls: readonly ExpectedCall[],
  avoid: readonly string[],
  find: FindTool,
  isUnchecked: (name: string) => boolean,
  { names }: ToolLookup,
  { tools }: Toolset,
): CaseProblem[] {
  const expected = calls.flatMap((call) => call.tools);
  const acceptable = calls.flatMap((call) => call.acceptable ?? []);
  const describeListed = () => `Use a listed tool: ${names.join(", ")}.`;
  const checkListed = (role: string) => (name: string) =>
    isUnchecked(name) || find(name)
      ? []
      : names.length === 0
        ? [error("a tool is expected, but none is listed.", "Name a server with tools in the suite: `server:`.")]
        : [error(`${role} tool "${name}" is not listed.`, didYouMean(name, names, describeListed()))];
  const findTwice = (list: readonly string[]) => [...new Set(list.filter((name, index) => list.indexOf(name) < index))];
  const listServers = (name: string) => {
    const listedName = find(name)?.tool.name;
    const same = tools.filter((tool) => tool.name === listedName);
    return same.map(({ server }) => server);
  };
  return [
    ...expected.flatMap(checkListed("expected")),
    ...acceptable.flatMap(checkListed("acceptable")),
    ...avoid.flatMap(checkListed("avoided")),
    ...expected
      .filter((name) => avoid.includes(name))
      .map((name) =>
        error(`tool "${name}" is both expected and avoided: a call of it can never pass.`, "Remove one of the two."),
      ),
    ...[...calls.flatMap((call) => findTwice([...call.tools, ...(call.acceptable ?? [])])), ...findTwice(avoid)].map(
      (name) => warning(`tool "${name}" is named twice in one list.`, "Remove one of the two."),
    ),
    ...expected
      .map((name) => ({ name, servers: listServers(name) }))
      .filter(({ servers }) => servers.length > 1)
      .map(({ name, servers }) =>
        error(
          `expected tool "${name}" is listed ${servers.length} times (${servers.join(", ")}).`,
          "Rename all but one of them.",
        ),
      ),
  ];
}

/** A call of a dispatcher counts as one of the tool inside, and a search as none. */
function warnOfDispatchers(expected: readonly string[], dispatch: Case["dispatch"]): CaseProblem[] {
  const own = [...new Set(expected)].filter((name) => dispatch && Object.hasOwn(dispatch, name));
  return own.map((name) =>
    warning(
      `expected tool "${name}" is under "dispatch": a call of it counts as the tool that it calls.`,
      "Expect the tool inside, or remove the dispatcher.",
    ),
  );
}

function checkSkill(skill: string, { tools }: Toolset): CaseProblem[] {
  const offered = tools.filter(({ origin }) => origin === "skill").map(({ name }) => name);
  if (skill === "none" || offered.includes(skillEntryName(skill))) return [];
  const hint =
    offered.length > 0
      ? `Use an offered skill: ${offered.join(", ")}.`
      : "No skill is offered: name a folder of skills under `skills` in the suite.";
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
  const problems = Object.entries(args).flatMap(([name, expected]) => {
    const property = own(properties, name);
    if (property === undefined) return isClosedList(schema) ? [reportUnknown(name, tool, properties)] : [];
    const reason =
      explainAbsent(name, expected, schema) ?? explainRefused(expected, property, schema, member("args", name));
    return reason === undefined
      ? []
      : [error(`can never match: ${reason}.`, `Fit it to the inputSchema of "${tool.name}": ${showJson(property)}.`)];
  });
  return argsMode === "partial" ? problems : [...problems, ...checkRequired(args, tool)];
}

/** Reports required arguments that an exact comparison would reject. */
function checkRequired(args: JsonObject, { name, inputSchema }: OfferedTool): CaseProblem[] {
  const missing = listRequired(inputSchema).filter((required) => !Object.hasOwn(args, required));
  if (missing.length === 0) return [];
  const hint = "Add them with { $any: true }, or set argsMode: partial.";
  return [
    error(`can never match: "${name}" requires ${missing.join(", ")}, which argsMode exact does not allow.`, hint),
  ];
}

/** False when properties may also come from other keywords, so that a missing name is not a problem. */
function isClosedList(schema: JsonObject): boolean {
  return !["allOf", "anyOf", "oneOf", "$ref", "patternProperties", "if"].some((key) => Object.hasOwn(schema, key));
}

function reportUnknown(name: string, tool: OfferedTool, properties: JsonObject): CaseProblem {
  const names = Object.keys(properties);
  const message = `"${tool.name}" has no argument "${name}".`;
  const hint = didYouMean(
    name,
    names,
    names.length > 0 ? `Use one of: ${names.join(", ")}.` : "Remove it: the tool takes no arguments.",
  );
  return tool.inputSchema.additionalProperties === false ? error(message, hint) : warning(message, hint);
}

/** Why the schema refuses a literally expected value; undefined for a matcher, and where that is not known. */
function explainRefused(expected: Json, property: Json, root: JsonObject, at: string): string | undefined {
  const literal = readLiteral(expected);
  if (!literal || !isJsonObject(property)) return undefined;
  const validate = validators.get(property) ?? compileProperty(property, root);
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

/** Memoized: compiling costs far more than validating, and many cases name the same argument. */
const validators = new WeakMap<JsonObject, Validate | string>();

function compileProperty(property: JsonObject, { $defs, definitions }: JsonObject): Validate | string {
  const defs = { ...($defs !== undefined && { $defs }), ...(definitions !== undefined && { definitions }) };
  return compileSchema({ ...defs, ...property });
}

function explainAbsent(name: string, expected: Json, schema: JsonObject): string | undefined {
  const read = readMatcher(expected);
  const isAbsent = read.kind === "matcher" && read.operands.absent === true;
  return isAbsent && listRequired(schema).includes(name)
    ? `${member("args", name)} must be absent, but is required`
    : undefined;
}

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
  return [
    error(
      "expected a result, but no listed tool is executed.",
      "Set execute to `all` or to names of tools of the suite's own server, or remove `result`.",
    ),
  ];
}

function checkSchemas(names: readonly string[], find: FindTool): CaseProblem[] {
  return names.flatMap((name) => {
    const listed = find(name);
    const leftOut = listed?.validate?.leftOut;
    if (!listed || (listed.validate && leftOut === undefined)) return [];
    const hint = `Fix the schema in the server: until then, arguments are not checked against ${leftOut === undefined ? "it" : "this part of it"}.`;
    const state = leftOut === undefined ? `cannot be compiled: ${listed.problem}` : `has a fault: ${leftOut}`;
    return [warning(`the inputSchema of "${listed.tool.name}" ${state}.`, hint)];
  });
}

import type { Problem } from "../errors.ts";
import { isJsonObject, type Json, type JsonObject } from "../types/json.ts";
import { nearest } from "../types/nearest.ts";
import { showJson } from "../types/quote.ts";
import { skillEntryName } from "../types/skill.ts";
import type { Case, ExecutionPolicy, Expectation, ExpectedCall } from "../types/suite.ts";
import type { OfferedTool, Toolset } from "../types/tool.ts";
import { type ArgsRules, getFinder } from "./call.ts";
import { member, own } from "./match.ts";
import { compileRegex, isMatcher, matcherProblems } from "./matchers.ts";
import { executable } from "./policy.ts";
import { whyNever } from "./possible.ts";
import { type FindTool, getLookup, type ToolLookup } from "./toolLookup.ts";

type Found = Omit<Problem, "place">;

/**
 * What is wrong with a case before anything is spent on it. An error means that no trial of it could pass, or that one
 * would pass for nothing; a warning, that it may not check what its author thinks. `toolset` is what it will be shown.
 * A tool whose inputSchema cannot be compiled is a warning: its arguments are then not checked against the schema.
 */
export function preflight(
  { id, place, expect }: Pick<Case, "id" | "place" | "expect">,
  toolset: Toolset,
  policy: ExecutionPolicy,
): readonly Problem[] {
  if (!expect) return [];
  const listing = getLookup(toolset);
  const calls = callsOf(expect);
  const rules: ArgsRules = "argsMatch" in expect ? expect : { argsMode: "partial", argsMatch: "matchers" };
  const find = getFinder(rules, listing);
  const wanted = calls.flatMap(({ tools }) => tools);
  const found = [
    ...listedProblems(calls, expect.avoid, find, listing, toolset),
    ...calls.flatMap((call) => callProblems(call, rules, find, policy)),
    ...(expect.kind === "skill" ? skillProblems(expect.skill, toolset) : []),
    ...(expect.kind === "any" && expect.result ? anyResultProblems(expect.result, toolset, policy) : []),
    ...(rules.argsMatch === "bfcl" ? [] : schemaWarnings(expect.kind === "any" ? listing.names : wanted, find)),
  ];
  const distinct = new Map(found.map((one) => [one.message, one]));
  return [...distinct.values()].map((one) => ({ ...one, message: `case ${id}: ${one.message}`, place }));
}

function callsOf(expect: Expectation): readonly ExpectedCall[] {
  if (expect.kind === "tool") return [expect.call];
  return expect.kind === "calls" ? expect.calls : [];
}

function error(message: string, hint: string): Found {
  return { severity: "error", message, hint };
}

function warning(message: string, hint: string): Found {
  return { severity: "warning", message, hint };
}

function didYouMean(name: string, names: readonly string[], otherwise: string): string {
  const near = nearest(name, names);
  return near === undefined ? otherwise : `did you mean ${near}?`;
}

function listedProblems(
  calls: readonly ExpectedCall[],
  avoid: readonly string[],
  find: FindTool,
  { names }: ToolLookup,
  { tools }: Toolset,
): Found[] {
  const wanted = calls.flatMap((call) => call.tools);
  const listed =
    names.length > 0 ? `listed are: ${names.join(", ")}` : "no tool is listed: does the suite name a server?";
  const unlisted = (verb: string) => (name: string) =>
    find(name) ? [] : [error(`${verb} ${name}, which is not listed`, didYouMean(name, names, listed))];
  const twice = (list: readonly string[]) => [...new Set(list.filter((name, index) => list.indexOf(name) < index))];
  const offers = (name: string) => tools.filter((tool) => tool.name === find(name)?.tool.name);
  return [
    ...wanted.flatMap(unlisted("expects")),
    ...avoid.flatMap(unlisted("avoids")),
    ...wanted
      .filter((name) => avoid.includes(name))
      .map((name) =>
        error(`both expects and avoids ${name}, so a call of it can never pass`, "take it out of one of the two"),
      ),
    ...[...calls.flatMap((call) => twice(call.tools)), ...twice(avoid)].map((name) =>
      warning(`names ${name} twice in one list`, "take one of the two out"),
    ),
    ...wanted
      .filter((name) => offers(name).length > 1)
      .map((name) => {
        const servers = offers(name).map(({ server }) => server);
        return error(`expects ${name}, which is listed ${servers.length} times (${servers.join(", ")})`, "rename one");
      }),
  ];
}

function skillProblems(skill: string, { tools }: Toolset): Found[] {
  const offered = tools.filter(({ origin }) => origin === "skill").map(({ name }) => name);
  if (skill === "none" || offered.includes(skillEntryName(skill))) return [];
  const hint =
    offered.length > 0
      ? `offered are: ${offered.join(", ")}`
      : "no skill is offered: does the suite name a folder under `skills`?";
  return [error(`expects skill ${skill}, which is not offered`, didYouMean(skillEntryName(skill), offered, hint))];
}

function callProblems(call: ExpectedCall, rules: ArgsRules, find: FindTool, policy: ExecutionPolicy): Found[] {
  const tools = call.tools.flatMap((name) => find(name)?.tool ?? []);
  const { args } = call;
  const broken = rules.argsMatch === "bfcl" || !args ? [] : matcherProblems(args, "args");
  return [
    ...broken.map(({ at, message }) =>
      error(`${at}: ${message}`, "mend the matcher, or write { equals: ... } for a value that only looks like one"),
    ),
    ...(broken.length > 0 || !args ? [] : tools.flatMap((tool) => argProblems(args, rules, tool))),
    ...(call.result ? resultProblems(call.result, tools, policy) : []),
  ];
}

function argProblems(args: JsonObject, rules: ArgsRules, tool: OfferedTool): Found[] {
  const schema = tool.inputSchema;
  const properties = isJsonObject(schema.properties) ? schema.properties : {};
  const problems = Object.entries(args).flatMap(([name, expected]) => {
    const property = own(properties, name);
    if (property === undefined) return namesOwnArguments(schema) ? [unknownArgument(name, tool, properties)] : [];
    if (rules.argsMatch === "bfcl") {
      const hint = `write a list, for example [${showJson(expected)}]`;
      return Array.isArray(expected) ? [] : [error(`${member("args", name)} is no list of accepted values`, hint)];
    }
    const reason =
      absentFromRequired(name, expected, schema) ?? whyNever(expected, property, schema, member("args", name));
    return reason === undefined
      ? []
      : [error(`can never match: ${reason}`, `the inputSchema of ${tool.name} says ${showJson(property)}`)];
  });
  return rules.argsMatch === "bfcl" || rules.argsMode === "partial" ? problems : [...problems, ...unnamed(args, tool)];
}

/** Required arguments that an exact comparison would count as too many. */
function unnamed(args: JsonObject, { name, inputSchema }: OfferedTool): Found[] {
  const required = Array.isArray(inputSchema.required) ? inputSchema.required : [];
  const missing = required.filter((one) => typeof one === "string" && !Object.hasOwn(args, one));
  if (missing.length === 0) return [];
  const hint = "name it with { any: true }, or set argsMode: partial";
  return [error(`can never match: ${name} requires ${missing.join(", ")}, which argsMode exact does not allow`, hint)];
}

/** False when a schema's properties may also come from elsewhere, so that a missing name says nothing. */
function namesOwnArguments(schema: JsonObject): boolean {
  return !["allOf", "anyOf", "oneOf", "$ref", "patternProperties", "if"].some((key) => Object.hasOwn(schema, key));
}

function unknownArgument(name: string, tool: OfferedTool, properties: JsonObject): Found {
  const names = Object.keys(properties);
  const message = `${tool.name} has no argument ${name}`;
  const hint = didYouMean(name, names, names.length > 0 ? `it has: ${names.join(", ")}` : "it takes no arguments");
  return tool.inputSchema.additionalProperties === false ? error(message, hint) : warning(message, hint);
}

function absentFromRequired(name: string, expected: Json, schema: JsonObject): string | undefined {
  const required = Array.isArray(schema.required) && schema.required.includes(name);
  const absent = isJsonObject(expected) && isMatcher(expected) && expected.absent === true;
  return required && absent ? `${member("args", name)} must be absent, and is required` : undefined;
}

const ownServer = "a result can be checked only for a tool of the suite's own live server";

function resultProblems(result: ExpectedCall["result"], tools: readonly OfferedTool[], policy: ExecutionPolicy) {
  const skipped = tools.flatMap((tool) => {
    const answer = executable(tool, policy);
    if (answer.yes) return [];
    const hint = tool.origin === "server" ? "set execute: always, or take `result` out" : ownServer;
    return [error(`expects a result of ${tool.name}, which is not executed: ${answer.reason}`, hint)];
  });
  return [...skipped, ...matcherErrors(result)];
}

function anyResultProblems(result: ExpectedCall["result"], { tools }: Toolset, policy: ExecutionPolicy): Found[] {
  if (tools.some((tool) => executable(tool, policy).yes)) return matcherErrors(result);
  return [error("expects a result, and no listed tool is executed", `set execute: always; ${ownServer}`)];
}

function matcherErrors(result: ExpectedCall["result"]): Found[] {
  const regex = result?.matches === undefined ? undefined : compileRegex(result.matches);
  const inside = result?.json === undefined ? [] : matcherProblems(result.json, "result.json");
  return [
    ...(typeof regex === "string" ? [error(`result.matches: ${regex}`, "mend the regular expression")] : []),
    ...inside.map(({ at, message }) => error(`${at}: ${message}`, "mend the matcher")),
  ];
}

function schemaWarnings(names: readonly string[], find: FindTool): Found[] {
  return names.flatMap((name) => {
    const listed = find(name);
    if (!listed || listed.validate) return [];
    const hint = "its arguments are not checked against the schema; mend it in the server";
    return [warning(`the inputSchema of ${listed.tool.name} cannot be read: ${listed.problem}`, hint)];
  });
}

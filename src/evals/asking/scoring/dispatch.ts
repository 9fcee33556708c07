import { listProperties } from "../../base/jsonSchema/keywords.ts";
import { didYouMean } from "../../base/text/nearest.ts";
import type { Location, Problem } from "../../base/types/errors.ts";
import {
  getAtPath,
  isJsonObject,
  type Json,
  type JsonObject,
  parseExactJson,
  writeExactJson,
} from "../../base/types/json.ts";
import { type Expectation, listExpectedCalls } from "../../base/types/suite.ts";
import type { Dispatch, DispatchRules } from "../../base/types/suiteFile.ts";
import { joinText, type Tool, type Toolset } from "../../base/types/tool.ts";
import type { Call, ToolSearch, Turn } from "../../base/types/trial.ts";

/** Reads an executed call. A call through a dispatcher gets `inner`; a search gets its role, and is returned. */
export type ReadDispatch = (call: Call) => { call: Call; search?: ToolSearch };

/** The reader of a case; undefined where its suite has no dispatcher. */
export function createDispatchReader(
  rules: DispatchRules | undefined,
  expect: Expectation | undefined,
  toolset: Toolset,
): ReadDispatch | undefined {
  if (!rules) return undefined;
  const { hidden, isComplete } = listHidden(expect, toolset);
  const listed = new Set(toolset.tools.filter(({ origin }) => origin !== "dispatched").map(({ name }) => name));
  return (call) => {
    const rule = Object.hasOwn(rules, call.tool) ? rules[call.tool] : undefined;
    if (!rule || call.role !== undefined || !isJsonObject(call.arguments)) return { call };
    const name = readArgument(call.arguments, rule.name);
    if (typeof name === "string" && name !== "") {
      const args = readInnerArguments(call.arguments, rule);
      const inner: Call["inner"] = { tool: name, ...(args !== undefined && { arguments: args }) };
      if (isComplete && !hidden.has(name) && !listed.has(name)) inner.unlisted = true;
      return { call: { ...call, inner } };
    }
    const query = readArgument(call.arguments, rule.search);
    if (typeof query !== "string") return { call };
    return { call: { ...call, role: "search" }, search: { query, found: listNames(call, hidden) } };
  };
}

/** The turns of a host, read in the same way. */
export function readDispatchedTurns(turns: readonly Turn[], read: ReadDispatch | undefined): Turn[] {
  if (!read) return [...turns];
  return turns.map((turn) => {
    const done = turn.calls.map(read);
    const searches = [...(turn.searches ?? []), ...done.flatMap(({ search }) => search ?? [])];
    return { ...turn, calls: done.map(({ call }) => call), ...(searches.length > 0 && { searches }) };
  });
}

/** The tools that a model has to search for on the server; undefined where no tool of the server searches. */
export function listDispatchedTools(
  rules: DispatchRules | undefined,
  expect: Expectation | undefined,
  toolset: Toolset,
): ReadonlySet<string> | undefined {
  const searches = Object.values(rules ?? {}).some(({ search }) => search !== undefined);
  return searches ? listHidden(expect, toolset).hidden : undefined;
}

/** Whether any tool may be called through a dispatcher, because no catalog says which there are. */
export function hasOpenCatalog(rules: DispatchRules | undefined, { tools }: Toolset): boolean {
  const calls = Object.values(rules ?? {}).some(({ name }) => name !== undefined);
  return calls && !tools.some(({ origin }) => origin === "dispatched");
}

/** The tools behind dispatchers: those of the catalog, or, without one, the expected tools that are not listed. */
function listHidden(expect: Expectation | undefined, { tools }: Toolset) {
  const catalog = tools.filter(({ origin }) => origin === "dispatched").map(({ name }) => name);
  if (catalog.length > 0) return { hidden: new Set(catalog), isComplete: true };
  const listed = new Set(tools.map(({ name }) => name));
  const expected = listExpectedCalls(expect).flatMap((call) => call.tools);
  return { hidden: new Set(expected.filter((name) => !listed.has(name))), isComplete: false };
}

/** The value at a dotted path; undefined where there is none. */
function readArgument(args: JsonObject, path: string | undefined): Json | undefined {
  return path === undefined ? undefined : getAtPath(args, path.split("."));
}

/** Without a path, all other arguments. Arguments that are given as JSON text are parsed. */
function readInnerArguments(args: JsonObject, { name, arguments: path, search }: Dispatch): Json | undefined {
  if (path === undefined)
    return Object.fromEntries(Object.entries(args).filter(([key]) => key !== name && key !== search));
  const value = readArgument(args, path);
  if (typeof value !== "string") return value ?? {};
  try {
    return parseExactJson(value);
  } catch {
    return value;
  }
}

/** The names in the result of a search, in the order in which it names them. */
function listNames({ execution }: Call, names: ReadonlySet<string>): string[] {
  if (execution?.status !== "executed") return [];
  const { result } = execution;
  const text = `${joinText(result)} ${result.structuredContent ? writeExactJson(result.structuredContent) : ""}`;
  const words = (text.match(/[\w./:-]+/g) ?? []).map((word) => word.replace(/(?<![./:-])[./:-]+$/, ""));
  return [...new Set(words)].filter((word) => names.has(word));
}

/** What is wrong with the dispatchers of a suite, given what its server lists. `place` finds a key of the suite. */
export function checkDispatch(
  rules: DispatchRules,
  tools: readonly Tool[],
  location: (path: readonly string[]) => Location,
): Problem[] {
  const names = tools.map(({ name }) => name);
  return Object.entries(rules).flatMap(([name, rule]): Problem[] => {
    const schema = tools.find((one) => one.name === name)?.inputSchema;
    if (!schema) {
      const message = `dispatch: the tool "${name}" is not listed.`;
      const hint = didYouMean(name, names, `Use a listed tool: ${names.join(", ") || "none is listed"}.`);
      return [{ severity: "error", message, hint, location: location([name]) }];
    }
    const properties = listProperties(schema).map(([property]) => property);
    const isOpen = ["allOf", "anyOf", "oneOf", "$ref", "patternProperties"].some((word) => word in schema);
    const some =
      properties.length > 0 ? `Use one of: ${properties.join(", ")}.` : `Remove it: "${name}" takes no arguments.`;
    return Object.entries(rule).flatMap(([key, path = ""]): Problem[] => {
      const [argument = ""] = path.split(".");
      if (properties.includes(argument) || (isOpen && properties.length === 0)) return [];
      const message = `dispatch.${name}.${key}: "${name}" has no argument "${argument}".`;
      const hint = didYouMean(argument, properties, some);
      return [{ severity: "error", message, hint, location: location([name, key]) }];
    });
  });
}

import { getSingleType, listProperties } from "../base/jsonSchema/keywords.ts";
import { isJsonObject, type JsonObject } from "../base/types/json.ts";
import type { Dispatch, DispatchRules } from "../base/types/suiteFile.ts";

/** Writes the key `dispatch` of a suite with one rule, in one line of YAML. */
export function writeDispatch(name: string, rule: Dispatch): string {
  const members = Object.entries(rule).map(([key, path]) => `${key}: ${path}`);
  return `dispatch: { ${name}: { ${members.join(", ")} } }`;
}

const nameWords = /^(?:tool|tool_?name|name|command|operation|action|method)$/i;
const argumentWords = /^(?:arguments|args|parameters|params|input|tool_?(?:args|arguments|input|params))$/i;
const searchWords = /^(?:query|search|intent|q|task|keywords?)$/i;

/**
 * Recognizes dispatchers among listed tools by their parameters: a string that names a tool or command, with an object
 * of arguments (`{ name, arguments }`, `{ command, parameters }`). Also tools that search for tools by a string.
 */
export function recognizeDispatchers(tools: readonly JsonObject[]): DispatchRules {
  return Object.fromEntries(tools.flatMap(recognizeDispatcher));
}

function recognizeDispatcher({ name, description, inputSchema }: JsonObject): [name: string, rule: Dispatch][] {
  if (typeof name !== "string" || !isJsonObject(inputSchema)) return [];
  const properties = listProperties(inputSchema).flatMap(([key, schema]) =>
    isJsonObject(schema) ? [{ key, schema }] : [],
  );
  const find = (words: RegExp, types: readonly (string | undefined)[]) =>
    properties.find(({ key, schema }) => words.test(key) && types.includes(getSingleType(schema)))?.key;
  const search = find(searchWords, ["string"]);
  const inner = find(nameWords, ["string"]);
  const args = find(argumentWords, ["object", "string", undefined]);
  const isAboutTools = /\b(?:tools?|commands?|operations?|actions?)\b/i.test(String(description ?? ""));
  if (inner !== undefined && args !== undefined && isAboutTools)
    return [[name, { name: inner, arguments: args, ...(search !== undefined && { search }) }]];
  const isSearch =
    (/search|find|discover|lookup/i.test(name) && /tools?$/i.test(name)) || /tools?_?search$/i.test(name);
  return isSearch && search !== undefined ? [[name, { search }]] : [];
}

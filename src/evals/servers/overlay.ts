import { listProperties } from "../base/jsonSchema/values.ts";
import { nearest } from "../base/text/nearest.ts";
import { isJsonObject, type Json, type JsonObject } from "../base/types/json.ts";
import type { OfferedTool, Tool } from "../base/types/tool.ts";
import type { Variant, VariantChange } from "../base/types/variants.ts";

/** An unknown name in a variant. `path` leads to it inside the variant. */
export type VariantProblem = { path: readonly string[]; message: string; hint: string };

/**
 * The tools with the wording of a variant. Names, order, annotations and origins stay, so calls reach the same tools.
 * Unknown names in the variant are ignored: see `checkVariant`.
 */
export function applyVariant(tools: readonly OfferedTool[], variant: Variant): OfferedTool[] {
  const changes = new Map(Object.entries(variant));
  return tools.map((tool) => {
    const change = changes.get(tool.name);
    return change === undefined ? tool : applyChange(tool, change);
  });
}

/** Tools and parameters in a variant that none of the lists has. */
export function checkVariant(lists: readonly (readonly Tool[])[], variant: Variant): VariantProblem[] {
  const tools = lists.flat();
  const names = [...new Set(tools.map(({ name }) => name))];
  return Object.entries(variant).flatMap(([name, change]) => {
    const meant = tools.filter((tool) => tool.name === name);
    if (meant.length === 0)
      return [{ path: [name], message: `No tool "${name}" is listed.`, hint: suggest(name, names, "Listed tools") }];
    if (typeof change === "string") return [];
    return "tool" in change ? checkName(name, change.tool.name) : checkParameters(name, meant, change.parameters ?? {});
  });
}

function checkName(name: string, other = name): VariantProblem[] {
  if (other === name) return [];
  const hint = "Remove the name: the server only knows the tool by its listed name.";
  return [{ path: [name, "tool", "name"], message: `The tool "${name}" cannot be renamed to "${other}".`, hint }];
}

function checkParameters(name: string, tools: readonly Tool[], texts: Readonly<Record<string, string>>) {
  const known = [...new Set(tools.flatMap(({ inputSchema }) => listParameters(inputSchema)))];
  const unknown = Object.keys(texts).filter((parameter) => !known.includes(normalizePath(parameter)));
  return unknown.map((parameter): VariantProblem => {
    const hint = suggest(parameter, known, "Its parameters");
    return { path: [name, "parameters", parameter], message: `"${name}" has no parameter "${parameter}".`, hint };
  });
}

function suggest(name: string, candidates: readonly string[], what: string): string {
  const near = nearest(name, candidates);
  if (near !== undefined) return `Did you mean "${near}"?`;
  const shown = candidates.slice(0, 12).join(", ");
  const more = candidates.length > 12 ? ` and ${candidates.length - 12} more` : "";
  return `${what}: ${shown === "" ? "none" : shown}${more}.`;
}

function applyChange(tool: OfferedTool, change: VariantChange): OfferedTool {
  if (typeof change === "string") return { ...tool, description: change };
  if ("tool" in change) {
    const { title: _, description: __, inputSchema: ___, outputSchema: ____, ...kept } = tool;
    return { ...kept, ...change.tool, name: tool.name };
  }
  const { description, parameters = {}, searchHint, alwaysLoad } = change;
  const texts = new Map(Object.entries(parameters).map(([path, text]) => [normalizePath(path), text]));
  const { _meta, ...rest } = tool;
  const meta = applyMeta(_meta, { searchHint, alwaysLoad });
  return {
    ...rest,
    ...(meta && { _meta: meta }),
    ...(description !== undefined && { description }),
    ...(texts.size > 0 && { inputSchema: describeParameters(tool.inputSchema, [], texts) }),
  };
}

/** The keys for hosts, overridden by those of a variant; undefined if none is left. */
function applyMeta(
  meta: OfferedTool["_meta"],
  { searchHint, alwaysLoad }: { searchHint: string | undefined; alwaysLoad: boolean | undefined },
): OfferedTool["_meta"] {
  const hint = searchHint ?? meta?.["anthropic/searchHint"];
  const isLoaded = alwaysLoad ?? meta?.["anthropic/alwaysLoad"];
  const changed = {
    ...(isLoaded && { "anthropic/alwaysLoad": isLoaded }),
    ...(hint && { "anthropic/searchHint": hint }),
  };
  return Object.keys(changed).length > 0 ? changed : undefined;
}

/** A path may mark the items of a list, as in reports of changes: `edits[].oldText` is `edits.oldText`. */
const normalizePath = (path: string) => path.replaceAll("[]", "");

/** The schema with the given descriptions of the parameters at these paths. */
function describeParameters(
  schema: JsonObject,
  above: readonly string[],
  texts: ReadonlyMap<string, string>,
): JsonObject {
  const properties = listProperties(schema).map(([name, property]): [string, Json] => {
    if (!isJsonObject(property)) return [name, property];
    const path = [...above, name];
    const text = texts.get(path.join("."));
    return [name, { ...describeParameters(property, path, texts), ...(text !== undefined && { description: text }) }];
  });
  return {
    ...schema,
    ...(isJsonObject(schema.properties) && { properties: Object.fromEntries(properties) }),
    ...(isJsonObject(schema.items) && { items: describeParameters(schema.items, above, texts) }),
  };
}

/** The dotted paths of all parameters that can have a description, nested ones and those of items included. */
function listParameters(schema: JsonObject, above: readonly string[] = []): string[] {
  const own = listProperties(schema).flatMap(([name, property]) =>
    isJsonObject(property) ? [[...above, name].join("."), ...listParameters(property, [...above, name])] : [],
  );
  return isJsonObject(schema.items) ? [...own, ...listParameters(schema.items, above)] : own;
}

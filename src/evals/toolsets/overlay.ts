import { isJsonObject, type Json, type JsonObject } from "../types/json.ts";
import { nearest } from "../types/nearest.ts";
import type { OfferedTool, Tool } from "../types/tool.ts";
import type { ToolChange, Variant } from "../types/variants.ts";

/** What a variant names that is not there; `path` leads to it inside of the variant. */
export type OverlayFault = { path: readonly string[]; message: string; hint: string };

/**
 * The list with the wording of a variant. Only what is shown changes: names, order, annotations and where each tool comes
 * from stay, so calls go where they went. What the variant names and the list does not have is passed over: see
 * `overlayFaults`.
 */
export function overlay(tools: readonly OfferedTool[], variant: Variant): OfferedTool[] {
  const changes = new Map(Object.entries(variant));
  return tools.map((tool) => {
    const change = changes.get(tool.name);
    return change === undefined ? tool : changed(tool, change);
  });
}

/** Tools and parameters that a variant names and that none of the lists has. */
export function overlayFaults(lists: readonly (readonly Tool[])[], variant: Variant): OverlayFault[] {
  const tools = lists.flat();
  const names = [...new Set(tools.map(({ name }) => name))];
  return Object.entries(variant).flatMap(([name, change]) => {
    const meant = tools.filter((tool) => tool.name === name);
    if (meant.length === 0)
      return [{ path: [name], message: `no tool "${name}" is listed`, hint: hintFor(name, names, "listed") }];
    if (typeof change === "string") return [];
    return "tool" in change ? renamed(name, change.tool.name) : unknownParameters(name, meant, change.parameters ?? {});
  });
}

function renamed(name: string, other = name): OverlayFault[] {
  if (other === name) return [];
  const hint = "calls go to the server, which knows the tool by its own name: leave the name out";
  return [{ path: [name, "tool", "name"], message: `the tool "${name}" cannot be named "${other}"`, hint }];
}

function unknownParameters(name: string, tools: readonly Tool[], texts: Readonly<Record<string, string>>) {
  const known = [...new Set(tools.flatMap(({ inputSchema }) => parametersOf(inputSchema)))];
  const unknown = Object.keys(texts).filter((parameter) => !known.includes(plainPath(parameter)));
  return unknown.map((parameter): OverlayFault => {
    const hint = hintFor(parameter, known, "its parameters");
    return { path: [name, "parameters", parameter], message: `${name} has no parameter "${parameter}"`, hint };
  });
}

function hintFor(name: string, candidates: readonly string[], what: string): string {
  const near = nearest(name, candidates);
  if (near !== undefined) return `did you mean "${near}"?`;
  const shown = candidates.slice(0, 12).join(", ");
  const more = candidates.length > 12 ? ` and ${candidates.length - 12} more` : "";
  return `${what}: ${shown === "" ? "none" : shown}${more}`;
}

function changed(tool: OfferedTool, change: ToolChange): OfferedTool {
  if (typeof change === "string") return { ...tool, description: change };
  if ("tool" in change) {
    const { title: _, description: __, inputSchema: ___, outputSchema: ____, ...kept } = tool;
    return { ...kept, ...change.tool, name: tool.name };
  }
  const { description, parameters = {} } = change;
  const texts = new Map(Object.entries(parameters).map(([path, text]) => [plainPath(path), text]));
  return {
    ...tool,
    ...(description !== undefined && { description }),
    ...(texts.size > 0 && { inputSchema: described(tool.inputSchema, [], texts) }),
  };
}

/** A path may mark the items of a list, as reports of changes do: `edits[].oldText` is `edits.oldText`. */
const plainPath = (path: string) => path.replaceAll("[]", "");

/** The schema with other descriptions of the parameters at these paths. */
function described(schema: JsonObject, above: readonly string[], texts: ReadonlyMap<string, string>): JsonObject {
  const properties = propertiesOf(schema).map(([name, property]): [string, Json] => {
    if (!isJsonObject(property)) return [name, property];
    const path = [...above, name];
    const text = texts.get(path.join("."));
    return [name, { ...described(property, path, texts), ...(text !== undefined && { description: text }) }];
  });
  return {
    ...schema,
    ...(isJsonObject(schema.properties) && { properties: Object.fromEntries(properties) }),
    ...(isJsonObject(schema.items) && { items: described(schema.items, above, texts) }),
  };
}

/** The dotted paths of all parameters that can have a description, those inside of others and of their items too. */
function parametersOf(schema: JsonObject, above: readonly string[] = []): string[] {
  const own = propertiesOf(schema).flatMap(([name, property]) =>
    isJsonObject(property) ? [[...above, name].join("."), ...parametersOf(property, [...above, name])] : [],
  );
  return isJsonObject(schema.items) ? [...own, ...parametersOf(schema.items, above)] : own;
}

function propertiesOf({ properties }: JsonObject): [string, Json][] {
  return isJsonObject(properties) ? Object.entries(properties) : [];
}

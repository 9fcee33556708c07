import { isJsonObject, type Json, type JsonObject } from "../base/types/json.ts";
import { type OfferedTool, readOwnName } from "../base/types/tool.ts";

// A variant may give a tool and its parameters other names (`shownAs`). The tool keeps its own names everywhere but in what
// a model sees: the list of a request, and the calls of its reply. So expectations, results and the server need no change.

/** The tool as models see it: under the names that a variant gives it and its parameters. */
export function showTool(tool: OfferedTool): OfferedTool {
  if (!tool.shownAs) return tool;
  const { shownAs, ...rest } = tool;
  const { name: shown = readOwnName(tool), parameters = {} } = shownAs;
  const prefix = tool.name.slice(0, tool.name.length - readOwnName(tool).length);
  return {
    ...rest,
    name: prefix + shown,
    ...(tool.ownName !== undefined && { ownName: shown }),
    inputSchema: renameProperties(tool.inputSchema, new Map(Object.entries(parameters))),
  };
}

/** Keywords whose schemas are about the same object as the schema around them. */
const sameObject = ["allOf", "anyOf", "oneOf", "not", "if", "then", "else"];

function renameProperties(schema: JsonObject, names: ReadonlyMap<string, string>): JsonObject {
  if (names.size === 0) return schema;
  const rename = (name: string) => names.get(name) ?? name;
  const renameKeys = (value: JsonObject) =>
    Object.fromEntries(Object.entries(value).map(([key, one]) => [rename(key), one]));
  const renameAll = (value: Json) =>
    Array.isArray(value) ? value.map((one) => (typeof one === "string" ? rename(one) : one)) : value;
  const renameInside = (value: Json): Json => {
    if (Array.isArray(value)) return value.map(renameInside);
    return isJsonObject(value) ? renameProperties(value, names) : value;
  };
  return Object.fromEntries(
    Object.entries(schema).map(([key, value]): [string, Json] => {
      if (key === "required") return [key, renameAll(value)];
      if (sameObject.includes(key)) return [key, renameInside(value)];
      if (!isJsonObject(value)) return [key, value];
      if (key === "properties" || key === "dependentSchemas") return [key, renameKeys(value)];
      if (key !== "dependentRequired") return [key, value];
      return [
        key,
        Object.fromEntries(Object.entries(renameKeys(value)).map(([name, needed]) => [name, renameAll(needed)])),
      ];
    }),
  );
}

/** A called name that a variant hides, which no tool has: the model cannot know it from the list that it was shown. */
export const markHidden = (name: string) => `${name} (renamed)`;

/**
 * The arguments of a call under the tool's own names. A name that the variant hides is exchanged for the shown one, so that
 * it is as unknown to the server's schema as it was to the model.
 */
export function restoreArguments<A>({ shownAs }: Pick<OfferedTool, "shownAs">, args: A): A | JsonObject {
  const names = Object.entries(shownAs?.parameters ?? {});
  if (names.length === 0 || !isJsonObject(args)) return args;
  const exchanged = new Map([...names, ...names.map(([own, shown]): [string, string] => [shown, own])]);
  return Object.fromEntries(Object.entries(args).map(([name, value]) => [exchanged.get(name) ?? name, value]));
}

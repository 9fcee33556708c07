import type { Json, JsonObject } from "../types/json.ts";
import { typesOf, waysOf } from "./schema.ts";

/** What a model is likely to send in place of the type, first. */
const mistaken: Readonly<Record<string, Json>> = {
  string: 7,
  integer: "7",
  number: "7",
  boolean: "true",
  array: "a,b",
  object: "{}",
};

/**
 * Values of a wrong type for a parameter: one that could be converted, one that could not, and for an array one of wrong
 * elements. They have to be validated: a schema may allow several types. Never null: many take it for "not given".
 */
export function wrongTypesOf(schema: Json, root: JsonObject): Json[] {
  const types = new Set(waysOf(schema, root).flatMap((way) => [...typesOf(way)]));
  const converted = [...types].flatMap((type) => mistaken[type] ?? []);
  const bare = types.has("object") ? [[]] : [{}];
  return [...converted.slice(0, 1), ...bare, ...(types.has("array") ? [[{}], [7]] : [])];
}

import { isJsonObject, type Json, type JsonObject } from "../types/json.ts";

export const types = ["string", "integer", "number", "boolean", "array", "object", "null"] as const;
export type Type = (typeof types)[number];

export function isType(value: unknown): value is Type {
  return types.includes(value as Type);
}

/** The types that a schema names, including `null`; empty if it names none. */
export function listTypes({ type }: JsonObject): readonly Type[] {
  return [...new Set((Array.isArray(type) ? type : [type]).filter(isType))];
}

/** The only type other than null; undefined if the schema names several or none. */
export function getSingleType(schema: JsonObject): Type | undefined {
  const [type, ...others] = listTypes(schema).filter((one) => one !== "null");
  return others.length === 0 ? type : undefined;
}

/** The named properties of an object schema, in order; empty if `properties` is malformed or missing. */
export function listProperties({ properties }: JsonObject): [name: string, schema: Json][] {
  return isJsonObject(properties) ? Object.entries(properties) : [];
}

export function getProperty({ properties }: JsonObject, name: string): Json | undefined {
  return isJsonObject(properties) && Object.hasOwn(properties, name) ? properties[name] : undefined;
}

/** The names in `required`, each once. */
export function listRequired({ required }: JsonObject): string[] {
  const names = Array.isArray(required) ? required : [];
  return [...new Set(names.filter((name) => typeof name === "string"))];
}

/** The number under a keyword; undefined if it is missing, malformed or not finite. */
export function getNumber(schema: JsonObject, keyword: string): number | undefined {
  const value = schema[keyword];
  return typeof value === "number" && Number.isFinite(value) ? value : undefined;
}

/**
 * Removes null from the schema of a nullable value: if an anyOf or oneOf has only one branch that is not null, returns
 * that branch with the keywords next to it. Any other schema is returned unchanged.
 */
export function withoutNull(schema: JsonObject): JsonObject {
  const { anyOf, oneOf, ...rest } = schema;
  const branches = anyOf ?? oneOf;
  if (!Array.isArray(branches) || branches.length > 2 || (anyOf && oneOf)) return schema;
  const [only, ...others] = branches.filter((branch) => !isJsonObject(branch) || branch.type !== "null");
  return isJsonObject(only) && others.length === 0 ? { ...only, ...rest } : schema;
}

/** Formats types for a message: `an integer or null`. */
export function nameTypes(types: readonly Type[]): string {
  return types.map((type) => (type === "null" ? type : `${/^[aio]/.test(type) ? "an" : "a"} ${type}`)).join(" or ");
}

function isOfType(value: Json, type: Type): boolean {
  if (type === "integer") return Number.isInteger(value);
  if (type === "array") return Array.isArray(value);
  if (type === "object") return isJsonObject(value);
  return type === "null" ? value === null : typeof value === type;
}

/** Why a value has none of the types that a schema names ("is a string, not an integer"); undefined if it has one. */
export function explainTypeMisfit(value: Json, schema: JsonObject): string | undefined {
  const allowed = listTypes(schema);
  if (allowed.length === 0 || allowed.some((type) => isOfType(value, type))) return undefined;
  const given = value === null ? "null" : Array.isArray(value) ? "array" : (typeof value as Type);
  return `is ${nameTypes([given])}, not ${nameTypes(allowed)}`;
}

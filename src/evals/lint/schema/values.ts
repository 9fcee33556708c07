import { isJsonObject, type Json, type JsonObject } from "../../types/json.ts";
import { list, show } from "./text.ts";

export const types = ["string", "integer", "number", "boolean", "array", "object", "null"] as const;
export type Type = (typeof types)[number];

export function isType(value: unknown): value is Type {
  return types.includes(value as Type);
}

/** The types that a schema names, `null` among them; none when it names none. */
export function typesOf({ type }: JsonObject): readonly Type[] {
  return [...new Set((Array.isArray(type) ? type.slice(0, 20) : [type]).filter(isType))];
}

/** A type with its article, for a message. */
export function aType(type: Type): string {
  if (type === "null") return "null";
  return `${/^[aio]/.test(type) ? "an" : "a"} ${type}`;
}

function aTypeOf(value: Json): string {
  if (value === null) return "null";
  return Array.isArray(value) ? "an array" : aType(typeof value as Type);
}

function isOfType(value: Json, type: Type): boolean {
  if (type === "integer") return Number.isInteger(value);
  if (type === "array") return Array.isArray(value);
  if (type === "object") return isJsonObject(value);
  return type === "null" ? value === null : typeof value === type;
}

/**
 * The schema of a value that may also be null: an anyOf or oneOf of which only one branch is not null is that branch,
 * with what stands beside it. Any other schema is given back as it is.
 */
export function withoutNull(schema: JsonObject): JsonObject {
  const { anyOf, oneOf, ...beside } = schema;
  const branches = anyOf ?? oneOf;
  if (!Array.isArray(branches) || branches.length > 2 || (anyOf && oneOf)) return schema;
  const [only, ...others] = branches.filter((branch) => !isJsonObject(branch) || branch.type !== "null");
  return isJsonObject(only) && others.length === 0 ? { ...only, ...beside } : schema;
}

/** The one type of a value when it is not null; undefined when the schema names several or none. */
export function typeOf(schema: JsonObject): Type | undefined {
  const [type, ...others] = typesOf(schema).filter((one) => one !== "null");
  return others.length === 0 ? type : undefined;
}

/** A finite number, or undefined: what a malformed bound holds does not count. */
export function numberIn(schema: JsonObject, keyword: string): number | undefined {
  const value = schema[keyword];
  return typeof value === "number" && Number.isFinite(value) ? value : undefined;
}

/**
 * Why a value does not fit a schema ("is a string, not an integer"); undefined when it fits, or when only a full
 * validator could tell. Looks at types, enum, const, bounds and lengths, and into arrays and anyOf a few levels deep.
 */
export function misfit(value: Json, schema: Json, levels = 3): string | undefined {
  if (schema === false) return "can never be given";
  if (!isJsonObject(schema)) return undefined;
  const found = typeMisfit(value, schema) ?? choiceMisfit(value, schema) ?? sizeMisfit(value, schema);
  if (found || levels === 0) return found;
  const { anyOf, items } = schema;
  if (Array.isArray(anyOf) && anyOf.length > 0) {
    const misfits = anyOf.slice(0, 100).map((branch) => misfit(value, branch, levels - 1));
    if (misfits.every((one) => one !== undefined)) return misfits[0];
  }
  if (!Array.isArray(value) || !isJsonObject(items)) return undefined;
  for (const item of value.slice(0, 100)) {
    const inside = misfit(item, items, levels - 1);
    if (inside) return `holds ${show(item)}, which ${inside}`;
  }
  return undefined;
}

export function typeMisfit(value: Json, schema: JsonObject): string | undefined {
  const allowed = typesOf(schema);
  if (allowed.length === 0 || allowed.some((type) => isOfType(value, type))) return undefined;
  return `is ${aTypeOf(value)}, not ${allowed.map(aType).join(" or ")}`;
}

const isPlain = (value: Json | undefined) => value !== undefined && (typeof value !== "object" || value === null);

function choiceMisfit(value: Json, { enum: choices, const: only }: JsonObject): string | undefined {
  if (!isPlain(value)) return undefined;
  if (Array.isArray(choices) && choices.every(isPlain) && choices.length > 0 && !choices.includes(value)) {
    return `is none of the allowed values (${list(choices)})`;
  }
  return only !== undefined && isPlain(only) && only !== value ? `is not ${show(only)}` : undefined;
}

function sizeMisfit(value: Json, schema: JsonObject): string | undefined {
  const [size, low, high] =
    typeof value === "number"
      ? [value, "minimum", "maximum"]
      : typeof value === "string"
        ? [[...value.slice(0, 100_000)].length, "minLength", "maxLength"]
        : Array.isArray(value)
          ? [value.length, "minItems", "maxItems"]
          : [];
  if (size === undefined || low === undefined || high === undefined) return undefined;
  const [least, most] = [numberIn(schema, low), numberIn(schema, high)];
  if (least !== undefined && size < least) return `is below the ${low} of ${least}`;
  return most !== undefined && size > most ? `is above the ${high} of ${most}` : undefined;
}

import { quote, showValue } from "../text/text.ts";
import { isJsonObject, type Json, type JsonObject } from "../types/json.ts";

const types = ["string", "integer", "number", "boolean", "array", "object", "null"] as const;
export type Type = (typeof types)[number];

function isType(value: unknown): value is Type {
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

/** Whether a value has a type of JSON Schema: 1.0 is an integer. */
export function isOfType(value: Json, type: Type): boolean {
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

export type KeywordViolation = { keyword: string; name?: string; message: string; fix: string };

type Shape = { accepts(value: Json): boolean; must: string };

const isSchema = (value: Json) => isJsonObject(value) || typeof value === "boolean";
const schema: Shape = { accepts: isSchema, must: "a schema" };
const schemas: Shape = {
  accepts: (value) => Array.isArray(value) && value.length > 0 && value.every(isSchema),
  must: "a list of one or more schemas",
};
const schemaMap: Shape = {
  accepts: (value) => isJsonObject(value) && Object.values(value).every(isSchema),
  must: "an object that gives each name a schema",
};
const number: Shape = { accepts: (value) => typeof value === "number" && Number.isFinite(value), must: "a number" };
const length: Shape = {
  accepts: (value) => Number.isInteger(value) && (value as number) >= 0,
  must: "a whole number of 0 or more",
};
const string: Shape = { accepts: (value) => typeof value === "string", must: "a string" };
const all = (shape: Shape, ...keywords: string[]): [string, Shape][] => keywords.map((keyword) => [keyword, shape]);

const shapes: readonly [string, Shape][] = [
  ...all(schemaMap, "properties", "patternProperties", "$defs", "definitions", "dependentSchemas"),
  ...all(schema, "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames"),
  ...all(schemas, "anyOf", "oneOf", "allOf"),
  // Drafts before 2020-12 describe tuples by a list.
  ["items", { accepts: (value) => isSchema(value) || schemas.accepts(value), must: "a schema" }],
  [
    "required",
    {
      accepts: (value) =>
        Array.isArray(value) && value.every((name) => typeof name === "string") && new Set(value).size === value.length,
      must: "a list of names, each once",
    },
  ],
  ["enum", { accepts: Array.isArray, must: "a list of values" }],
  ...all(number, "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"),
  ["multipleOf", { accepts: (value) => number.accepts(value) && (value as number) > 0, must: "a number above 0" }],
  ...all(length, "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"),
  ["uniqueItems", { accepts: (value) => typeof value === "boolean", must: "true or false" }],
  ...all(string, "title", "description", "format", "pattern", "$ref"),
];

const foreignTypes = new Map<Json, string>([
  ...["int", "long", "int32", "int64", "Integer"].map((name) => [name, "integer"] as const),
  ...["float", "double", "decimal", "Number"].map((name) => [name, "number"] as const),
  ...["str", "text", "String", "date", "datetime", "uuid", "file", "enum"].map((name) => [name, "string"] as const),
  ...["bool", "Boolean"].map((name) => [name, "boolean"] as const),
  ...["list", "tuple", "set", "Array"].map((name) => [name, "array"] as const),
  ...["dict", "map", "json", "Object"].map((name) => [name, "object"] as const),
]);

/** Finds malformed keywords of one schema, without its subschemas, by the rules of JSON Schema 2020-12. */
export function* findMalformed(location: JsonObject): Iterable<KeywordViolation> {
  for (const [keyword, { accepts, must }] of shapes) {
    const value = location[keyword];
    if (value === undefined || !Object.hasOwn(location, keyword) || accepts(value)) continue;
    const inside = accepts === schemaMap.accepts && isJsonObject(value) ? Object.entries(value) : [];
    const [name, wrong] = inside.find(([, one]) => !isSchema(one)) ?? [];
    // In a map of schemas, name the entry that is not a schema.
    if (name !== undefined) {
      const message = `${quote(name)} in ${keyword} is ${showValue(wrong ?? null)}; it must be a schema.`;
      yield { keyword, name, message, fix: "Make it a schema, or remove it." };
    } else {
      const message = `${keyword} is ${showValue(value)}; it must be ${must}.`;
      yield { keyword, message, fix: `Make ${keyword} ${must}, or remove it.` };
    }
  }
  const { type, pattern, patternProperties } = location;
  const named = type === undefined ? [] : Array.isArray(type) ? type : [type];
  const invalid = named.find((one) => !isType(one));
  if (invalid !== undefined || (type !== undefined && named.length === 0)) {
    const known = invalid === undefined ? undefined : foreignTypes.get(invalid);
    const message = `${showValue(invalid === undefined ? [] : invalid)} is not a type of JSON Schema.`;
    yield { keyword: "type", message, fix: known ? `Write "${known}".` : `Use one of ${types.join(", ")}.` };
  }
  const names = isJsonObject(patternProperties) ? Object.keys(patternProperties) : [];
  for (const [source, entry] of [
    ...(typeof pattern === "string" ? [[pattern, { keyword: "pattern" }] as const] : []),
    ...names.map((name) => [name, { keyword: "patternProperties", name }] as const),
  ]) {
    if (compiles(source)) continue;
    const message = `The pattern ${quote(source)} is not a regular expression of JSON Schema (ECMA-262, Unicode).`;
    const advice = foreignPatterns.flatMap(([sign, fix]) => (sign.test(source) ? [fix] : []));
    yield { ...entry, message, fix: [...advice, "Write it so that new RegExp(pattern, 'u') accepts it."].join(" ") };
  }
}

/** Syntax of other dialects of regular expressions, and what to write instead. */
const foreignPatterns: readonly (readonly [RegExp, string])[] = [
  [/\(\?P</, "A named group is (?<name>...)."],
  [/\(\?[a-z]*(?:-[a-z]+)?[):]/, "There are no flags: for (?i), write [Aa]."],
  [/\\[AZz]/, "Write ^ and $ for \\A and \\Z."],
  [/\[\[:/, "Write ranges for POSIX classes: [A-Za-z] for [[:alpha:]]."],
  [/[+*?]\+|\{[\d,]+\}\+|\(\?>/, "No possessive or atomic match: write a+ for a++."],
  [/\\p/i, "Unicode classes are \\p{L}, \\p{Lu} or \\p{Script=Greek}."],
  [/\\[@#%&~:;,<>=!"'`_ -]/, "Remove the backslash before a sign that has no meaning of its own."],
];

/** Whether a pattern is a regular expression. It is never run, so slow expressions are harmless. */
function compiles(pattern: string): boolean {
  try {
    new RegExp(pattern, "u");
    return true;
  } catch {
    return false;
  }
}

import { isJsonObject, type Json } from "../../types/json.ts";
import { quote, show } from "./text.ts";
import { isType, types } from "./values.ts";

type Problem = { message: string; fix: string };
type Shape = { holds(value: Json): boolean; must: string };

const isSchema = (value: Json) => isJsonObject(value) || typeof value === "boolean";
const schema: Shape = { holds: isSchema, must: "a schema" };
const schemas: Shape = {
  holds: (value) => Array.isArray(value) && value.length > 0 && value.every(isSchema),
  must: "a list of one or more schemas",
};
const named: Shape = {
  holds: (value) => isJsonObject(value) && Object.values(value).every(isSchema),
  must: "an object that gives each name a schema",
};
const number: Shape = { holds: (value) => typeof value === "number" && Number.isFinite(value), must: "a number" };
const length: Shape = {
  holds: (value) => Number.isInteger(value) && (value as number) >= 0,
  must: "a whole number of 0 or more",
};
const text: Shape = { holds: (value) => typeof value === "string", must: "a text" };
const all = (shape: Shape, ...keywords: string[]): [string, Shape][] => keywords.map((keyword) => [keyword, shape]);

const shapes: readonly [string, Shape][] = [
  ...all(named, "properties", "patternProperties", "$defs", "definitions", "dependentSchemas"),
  ...all(schema, "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames"),
  ...all(schemas, "anyOf", "oneOf", "allOf"),
  // A list is how drafts before 2020-12 describe tuples.
  ["items", { holds: (value) => isSchema(value) || schemas.holds(value), must: "a schema" }],
  ["enum", { holds: Array.isArray, must: "a list of values" }],
  ...all(number, "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"),
  ["multipleOf", { holds: (value) => number.holds(value) && (value as number) > 0, must: "a number above 0" }],
  ...all(length, "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"),
  ["uniqueItems", { holds: (value) => typeof value === "boolean", must: "true or false" }],
  ...all(text, "title", "description", "format", "pattern", "$ref"),
];

/** Type names of other languages, and what JSON Schema calls them. */
const foreign = new Map<Json, string>([
  ...["int", "long", "int32", "int64", "Integer"].map((name) => [name, "integer"] as const),
  ...["float", "double", "decimal", "Number"].map((name) => [name, "number"] as const),
  ...["str", "text", "String", "date", "datetime", "uuid", "file", "enum"].map((name) => [name, "string"] as const),
  ...["bool", "Boolean"].map((name) => [name, "boolean"] as const),
  ...["list", "tuple", "set", "Array"].map((name) => [name, "array"] as const),
  ...["dict", "map", "json", "Object"].map((name) => [name, "object"] as const),
]);

/** What is malformed in the keywords of one schema (not in those inside of it), by the rules of JSON Schema 2020-12. */
export function* malformed(place: { readonly [key: string]: Json }): Iterable<Problem & { keyword: string }> {
  for (const [keyword, { holds, must }] of shapes) {
    const value = place[keyword];
    if (value === undefined || !Object.hasOwn(place, keyword) || holds(value)) continue;
    const message = `${keyword} is ${show(value)}; it must be ${must}.`;
    yield { keyword, message, fix: `Make ${keyword} ${must}, or leave it out.` };
  }
  const named = place.type === undefined ? [] : Array.isArray(place.type) ? place.type : [place.type];
  const wrong = named.find((type) => !isType(type));
  if (wrong !== undefined || (place.type !== undefined && named.length === 0)) {
    const known = wrong === undefined ? undefined : foreign.get(wrong);
    const message = `${show(wrong ?? place.type ?? null)} is not a type of JSON Schema.`;
    yield { keyword: "type", message, fix: known ? `Write "${known}".` : `Use one of ${types.join(", ")}.` };
  }
  if (typeof place.pattern === "string" && !compiles(place.pattern)) {
    const message = `The pattern ${quote(place.pattern)} is not a regular expression of JSON Schema (ECMA-262, Unicode).`;
    yield { keyword: "pattern", message, fix: "Write it so that new RegExp(pattern, 'u') accepts it." };
  }
}

const longestPattern = 10_000;

/** Whether it is a regular expression. It is only parsed, never run: what takes long to match does no harm here. */
function compiles(pattern: string): boolean {
  if (pattern.length > longestPattern) return false;
  try {
    new RegExp(pattern, "u");
    return true;
  } catch {
    return false;
  }
}

import {
  explainTypeMisfit,
  getNumber,
  getProperty,
  getSingleType,
  isType,
  listRequired,
  listTypes,
  nameTypes,
  type Type,
  types,
} from "../../jsonSchema/values.ts";
import { isJsonObject, type Json, type JsonObject } from "../../types/json.ts";
import { quote, showValue, showValues } from "../../types/text.ts";

/** What is wrong with one keyword of a schema. */
type KeywordViolation = { keyword: string; message: string; fix: string };

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
  ["enum", { accepts: Array.isArray, must: "a list of values" }],
  ...all(number, "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"),
  ["multipleOf", { accepts: (value) => number.accepts(value) && (value as number) > 0, must: "a number above 0" }],
  ...all(length, "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"),
  ["uniqueItems", { accepts: (value) => typeof value === "boolean", must: "true or false" }],
  ...all(string, "title", "description", "format", "pattern", "$ref"),
];

/** Type names of other languages, and their name in JSON Schema. */
const foreignTypes = new Map<Json, string>([
  ...["int", "long", "int32", "int64", "Integer"].map((name) => [name, "integer"] as const),
  ...["float", "double", "decimal", "Number"].map((name) => [name, "number"] as const),
  ...["str", "text", "String", "date", "datetime", "uuid", "file", "enum"].map((name) => [name, "string"] as const),
  ...["bool", "Boolean"].map((name) => [name, "boolean"] as const),
  ...["list", "tuple", "set", "Array"].map((name) => [name, "array"] as const),
  ...["dict", "map", "json", "Object"].map((name) => [name, "object"] as const),
]);

/** Malformed keywords of one schema (not of those inside it), by the rules of JSON Schema 2020-12. */
export function* findMalformed(place: JsonObject): Iterable<KeywordViolation> {
  for (const [keyword, { accepts, must }] of shapes) {
    const value = place[keyword];
    if (value === undefined || !Object.hasOwn(place, keyword) || accepts(value)) continue;
    const message = `${keyword} is ${showValue(value)}; it must be ${must}.`;
    yield { keyword, message, fix: `Make ${keyword} ${must}, or remove it.` };
  }
  const { type, pattern } = place;
  const named = type === undefined ? [] : Array.isArray(type) ? type : [type];
  const invalid = named.find((one) => !isType(one));
  if (invalid !== undefined || (type !== undefined && named.length === 0)) {
    const known = invalid === undefined ? undefined : foreignTypes.get(invalid);
    const message = `${showValue(invalid ?? type ?? null)} is not a type of JSON Schema.`;
    yield { keyword: "type", message, fix: known ? `Write "${known}".` : `Use one of ${types.join(", ")}.` };
  }
  if (typeof pattern === "string" && !compiles(pattern)) {
    const message = `The pattern ${quote(pattern)} is not a regular expression of JSON Schema (ECMA-262, Unicode).`;
    yield { keyword: "pattern", message, fix: "Write it so that new RegExp(pattern, 'u') accepts it." };
  }
}

const maxPattern = 10_000;

/** Whether it is a regular expression. It is parsed and never run, so slow expressions do no harm. */
function compiles(pattern: string): boolean {
  if (pattern.length > maxPattern) return false;
  try {
    new RegExp(pattern, "u");
    return true;
  } catch {
    return false;
  }
}

/** Why no value can fit a schema, or why a value that it lists cannot: the simple cases, without a solver. */
export function* findContradictions(schema: JsonObject): Iterable<KeywordViolation> {
  // All branches of allOf apply at once, together with the keywords next to it.
  const { allOf } = schema;
  const together = [schema, ...(Array.isArray(allOf) ? allOf.slice(0, 1000).filter(isJsonObject) : [])];
  yield* findBoundConflicts(together);
  yield* findTypeConflicts(together);
  yield* findChoiceConflicts(schema);
  yield* findForbidden(schema);
}

function* findBoundConflicts(together: readonly JsonObject[]): Iterable<KeywordViolation> {
  const highest = (keyword: string) => getExtreme(together, keyword, Math.max);
  const lowest = (keyword: string) => getExtreme(together, keyword, Math.min);
  for (const size of ["Length", "Items", "Properties"]) {
    const [low, high] = [`min${size}`, `max${size}`];
    const [least, most] = [highest(low), lowest(high)];
    if (least !== undefined && most !== undefined && least > most)
      yield {
        keyword: low,
        message: `${low} ${least} is above ${high} ${most}.`,
        fix: "Swap or correct the two bounds.",
      };
  }
  const bounds = {
    minimum: highest("minimum"),
    exclusiveMinimum: highest("exclusiveMinimum"),
    maximum: lowest("maximum"),
    exclusiveMaximum: lowest("exclusiveMaximum"),
  };
  const isInteger = together.some((schema) => getSingleType(schema) === "integer");
  if (hasNumberWithin(bounds, isInteger)) return;
  const given = Object.entries(bounds).filter(([, value]) => value !== undefined);
  const named = given.map((bound) => bound.join(" ")).join(" and ");
  const message = `No ${isInteger ? "integer" : "number"} satisfies ${named}.`;
  yield { keyword: given[0]?.[0] ?? "minimum", message, fix: "Correct the bounds, so that a value fits." };
}

type Bounds = Readonly<Record<"minimum" | "exclusiveMinimum" | "maximum" | "exclusiveMaximum", number | undefined>>;

function hasNumberWithin(
  { minimum, exclusiveMinimum, maximum, exclusiveMaximum }: Bounds,
  isInteger: boolean,
): boolean {
  const least = Math.max(minimum ?? -Infinity, exclusiveMinimum ?? -Infinity);
  const most = Math.min(maximum ?? Infinity, exclusiveMaximum ?? Infinity);
  const [above, below] = [least === exclusiveMinimum, most === exclusiveMaximum];
  if (!isInteger) return above || below ? least < most : least <= most;
  return (above ? Math.floor(least) + 1 : Math.ceil(least)) <= (below ? Math.ceil(most) - 1 : Math.floor(most));
}

function getExtreme(schemas: readonly JsonObject[], keyword: string, pick: (a: number, b: number) => number) {
  const values = schemas.map((schema) => getNumber(schema, keyword)).filter((value) => value !== undefined);
  return values.length === 0 ? undefined : values.reduce((a, b) => pick(a, b));
}

function findTypeConflicts(together: readonly JsonObject[]): readonly KeywordViolation[] {
  const typed = together.map(listTypes).filter((types) => types.length > 0);
  const [first, ...others] = typed;
  const overlap = (a: Type, b: Type) =>
    a === b || (a === "integer" && b === "number") || (a === "number" && b === "integer");
  const agree = first?.some((type) => others.every((types) => types.some((other) => overlap(type, other))));
  if (!first || agree) return [];
  const message = `A value would have to be ${typed.slice(0, 5).map(nameTypes).join(" and ")} at once.`;
  return [{ keyword: "allOf", message, fix: "Use anyOf, or give the branches one type." }];
}

function* findChoiceConflicts(schema: JsonObject): Iterable<KeywordViolation> {
  const { enum: values, const: only, items } = schema;
  if (Array.isArray(values)) {
    if (values.length === 0)
      yield { keyword: "enum", message: "The enum allows no value.", fix: "List the allowed values, or remove it." };
    const mistyped = values.filter((value) => explainTypeMisfit(value, schema));
    if (mistyped.length > 0) {
      const message = `The enum lists ${showValues(mistyped)}, but the type requires ${nameTypes(listTypes(schema))}.`;
      yield { keyword: "enum", message, fix: "Give every value of the enum the type that the schema names." };
    }
  }
  const misfit = only === undefined ? undefined : explainTypeMisfit(only, schema);
  if (misfit)
    yield { keyword: "const", message: `The const ${misfit}.`, fix: "Give the const the type that the schema names." };
  const isPlain = only !== undefined && (typeof only !== "object" || only === null);
  if (isPlain && Array.isArray(values) && values.length > 0 && !values.includes(only)) {
    const message = `The const ${showValue(only)} is not in the enum.`;
    yield { keyword: "const", message, fix: "Remove one of the two." };
  }
  const least = getNumber(schema, "minItems");
  const distinct = isJsonObject(items) && Array.isArray(items.enum) ? new Set(items.enum).size : undefined;
  if (schema.uniqueItems === true && least !== undefined && distinct !== undefined && least > distinct) {
    const message = `minItems requires ${least} different items, but there are only ${distinct} to choose from.`;
    yield { keyword: "minItems", message, fix: "Lower minItems, or allow duplicate items." };
  }
}

/** Properties that are required and cannot be given. */
function* findForbidden(schema: JsonObject): Iterable<KeywordViolation> {
  for (const name of listRequired(schema)) {
    if (getProperty(schema, name) !== false) continue;
    const message = `${quote(name)} is required, but its schema allows no value.`;
    yield { keyword: "required", message, fix: "Remove it from required, or give it a schema." };
  }
}

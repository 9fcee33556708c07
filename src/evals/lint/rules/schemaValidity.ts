import {
  explainTypeMisfit,
  getNumber,
  getSingleType,
  isType,
  listTypes,
  nameTypes,
  type Type,
  types,
} from "../../jsonSchema/values.ts";
import { isJsonObject, type Json, type JsonObject } from "../../types/json.ts";
import { quote, showValue, showValues } from "../../types/quote.ts";

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
export function* malformed(place: { readonly [key: string]: Json }): Iterable<Problem> {
  for (const [keyword, { holds, must }] of shapes) {
    const value = place[keyword];
    if (value === undefined || !Object.hasOwn(place, keyword) || holds(value)) continue;
    const message = `${keyword} is ${showValue(value)}; it must be ${must}.`;
    yield { keyword, message, fix: `Make ${keyword} ${must}, or leave it out.` };
  }
  const named = place.type === undefined ? [] : Array.isArray(place.type) ? place.type : [place.type];
  const wrong = named.find((type) => !isType(type));
  if (wrong !== undefined || (place.type !== undefined && named.length === 0)) {
    const known = wrong === undefined ? undefined : foreign.get(wrong);
    const message = `${showValue(wrong ?? place.type ?? null)} is not a type of JSON Schema.`;
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

type Problem = { keyword: string; message: string; fix: string };

/** Why no value can fit a schema, or why a value that it lists cannot: the simple cases, without solving anything. */
export function* contradictions(schema: JsonObject): Iterable<Problem> {
  // allOf asks for all of its branches and for what stands beside it: their bounds hold together.
  const { allOf } = schema;
  const together = [schema, ...(Array.isArray(allOf) ? allOf.slice(0, 1000).filter(isJsonObject) : [])];
  yield* boundsApart(together);
  yield* typesApart(together);
  yield* choices(schema);
  yield* forbidden(schema);
}

const sizes = [
  ["minLength", "maxLength"],
  ["minItems", "maxItems"],
  ["minProperties", "maxProperties"],
] as const;

function* boundsApart(together: readonly JsonObject[]): Iterable<Problem> {
  for (const [low, high] of sizes) {
    const [least, most] = [highest(together, low), lowest(together, high)];
    if (least !== undefined && most !== undefined && least > most) {
      yield { keyword: low, message: `${low} ${least} is above ${high} ${most}.`, fix: "Swap or mend the two bounds." };
    }
  }
  const bounds = {
    minimum: highest(together, "minimum"),
    exclusiveMinimum: highest(together, "exclusiveMinimum"),
    maximum: lowest(together, "maximum"),
    exclusiveMaximum: lowest(together, "exclusiveMaximum"),
  };
  const integer = together.some((schema) => getSingleType(schema) === "integer");
  if (holdsNumber(bounds, integer)) return;
  const given = Object.entries(bounds).filter(([, value]) => value !== undefined);
  const message = `No ${integer ? "integer" : "number"} has ${given.map((bound) => bound.join(" ")).join(" and ")}.`;
  yield { keyword: given[0]?.[0] ?? "minimum", message, fix: "Mend the bounds, so that a value fits." };
}

type Bounds = Readonly<Record<"minimum" | "exclusiveMinimum" | "maximum" | "exclusiveMaximum", number | undefined>>;

function holdsNumber({ minimum, exclusiveMinimum, maximum, exclusiveMaximum }: Bounds, integer: boolean): boolean {
  const least = Math.max(minimum ?? -Infinity, exclusiveMinimum ?? -Infinity);
  const most = Math.min(maximum ?? Infinity, exclusiveMaximum ?? Infinity);
  const [above, below] = [least === exclusiveMinimum, most === exclusiveMaximum];
  if (!integer) return above || below ? least < most : least <= most;
  return (above ? Math.floor(least) + 1 : Math.ceil(least)) <= (below ? Math.ceil(most) - 1 : Math.floor(most));
}

function typesApart(together: readonly JsonObject[]): readonly Problem[] {
  const typed = together.map(listTypes).filter((types) => types.length > 0);
  const [first, ...others] = typed;
  const overlap = (a: Type, b: Type) =>
    a === b || (a === "integer" && b === "number") || (a === "number" && b === "integer");
  const met = first?.some((type) => others.every((types) => types.some((other) => overlap(type, other))));
  if (!first || met) return [];
  const named = typed.map((types) => nameTypes(types)).slice(0, 5);
  const message = `A value would have to be ${named.join(" and ")} at once.`;
  return [{ keyword: "allOf", message, fix: "Use anyOf, or give the branches one type." }];
}

function* choices(schema: JsonObject): Iterable<Problem> {
  const { enum: values, const: only, items } = schema;
  if (Array.isArray(values)) {
    if (values.length === 0) {
      yield { keyword: "enum", message: "The enum allows no value.", fix: "List the allowed values, or leave it out." };
    }
    const wrong = values.filter((value) => explainTypeMisfit(value, schema));
    if (wrong.length > 0) {
      const types = nameTypes(listTypes(schema));
      const message = `The enum lists ${showValues(wrong)}, but the type asks for ${types}.`;
      yield { keyword: "enum", message, fix: "Give every value of the enum the type that the schema names." };
    }
  }
  if (only !== undefined) yield* constant(only, schema);
  const least = getNumber(schema, "minItems");
  const distinct = isJsonObject(items) && Array.isArray(items.enum) ? new Set(items.enum).size : undefined;
  if (schema.uniqueItems === true && least !== undefined && distinct !== undefined && least > distinct) {
    const message = `minItems asks for ${least} different items, but there are only ${distinct} to choose from.`;
    yield { keyword: "minItems", message, fix: "Lower minItems, or allow an item twice." };
  }
}

function* constant(only: Json, schema: JsonObject): Iterable<Problem> {
  const misfit = explainTypeMisfit(only, schema);
  if (misfit) {
    yield { keyword: "const", message: `The const ${misfit}.`, fix: "Give the const the type that the schema names." };
  }
  if (typeof only === "object" && only !== null) return;
  if (Array.isArray(schema.enum) && schema.enum.length > 0 && !schema.enum.includes(only)) {
    yield {
      keyword: "const",
      message: `The const ${showValue(only)} is not in the enum.`,
      fix: "Leave one of the two out.",
    };
  }
}

/** Properties that must be given and cannot be. */
function* forbidden({ required, properties }: JsonObject): Iterable<Problem> {
  if (!Array.isArray(required) || !isJsonObject(properties)) return;
  for (const name of required.slice(0, 10_000)) {
    if (typeof name !== "string" || !Object.hasOwn(properties, name) || properties[name] !== false) continue;
    const message = `${quote(name)} is required, but its schema allows no value.`;
    yield { keyword: "required", message, fix: "Leave it out of required, or give it a schema." };
  }
}

function highest(schemas: readonly JsonObject[], keyword: string): number | undefined {
  return extreme(schemas, keyword, Math.max);
}

function lowest(schemas: readonly JsonObject[], keyword: string): number | undefined {
  return extreme(schemas, keyword, Math.min);
}

function extreme(schemas: readonly JsonObject[], keyword: string, pick: (a: number, b: number) => number) {
  return schemas
    .map((schema) => getNumber(schema, keyword))
    .reduce(
      (best, value) => (best === undefined || value === undefined ? (best ?? value) : pick(best, value)),
      undefined,
    );
}

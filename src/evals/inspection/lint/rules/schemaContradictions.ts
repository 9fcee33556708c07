import {
  explainTypeMisfit,
  getNumber,
  getProperty,
  getSingleType,
  type KeywordViolation,
  listRequired,
  listTypes,
  nameTypes,
  type Type,
} from "../../../base/jsonSchema/keywords.ts";
import { quote, showValue, showValues } from "../../../base/text/text.ts";
import { isJsonObject, type JsonObject } from "../../../base/types/json.ts";

/** Finds simple reasons why no value, or no value of an enum or const, can match a schema. */
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
  const read = (keyword: string) => together.flatMap((schema) => getNumber(schema, keyword) ?? []);
  const highest = (keyword: string) => read(keyword).sort((a, b) => b - a)[0];
  const lowest = (keyword: string) => read(keyword).sort((a, b) => a - b)[0];
  for (const size of ["Length", "Items", "Properties"]) {
    const [low, high] = [`min${size}`, `max${size}`];
    const [least, most] = [highest(low), lowest(high)];
    const message = `${low} ${least} is above ${high} ${most}.`;
    if (least !== undefined && most !== undefined && least > most)
      yield { keyword: low, message, fix: "Swap or correct the two bounds." };
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

function hasNumberWithin(bounds: Bounds, isInteger: boolean): boolean {
  const { minimum = -Infinity, exclusiveMinimum = -Infinity, maximum = Infinity, exclusiveMaximum = Infinity } = bounds;
  const [least, most] = [Math.max(minimum, exclusiveMinimum), Math.min(maximum, exclusiveMaximum)];
  const [above, below] = [least === exclusiveMinimum, most === exclusiveMaximum];
  if (!isInteger) return above || below ? least < most : least <= most;
  return (above ? Math.floor(least) + 1 : Math.ceil(least)) <= (below ? Math.ceil(most) - 1 : Math.floor(most));
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

function* findForbidden(schema: JsonObject): Iterable<KeywordViolation> {
  for (const name of listRequired(schema).filter((one) => getProperty(schema, one) === false)) {
    const message = `${quote(name)} is required, but its schema allows no value.`;
    yield { keyword: "required", message, fix: "Remove it from required, or give it a schema." };
  }
}

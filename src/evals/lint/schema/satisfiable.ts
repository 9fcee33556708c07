import { isJsonObject, type Json, type JsonObject } from "../../types/json.ts";
import { list, quote, show } from "./text.ts";
import { aType, numberIn, type Type, typeMisfit, typeOf, typesOf } from "./values.ts";

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
  const integer = together.some((schema) => typeOf(schema) === "integer");
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
  const typed = together.map(typesOf).filter((types) => types.length > 0);
  const [first, ...others] = typed;
  const overlap = (a: Type, b: Type) =>
    a === b || (a === "integer" && b === "number") || (a === "number" && b === "integer");
  const met = first?.some((type) => others.every((types) => types.some((other) => overlap(type, other))));
  if (!first || met) return [];
  const named = typed.map((types) => types.map(aType).join(" or ")).slice(0, 5);
  const message = `A value would have to be ${named.join(" and ")} at once.`;
  return [{ keyword: "allOf", message, fix: "Use anyOf, or give the branches one type." }];
}

function* choices(schema: JsonObject): Iterable<Problem> {
  const { enum: values, const: only, items } = schema;
  if (Array.isArray(values)) {
    if (values.length === 0) {
      yield { keyword: "enum", message: "The enum allows no value.", fix: "List the allowed values, or leave it out." };
    }
    const wrong = values.filter((value) => typeMisfit(value, schema));
    if (wrong.length > 0) {
      const types = typesOf(schema).map(aType).join(" or ");
      const message = `The enum lists ${list(wrong)}, but the type asks for ${types}.`;
      yield { keyword: "enum", message, fix: "Give every value of the enum the type that the schema names." };
    }
  }
  if (only !== undefined) yield* constant(only, schema);
  const least = numberIn(schema, "minItems");
  const distinct = isJsonObject(items) && Array.isArray(items.enum) ? new Set(items.enum).size : undefined;
  if (schema.uniqueItems === true && least !== undefined && distinct !== undefined && least > distinct) {
    const message = `minItems asks for ${least} different items, but there are only ${distinct} to choose from.`;
    yield { keyword: "minItems", message, fix: "Lower minItems, or allow an item twice." };
  }
}

function* constant(only: Json, schema: JsonObject): Iterable<Problem> {
  const misfit = typeMisfit(only, schema);
  if (misfit) {
    yield { keyword: "const", message: `The const ${misfit}.`, fix: "Give the const the type that the schema names." };
  }
  if (typeof only === "object" && only !== null) return;
  if (Array.isArray(schema.enum) && schema.enum.length > 0 && !schema.enum.includes(only)) {
    yield {
      keyword: "const",
      message: `The const ${show(only)} is not in the enum.`,
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
    .map((schema) => numberIn(schema, keyword))
    .reduce(
      (best, value) => (best === undefined || value === undefined ? (best ?? value) : pick(best, value)),
      undefined,
    );
}

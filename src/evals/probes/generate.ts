import * as fc from "fast-check";
import { canonicalJson, isJsonObject, type Json, type JsonObject } from "../types/json.ts";
import { numberAt, typesOf, waysOf } from "./schema.ts";
import { stringOf } from "./strings.ts";

type Values = fc.Arbitrary<Json>;
/** Makes the values of a part, which are needed so many `times` (default 1) in each value of the whole. */
type Make = (part: Json | undefined, times?: number) => Values;

/** What stands where nothing can be made: it does not validate, so what holds it is not used. */
const nothing: Values = fc.constant(null);

const mostParts = 2_000;
const deepest = 30;
/** Below this, optional properties and items are left out: schemas may hold themselves. */
const deepestOptional = 3;
/** Most values in arrays inside of arrays, all together. */
const mostItems = 1_000;

/**
 * Values that a schema is likely to allow; `root` is where its references lead. They have to be validated: keywords that
 * tell what is not allowed, or that depend on one another, are not heeded. Work is bounded for every schema.
 */
export function valuesOf(schema: Json | undefined, root: JsonObject): Values {
  let parts = 0;
  const make = (part: Json | undefined, depth: number, items: number): Values => {
    parts += 1;
    if (parts > mostParts || depth > deepest || items > mostItems) return nothing;
    const inner: Make = (one, times = 1) => make(one, depth + 1, items * times);
    const ways = waysOf(part, root).flatMap((way) => ofWay(way, inner, depth));
    return ways.length === 0 ? nothing : fc.oneof(...ways);
  };
  return make(schema, 0, 1);
}

/** So many values by a seed, the same for the same seed. None where the schema asks for what cannot be made. */
export function sample(values: Values, seed: number, count: number): Json[] {
  try {
    return fc.sample(values, { seed: seed | 0, numRuns: count });
  } catch {
    return [];
  }
}

function ofWay(way: JsonObject, make: Make, depth: number): Values[] {
  if (way.const !== undefined) return [fc.constant(way.const)];
  if (Array.isArray(way.enum)) return way.enum.length === 0 ? [] : [fc.constantFrom(...way.enum)];
  // What the author gives as an example is likelier to be of use than what is made up.
  const given = [
    ...(way.default === undefined ? [] : [way.default]),
    ...(Array.isArray(way.examples) ? way.examples : []),
  ];
  return [...given.map((value) => fc.constant(value)), ...typesOf(way).map((type) => ofType(type, way, make, depth))];
}

function ofType(type: string, way: JsonObject, make: Make, depth: number): Values {
  switch (type) {
    case "string":
      return stringOf(way) ?? nothing;
    case "integer":
      return integerOf(way);
    case "number":
      return fc.oneof(integerOf(way), ...fractionOf(way));
    case "boolean":
      return fc.boolean();
    case "array":
      return arrayOf(way, make, depth);
    case "object":
      return objectOf(way, make, depth);
    default:
      return nothing;
  }
}

/** Without bounds the numbers are small: most count something, and some tools take their time over it. */
function bounds(way: JsonObject): { min: number; max: number } {
  const least = numberAt(way, "minimum") ?? numberAt(way, "exclusiveMinimum");
  const most = numberAt(way, "maximum") ?? numberAt(way, "exclusiveMaximum");
  const min = least ?? Math.min(-100, (most ?? 0) - 100);
  return { min, max: most ?? Math.max(100, min + 100) };
}

function integerOf(way: JsonObject): Values {
  const step = numberAt(way, "multipleOf") ?? 1;
  const { min, max } = bounds(way);
  const [low, high] = [Math.ceil(min / step), Math.floor(max / step)];
  if (!(Number.isSafeInteger(low) && Number.isSafeInteger(high) && low <= high)) return nothing;
  return fc.integer({ min: low, max: high }).map((n) => n * step);
}

function fractionOf(way: JsonObject): Values[] {
  const { min, max } = bounds(way);
  if (way.multipleOf !== undefined || !(min < max)) return [];
  return [fc.integer({ min: 0, max: 1_000 }).map((part) => min + ((max - min) * part) / 1_000)];
}

function arrayOf(way: JsonObject, make: Make, depth: number): Values {
  const minLength = numberAt(way, "minItems") ?? 0;
  const maxLength = Math.min(numberAt(way, "maxItems") ?? minLength + 3, minLength + 3);
  if (minLength > maxLength) return nothing;
  const first = Array.isArray(way.prefixItems) ? way.prefixItems : Array.isArray(way.items) ? way.items : undefined;
  if (first) return fc.tuple(...first.map((one) => make(one)));
  if (maxLength === 0 || (depth > deepestOptional && minLength === 0)) return fc.constant([]);
  const unique = way.uniqueItems === true;
  // With some to spare: of equal ones a single one is kept.
  const times = unique ? 2 : 1;
  const items = make(way.items ?? { type: "string" }, maxLength * times);
  const list = fc.array(items, { minLength: minLength * times, maxLength: maxLength * times });
  return unique ? list.map((all) => distinct(all).slice(0, maxLength)) : list;
}

function objectOf(way: JsonObject, make: Make, depth: number): Values {
  const properties = isJsonObject(way.properties) ? way.properties : {};
  const required = new Set(Array.isArray(way.required) ? way.required : []);
  const shallow = depth <= deepestOptional;
  const names = [...new Set([...Object.keys(properties), ...required])].filter(
    (name) => typeof name === "string" && (required.has(name) || shallow),
  ) as string[];
  const members = names.map((name) => {
    const value = make(Object.hasOwn(properties, name) ? properties[name] : {});
    return required.has(name) ? value : fc.option(value, { nil: undefined });
  });
  const own = fc.tuple(...members).map((values) => Object.fromEntries(present(names, values)));
  if (!isJsonObject(way.additionalProperties) || names.length > 0 || !shallow) return own;
  return fc.dictionary(fc.stringMatching(/^[a-z]{1,8}$/), make(way.additionalProperties), { maxKeys: 2 });
}

function present(names: readonly string[], values: readonly (Json | undefined)[]): [string, Json][] {
  return names.flatMap((name, at): [string, Json][] => {
    const value = values[at];
    return value === undefined ? [] : [[name, value]];
  });
}

/** Each value once, in the order of the first of each. */
export function distinct(values: readonly Json[]): Json[] {
  return [...new Map(values.map((value) => [canonicalJson(value), value])).values()];
}

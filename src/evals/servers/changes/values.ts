import { explainTypeMisfit, getNumber, isType, listTypes, type Type } from "../../base/jsonSchema/values.ts";
import { showValue, showValues } from "../../base/text/text.ts";
import { type Json, type JsonObject, sameJson } from "../../base/types/json.ts";

/**
 * How the set of accepted values changed: fewer values, more, or `other` (some lost and some gained). `perhaps`: unless
 * the rest of the schema cancels it. `unclear`: it cannot be decided.
 */
export type ValueShift = "narrower" | "wider" | "other" | "perhaps narrower" | "perhaps wider" | "unclear";
export type ValueDifference = { keyword: string; shift: ValueShift; what: string };

/** The keywords that are compared here. */
export const valueKeywords: readonly string[] = [
  ...["type", "enum", "const", "minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum", "multipleOf"],
  ...["minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"],
  ...["pattern", "format", "uniqueItems"],
];

/** Compares the values that two schemas accept by their own keywords: types, choices, bounds and patterns. */
export function* diffValues(before: JsonObject, after: JsonObject): Iterable<ValueDifference> {
  const malformed = valueKeywords.filter(
    (key) => !sameJson(before[key], after[key]) && [before, after].some((schema) => !isWellFormed(key, schema[key])),
  );
  for (const keyword of malformed) yield { keyword, shift: "unclear", what: `${keyword} was or is invalid` };
  const compared = [diffChoices, diffBounds, diffMultiples, diffTexts].flatMap((diff) => [...diff(before, after)]);
  yield* compared.filter(({ keyword }) => !malformed.includes(keyword));
}

function isWellFormed(keyword: string, value: Json | undefined): boolean {
  if (value === undefined || keyword === "const") return true;
  if (keyword === "type") return [value].flat().every(isType);
  if (keyword === "enum") return Array.isArray(value);
  if (keyword === "uniqueItems") return typeof value === "boolean";
  return typeof value === (keyword === "pattern" || keyword === "format" ? "string" : "number");
}

/** Combines losses and gains into one shift; undefined if there are neither. */
function toShift(lost: boolean, gained: boolean): ValueShift | undefined {
  return lost ? (gained ? "other" : "narrower") : gained ? "wider" : undefined;
}

function* diffChoices(before: JsonObject, after: JsonObject): Iterable<ValueDifference> {
  const [old, current] = [listChoices(before), listChoices(after)];
  const keyword = after.enum === undefined && before.enum === undefined && (old || current) ? "const" : "enum";
  if (old && current) {
    if ([...old, ...current].some((value) => typeof value === "object" && value !== null)) {
      if (!sameJson(old, current)) yield { keyword, shift: "unclear", what: "the allowed values changed" };
      return;
    }
    const [lost, gained] = [without(old, current), without(current, old)];
    const shift = toShift(lost.length > 0, gained.length > 0);
    const what = [
      ...(lost.length ? [`no longer accepts ${showValues(lost)}`] : []),
      ...(gained.length ? [`now accepts ${showValues(gained)}`] : []),
    ];
    if (shift) yield { keyword, shift, what: what.join(" and ") };
  } else if (current) {
    const shift = current.every((value) => isTyped(value, before)) ? "narrower" : "other";
    yield { keyword, shift, what: `now accepts only ${showValues(current)}` };
  } else if (old) {
    const shift = old.every((value) => isTyped(value, after)) ? "wider" : "other";
    yield { keyword, shift, what: `is no longer limited to ${showValues(old)}` };
  } else {
    const [had, has] = [listTypeParts(before), listTypeParts(after)];
    const shift = toShift(without(had, has).length > 0, without(has, had).length > 0);
    const name = (schema: JsonObject) => listTypes(schema).join(" or ") || "not set";
    if (shift) yield { keyword: "type", shift, what: `type changed from ${name(before)} to ${name(after)}` };
  }
}

/** The values of a schema that accepts a finite list of values; undefined for any other schema. */
function listChoices(schema: JsonObject): Json[] | undefined {
  const types = listTypes(schema);
  const listed = Array.isArray(schema.enum) ? schema.enum : undefined;
  if (schema.const !== undefined) {
    const only = schema.const;
    return isTyped(only, schema) && (!listed || listed.some((value) => sameJson(value, only))) ? [only] : [];
  }
  if (listed) return listed.filter((value) => isTyped(value, schema));
  if (types.length === 0 || types.some((type) => type !== "boolean" && type !== "null")) return undefined;
  return types.flatMap((type): Json[] => (type === "null" ? [null] : [true, false]));
}

/** The same, but undefined for a schema that has other keywords. */
export function listOnlyChoices(schema: JsonObject): Json[] | undefined {
  return Object.keys(schema).every((key) => ["type", "enum", "const"].includes(key)) ? listChoices(schema) : undefined;
}

const isTyped = (value: Json, schema: JsonObject) => explainTypeMisfit(value, schema) === undefined;

type TypePart = Exclude<Type, "number"> | "fraction";
const allParts: readonly TypePart[] = ["string", "integer", "fraction", "boolean", "array", "object", "null"];

/** The kinds of values that a schema's type accepts; `number` becomes integers and fractions. */
function listTypeParts(schema: JsonObject): readonly TypePart[] {
  const types = listTypes(schema);
  return types.length === 0
    ? allParts
    : types.flatMap((type): TypePart[] => (type === "number" ? ["integer", "fraction"] : [type]));
}

function without<T>(all: readonly T[], others: readonly T[]): T[] {
  const known = new Set(others);
  return all.filter((one) => !known.has(one));
}

/** A lower bound. Upper bounds are negated, so that a higher bound is always narrower. */
type Bound = { value: number; exclusive: boolean };

function* diffBounds(before: JsonObject, after: JsonObject): Iterable<ValueDifference> {
  const areIntegers = [before, after].every((schema) => listTypes(schema).join() === "integer");
  yield* diffBound("minimum", readBound(before, 1, areIntegers), readBound(after, 1, areIntegers), 1);
  yield* diffBound("maximum", readBound(before, -1, areIntegers), readBound(after, -1, areIntegers), -1);
  for (const size of ["Length", "Items", "Properties"]) {
    const least = (schema: JsonObject) => ({
      value: Math.max(0, getNumber(schema, `min${size}`) ?? 0),
      exclusive: false,
    });
    const most = (schema: JsonObject) => ({ value: -(getNumber(schema, `max${size}`) ?? Infinity), exclusive: false });
    yield* diffBound(`min${size}`, least(before), least(after), 1);
    yield* diffBound(`max${size}`, most(before), most(after), -1);
  }
}

function readBound(schema: JsonObject, sign: 1 | -1, areIntegers: boolean): Bound {
  const side = sign === 1 ? "inimum" : "aximum";
  const read = (keyword: string) => {
    const value = getNumber(schema, keyword);
    return value === undefined ? -Infinity : sign * value;
  };
  const [closed, open] = [read(`m${side}`), read(`exclusiveM${side}`)];
  const exclusive = open >= closed && open !== -Infinity;
  const value = Math.max(closed, open);
  if (!areIntegers || value === -Infinity) return { value, exclusive };
  return { value: exclusive ? Math.floor(value) + 1 : Math.ceil(value), exclusive: false };
}

function* diffBound(keyword: string, was: Bound, is: Bound, sign: 1 | -1): Iterable<ValueDifference> {
  if (was.value === is.value && was.exclusive === is.exclusive) return;
  const isNarrower = is.value > was.value || (is.value === was.value && is.exclusive);
  const show = ({ value, exclusive }: Bound) =>
    Number.isFinite(value) ? `${sign * value}${exclusive ? " (exclusive)" : ""}` : "not set";
  const what = `${keyword} changed from ${show(was)} to ${show(is)}`;
  yield { keyword, shift: isNarrower ? "narrower" : "wider", what };
}

function* diffMultiples({ multipleOf: was }: JsonObject, { multipleOf: is }: JsonObject): Iterable<ValueDifference> {
  if (was === is) return;
  const divides = (one: Json | undefined, other: Json | undefined) =>
    one === undefined || (typeof one === "number" && typeof other === "number" && Number.isInteger(other / one));
  const shift = toShift(!divides(is, was), !divides(was, is)) ?? "unclear";
  yield { keyword: "multipleOf", shift, what: describeChange("multipleOf", was, is) };
}

/** A changed pattern is unclear, because patterns cannot be compared. A format may not be enforced. */
function* diffTexts(before: JsonObject, after: JsonObject): Iterable<ValueDifference> {
  for (const keyword of ["pattern", "format"] as const) {
    const [was, is] = [before[keyword], after[keyword]];
    if (was === is) continue;
    const shift = was === undefined ? "narrower" : is === undefined ? "wider" : "unclear";
    const isEnforced = keyword === "pattern" || shift === "unclear";
    yield { keyword, shift: isEnforced ? shift : `perhaps ${shift}`, what: describeChange(keyword, was, is) };
  }
  const [was, is] = [before.uniqueItems === true, after.uniqueItems === true];
  if (was === is) return;
  yield { keyword: "uniqueItems", shift: is ? "narrower" : "wider", what: describeChange("uniqueItems", was, is) };
}

function describeChange(keyword: string, was: Json | undefined, is: Json | undefined): string {
  const show = (value: Json | undefined) => (value === undefined ? "not set" : showValue(value));
  return `${keyword} changed from ${show(was)} to ${show(is)}`;
}

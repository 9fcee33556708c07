import { explainTypeMisfit, getNumber, isType, listTypes, type Type } from "../jsonSchema/values.ts";
import { isJsonObject, type Json, type JsonObject } from "../types/json.ts";
import { showValue, showValues } from "../types/quote.ts";
import { sameJson } from "./same.ts";

/**
 * What became of the values that a schema takes: fewer, more, others (some went and some came), or one of these
 * unless the rest of the schema makes it no change at all (`perhaps`), or nothing that can be told (`unclear`).
 */
export type Effect = "narrower" | "wider" | "other" | "perhaps narrower" | "perhaps wider" | "unclear";
export type Difference = { keyword: string; effect: Effect; what: string };

/** The keywords that are compared here. */
export const valueKeywords: readonly string[] = [
  ...["type", "enum", "const", "minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum", "multipleOf"],
  ...["minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"],
  ...["pattern", "format", "uniqueItems"],
];

/** How two schemas differ in the values that they take by themselves: types, choices, bounds, patterns. */
export function* valueDifferences(before: JsonObject, after: JsonObject): Iterable<Difference> {
  const malformed = valueKeywords.filter(
    (key) => !sameJson(before[key], after[key]) && [before, after].some((schema) => !isWell(key, schema[key])),
  );
  for (const keyword of malformed) yield { keyword, effect: "unclear", what: `${keyword} was or is no valid one` };
  const compared = [typesAndChoices, bounds, multiples, texts].flatMap((compare) => [...compare(before, after)]);
  yield* compared.filter(({ keyword }) => !malformed.includes(keyword));
}

function isWell(keyword: string, value: Json | undefined): boolean {
  if (value === undefined || keyword === "const") return true;
  if (keyword === "type") return [value].flat().every(isType);
  if (keyword === "enum") return Array.isArray(value);
  if (keyword === "uniqueItems") return typeof value === "boolean";
  return typeof value === (keyword === "pattern" || keyword === "format" ? "string" : "number");
}

/** What went and what came, as one effect; nothing where neither did. */
function effectOf(lost: boolean, gained: boolean): Effect | undefined {
  return lost ? (gained ? "other" : "narrower") : gained ? "wider" : undefined;
}

function* typesAndChoices(before: JsonObject, after: JsonObject): Iterable<Difference> {
  const [then, now] = [choices(before), choices(after)];
  const keyword = after.enum === undefined && before.enum === undefined && (then || now) ? "const" : "enum";
  if (then && now) {
    if ([...then, ...now].some((value) => typeof value === "object" && value !== null)) {
      if (!sameJson(then, now)) yield { keyword, effect: "unclear", what: "the values to choose from changed" };
      return;
    }
    const [lost, gained] = [without(then, now), without(now, then)];
    const effect = effectOf(lost.length > 0, gained.length > 0);
    const said = [
      ...(lost.length ? [`no longer takes ${showValues(lost)}`] : []),
      ...(gained.length ? [`now takes ${showValues(gained)}`] : []),
    ];
    if (effect) yield { keyword, effect, what: said.join(" and ") };
  } else if (now) {
    const effect = now.every((value) => isTyped(value, before)) ? "narrower" : "other";
    yield { keyword, effect, what: `now takes only ${showValues(now)}` };
  } else if (then) {
    const effect = then.every((value) => isTyped(value, after)) ? "wider" : "other";
    yield { keyword, effect, what: `no longer takes only ${showValues(then)}` };
  } else {
    const [had, has] = [typeSet(before), typeSet(after)];
    const effect = effectOf(without(had, has).length > 0, without(has, had).length > 0);
    if (effect) yield { keyword: "type", effect, what: `type was ${said(before)} and is ${said(after)}` };
  }
}

/** The values of a schema that takes only so many, or undefined where they are not listed. */
function choices(schema: JsonObject): Json[] | undefined {
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

/** `choices` of a schema that says nothing else. */
export function onlyChoices(schema: JsonObject): Json[] | undefined {
  return Object.keys(schema).every((key) => ["type", "enum", "const"].includes(key)) ? choices(schema) : undefined;
}

const isTyped = (value: Json, schema: JsonObject) => explainTypeMisfit(value, schema) === undefined;

type Part = Exclude<Type, "number"> | "fraction";
const allParts: readonly Part[] = ["string", "integer", "fraction", "boolean", "array", "object", "null"];

/** The kinds of values that a schema's type takes; `number` is integers and fractions. */
function typeSet(schema: JsonObject): readonly Part[] {
  const types = listTypes(schema);
  return types.length === 0
    ? allParts
    : types.flatMap((type): Part[] => (type === "number" ? ["integer", "fraction"] : [type]));
}

const said = (schema: JsonObject) => listTypes(schema).join(" or ") || "not said";

function without<T>(all: readonly T[], others: readonly T[]): T[] {
  const known = new Set(others);
  return all.filter((one) => !known.has(one));
}

/** A lower bound: `value`, and whether it is itself outside. Uppers are negated, so that a higher bound is narrower. */
type Bound = { value: number; outside: boolean };

const sizes = ["Length", "Items", "Properties"] as const;

function* bounds(before: JsonObject, after: JsonObject): Iterable<Difference> {
  const integers = [before, after].every((schema) => listTypes(schema).join() === "integer");
  yield* bound("minimum", lowest(before, 1, integers), lowest(after, 1, integers), 1);
  yield* bound("maximum", lowest(before, -1, integers), lowest(after, -1, integers), -1);
  for (const size of sizes) {
    const least = (schema: JsonObject) => ({
      value: Math.max(0, getNumber(schema, `min${size}`) ?? 0),
      outside: false,
    });
    const most = (schema: JsonObject) => ({ value: -(getNumber(schema, `max${size}`) ?? Infinity), outside: false });
    yield* bound(`min${size}`, least(before), least(after), 1);
    yield* bound(`max${size}`, most(before), most(after), -1);
  }
}

function lowest(schema: JsonObject, sign: 1 | -1, integers: boolean): Bound {
  const side = sign === 1 ? "inimum" : "aximum";
  const read = (keyword: string) => {
    const value = getNumber(schema, keyword);
    return value === undefined ? -Infinity : sign * value;
  };
  const [closed, open] = [read(`m${side}`), read(`exclusiveM${side}`)];
  const outside = open >= closed && open !== -Infinity;
  const value = Math.max(closed, open);
  if (!integers || value === -Infinity) return { value, outside };
  return { value: outside ? Math.floor(value) + 1 : Math.ceil(value), outside: false };
}

function* bound(keyword: string, then: Bound, now: Bound, sign: 1 | -1): Iterable<Difference> {
  if (then.value === now.value && then.outside === now.outside) return;
  const narrower = now.value > then.value || (now.value === then.value && now.outside);
  const told = ({ value, outside }: Bound) =>
    Number.isFinite(value) ? `${sign * value}${outside ? " (itself outside)" : ""}` : "not set";
  yield { keyword, effect: narrower ? "narrower" : "wider", what: `${keyword} was ${told(then)} and is ${told(now)}` };
}

function* multiples({ multipleOf: then }: JsonObject, { multipleOf: now }: JsonObject): Iterable<Difference> {
  if (then === now) return;
  const divides = (one: Json | undefined, other: Json | undefined) =>
    one === undefined || (typeof one === "number" && typeof other === "number" && Number.isInteger(other / one));
  const effect = effectOf(!divides(now, then), !divides(then, now)) ?? "unclear";
  yield { keyword: "multipleOf", effect, what: wasAndIs("multipleOf", then, now) };
}

/** Whether one pattern takes all that another takes cannot be told; whether a format is enforced, neither. */
function* texts(before: JsonObject, after: JsonObject): Iterable<Difference> {
  for (const keyword of ["pattern", "format"] as const) {
    const [then, now] = [before[keyword], after[keyword]];
    if (then === now) continue;
    const sure = keyword === "pattern" ? "" : "perhaps ";
    const effect =
      then === undefined ? (`${sure}narrower` as Effect) : now === undefined ? (`${sure}wider` as Effect) : "unclear";
    yield { keyword, effect, what: wasAndIs(keyword, then, now) };
  }
  const [then, now] = [before.uniqueItems === true, after.uniqueItems === true];
  if (then === now) return;
  yield { keyword: "uniqueItems", effect: now ? "narrower" : "wider", what: wasAndIs("uniqueItems", then, now) };
}

function wasAndIs(keyword: string, then: Json | undefined, now: Json | undefined): string {
  const told = (value: Json | undefined) => (value === undefined ? "not set" : showValue(value));
  return `${keyword} was ${told(then)} and is ${told(now)}`;
}

export function isSchema(value: Json | undefined): value is JsonObject | boolean {
  return isJsonObject(value) || typeof value === "boolean";
}

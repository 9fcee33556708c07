import {
  explainTypeMisfit,
  findMalformed,
  listProperties,
  listRequired,
  listTypes,
  type Type,
} from "../../base/jsonSchema/keywords.ts";
import { followRef, type Walk } from "../../base/jsonSchema/walk.ts";
import { quote, showValue, showValues } from "../../base/text/text.ts";
import type { ChangeClass } from "../../base/types/finding.ts";
import { isJsonObject, type Json, type JsonObject, type Path, sameJson } from "../../base/types/json.ts";
import { findRenamed, formatName } from "./names.ts";

/** A schema in one of the two lists: its content, its path, and the walk that resolves its references. */
type Side<S = Json> = { schema: S; at: Path; walk: Walk };
type Sides<S = Json> = readonly [before: Side<S>, after: Side<S>];

/** A place in both lists: its name in reports (`.filter.tags[].name`), its depth, and what was visited so far. */
type Spot = { name: string; depth: number; visited: Set<string | number> };

/** Far above what hosts accept. Differences beyond these limits are reported as unclear. */
const limits = { depth: 40, places: 50_000, refs: 10, unions: 2 } as const;

/**
 * One difference between two schemas, and its place. `values`: other values are accepted. `lost` is its class in a
 * parameter, which must accept what it accepted before, and `gained` in a result, whose readers expect the old values.
 */
export type SchemaDifference = { name: string; at: Path } & (
  | { kind: "values"; lost: Harm; gained: Harm; what: string }
  | { kind: "removed"; renamed: string | undefined }
  | { kind: "added"; isRequired: boolean; hasDefault: boolean; renames: string | undefined }
  | { kind: "required"; isRequired: boolean }
  | { kind: "default"; before: Json | undefined; after: Json | undefined; wasRequired: boolean }
  | { kind: "wording"; keyword: string; before: Json | undefined; after: Json | undefined }
);
/** `unknown`: the rest of the schema may cancel it, or it cannot be decided. */
type Harm = Exclude<ChangeClass, "description only">;
type Differences = Iterable<SchemaDifference>;

const shift = (lost: Harm, gained: Harm, what: string) => ({ kind: "values", lost, gained, what }) as const;
const toHarm = (isHarmful: boolean): Harm => (isHarmful ? "breaking" : "compatible");

const wordingKeywords = ["description", "title", "examples", "$comment", "deprecated", "readOnly", "writeOnly"];
/** Keywords that do not restrict values. Definitions are compared where they are referred to. */
const annotations = new Set([wordingKeywords, "default", "$schema", "$id", "$anchor", "$defs", "definitions"].flat());
/** The keywords that are compared one by one, by the kind of value that they restrict. */
const restrictions: Readonly<Record<Exclude<Type, "integer">, readonly string[]>> = {
  string: ["minLength", "maxLength", "pattern", "format"],
  number: ["minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum", "multipleOf", "format"],
  boolean: [],
  array: ["minItems", "maxItems", "uniqueItems", "items"],
  object: ["minProperties", "maxProperties", "properties", "required", "additionalProperties"],
  null: [],
};
const kinds = Object.keys(restrictions) as (keyof typeof restrictions)[];
const toKind = (type: Type) => (type === "integer" ? "number" : type);

/** Lists the differences between two whole schemas, in terms of JSON Schema. */
export function diffWholeSchemas(before: Side, after: Side): Differences {
  return diffSchemas([before, after], { name: "", depth: 0, visited: new Set() });
}

/** Lists the differences at a place and below it. */
function* diffSchemas(sides: Sides, spot: Spot): Differences {
  const { name, depth, visited } = spot;
  const [before, after] = sides;
  // Only references lead to the same pair twice.
  const isReference = sides.some(({ schema }) => isJsonObject(schema) && schema.$ref !== undefined);
  const pair = isReference ? JSON.stringify([before.at, after.at]) : visited.size;
  if (visited.has(pair)) return;
  const isBeyond = visited.add(pair).size > limits.places || depth > limits.depth;
  const [old, current] = [normalize(before), normalize(after)];
  if (isBeyond || !old || !current) {
    const what = isBeyond ? "a deeply nested schema changed" : "the schema was or is invalid";
    if (!sameJson(before.schema, after.schema)) yield { name, at: after.at, ...shift("unknown", "unknown", what) };
    return;
  }
  for (const keyword of wordingKeywords) yield* diffWording(keyword, [old, current], name);
  const union = readUnion(old.schema) ?? readUnion(current.schema);
  if (union === undefined) yield* diffKeywords([old, current], spot);
  else yield* diffWhole(union, [widen(old, union), widen(current, union)], spot);
}

function* diffWording(keyword: string, [old, current]: Sides<JsonObject>, name: string): Differences {
  const [before, after] = [old.schema[keyword], current.schema[keyword]];
  if (!sameJson(before, after)) yield { name, at: current.at, kind: "wording", keyword, before, after };
}

/**
 * Writes a schema in one of several equivalent forms: references, single branches, and unions of types or values are
 * replaced by what they stand for. Undefined if it is not a schema.
 */
function normalize({ schema, at, walk }: Side, unions: number = limits.unions): Side<JsonObject> | undefined {
  for (let refs = 0; refs < limits.refs && isJsonObject(schema) && typeof schema.$ref === "string"; refs++) {
    const target = followRef(schema.$ref, walk);
    if (target.kind !== "local") break;
    const { $ref: _, ...others } = schema;
    schema = combine(target.schema, others);
    at = target.at;
  }
  if (typeof schema === "boolean") return { schema: schema ? {} : { enum: [] }, at, walk };
  if (!isJsonObject(schema)) return undefined;
  const union = readUnion(schema);
  if (union === undefined || unions === 0) return { schema: tidy(schema), at, walk };
  const { [union]: branches, ...others } = schema;
  const all = [branches].flat().map((one = null, index) => {
    return normalize({ schema: one, at: [...at, union, index], walk }, unions - 1);
  });
  const merged = all.length === 1 ? all[0] : union === "allOf" ? undefined : merge(all);
  return merged ? { ...merged, schema: combine(merged.schema, others) as JsonObject } : { schema, at, walk };
}

/** The keyword of a schema that is nothing but a list of branches. */
function readUnion(schema: JsonObject): string | undefined {
  const [keyword = "", ...others] = listRules(schema);
  const isUnion = ["anyOf", "oneOf", "allOf"].includes(keyword) && Array.isArray(schema[keyword]);
  return isUnion && others.length === 0 ? keyword : undefined;
}

const listRules = (schema: JsonObject) => Object.keys(schema).filter((keyword) => !annotations.has(keyword));

/** Combines a schema and the keywords next to a reference to it into a schema that accepts only what both accept. */
function combine(target: Json, others: JsonObject): Json {
  if (!isJsonObject(target)) return target === true ? others : target;
  const notes = Object.entries(others).filter(([keyword]) => annotations.has(keyword));
  const narrower = notes.length < Object.keys(others).length && { allOf: [target.allOf ?? [], others].flat() };
  return { ...target, ...Object.fromEntries(notes), ...narrower };
}

/** Writes `const` as `enum`, and the exclusive bounds of integers as inclusive ones. */
function tidy(schema: JsonObject): JsonObject {
  const { const: only, ...tidied } = schema;
  if (only !== undefined) tidied.enum ??= [only];
  const isPossible = (one: Json) => (only === undefined || sameJson(one, only)) && !explainTypeMisfit(one, schema);
  if (Array.isArray(tidied.enum)) tidied.enum = tidied.enum.filter(isPossible);
  for (const [open, closed, sign] of [
    ["exclusiveMinimum", "minimum", 1],
    ["exclusiveMaximum", "maximum", -1],
  ] as const) {
    const { [open]: bound, [closed]: other = -sign * Infinity } = tidied;
    if (listTypes(schema).join() !== "integer" || typeof bound !== "number" || typeof other !== "number") continue;
    tidied[closed] = sign * Math.max(sign * other, Math.floor(sign * bound) + 1);
    delete tidied[open];
  }
  return tidied;
}

/** One schema for all branches, if they list values, or differ in type and only one of them has other keywords. */
function merge(branches: readonly (Side<JsonObject> | undefined)[]): Side<JsonObject> | undefined {
  const [first] = branches;
  if (!first || !branches.every((one) => one !== undefined)) return undefined;
  const values = branches.flatMap(({ schema }) => listValues(schema) ?? [undefined]);
  // A value that two branches list is not accepted by oneOf.
  if (values.every((one) => one !== undefined))
    return areDistinct(values) ? { ...first, schema: { enum: values } } : undefined;
  const types = branches.flatMap(({ schema }) => listTypes(schema));
  const [main = first, ...others] = branches.filter(({ schema }) => listRules(schema).join() !== "type");
  const fitting = ["type", ...listTypes(main.schema).flatMap((type) => restrictions[toKind(type)])];
  const isFitting = listRules(main.schema).every((keyword) => fitting.includes(keyword));
  const areTyped = branches.every(({ schema }) => listTypes(schema).length > 0) && areDistinct(types.map(toKind));
  if (others.length > 0 || !isFitting || !areTyped) return undefined;
  return { ...main, schema: { ...main.schema, type: types } };
}

const areDistinct = (values: readonly unknown[]) => new Set(values).size === values.length;

/** The values of a schema that does nothing but list them. */
function listValues(schema: JsonObject): Json[] | undefined {
  const rules = listRules(schema)
    .filter((keyword) => keyword !== "type")
    .join();
  if (rules === "" && schema.type === "null") return [null];
  return rules === "enum" && Array.isArray(schema.enum) && !schema.enum.some(isCompound) ? schema.enum : undefined;
}

const isCompound = (value: Json): value is Json[] | JsonObject => typeof value === "object" && value !== null;

/** Compares the keywords of two schemas that are not unions. */
function* diffKeywords(sides: Sides<JsonObject>, spot: Spot): Differences {
  const [{ schema: old }, { schema: current, at }] = sides;
  const here = { name: spot.name, at };
  const [had, has] = [readTypes(old), readTypes(current)];
  const [lost, gained] = [toHarm(hasOther(had, has, current)), toHarm(hasOther(has, had, old))];
  const what = `type changed from ${nameTypes(had)} to ${nameTypes(has)}`;
  if (lost === "breaking" || gained === "breaking") yield { ...here, ...shift(lost, gained, what) };
  const shared = kinds.filter((kind) => [had, has].every((types) => [...types].some((type) => toKind(type) === kind)));
  const isShared = (one: Json) => one !== null && shared.includes(toKind(readType(one)));
  const values = [old.enum, current.enum].map((all) => (Array.isArray(all) ? all.filter(isShared) : undefined));
  for (const one of diffValues(values[0], values[1])) yield { ...here, ...one };
  const others = new Set([old, current].flatMap(listOthers));
  for (const keyword of new Set(shared.flatMap((kind) => restrictions[kind]))) {
    const [was, is] = [old[keyword], current[keyword]];
    if (others.has(keyword) || (was === undefined && is === undefined)) continue;
    if (keyword === "items" || keyword === "additionalProperties") yield* diffInner(keyword, sides, spot);
    else if (keyword !== "properties" && keyword !== "required") {
      const [less, more] = [loses(keyword, was, is), loses(keyword, is, was)];
      const [from, to] = [was, is].map((value) => (value === undefined ? "not set" : showValue(value)));
      if (less !== more || less !== "compatible")
        yield { ...here, ...shift(less, more, `${keyword} changed from ${from} to ${to}`) };
    }
  }
  if (shared.includes("object")) yield* diffProperties(sides, spot);
  for (const keyword of shared.length > 0 ? others : []) yield* diffWhole(keyword, sides, spot);
}

const compared = new Set(["type", "enum", ...Object.values(restrictions).flat()]);
/** The keywords that are not compared one by one, because they are others or malformed. */
function listOthers(schema: JsonObject): string[] {
  const malformed = [...findMalformed(schema)].map(({ keyword }) => keyword);
  if (Array.isArray(schema.items)) malformed.push("items");
  return listRules(schema).filter((keyword) => !compared.has(keyword) || malformed.includes(keyword));
}

/** The types of the values that a schema accepts. */
function readTypes(schema: JsonObject): ReadonlySet<Type> {
  const named = listTypes(schema);
  const types = new Set(Array.isArray(schema.enum) ? schema.enum.map(readType) : named.length > 0 ? named : kinds);
  if (types.has("number")) types.delete("integer");
  return types;
}

function readType(value: Json): Type {
  if (isCompound(value)) return Array.isArray(value) ? "array" : "object";
  return value === null ? "null" : Number.isInteger(value) ? "integer" : (typeof value as Type);
}

/** Whether a schema accepts a type that another does not. Numbers that the other one lists are compared by value. */
const hasOther = (types: ReadonlySet<Type>, others: ReadonlySet<Type>, other: JsonObject) =>
  [...types].some((type) => {
    const isListed = type === "number" && others.has("integer") && other.enum !== undefined;
    return !others.has(type) && !(type === "integer" && others.has("number")) && !isListed;
  });

const nameTypes = (types: ReadonlySet<Type>) =>
  types.size === kinds.length ? "not set" : [...types].join(" or ") || "no value";

function* diffValues(old: Json[] | undefined, current: Json[] | undefined) {
  if (!old && current?.length) yield shift("breaking", "compatible", `now accepts only ${showValues(current)}`);
  if (!current && old?.length) yield shift("compatible", "breaking", `is no longer limited to ${showValues(old)}`);
  if (!old || !current) return;
  const [had, has] = [new Set(old), new Set(current)];
  const [lost, gained] = [[...had].filter((one) => !has.has(one)), [...has].filter((one) => !had.has(one))];
  if ([...lost, ...gained].some(isCompound)) {
    if (!sameJson(old, current)) yield shift("unknown", "unknown", "the allowed values changed");
  } else if (lost.length + gained.length > 0) {
    const [less, more] = [`no longer accepts ${showValues(lost)}`, `now accepts ${showValues(gained)}`];
    const what = [...(lost.length > 0 ? [less] : []), ...(gained.length > 0 ? [more] : [])].join(" and ");
    yield shift(toHarm(lost.length > 0), toHarm(gained.length > 0), what);
  }
}

/** Whether a change of a restriction loses values. Patterns cannot be compared, and a format may not be enforced. */
function loses(keyword: string, was: Json | undefined, is: Json | undefined): Harm {
  if (is === undefined || is === was) return "compatible";
  if (keyword === "format" || keyword === "pattern")
    return keyword === "pattern" && was === undefined ? "breaking" : "unknown";
  if (keyword === "uniqueItems") return toHarm(is === true);
  if (keyword === "multipleOf") return toHarm(!Number.isInteger(Number(was) / Number(is)));
  if (/max/i.test(keyword)) return toHarm(Number(is) < Number(was ?? Infinity));
  return toHarm(Number(is) > Number(was ?? (/minimum/i.test(keyword) ? -Infinity : 0)));
}

const descend = (spot: Spot, step: string): Spot => ({ ...spot, name: spot.name + step, depth: spot.depth + 1 });

/** Compares the schemas of items or additional properties; `true`, which accepts anything, stands for a missing one. */
function* diffInner(keyword: "items" | "additionalProperties", sides: Sides<JsonObject>, spot: Spot): Differences {
  const [from, to] = sides.map((side): Side => {
    const { [keyword]: schema = true } = side.schema;
    return { ...side, schema, at: Object.hasOwn(side.schema, keyword) ? [...side.at, keyword] : side.at };
  }) as unknown as Sides;
  const isOpen = (schema: Json) => schema === true || (isJsonObject(schema) && Object.keys(schema).length === 0);
  const what = "properties that it does not name";
  const here = { name: spot.name, at: to.at };
  if (keyword === "items") yield* diffSchemas([from, to], descend(spot, "[]"));
  else if (isOpen(from.schema) && to.schema === false)
    yield { ...here, ...shift("breaking", "compatible", `no longer accepts ${what}`) };
  else if (from.schema === false && isOpen(to.schema))
    yield { ...here, ...shift("compatible", "unknown", `now accepts ${what}`) };
  else yield* diffSchemas([from, to], descend(spot, ""));
}

/** Compares the properties that two schemas name, and which of them are required. */
function* diffProperties([before, after]: Sides<JsonObject>, spot: Spot): Differences {
  const [old, current] = [new Map(listProperties(before.schema)), new Map(listProperties(after.schema))];
  const [had, has] = [new Set(listRequired(before.schema)), new Set(listRequired(after.schema))];
  const renamed = findRenamed(old, current);
  const renames = new Map([...renamed].map(([from, to]) => [to, from]));
  for (const property of new Set([...old.keys(), ...current.keys(), ...had, ...has])) {
    const [was, is] = [old.get(property), current.get(property)];
    const below = descend(spot, `.${formatName(property)}`);
    const from = { ...before, schema: was ?? null, at: [...before.at, "properties", property] };
    const to = { ...after, schema: is ?? null, at: [...after.at, "properties", property] };
    const here = { name: below.name, at: (is !== undefined ? to : was !== undefined ? from : after).at };
    if (was !== undefined && is === undefined) {
      yield { ...here, kind: "removed", renamed: renamed.get(property) };
      continue;
    }
    const [wasRequired, isRequired] = [had.has(property), has.has(property)];
    const isNewlyRequired = isRequired && !wasRequired;
    const [standard, next] = [from, to].map(({ schema }) => (isJsonObject(schema) ? schema.default : undefined));
    if (was === undefined && is !== undefined) {
      const more = { isRequired: isNewlyRequired, hasDefault: next !== undefined, renames: renames.get(property) };
      yield { ...here, kind: "added", ...more };
      if (isNewlyRequired) continue;
    }
    if (wasRequired !== isRequired) yield { ...here, kind: "required", isRequired };
    if (was === undefined || is === undefined) continue;
    if (!sameJson(standard, next) && !(isNewlyRequired && next === undefined))
      yield { ...here, kind: "default", before: standard, after: next, wasRequired };
    yield* diffSchemas([from, to], below);
  }
}

/** A schema as a union: one with a single branch, if it is not one. */
const widen = (side: Side<JsonObject>, union: string) =>
  readUnion(side.schema) === union ? side : { ...side, schema: { [union]: [side.schema] } };

/** Compares a keyword as a whole: whether it means the same, or has more or fewer branches. */
function* diffWhole(keyword: string, sides: Sides<JsonObject>, { name, visited }: Spot): Differences {
  const [was, is] = sides.map(({ schema: { [keyword]: value = [] }, walk }) => {
    const parts = keyword === "anyOf" && Array.isArray(value) ? value : [{ [keyword]: value }];
    return new Set(parts.map((one) => summarize(one, walk, visited)));
  }) as [Set<string>, Set<string>];
  const isLost = [...was].some((one) => !is.has(one));
  const isGained = [...is].some((one) => !was.has(one));
  const at = sides[1].at;
  if (!isLost && !isGained) yield* diffWording(keyword, sides, name);
  else if (keyword !== "anyOf" || isLost === isGained || was.size === 0 || is.size === 0)
    yield { name, at, ...shift("unknown", "unknown", `${quote(keyword)} changed`) };
  else if (isLost) yield { name, at, ...shift("unknown", "compatible", "anyOf lost branches") };
  else yield { name, at, ...shift("compatible", "unknown", "anyOf gained branches") };
}

const maps = ["properties", "patternProperties", "dependentSchemas", "dependentRequired", "dependencies"];
/** What the members of a keyword are, if they are not schemas: schemas by name, or values. */
const roles = new Map([...maps.map((keyword) => [keyword, "map"] as const), ["enum", "value"], ["const", "value"]]);

/**
 * The text of a schema without annotations, in which references are replaced by what they lead to: schemas of the same
 * text accept the same values. Beyond the limits no two texts are the same.
 */
function summarize(value: Json, walk: Walk, visited: Spot["visited"], role = "schema", around: Json[] = []): string {
  if (!isCompound(value)) return JSON.stringify(value);
  if (around.length > limits.depth || visited.add(visited.size).size > limits.places) return `beyond ${visited.size}`;
  const path = [...around, value];
  if (Array.isArray(value)) return `[${value.map((one) => summarize(one, walk, visited, role, path))}]`;
  const members = Object.entries(value).flatMap(([key, member]) => {
    if (role === "schema" && annotations.has(key)) return [];
    const ref = role === "schema" && key === "$ref" && typeof member === "string" ? followRef(member, walk) : undefined;
    const found = ref?.kind === "local" ? ref.schema : member;
    const next = role === "map" ? "schema" : role === "schema" ? (roles.get(key) ?? role) : role;
    const cycle = path.indexOf(found);
    return [`${JSON.stringify(key)}:${cycle < 0 ? summarize(found, walk, visited, next, path) : `#${cycle}`}`];
  });
  return `{${members.sort()}}`;
}

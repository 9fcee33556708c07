import type { Type } from "../jsonSchema/values.ts";
import { listTypes } from "../jsonSchema/values.ts";
import { isJsonObject, type Json, type JsonObject } from "../types/json.ts";
import { sameJson } from "./same.ts";
import type { Compare, ObjectSide, SchemaDifference, Side, Spot } from "./schemas.ts";
import { type Effect, onlyChoices } from "./values.ts";

/** How two schemas differ in the schemas inside of them: items, other keys, and the branches of a combination. */
export function* branchDifferences(then: ObjectSide, now: ObjectSide, spot: Spot, compare: Compare) {
  const below = { ...spot, depth: spot.depth + 1 };
  const hasAny = (keyword: string) => Object.hasOwn(then.schema, keyword) || Object.hasOwn(now.schema, keyword);
  if (hasAny("items")) yield* itemDifferences(then, now, below, compare);
  if (hasAny("additionalProperties")) yield* otherKeys(then, now, { ...below, inside: true }, compare);
  for (const keyword of ["anyOf", "oneOf"] as const) {
    const [old, current] = [branchesOf(then, keyword), branchesOf(now, keyword)];
    if (old.length > 0 || current.length > 0) yield* alternatives(keyword, old, current, now, below, compare);
  }
  yield* allOf(then, now, { ...below, inside: true }, compare);
}

/** A schema inside of another; `true`, which takes anything, where there is none. */
const inner = (side: ObjectSide, keyword: string): Side => ({
  ...side,
  schema: side.schema[keyword] ?? true,
  at: Object.hasOwn(side.schema, keyword) ? [...side.at, keyword] : side.at,
});

function* itemDifferences(then: ObjectSide, now: ObjectSide, spot: Spot, compare: Compare): Iterable<SchemaDifference> {
  const [old, current] = [inner(then, "items"), inner(now, "items")];
  const isTuple = Array.isArray(old.schema) || Array.isArray(current.schema);
  const name = spot.inside ? spot.name : `${spot.name}[]`;
  if (!isTuple) yield* compare(old, current, { ...spot, name });
  else if (!sameJson(old.schema, current.schema)) yield values(spot, current, "items", "unclear", "items changed");
}

const open = (schema: Json) => schema === true || (isJsonObject(schema) && Object.keys(schema).length === 0);

function* otherKeys(then: ObjectSide, now: ObjectSide, spot: Spot, compare: Compare): Iterable<SchemaDifference> {
  const keyword = "additionalProperties";
  const [old, current] = [inner(then, keyword), inner(now, keyword)];
  if (open(old.schema) && current.schema === false) {
    yield values(spot, current, keyword, "narrower", "no longer takes keys that it does not name");
  } else if (old.schema === false && open(current.schema)) {
    yield values(spot, current, keyword, "perhaps wider", "now takes keys that it does not name");
  } else yield* compare(old, current, spot);
}

function branchesOf({ schema, at, walk, lifted }: ObjectSide, keyword: "anyOf" | "oneOf"): Side[] {
  const branches = schema[keyword];
  if (!Array.isArray(branches)) return [];
  return branches.flatMap((branch, index) =>
    typeByType(branch).map((schema) => ({ schema, at: lifted ? at : [...at, keyword, index], walk })),
  );
}

/** Longer lists of branches are not matched with each other. */
const mostPairs = 10_000;

/** A schema of several types as one schema for each: together they take what it takes. */
function typeByType(schema: Json): Json[] {
  const types = isJsonObject(schema) ? listTypes(schema) : [];
  return isJsonObject(schema) && types.length > 1 ? types.map((type) => ({ ...schema, type })) : [schema];
}

/**
 * Branches that are the same, or of the same types, are the same alternative. Where no two of a list take the same type
 * of value, what differs in one differs in the whole; else another branch may take what this one does not.
 */
function* alternatives(
  keyword: "anyOf" | "oneOf",
  old: readonly Side[],
  current: readonly Side[],
  { at }: Side,
  spot: Spot,
  compare: Compare,
): Iterable<SchemaDifference> {
  const here = { ...spot, inside: true };
  const apart = areApart(old) && areApart(current);
  const uncertain = (effect: "narrower" | "wider"): Effect =>
    apart ? effect : keyword === "anyOf" ? `perhaps ${effect}` : "unclear";
  if (old.length === 0 || current.length === 0) {
    const effect = current.length > 0 ? "perhaps narrower" : "perhaps wider";
    yield values(here, { at }, keyword, effect, `${keyword} ${current.length > 0 ? "is new" : "is gone"}`);
    return;
  }
  if (old.length * current.length > mostPairs) {
    const bare = (sides: readonly Side[]) => sides.map(({ schema }) => schema);
    if (!sameJson(bare(old), bare(current))) yield values(here, { at }, keyword, "unclear", `${keyword} changed`);
    return;
  }
  const { pairs, lost, gained } = matched(old, current);
  for (const [before, after] of pairs) {
    for (const difference of compare(before, after, here)) {
      const stands = apart || difference.kind === "wording";
      yield stands ? difference : values(here, after, keyword, "unclear", `a branch of ${keyword} changed`);
    }
  }
  for (const { schema } of lost) {
    yield values(here, { at }, keyword, uncertain("narrower"), `no longer takes ${told(schema)}`);
  }
  for (const branch of gained)
    yield values(here, branch, keyword, uncertain("wider"), `now takes ${told(branch.schema)}`);
}

function matched(old: readonly Side[], current: readonly Side[]) {
  const free = new Set(current);
  const pairs: [Side, Side][] = [];
  const unmatched = (sides: readonly Side[], fits: (a: Json, b: Json) => boolean) =>
    sides.filter((side) => {
      const partner = [...free].find(({ schema }) => fits(side.schema, schema));
      if (partner) pairs.push([side, partner]);
      return !partner || !free.delete(partner);
    });
  const key = (schema: Json) => (isJsonObject(schema) ? listTypes(schema).map(kindOf).join() : "");
  const lost = unmatched(unmatched(old, sameJson), (a, b) => key(a) !== "" && key(a) === key(b));
  return { pairs, lost, gained: [...free] };
}

const kindOf = (type: Type) => (type === "integer" ? "number" : type);

/** Whether no two branches take values of the same type. */
function areApart(branches: readonly Side[]): boolean {
  const seen = new Set<string>();
  for (const { schema } of branches) {
    const types = isJsonObject(schema) ? listTypes(schema) : [];
    const kinds = new Set(types.map(kindOf));
    if (kinds.size === 0 || [...kinds].some((kind) => seen.has(kind))) return false;
    for (const kind of kinds) seen.add(kind);
  }
  return true;
}

const told = (schema: Json) =>
  (isJsonObject(schema) && listTypes(schema).join(" or ")) || "what one of its branches took";

/** All branches hold together, so that one more may take values away, and one less may give some back. */
function* allOf(then: ObjectSide, now: ObjectSide, spot: Spot, compare: Compare): Iterable<SchemaDifference> {
  const listed = ({ schema }: ObjectSide) => (Array.isArray(schema.allOf) ? schema.allOf : []);
  const [old, current] = [listed(then), listed(now)];
  const more = current.length - old.length;
  const effect = more > 0 ? "perhaps narrower" : "perhaps wider";
  if (more !== 0)
    yield values(spot, now, "allOf", effect, `allOf had ${old.length} branches and has ${current.length}`);
  for (const [index, branch] of old.entries()) {
    const after = current[index];
    const place = (side: Side) => [...side.at, "allOf", index];
    if (after === undefined) continue;
    if (more === 0)
      yield* compare({ ...then, schema: branch, at: place(then) }, { ...now, schema: after, at: place(now) }, spot);
    else if (!sameJson(branch, after)) yield values(spot, now, "allOf", "unclear", "the branches of allOf changed");
  }
}

function values(spot: Spot, { at }: Pick<Side, "at">, keyword: string, effect: Effect, what: string): SchemaDifference {
  return { name: spot.name, inside: spot.inside, at, kind: "values", keyword, effect, what };
}

/**
 * Two schemas in a form in which they can be compared keyword by keyword. An alternative of single values is an enum. Or,
 * where only one of the two is an alternative and nothing else, such as a type that can now also be null, the other is
 * made one with itself as the only branch. `beside` are the keywords that say nothing of values.
 */
export function aligned(then: ObjectSide, now: ObjectSide, beside: ReadonlySet<string>): [ObjectSide, ObjectSide] {
  const has = ({ schema }: ObjectSide) => schema.anyOf !== undefined || schema.oneOf !== undefined;
  const [old, current] = [asEnum(then, beside), asEnum(now, beside)];
  if (!has(old) && !has(current)) return [old, current];
  const [union, plain] = has(then) ? [then, now] : [now, then];
  const keyword = onlyAlternative(union, beside);
  if (has(plain) || keyword === undefined) return [then, now];
  const [kept, own] = parted(plain.schema, beside);
  const lifted: ObjectSide = { ...plain, schema: { ...kept, [keyword]: [own] }, lifted: true };
  return has(then) ? [then, lifted] : [lifted, now];
}

/** The keyword of an alternative that nothing stands beside. */
function onlyAlternative({ schema }: ObjectSide, beside: ReadonlySet<string>): "anyOf" | "oneOf" | undefined {
  const [, own] = parted(schema, beside);
  const [keyword, ...others] = Object.keys(own);
  return others.length === 0 && (keyword === "anyOf" || keyword === "oneOf") ? keyword : undefined;
}

/** The keywords that say nothing of values, and the others. */
export function parted(schema: JsonObject, beside: ReadonlySet<string>): [kept: JsonObject, own: JsonObject] {
  const entries = Object.entries(schema);
  const these = (kept: boolean) => Object.fromEntries(entries.filter(([key]) => beside.has(key) === kept));
  return [these(true), these(false)];
}

function asEnum(side: ObjectSide, beside: ReadonlySet<string>): ObjectSide {
  const keyword = onlyAlternative(side, beside);
  const branches = keyword === undefined ? undefined : side.schema[keyword];
  if (!Array.isArray(branches)) return side;
  const values: Json[] = [];
  for (const branch of branches) {
    const listed = isJsonObject(branch) ? onlyChoices(parted(branch, beside)[1]) : undefined;
    if (!listed) return side;
    values.push(...listed);
  }
  return { ...side, schema: { ...parted(side.schema, beside)[0], enum: values } };
}

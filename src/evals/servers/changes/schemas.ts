import { listProperties, listRequired, listTypes, type Type } from "../../base/jsonSchema/values.ts";
import { followRef, type Walk } from "../../base/jsonSchema/walk.ts";
import { quote } from "../../base/text/text.ts";
import { isJsonObject, type Json, type JsonObject, type Path, sameJson } from "../../base/types/json.ts";
import { findRenamed, formatName } from "./names.ts";
import { diffValues, listOnlyChoices, type ValueDifference, type ValueShift, valueKeywords } from "./values.ts";

/** A schema in one of the two lists: its content, its path, and the walk that resolves its references. */
type Side = { schema: Json; at: Path; walk: Walk };
type ObjectSide = Side & { schema: JsonObject };

/**
 * A place that is in both lists. `name` is its name in reports: `.filter.tags[].name`, empty for the whole schema. A
 * place in a branch (anyOf, additionalProperties) has the name of the schema that the branch belongs to, and `inside`
 * is true.
 */
type Spot = { name: string; inside: boolean; depth: number; progress: Progress };
/** Pairs that were already compared, because references may be circular, and how many more may be compared. */
type Progress = { known: Map<Json, Set<Json>>; left: number };

/** Far above what hosts accept. Differences beyond these limits are reported as unclear. */
const limits = { depth: 40, locations: 20_000, refs: 10, pairs: 10_000 } as const;

/** One difference between two schemas, and its place. `values`: a difference in the values that are accepted there. */
export type SchemaDifference = Pick<Spot, "name" | "inside"> & { at: Path } & (
    | ({ kind: "values" } & ValueDifference)
    | { kind: "removed"; property: string; renamed: string | undefined }
    | { kind: "added"; property: string; required: boolean; hasDefault: boolean; renames: string | undefined }
    | { kind: "required"; property: string; now: boolean }
    | { kind: "default"; before: Json | undefined; after: Json | undefined; wasRequired: boolean }
    | { kind: "wording"; keyword: string; before: Json | undefined; after: Json | undefined }
  );

const wordingKeywords = ["description", "title", "examples", "$comment", "deprecated", "readOnly", "writeOnly"];
/** Keywords that do not restrict values. Definitions are compared where they are referred to. */
const annotationKeywords: ReadonlySet<string> = new Set([
  ...wordingKeywords,
  ...["default", "$schema", "$id", "$anchor", "$defs", "definitions"],
]);
/** Keywords that are compared one by one. A difference in any other keyword is unclear. */
const comparedKeywords: ReadonlySet<string> = new Set([
  ...annotationKeywords,
  ...valueKeywords,
  ...["properties", "required", "additionalProperties", "items"],
]);

/** Lists the differences between two whole schemas, in terms of JSON Schema. */
export function diffWholeSchemas(before: Side, after: Side): Iterable<SchemaDifference> {
  return diffSchemas(before, after, {
    name: "",
    inside: false,
    depth: 0,
    progress: { known: new Map(), left: limits.locations },
  });
}

/** Lists the differences at a place and below it. */
function* diffSchemas(before: Side, after: Side, spot: Spot): Iterable<SchemaDifference> {
  if (!isNewPair(before.schema, after.schema, spot.progress)) return;
  const [old, current] = [resolve(before), resolve(after)];
  if (!isObjectSide(old) || !isObjectSide(current)) {
    yield* diffBooleans(old.schema, current, spot);
    return;
  }
  if (spot.depth > limits.depth || spot.progress.left === 0) {
    if (!sameJson(old.schema, current.schema)) yield report(spot, current, unclear("a deeply nested schema changed"));
    return;
  }
  const below = { ...spot, depth: spot.depth + 1 };
  const enums = [toEnum(old), toEnum(current)] as const;
  const [then, now] = enums.some(({ schema }) => findUnion(schema)) ? [old, current] : enums;
  const keyword = findCommonUnion(then.schema, now.schema);
  if (keyword === undefined) {
    for (const difference of diffValues(then.schema, now.schema)) yield report(spot, current, difference);
    yield* diffProperties(then, now, below);
    if (hasEither(then, now, "items")) yield* diffItems(then, now, below);
    if (hasEither(then, now, "additionalProperties")) yield* diffAdditional(then, now, { ...below, inside: true });
    for (const what of diffOtherKeywords(then, now)) yield report(spot, current, unclear(what));
  } else yield* diffAlternatives(keyword, listBranches(then, keyword), listBranches(now, keyword), current, below);
  for (const keyword of wordingKeywords) {
    const [was, is] = [then.schema[keyword], now.schema[keyword]];
    const location = { name: spot.name, inside: spot.inside, at: current.at };
    if (!sameJson(was, is)) yield { ...location, kind: "wording", keyword, before: was, after: is };
  }
}

const report = ({ name, inside }: Spot, { at }: Side, difference: ValueDifference): SchemaDifference => ({
  ...{ name, inside, at, kind: "values" },
  ...difference,
});

const unclear = (what: string): ValueDifference => ({ keyword: "schema", shift: "unclear", what });

function isObjectSide(side: Side): side is ObjectSide {
  return isJsonObject(side.schema);
}

/** Whether a pair of schemas is new, and marks it as compared. Only references lead to a pair twice. */
function isNewPair(before: Json, after: Json, progress: Progress): boolean {
  progress.left = Math.max(0, progress.left - 1);
  if (!isJsonObject(before) || !isJsonObject(after)) return true;
  if (before.$ref === undefined && after.$ref === undefined) return true;
  const partners = progress.known.get(before) ?? new Set();
  if (partners.has(after)) return false;
  progress.known.set(before, partners.add(after));
  return true;
}

/** Splits a schema into the keywords that do not restrict values, and those that do. */
function splitSchema(schema: JsonObject): [annotations: JsonObject, restrictions: JsonObject] {
  const entries = Object.entries(schema);
  const pick = (isAnnotation: boolean) =>
    Object.fromEntries(entries.filter(([key]) => annotationKeywords.has(key) === isAnnotation));
  return [pick(true), pick(false)];
}

/** Replaces a reference by the schema that it leads to, combined with the keywords next to it, and `true` by `{}`. */
function resolve(side: Side): Side {
  let { schema, at, walk } = side;
  for (let i = 0; i < limits.refs && isJsonObject(schema) && typeof schema.$ref === "string"; i++) {
    const target = followRef(schema.$ref, walk);
    if (target.kind !== "local") break;
    const { $ref: _, ...others } = schema;
    schema = combine(target.schema, others);
    at = target.at;
  }
  return { schema: schema === true ? {} : schema, at, walk };
}

/** Combines the target of a reference and the keywords next to it into a schema that accepts only what both accept. */
function combine(target: Json, others: JsonObject): Json {
  if (target === true) return others;
  if (!isJsonObject(target)) return target;
  const [annotations, restrictions] = splitSchema(others);
  if (Object.keys(restrictions).length === 0) return { ...target, ...annotations };
  const branches = Array.isArray(target.allOf) ? target.allOf : [];
  return { ...target, ...annotations, allOf: [...branches, restrictions] };
}

/** Compares schemas of which at least one is `true`, `false` or invalid. */
function* diffBooleans(before: Json, after: Side, spot: Spot): Iterable<SchemaDifference> {
  if (sameJson(before, after.schema)) return;
  const isSchema = (value: Json) => isJsonObject(value) || typeof value === "boolean";
  if (!isSchema(before) || !isSchema(after.schema)) yield report(spot, after, unclear("the schema was or is invalid"));
  else {
    const isNone = after.schema === false;
    const what = isNone ? "no longer accepts any value" : "now accepts values";
    yield report(spot, after, { keyword: "schema", shift: isNone ? "narrower" : "wider", what });
  }
}

/** Compares the properties that two schemas name, and which of them are required. */
function* diffProperties(before: ObjectSide, after: ObjectSide, spot: Spot): Iterable<SchemaDifference> {
  const [old, current] = [new Map(listProperties(before.schema)), new Map(listProperties(after.schema))];
  const [had, has] = [new Set(listRequired(before.schema)), new Set(listRequired(after.schema))];
  const renamed = findRenamed(old, current);
  const renames = new Map([...renamed].map(([from, to]) => [to, from]));
  const { inside } = spot;
  const nameOf = (property: string) => (inside ? spot.name : `${spot.name}.${formatName(property)}`);
  for (const [property, schema] of old) {
    const next = current.get(property);
    const at = [...(current.has(property) ? after : before).at, "properties", property];
    if (next === undefined) {
      yield { name: spot.name, inside, at, kind: "removed", property, renamed: renamed.get(property) };
      continue;
    }
    const here = { name: nameOf(property), inside, at };
    const [wasRequired, isRequired] = [had.has(property), has.has(property)];
    if (wasRequired !== isRequired) yield { ...here, kind: "required", property, now: isRequired };
    const [was, is] = [readDefault(schema), readDefault(next)];
    if (!sameJson(was, is) && !(isRequired && !wasRequired && is === undefined))
      yield { ...here, kind: "default", before: was, after: is, wasRequired };
    const oldSide = { schema, at: [...before.at, "properties", property], walk: before.walk };
    yield* diffSchemas(oldSide, { schema: next, at, walk: after.walk }, { ...spot, name: here.name });
  }
  for (const [property, schema] of current) {
    if (old.has(property)) continue;
    const at = [...after.at, "properties", property];
    const required = has.has(property) && !had.has(property);
    const hasDefault = readDefault(schema) !== undefined;
    const added = { kind: "added", property, required, hasDefault, renames: renames.get(property) } as const;
    yield { name: spot.name, inside, at, ...added };
  }
  for (const property of new Set([...had, ...has])) {
    // Properties that both schemas describe, and those that were added or removed, are reported above.
    if (old.has(property) || had.has(property) === has.has(property)) continue;
    if (current.has(property) && has.has(property)) continue;
    yield { name: nameOf(property), inside, at: after.at, kind: "required", property, now: has.has(property) };
  }
}

function readDefault(schema: Json): Json | undefined {
  return isJsonObject(schema) ? schema.default : undefined;
}

const hasEither = (before: ObjectSide, after: ObjectSide, keyword: string) =>
  Object.hasOwn(before.schema, keyword) || Object.hasOwn(after.schema, keyword);

/** The schema under a keyword; `true`, which accepts anything, if there is none. */
const inner = (side: ObjectSide, keyword: string): Side => ({
  ...side,
  schema: side.schema[keyword] ?? true,
  at: Object.hasOwn(side.schema, keyword) ? [...side.at, keyword] : side.at,
});

function* diffItems(before: ObjectSide, after: ObjectSide, spot: Spot): Iterable<SchemaDifference> {
  const [old, current] = [inner(before, "items"), inner(after, "items")];
  const name = spot.inside ? spot.name : `${spot.name}[]`;
  if (!Array.isArray(old.schema) && !Array.isArray(current.schema)) yield* diffSchemas(old, current, { ...spot, name });
  else if (!sameJson(old.schema, current.schema)) yield report(spot, current, unclear("items changed"));
}

function* diffAdditional(before: ObjectSide, after: ObjectSide, spot: Spot): Iterable<SchemaDifference> {
  const keyword = "additionalProperties";
  const [old, current] = [inner(before, keyword), inner(after, keyword)];
  const isOpen = (schema: Json) => schema === true || (isJsonObject(schema) && Object.keys(schema).length === 0);
  const what = (verb: string) => `${verb} properties that it does not name`;
  if (isOpen(old.schema) && current.schema === false)
    yield report(spot, current, { keyword, shift: "narrower", what: what("no longer accepts") });
  else if (old.schema === false && isOpen(current.schema))
    yield report(spot, current, { keyword, shift: "perhaps wider", what: what("now accepts") });
  else yield* diffSchemas(old, current, spot);
}

/** Differences in keywords that are not compared one by one, or are malformed. */
function* diffOtherKeywords(
  { schema: old, walk: before }: ObjectSide,
  { schema: current, walk: after }: ObjectSide,
): Iterable<string> {
  const isMalformed = (key: string, value: Json | undefined) =>
    value !== undefined &&
    ((key === "properties" && !isJsonObject(value)) || (key === "required" && !Array.isArray(value)));
  for (const key of new Set([...Object.keys(old), ...Object.keys(current)])) {
    const [was, is] = [old[key], current[key]];
    if (comparedKeywords.has(key) && !isMalformed(key, was) && !isMalformed(key, is)) continue;
    if (!sameJson(was, is)) yield `${quote(key)} changed`;
    else if (!annotationKeywords.has(key) && refersElsewhere(was, before, after))
      yield `what ${quote(key)} refers to may have changed`;
  }
}

/** Whether a value contains a reference, and the definitions of the two documents differ. */
function refersElsewhere(value: Json | undefined, before: Walk, after: Walk): boolean {
  const waiting = [value];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    if (isJsonObject(next) && typeof next.$ref === "string") {
      return !["$defs", "definitions"].every((key) =>
        sameJson(before.locations[0]?.schema[key], after.locations[0]?.schema[key]),
      );
    }
    if (typeof next === "object" && next !== null) waiting.push(...Object.values(next));
  }
  return false;
}

type Union = "anyOf" | "oneOf";

/** The keyword, anyOf or oneOf, that is the only restriction of a schema and has branches. */
function findUnion(schema: JsonObject): Union | undefined {
  const [keyword, ...others] = Object.keys(splitSchema(schema)[1]);
  if (others.length > 0 || (keyword !== "anyOf" && keyword !== "oneOf")) return undefined;
  const branches = schema[keyword];
  return Array.isArray(branches) && branches.length > 0 ? keyword : undefined;
}

/**
 * The keyword by whose branches two schemas are compared: both are purely such a union, or one of them is, such as a
 * type that can now also be null, and the other one counts as its only branch.
 */
function findCommonUnion(before: JsonObject, after: JsonObject): Union | undefined {
  const [old, current] = [findUnion(before), findUnion(after)];
  const hasUnion = (schema: JsonObject) => schema.anyOf !== undefined || schema.oneOf !== undefined;
  if (old !== undefined && current !== undefined) return old === current ? old : undefined;
  return hasUnion(before) && hasUnion(after) ? undefined : (old ?? current);
}

/** The branches of a union, a branch of several types as one branch for each; a schema that is no union is the only branch. */
function listBranches({ schema, at, walk }: ObjectSide, keyword: Union): Side[] {
  const branches = schema[keyword];
  const sides = Array.isArray(branches)
    ? branches.map((branch, index) => ({ schema: branch, at: [...at, keyword, index], walk }))
    : [{ schema: splitSchema(schema)[1], at, walk }];
  return sides.flatMap((side) => {
    const { schema: branch } = side;
    const types = isJsonObject(branch) ? listTypes(branch) : [];
    return isJsonObject(branch) && types.length > 1
      ? types.map((type) => ({ ...side, schema: { ...branch, type } }))
      : [side];
  });
}

/** Writes a union of single values as an enum. */
function toEnum(side: ObjectSide): ObjectSide {
  const keyword = findUnion(side.schema);
  const branches = keyword === undefined ? undefined : side.schema[keyword];
  if (!Array.isArray(branches)) return side;
  const values: Json[] = [];
  for (const branch of branches) {
    const choices = isJsonObject(branch) ? listOnlyChoices(splitSchema(branch)[1]) : undefined;
    if (!choices) return side;
    values.push(...choices);
  }
  return { ...side, schema: { ...splitSchema(side.schema)[0], enum: values } };
}

/**
 * Compares the branches of anyOf or oneOf. Branches that are equal or of the same types are the same alternative. If no
 * two branches of a list accept the same type of value, a difference in one is a difference of the whole; otherwise
 * another branch may accept what this one no longer does.
 */
function* diffAlternatives(
  keyword: Union,
  old: readonly Side[],
  current: readonly Side[],
  after: Side,
  spot: Spot,
): Iterable<SchemaDifference> {
  const here = { ...spot, inside: true };
  const schemas = (sides: readonly Side[]) => sides.map(({ schema }) => schema);
  if (old.length * current.length > limits.pairs) {
    if (!sameJson(schemas(old), schemas(current))) yield report(here, after, unclear(`${keyword} changed`));
    return;
  }
  const areDisjoint = haveDisjointTypes(old) && haveDisjointTypes(current);
  const free = new Set(current);
  const takeMatched = (sides: readonly Side[], fits: (a: Json, b: Json) => boolean) =>
    sides.map((was) => {
      const is = [...free].find(({ schema }) => fits(was.schema, schema));
      if (is) free.delete(is);
      return { was, is };
    });
  const equal = takeMatched(old, sameJson);
  const unequal = equal.flatMap(({ was, is }) => (is ? [] : [was]));
  const similar = takeMatched(unequal, (a, b) => kindsOf(a) !== "" && kindsOf(a) === kindsOf(b));
  for (const { was, is } of [...equal, ...similar]) {
    for (const difference of is ? diffSchemas(was, is, here) : []) {
      const isCertain = areDisjoint || difference.kind === "wording";
      yield isCertain ? difference : report(here, is ?? after, unclear(`a branch of ${keyword} changed`));
    }
  }
  const shift = (kind: "narrower" | "wider"): ValueShift =>
    areDisjoint ? kind : keyword === "anyOf" ? `perhaps ${kind}` : "unclear";
  for (const { was, is } of similar)
    if (!is)
      yield report(here, after, {
        ...{ keyword, shift: shift("narrower") },
        what: `no longer accepts ${describeBranch(was.schema)}`,
      });
  for (const branch of free)
    yield report(here, branch, {
      ...{ keyword, shift: shift("wider") },
      what: `now accepts ${describeBranch(branch.schema)}`,
    });
}

const toKind = (type: Type) => (type === "integer" ? "number" : type);
const kindsOf = (schema: Json) => (isJsonObject(schema) ? listTypes(schema).map(toKind).join() : "");

/** Whether no two branches accept values of the same type. */
function haveDisjointTypes(branches: readonly Side[]): boolean {
  const seen = new Set<string>();
  for (const { schema } of branches) {
    const kinds = new Set(isJsonObject(schema) ? listTypes(schema).map(toKind) : []);
    if (kinds.size === 0 || [...kinds].some((kind) => seen.has(kind))) return false;
    for (const kind of kinds) seen.add(kind);
  }
  return true;
}

const describeBranch = (schema: Json) =>
  (isJsonObject(schema) && listTypes(schema).join(" or ")) || "the values of one branch";

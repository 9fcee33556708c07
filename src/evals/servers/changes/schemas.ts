import { explainTypeMisfit, isType, listProperties, listRequired, listTypes } from "../../base/jsonSchema/keywords.ts";
import { followRef, type Walk } from "../../base/jsonSchema/walk.ts";
import { quote, showValue, showValues } from "../../base/text/text.ts";
import { isJsonObject, type Json, type JsonObject, type Path, sameJson } from "../../base/types/json.ts";
import { findRenamed, formatName } from "./names.ts";

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
const limits = { depth: 40, locations: 20_000, refs: 10, unions: 3 } as const;

/** Whether values were lost or gained. `perhaps`: the rest of the schema may cancel it, or it cannot be decided. */
export type Chance = "yes" | "perhaps" | "no";
/** Which values a schema accepts no longer, and which it accepts now. */
type ValueShift = { lost: Chance; gained: Chance; what: string };

/** One difference between two schemas, and its place. `values`: a difference in the values that are accepted there. */
export type SchemaDifference = Pick<Spot, "name" | "inside"> & { at: Path } & (
    | ({ kind: "values" } & ValueShift)
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
    if (!sameJson(old.schema, current.schema)) yield report(spot, current, unclear("the schema was or is invalid"));
    return;
  }
  if (spot.depth > limits.depth || spot.progress.left === 0) {
    if (!sameJson(old.schema, current.schema)) yield report(spot, current, unclear("a deeply nested schema changed"));
    return;
  }
  const [then, now] = splitBoth(old, current, spot.progress);
  for (const shift of diffParts(then, now)) yield report(spot, current, shift);
  const pairs = pairParts(then, now);
  for (const [index, { was, is }] of pairs.entries()) {
    const isSame = (other: PartPair) => other.was.side === was.side && other.is.side === is.side;
    if (pairs.findIndex(isSame) < index) continue;
    const isBranch = was.isBranch || is.isBranch;
    const below = { ...spot, inside: spot.inside || isBranch, depth: spot.depth + 1 };
    const kinds = new Set(pairs.filter(isSame).map((pair) => pair.was.kind));
    yield* diffKeywords(was.side, is.side, kinds, below);
    if (was.isBranch && is.isBranch) yield* diffWording(was.side, is.side, below);
  }
  yield* diffWording(old, current, spot);
}

function* diffWording(before: ObjectSide, after: ObjectSide, { name, inside }: Spot): Iterable<SchemaDifference> {
  for (const keyword of wordingKeywords) {
    const [was, is] = [before.schema[keyword], after.schema[keyword]];
    if (!sameJson(was, is)) yield { name, inside, at: after.at, kind: "wording", keyword, before: was, after: is };
  }
}

const report = ({ name, inside }: Spot, { at }: Side, shift: ValueShift): SchemaDifference => ({
  ...{ name, inside, at, kind: "values" },
  ...shift,
});

const unclear = (what: string): ValueShift => ({ lost: "perhaps", gained: "perhaps", what });
const toChance = (isCertain: boolean): Chance => (isCertain ? "yes" : "no");

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

/**
 * Replaces a reference by the schema that it leads to, combined with the keywords next to it, `true` by `{}`, and
 * `false` by an empty enum.
 */
function resolve(side: Side): Side {
  let { schema, at, walk } = side;
  for (let i = 0; i < limits.refs && isJsonObject(schema) && typeof schema.$ref === "string"; i++) {
    const target = followRef(schema.$ref, walk);
    if (target.kind !== "local") break;
    const { $ref: _, ...others } = schema;
    schema = combine(target.schema, others);
    at = target.at;
  }
  if (isJsonObject(schema)) return { schema: closeBounds(schema), at, walk };
  return { schema: schema === true ? {} : schema === false ? { enum: [] } : schema, at, walk };
}

/** Writes the exclusive bounds of integers as inclusive ones. */
function closeBounds(schema: JsonObject): JsonObject {
  const { exclusiveMinimum: over, exclusiveMaximum: under, ...others } = schema;
  const isNumeric = ["minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum"].every((keyword) =>
    areWellFormed(keyword, schema[keyword]),
  );
  if (!isNumeric || listTypes(schema).join() !== "integer") return schema;
  const { minimum = -Infinity, maximum = Infinity } = others;
  return {
    ...others,
    ...(over !== undefined && { minimum: Math.max(Number(minimum), Math.floor(Number(over)) + 1) }),
    ...(under !== undefined && { maximum: Math.min(Number(maximum), Math.ceil(Number(under)) - 1) }),
  };
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

const kinds = ["string", "number", "boolean", "array", "object", "null"] as const;
type Kind = (typeof kinds)[number];

/**
 * What a schema accepts of one kind of value: what `side` accepts, and only `choices` if there are any. A schema in
 * normal form has at most one part of each kind, so `{type: ["string", "null"]}` and `anyOf` of the two are the same.
 */
type Part = { kind: Kind; side: ObjectSide; areIntegers: boolean; choices: Json[] | undefined; isBranch: boolean };

/** Brings two schemas into normal form. Unions whose branches overlap have none: then both are taken as they are. */
function splitBoth(old: ObjectSide, current: ObjectSide, progress: Progress): [Part[], Part[]] {
  const [then, now] = [splitUnion(old, progress), splitUnion(current, progress)];
  return then && now ? [then, now] : [splitKinds(old), splitKinds(current)];
}

function splitKinds(side: ObjectSide): Part[] {
  const types = listTypes(side.schema);
  const listed = listChoices(side.schema);
  return kinds.flatMap((kind): Part[] => {
    const own = types.filter((type) => type === kind || (kind === "number" && type === "integer"));
    const choices = listed?.filter((value) => readKind(value) === kind) ?? fixedChoices[kind];
    if (choices?.length === 0 || (types.length > 0 && own.length === 0)) return [];
    const areIntegers = kind === "number" && (choices?.every(Number.isInteger) ?? own.join() === "integer");
    return [{ kind, side, areIntegers, choices, isBranch: false }];
  });
}

const fixedChoices: { readonly [K in Kind]?: Json[] } = { boolean: [true, false], null: [null] };

function readKind(value: Json): Kind {
  return value === null ? "null" : Array.isArray(value) ? "array" : (typeof value as Kind);
}

/** The values of a schema with enum or const; undefined for any other schema. */
function listChoices(schema: JsonObject): Json[] | undefined {
  const { const: only } = schema;
  const listed = Array.isArray(schema.enum) ? schema.enum : undefined;
  const values = only === undefined ? listed : listed?.some((value) => sameJson(value, only)) === false ? [] : [only];
  return values?.filter((value) => explainTypeMisfit(value, schema) === undefined);
}

/**
 * The parts of all branches of a union, and of any other schema; undefined if two branches accept the same kind of
 * value, unless both are lists of values.
 */
function splitUnion(side: ObjectSide, progress: Progress, levels: number = limits.unions): Part[] | undefined {
  const [keyword, ...others] = Object.keys(splitSchema(side.schema)[1]);
  const branches = keyword === "anyOf" || keyword === "oneOf" ? side.schema[keyword] : undefined;
  if (others.length > 0 || keyword === undefined || !Array.isArray(branches)) return splitKinds(side);
  progress.left = Math.max(0, progress.left - branches.length);
  if (levels === 0 || progress.left === 0) return undefined;
  const parts = new Map<Kind, Part>();
  for (const [index, schema] of branches.entries()) {
    const branch = resolve({ ...side, schema, at: [...side.at, keyword, index] });
    const own = isObjectSide(branch) ? splitUnion(branch, progress, levels - 1) : undefined;
    if (!own) return undefined;
    for (const part of own) {
      const found = parts.get(part.kind);
      if (!found) parts.set(part.kind, { ...part, choices: part.choices && [...part.choices], isBranch: true });
      else if (!found.choices || !part.choices || !isOnlyChoices(found) || !isOnlyChoices(part)) return undefined;
      else {
        for (const choice of part.choices) found.choices.push(choice);
        found.areIntegers &&= part.areIntegers;
      }
    }
  }
  const all = [...parts.values()];
  const hasTwice = ({ choices = [] }: Part) => new Set(choices).size < choices.length;
  return keyword === "oneOf" && all.some(hasTwice) ? undefined : all;
}

/** Whether a part is a list of values that can be told apart by identity, without other restrictions. */
function isOnlyChoices({ kind, side }: Part): boolean {
  const restrictions = Object.keys(splitSchema(side.schema)[1]);
  return kind !== "array" && kind !== "object" && restrictions.every((key) => ["type", "enum", "const"].includes(key));
}

type PartPair = { was: Part; is: Part };

/** The parts of both schemas that are of the same kind. */
function pairParts(then: readonly Part[], now: readonly Part[]): PartPair[] {
  return then.flatMap((was) => now.filter(({ kind }) => kind === was.kind).map((is) => ({ was, is })));
}

/** Compares the types of two schemas and the values that they list. */
function* diffParts(then: readonly Part[], now: readonly Part[]): Iterable<ValueShift> {
  const [lost, gained] = [hasOtherTypes(then, now), hasOtherTypes(now, then)];
  const what = `type changed from ${nameParts(then)} to ${nameParts(now)}`;
  if (lost || gained) yield { lost: toChance(lost), gained: toChance(gained), what };
  for (const { was, is } of pairParts(then, now)) yield* diffChoices(was.choices, is.choices);
}

/** Whether a schema accepts a type that the other one does not: another kind of value, or fractions. */
function hasOtherTypes(parts: readonly Part[], others: readonly Part[]): boolean {
  return parts.some(({ kind, areIntegers }) => {
    const other = others.find((one) => one.kind === kind);
    return !other || (!areIntegers && other.areIntegers && !other.choices);
  });
}

function nameParts(parts: readonly Part[]): string {
  if (parts.length === kinds.length) return "not set";
  return parts.map(({ kind, areIntegers }) => (areIntegers ? "integer" : kind)).join(" or ") || "no value";
}

function* diffChoices(old: readonly Json[] | undefined, current: readonly Json[] | undefined): Iterable<ValueShift> {
  if (!old || !current) {
    if (current) yield { lost: "yes", gained: "no", what: `now accepts only ${showValues(current)}` };
    if (old) yield { lost: "no", gained: "yes", what: `is no longer limited to ${showValues(old)}` };
  } else if ([...old, ...current].some((value) => typeof value === "object" && value !== null)) {
    if (!sameJson([...old], [...current])) yield unclear("the allowed values changed");
  } else {
    const [had, has] = [new Set(old), new Set(current)];
    const [lost, gained] = [[...had].filter((value) => !has.has(value)), [...has].filter((value) => !had.has(value))];
    const lostText = lost.length > 0 ? [`no longer accepts ${showValues(lost)}`] : [];
    const what = [...lostText, ...(gained.length > 0 ? [`now accepts ${showValues(gained)}`] : [])].join(" and ");
    if (what) yield { lost: toChance(lost.length > 0), gained: toChance(gained.length > 0), what };
  }
}

/** A keyword with a plain value that restricts some kinds of values. */
type Restriction = { kinds: readonly Kind[]; type: "number" | "string" | "boolean"; loses: Loses };
/** Whether a change of the keyword from one value to another loses values. */
type Loses = (was: Json | undefined, is: Json | undefined) => Chance;

/** A lower bound of numbers or sizes, or an upper one (`sign` is -1). */
function restrictBound(kind: Kind, sign: 1 | -1): Restriction {
  const loosest = kind === "number" || sign === -1 ? -Infinity : 0;
  const read = (value: Json | undefined) => Math.max(loosest, typeof value === "number" ? sign * value : -Infinity);
  return { kinds: [kind], type: "number", loses: (was, is) => toChance(read(is) > read(was)) };
}

const isDivisible = (value: Json | undefined, by: Json | undefined) =>
  typeof value === "number" && typeof by === "number" && Number.isInteger(value / by);

/** Two patterns cannot be compared, and a format may not be enforced. */
const restrictions = new Map<string, Restriction>([
  ...["minimum", "exclusiveMinimum"].map((key): [string, Restriction] => [key, restrictBound("number", 1)]),
  ...["maximum", "exclusiveMaximum"].map((key): [string, Restriction] => [key, restrictBound("number", -1)]),
  ["minLength", restrictBound("string", 1)],
  ["maxLength", restrictBound("string", -1)],
  ["minItems", restrictBound("array", 1)],
  ["maxItems", restrictBound("array", -1)],
  ["minProperties", restrictBound("object", 1)],
  ["maxProperties", restrictBound("object", -1)],
  [
    "multipleOf",
    { kinds: ["number"], type: "number", loses: (was, is) => toChance(is !== undefined && !isDivisible(was, is)) },
  ],
  [
    "pattern",
    {
      kinds: ["string"],
      type: "string",
      loses: (was, is) => (is === undefined ? "no" : was === undefined ? "yes" : "perhaps"),
    },
  ],
  ["format", { kinds: ["string", "number"], type: "string", loses: (_, is) => (is === undefined ? "no" : "perhaps") }],
  ["uniqueItems", { kinds: ["array"], type: "boolean", loses: (was, is) => toChance(is === true && was !== true) }],
]);

/** Compares the keywords that restrict these kinds of values, and those that may restrict any. */
function* diffKeywords(
  before: ObjectSide,
  after: ObjectSide,
  kinds: ReadonlySet<Kind>,
  spot: Spot,
): Iterable<SchemaDifference> {
  for (const [keyword, { kinds: own, loses }] of restrictions) {
    const [was, is] = [before.schema[keyword], after.schema[keyword]];
    if (was === is || !own.some((kind) => kinds.has(kind)) || !areWellFormed(keyword, was, is)) continue;
    const [lost, gained] = [loses(was, is), loses(is, was)];
    const show = (value: Json | undefined) => (value === undefined ? "not set" : showValue(value));
    const what = `${keyword} changed from ${show(was)} to ${show(is)}`;
    if (lost !== "no" || gained !== "no") yield report(spot, after, { lost, gained, what });
  }
  if (kinds.has("object")) {
    yield* diffProperties(before, after, spot);
    if (hasEither(before, after, "additionalProperties"))
      yield* diffAdditional(before, after, { ...spot, inside: true });
  }
  if (kinds.has("array") && hasEither(before, after, "items")) {
    const [old, current] = [inner(before, "items"), inner(after, "items")];
    const name = spot.inside ? spot.name : `${spot.name}[]`;
    if (![old, current].some(({ schema }) => Array.isArray(schema)))
      yield* diffSchemas(old, current, { ...spot, name });
  }
  yield* diffOtherKeywords(before, after, spot);
}

/** Whether a keyword is compared by itself and both values have its form. A difference in any other one is unclear. */
function areWellFormed(keyword: string, ...values: (Json | undefined)[]): boolean {
  return values.every((value) => {
    if (value === undefined || annotationKeywords.has(keyword)) return true;
    if (keyword === "const" || keyword === "additionalProperties") return true;
    if (keyword === "type") return [value].flat().every(isType);
    if (keyword === "enum" || keyword === "required") return Array.isArray(value);
    if (keyword === "properties") return isJsonObject(value);
    if (keyword === "items") return !Array.isArray(value);
    return restrictions.get(keyword)?.type === typeof value;
  });
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

function* diffAdditional(before: ObjectSide, after: ObjectSide, spot: Spot): Iterable<SchemaDifference> {
  const keyword = "additionalProperties";
  const [old, current] = [inner(before, keyword), inner(after, keyword)];
  const isOpen = (schema: Json) => schema === true || (isJsonObject(schema) && Object.keys(schema).length === 0);
  const what = (verb: string) => `${verb} properties that it does not name`;
  if (isOpen(old.schema) && current.schema === false)
    yield report(spot, current, { lost: "yes", gained: "no", what: what("no longer accepts") });
  else if (old.schema === false && isOpen(current.schema))
    yield report(spot, current, { lost: "no", gained: "perhaps", what: what("now accepts") });
  else yield* diffSchemas(old, current, spot);
}

/** Differences in keywords that are not compared one by one, or are malformed. */
function* diffOtherKeywords(before: ObjectSide, after: ObjectSide, spot: Spot): Iterable<SchemaDifference> {
  for (const key of new Set([...Object.keys(before.schema), ...Object.keys(after.schema)])) {
    const [was, is] = [before.schema[key], after.schema[key]];
    if (areWellFormed(key, was, is)) continue;
    if (["anyOf", "oneOf", "allOf"].includes(key) && Array.isArray(was) && Array.isArray(is)) {
      yield* diffBranches(key, inner(before, key), inner(after, key), { ...spot, inside: true });
    } else if (!sameJson(was, is)) yield report(spot, after, unclear(`${quote(key)} changed`));
    else if (refersElsewhere(was, before.walk, after.walk))
      yield report(spot, after, unclear(`what ${quote(key)} refers to may have changed`));
  }
}

/**
 * Compares branches of which several may accept the same value, in order. A difference in one of them is no certain
 * difference of the whole, except that further branches of anyOf only add values.
 */
function* diffBranches(keyword: string, before: Side, after: Side, spot: Spot): Iterable<SchemaDifference> {
  const [old, current] = [before, after].map((side) =>
    [side.schema].flat().map((schema, index): Side => ({ ...side, schema, at: [...side.at, index] })),
  ) as [Side[], Side[]];
  let isChanged = old.length !== current.length && keyword !== "anyOf";
  for (const [index, is] of current.entries()) {
    const was = old[index];
    if (!was) break;
    for (const difference of diffSchemas(was, is, spot)) {
      if (difference.kind === "wording") yield difference;
      else isChanged = true;
    }
  }
  if (isChanged) yield report(spot, after, unclear(`${quote(keyword)} changed`));
  else if (old.length > current.length)
    yield report(spot, after, { lost: "perhaps", gained: "no", what: `${keyword} lost branches` });
  else if (old.length < current.length)
    yield report(spot, after, { lost: "no", gained: "perhaps", what: `${keyword} gained branches` });
}

/** Whether a value contains a reference, and the two documents differ. */
function refersElsewhere(value: Json | undefined, before: Walk, after: Walk): boolean {
  const waiting = [value];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    if (isJsonObject(next) && typeof next.$ref === "string")
      return !sameJson(before.locations[0]?.schema, after.locations[0]?.schema);
    if (typeof next === "object" && next !== null) waiting.push(...Object.values(next));
  }
  return false;
}

import { listProperties, listRequired } from "../../base/jsonSchema/values.ts";
import type { Walk } from "../../base/jsonSchema/walk.ts";
import { quote } from "../../base/text/text.ts";
import { isJsonObject, type Json, sameJson } from "../../base/types/json.ts";
import { diffBranches } from "./branches.ts";
import { findRenamed, formatName } from "./names.ts";
import {
  align,
  annotationKeywords,
  limits,
  makeValueDifference,
  type ObjectSide,
  resolveSide,
  type SchemaDifference,
  type Side,
  type Spot,
  wordingKeywords,
} from "./sides.ts";
import { diffValues, valueKeywords } from "./values.ts";

const branching = ["anyOf", "oneOf", "allOf"];
/** Keywords that are compared one by one. */
const compared = new Set([
  ...annotationKeywords,
  ...valueKeywords,
  ...branching,
  ...["properties", "required", "additionalProperties", "items"],
]);

/** Lists the differences between two schemas, in terms of JSON Schema. */
export function* diffSchemas(before: Side, after: Side, spot: Spot): Iterable<SchemaDifference> {
  if (!isNewPair(before.schema, after.schema, spot.progress)) return;
  const [old, current] = [resolveSide(before), resolveSide(after)];
  if (!isObjectSide(old) || !isObjectSide(current)) {
    yield* diffBooleans(old.schema, current, spot);
    return;
  }
  if (spot.depth > limits.depth || spot.progress.left === 0) {
    if (!sameJson(old.schema, current.schema)) yield unclear(spot, current, "a deeply nested schema changed");
    return;
  }
  const [then, now] = align(old, current);
  for (const difference of diffValues(then.schema, now.schema)) yield makeValueDifference(spot, current, difference);
  yield* diffProperties(then, now, spot);
  yield* diffBranches(then, now, spot, diffSchemas);
  for (const what of diffOtherKeywords(then, now)) yield unclear(spot, current, what);
  for (const keyword of wordingKeywords) {
    const [was, is] = [then.schema[keyword], now.schema[keyword]];
    const place = { name: spot.name, inside: spot.inside, at: current.at };
    if (!sameJson(was, is)) yield { ...place, kind: "wording", keyword, before: was, after: is };
  }
}

/** Whether a pair of schemas is new, and marks it as compared. Only references lead to a pair twice. */
function isNewPair(before: Json, after: Json, progress: Spot["progress"]): boolean {
  progress.left = Math.max(0, progress.left - 1);
  if (!isJsonObject(before) || !isJsonObject(after)) return true;
  if (before.$ref === undefined && after.$ref === undefined) return true;
  const partners = progress.known.get(before) ?? new Set();
  if (partners.has(after)) return false;
  progress.known.set(before, partners.add(after));
  return true;
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
    const below = { ...spot, name: here.name, depth: spot.depth + 1 };
    yield* diffSchemas(oldSide, { schema: next, at, walk: after.walk }, below);
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

/** Differences in keywords that are not compared one by one, or are malformed. */
function* diffOtherKeywords(
  { schema: old, walk: before }: ObjectSide,
  { schema: current, walk: after }: ObjectSide,
): Iterable<string> {
  const isMalformed = (key: string, value: Json | undefined) =>
    (key === "properties" && value !== undefined && !isJsonObject(value)) ||
    (["required", ...branching].includes(key) && value !== undefined && !Array.isArray(value));
  for (const key of new Set([...Object.keys(old), ...Object.keys(current)])) {
    const [was, is] = [old[key], current[key]];
    if (compared.has(key) && !isMalformed(key, was) && !isMalformed(key, is)) continue;
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
        sameJson(before.places[0]?.schema[key], after.places[0]?.schema[key]),
      );
    }
    if (typeof next === "object" && next !== null) waiting.push(...Object.values(next));
  }
  return false;
}

function unclear(spot: Spot, side: Side, what: string): SchemaDifference {
  return makeValueDifference(spot, side, { keyword: "schema", shift: "unclear", what });
}

function isObjectSide(side: Side): side is ObjectSide {
  return isJsonObject(side.schema);
}

function* diffBooleans(before: Json, after: Side, spot: Spot): Iterable<SchemaDifference> {
  if (sameJson(before, after.schema)) return;
  const isSchema = (value: Json) => isJsonObject(value) || typeof value === "boolean";
  if (!isSchema(before) || !isSchema(after.schema)) yield unclear(spot, after, "the schema was or is invalid");
  else {
    const isNone = after.schema === false;
    const what = isNone ? "no longer accepts any value" : "now accepts values";
    yield makeValueDifference(spot, after, { keyword: "schema", shift: isNone ? "narrower" : "wider", what });
  }
}

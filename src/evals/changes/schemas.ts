import type { Path } from "../jsonSchema/paths.ts";
import type { Walk } from "../jsonSchema/walk.ts";
import { followRef } from "../jsonSchema/walk.ts";
import { isJsonObject, type Json, type JsonObject } from "../types/json.ts";
import { quote } from "../types/quote.ts";
import { aligned, branchDifferences, parted } from "./branches.ts";
import { propertyDifferences } from "./properties.ts";
import { sameJson } from "./same.ts";
import { type Difference, isSchema, valueDifferences, valueKeywords } from "./values.ts";

/** A schema in one of the two lists: what it says, where it is, and the walk that its references are followed in. */
export type Side = { schema: Json; at: Path; walk: Walk };
/** `lifted`: what is written there is the only branch of an alternative (see `aligned`). */
export type ObjectSide = Side & { schema: JsonObject; lifted?: true };

/**
 * A place that both lists have. `name` is how a report calls it: `.filter.tags[].name`, empty for the whole; what is in a
 * branch (anyOf, additionalProperties) goes by the name of what the branch is in, and is `inside` of it. `known` are the
 * pairs of schemas that are compared already, for references may lead in circles, and `left` how many more may be.
 */
export type Spot = { name: string; inside: boolean; depth: number; progress: Progress };
type Progress = { known: Map<Json, Set<Json>>; left: number };

/** The whole of a schema, where a comparison starts. */
export function wholeSchema(): Spot {
  return { name: "", inside: false, depth: 0, progress: { known: new Map(), left: most.places } };
}

/** How the schemas inside of two others are compared: `schemaDifferences`, which all of this comes back to. */
export type Compare = (before: Side, after: Side, spot: Spot) => Iterable<SchemaDifference>;

/** One difference between two schemas, and where it is. `values`: of the values that the schema there takes. */
export type SchemaDifference = Pick<Spot, "name" | "inside"> & { at: Path } & (
    | ({ kind: "values" } & Difference)
    | { kind: "removed"; property: string; renamed: string | undefined }
    | { kind: "added"; property: string; required: boolean; hasDefault: boolean; renames: string | undefined }
    | { kind: "required"; property: string; now: boolean }
    | { kind: "default"; before: Json | undefined; after: Json | undefined; wasRequired: boolean }
    | { kind: "wording"; keyword: string; before: Json | undefined; after: Json | undefined }
  );

/** Far above what hosts take; what is beyond is not told apart. */
const most = { depth: 40, places: 20_000, refs: 10 } as const;
const wording = ["description", "title", "examples", "$comment", "deprecated", "readOnly", "writeOnly"] as const;
/** What stands beside a schema and says nothing of its values. Definitions count where they are referred to. */
const beside = new Set<string>([...wording, "default", "$schema", "$id", "$anchor", "$defs", "definitions"]);
const branching = ["anyOf", "oneOf", "allOf"] as const;
const compared = new Set([
  ...beside,
  ...valueKeywords,
  ...branching,
  "properties",
  "required",
  "additionalProperties",
  "items",
]);

/** What changed between two schemas, in the terms of JSON Schema; what it means for calls is another question. */
export function* schemaDifferences(before: Side, after: Side, spot: Spot): Iterable<SchemaDifference> {
  if (!isNews(before.schema, after.schema, spot.progress)) return;
  const [then, now] = [resolved(before), resolved(after)];
  if (!isObjectSide(then) || !isObjectSide(now)) {
    yield* booleanDifferences(then.schema, now, spot);
    return;
  }
  if (spot.depth > most.depth || spot.progress.left === 0) {
    if (!sameJson(then.schema, now.schema)) yield unclear(spot, now, "what is nested deep in it changed");
    return;
  }
  const [old, current] = aligned(then, now, beside);
  const here = { name: spot.name, inside: spot.inside, at: now.at };
  for (const difference of valueDifferences(old.schema, current.schema))
    yield { ...here, kind: "values", ...difference };
  yield* propertyDifferences(old, current, spot, schemaDifferences);
  yield* branchDifferences(old, current, spot, schemaDifferences);
  for (const what of otherDifferences(old, current)) yield unclear(spot, now, what);
  for (const keyword of wording) {
    const [was, is] = [old.schema[keyword], current.schema[keyword]];
    if (!sameJson(was, is)) yield { ...here, kind: "wording", keyword, before: was, after: is };
  }
}

/** Whether a pair of schemas was not compared before; it is then. Only references lead to one a second time. */
function isNews(before: Json, after: Json, progress: Progress): boolean {
  progress.left = Math.max(0, progress.left - 1);
  if (!isJsonObject(before) || !isJsonObject(after)) return true;
  if (before.$ref === undefined && after.$ref === undefined) return true;
  const partners = progress.known.get(before) ?? new Set();
  if (partners.has(after)) return false;
  progress.known.set(before, partners.add(after));
  return true;
}

/** What differs in keywords that are not compared one by one, or are malformed. */
function* otherDifferences(
  { schema: old, walk: then }: ObjectSide,
  { schema: current, walk: now }: ObjectSide,
): Iterable<string> {
  const isMalformed = (key: string, value: Json | undefined) =>
    (key === "properties" && value !== undefined && !isJsonObject(value)) ||
    (["required", ...branching].includes(key) && value !== undefined && !Array.isArray(value));
  for (const key of new Set([...Object.keys(old), ...Object.keys(current)])) {
    const [was, is] = [old[key], current[key]];
    if (compared.has(key) && !isMalformed(key, was) && !isMalformed(key, is)) continue;
    if (!sameJson(was, is)) yield `${quote(key)} changed`;
    else if (!beside.has(key) && refersToOther(was, then, now)) yield `what ${quote(key)} refers to may have changed`;
  }
}

/** Whether a value holds a reference, and the documents that it is followed in are not the same. */
function refersToOther(value: Json | undefined, then: Walk, now: Walk): boolean {
  const waiting = [value];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    if (isJsonObject(next) && typeof next.$ref === "string") {
      return !["$defs", "definitions"].every((key) =>
        sameJson(then.places[0]?.schema[key], now.places[0]?.schema[key]),
      );
    }
    if (typeof next === "object" && next !== null) waiting.push(...Object.values(next));
  }
  return false;
}

function unclear({ name, inside }: Spot, { at }: Side, what: string): SchemaDifference {
  return { name, inside, at, kind: "values", keyword: "schema", effect: "unclear", what };
}

function isObjectSide(side: Side): side is ObjectSide {
  return isJsonObject(side.schema);
}

function* booleanDifferences(
  then: Json,
  { schema: now, at }: Side,
  { name, inside }: Spot,
): Iterable<SchemaDifference> {
  if (sameJson(then, now)) return;
  const valid = isSchema(then) && isSchema(now);
  const effect = !valid ? "unclear" : now === false ? "narrower" : "wider";
  const what = !valid
    ? "the schema was or is no valid one"
    : now === false
      ? "no longer takes any value"
      : "now takes values";
  yield { name, inside, at, kind: "values", keyword: "schema", effect, what };
}
/** A reference as what it leads to, together with what stands beside it; `true` as the schema that takes anything. */
function resolved(side: Side): Side {
  let { schema, at, walk } = side;
  for (let i = 0; i < most.refs && isJsonObject(schema) && typeof schema.$ref === "string"; i++) {
    const target = followRef(schema.$ref, walk);
    if (target.kind !== "local") break;
    const { $ref: _, ...others } = schema;
    schema = together(target.schema, others);
    at = target.at;
  }
  return { schema: schema === true ? {} : schema, at, walk };
}

/** What takes only what both take: a schema that is referred to, and what stands beside the reference. */
function together(target: Json, others: JsonObject): Json {
  if (target === true) return others;
  if (!isJsonObject(target)) return target;
  const [said, own] = parted(others, beside);
  if (Object.keys(own).length === 0) return { ...target, ...said };
  return { ...target, ...said, allOf: [...(Array.isArray(target.allOf) ? target.allOf : []), own] };
}

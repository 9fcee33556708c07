import { followRef, type Walk } from "../../base/jsonSchema/walk.ts";
import { isJsonObject, type Json, type JsonObject, type Path } from "../../base/types/json.ts";
import { listOnlyChoices, type ValueDifference } from "./values.ts";

/** A schema in one of the two lists: its content, its path, and the walk that resolves its references. */
export type Side = { schema: Json; at: Path; walk: Walk };
/** `lifted`: the content is the only branch of an alternative (see `align`). */
export type ObjectSide = Side & { schema: JsonObject; lifted?: true };

/**
 * A place that is in both lists. `name` is its name in reports: `.filter.tags[].name`, empty for the whole schema. A
 * place in a branch (anyOf, additionalProperties) has the name of the schema that the branch belongs to, and `inside`
 * is true.
 */
export type Spot = { name: string; inside: boolean; depth: number; progress: Progress };
/** Pairs that were already compared, because references may be circular, and how many more may be compared. */
type Progress = { known: Map<Json, Set<Json>>; left: number };

/** Far above what hosts accept. Differences beyond these limits are reported as unclear. */
export const limits = { depth: 40, places: 20_000, refs: 10 } as const;

/** The place of a whole schema, where a comparison starts. */
export function startSpot(): Spot {
  return { name: "", inside: false, depth: 0, progress: { known: new Map(), left: limits.places } };
}

/** The type of `diffSchemas`, which is passed as an argument to avoid an import cycle. */
export type Compare = (before: Side, after: Side, spot: Spot) => Iterable<SchemaDifference>;

/** One difference between two schemas, and its place. `values`: a difference in the values that are accepted there. */
export type SchemaDifference = Pick<Spot, "name" | "inside"> & { at: Path } & (
    | ({ kind: "values" } & ValueDifference)
    | { kind: "removed"; property: string; renamed: string | undefined }
    | { kind: "added"; property: string; required: boolean; hasDefault: boolean; renames: string | undefined }
    | { kind: "required"; property: string; now: boolean }
    | { kind: "default"; before: Json | undefined; after: Json | undefined; wasRequired: boolean }
    | { kind: "wording"; keyword: string; before: Json | undefined; after: Json | undefined }
  );

/** Creates a difference in the accepted values. */
export function makeValueDifference(
  { name, inside }: Spot,
  { at }: Pick<Side, "at">,
  difference: ValueDifference,
): SchemaDifference {
  return { name, inside, at, kind: "values", ...difference };
}

export const wordingKeywords = ["description", "title", "examples", "$comment", "deprecated", "readOnly", "writeOnly"];
/** Keywords that do not restrict values. Definitions are compared where they are referred to. */
export const annotationKeywords: ReadonlySet<string> = new Set([
  ...wordingKeywords,
  ...["default", "$schema", "$id", "$anchor", "$defs", "definitions"],
]);

/** Splits a schema into the keywords that do not restrict values, and those that do. */
function splitSchema(schema: JsonObject): [annotations: JsonObject, restrictions: JsonObject] {
  const entries = Object.entries(schema);
  const pick = (isAnnotation: boolean) =>
    Object.fromEntries(entries.filter(([key]) => annotationKeywords.has(key) === isAnnotation));
  return [pick(true), pick(false)];
}

/** Replaces a reference by the schema that it leads to, combined with the keywords next to it, and `true` by `{}`. */
export function resolveSide(side: Side): Side {
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

/**
 * Converts two schemas so that they can be compared keyword by keyword. An anyOf or oneOf of single values becomes an
 * enum. If only one of the two is purely an anyOf or oneOf, such as a type that can now also be null, the other becomes
 * one with itself as the only branch.
 */
export function align(before: ObjectSide, after: ObjectSide): [ObjectSide, ObjectSide] {
  const isUnion = ({ schema }: ObjectSide) => schema.anyOf !== undefined || schema.oneOf !== undefined;
  const [old, current] = [toEnum(before), toEnum(after)];
  if (!isUnion(old) && !isUnion(current)) return [old, current];
  const [union, plain] = isUnion(before) ? [before, after] : [after, before];
  const keyword = findPureAlternative(union);
  if (isUnion(plain) || keyword === undefined) return [before, after];
  const [annotations, restrictions] = splitSchema(plain.schema);
  const lifted: ObjectSide = { ...plain, schema: { ...annotations, [keyword]: [restrictions] }, lifted: true };
  return isUnion(before) ? [before, lifted] : [lifted, after];
}

/** The keyword, anyOf or oneOf, that is the only restriction of a schema. */
function findPureAlternative({ schema }: ObjectSide): "anyOf" | "oneOf" | undefined {
  const [, restrictions] = splitSchema(schema);
  const [keyword, ...others] = Object.keys(restrictions);
  return others.length === 0 && (keyword === "anyOf" || keyword === "oneOf") ? keyword : undefined;
}

function toEnum(side: ObjectSide): ObjectSide {
  const keyword = findPureAlternative(side);
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

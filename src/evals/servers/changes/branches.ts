import { listTypes, type Type } from "../../base/jsonSchema/values.ts";
import { isJsonObject, type Json, sameJson } from "../../base/types/json.ts";
import {
  type Compare,
  makeValueDifference,
  type ObjectSide,
  type SchemaDifference,
  type Side,
  type Spot,
} from "./sides.ts";
import type { ValueShift } from "./values.ts";

/** How two schemas differ in items, additional properties, and the branches of anyOf, oneOf and allOf. */
export function* diffBranches(before: ObjectSide, after: ObjectSide, spot: Spot, compare: Compare) {
  const below = { ...spot, depth: spot.depth + 1 };
  const hasAny = (keyword: string) => Object.hasOwn(before.schema, keyword) || Object.hasOwn(after.schema, keyword);
  if (hasAny("items")) yield* diffItems(before, after, below, compare);
  if (hasAny("additionalProperties")) yield* diffAdditional(before, after, { ...below, inside: true }, compare);
  for (const keyword of ["anyOf", "oneOf"] as const) {
    const [old, current] = [listBranches(before, keyword), listBranches(after, keyword)];
    if (old.length > 0 || current.length > 0) yield* diffAlternatives(keyword, old, current, after, below, compare);
  }
  yield* diffAllOf(before, after, { ...below, inside: true }, compare);
}

/** The schema under a keyword; `true`, which accepts anything, if there is none. */
const inner = (side: ObjectSide, keyword: string): Side => ({
  ...side,
  schema: side.schema[keyword] ?? true,
  at: Object.hasOwn(side.schema, keyword) ? [...side.at, keyword] : side.at,
});

function* diffItems(before: ObjectSide, after: ObjectSide, spot: Spot, compare: Compare): Iterable<SchemaDifference> {
  const [old, current] = [inner(before, "items"), inner(after, "items")];
  const isTuple = Array.isArray(old.schema) || Array.isArray(current.schema);
  const name = spot.inside ? spot.name : `${spot.name}[]`;
  if (!isTuple) yield* compare(old, current, { ...spot, name });
  else if (!sameJson(old.schema, current.schema))
    yield makeValueDifference(spot, current, { keyword: "items", shift: "unclear", what: "items changed" });
}

const isOpen = (schema: Json) => schema === true || (isJsonObject(schema) && Object.keys(schema).length === 0);

function* diffAdditional(
  before: ObjectSide,
  after: ObjectSide,
  spot: Spot,
  compare: Compare,
): Iterable<SchemaDifference> {
  const keyword = "additionalProperties";
  const [old, current] = [inner(before, keyword), inner(after, keyword)];
  if (isOpen(old.schema) && current.schema === false) {
    const what = "no longer accepts properties that it does not name";
    yield makeValueDifference(spot, current, { keyword, shift: "narrower", what });
  } else if (old.schema === false && isOpen(current.schema)) {
    const what = "now accepts properties that it does not name";
    yield makeValueDifference(spot, current, { keyword, shift: "perhaps wider", what });
  } else yield* compare(old, current, spot);
}

function listBranches({ schema, at, walk, lifted }: ObjectSide, keyword: "anyOf" | "oneOf"): Side[] {
  const branches = schema[keyword];
  if (!Array.isArray(branches)) return [];
  return branches.flatMap((branch, index) =>
    splitByType(branch).map((schema) => ({ schema, at: lifted ? at : [...at, keyword, index], walk })),
  );
}

/** Splits a schema of several types into one schema for each type. Together they accept the same values. */
function splitByType(schema: Json): Json[] {
  const types = isJsonObject(schema) ? listTypes(schema) : [];
  return isJsonObject(schema) && types.length > 1 ? types.map((type) => ({ ...schema, type })) : [schema];
}

/** Lists of branches with more pairs are compared as a whole. */
const maxPairs = 10_000;

/**
 * Compares the branches of anyOf or oneOf. Branches that are equal or of the same types are the same alternative. If no
 * two branches of a list accept the same type of value, a difference in one is a difference of the whole; otherwise
 * another branch may accept what this one no longer does.
 */
function* diffAlternatives(
  keyword: "anyOf" | "oneOf",
  old: readonly Side[],
  current: readonly Side[],
  after: Side,
  spot: Spot,
  compare: Compare,
): Iterable<SchemaDifference> {
  const here = { ...spot, inside: true };
  const report = (shift: ValueShift, what: string, side = after) =>
    makeValueDifference(here, side, { keyword, shift, what });
  if (old.length === 0) yield report("perhaps narrower", `${keyword} was added`);
  else if (current.length === 0) yield report("perhaps wider", `${keyword} was removed`);
  if (old.length === 0 || current.length === 0) return;
  if (old.length * current.length > maxPairs) {
    const schemas = (sides: readonly Side[]) => sides.map(({ schema }) => schema);
    if (!sameJson(schemas(old), schemas(current))) yield report("unclear", `${keyword} changed`);
    return;
  }
  const areDisjoint = haveDisjointTypes(old) && haveDisjointTypes(current);
  const { pairs, lost, gained } = matchBranches(old, current);
  for (const [was, is] of pairs) {
    for (const difference of compare(was, is, here)) {
      const isCertain = areDisjoint || difference.kind === "wording";
      yield isCertain ? difference : report("unclear", `a branch of ${keyword} changed`, is);
    }
  }
  const qualify = (shift: "narrower" | "wider"): ValueShift => {
    if (areDisjoint) return shift;
    return keyword === "anyOf" ? `perhaps ${shift}` : "unclear";
  };
  for (const { schema } of lost) yield report(qualify("narrower"), `no longer accepts ${describeBranch(schema)}`);
  for (const branch of gained) yield report(qualify("wider"), `now accepts ${describeBranch(branch.schema)}`, branch);
}

function matchBranches(old: readonly Side[], current: readonly Side[]) {
  const free = new Set(current);
  const pairs: [Side, Side][] = [];
  const takeUnmatched = (sides: readonly Side[], fits: (a: Json, b: Json) => boolean) =>
    sides.filter((side) => {
      const partner = [...free].find(({ schema }) => fits(side.schema, schema));
      if (partner) pairs.push([side, partner]);
      return !partner || !free.delete(partner);
    });
  const key = (schema: Json) => (isJsonObject(schema) ? listTypes(schema).map(toKind).join() : "");
  const lost = takeUnmatched(takeUnmatched(old, sameJson), (a, b) => key(a) !== "" && key(a) === key(b));
  return { pairs, lost, gained: [...free] };
}

const toKind = (type: Type) => (type === "integer" ? "number" : type);

/** Whether no two branches accept values of the same type. */
function haveDisjointTypes(branches: readonly Side[]): boolean {
  const seen = new Set<string>();
  for (const { schema } of branches) {
    const types = isJsonObject(schema) ? listTypes(schema) : [];
    const kinds = new Set(types.map(toKind));
    if (kinds.size === 0 || [...kinds].some((kind) => seen.has(kind))) return false;
    for (const kind of kinds) seen.add(kind);
  }
  return true;
}

const describeBranch = (schema: Json) =>
  (isJsonObject(schema) && listTypes(schema).join(" or ")) || "the values of one branch";

/** All branches of allOf apply at once, so an added branch may exclude values, and a removed one may allow more. */
function* diffAllOf(before: ObjectSide, after: ObjectSide, spot: Spot, compare: Compare): Iterable<SchemaDifference> {
  const list = ({ schema }: ObjectSide) => (Array.isArray(schema.allOf) ? schema.allOf : []);
  const [old, current] = [list(before), list(after)];
  const added = current.length - old.length;
  const shift = added > 0 ? "perhaps narrower" : "perhaps wider";
  const report = (shift: ValueShift, what: string) =>
    makeValueDifference(spot, after, { keyword: "allOf", shift, what });
  if (added !== 0) yield report(shift, `allOf had ${old.length} branches and has ${current.length}`);
  for (const [index, branch] of old.entries()) {
    const next = current[index];
    const side = (one: ObjectSide, schema: Json): Side => ({ ...one, schema, at: [...one.at, "allOf", index] });
    if (next === undefined) continue;
    if (added === 0) yield* compare(side(before, branch), side(after, next), spot);
    else if (!sameJson(branch, next)) yield report("unclear", "the branches of allOf changed");
  }
}

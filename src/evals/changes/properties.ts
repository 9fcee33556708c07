import { isJsonObject, type Json, type JsonObject } from "../types/json.ts";
import { segment } from "./change.ts";
import { renamings, sameJson } from "./same.ts";
import type { Compare, ObjectSide, SchemaDifference, Side, Spot } from "./schemas.ts";

/** How two schemas differ in the properties that they name, and in which of these must be given. */
export function* propertyDifferences(
  then: ObjectSide,
  now: ObjectSide,
  spot: Spot,
  compare: Compare,
): Iterable<SchemaDifference> {
  const [old, current] = [propertiesOf(then.schema), propertiesOf(now.schema)];
  const [had, has] = [requiredOf(then.schema), requiredOf(now.schema)];
  const renamed = renamings(old, current);
  const renames = new Map([...renamed].map(([from, to]) => [to, from]));
  const place = ({ at }: Side, property: string) => ({ ...spot, at: [...at, "properties", property] });
  for (const [property, schema] of old) {
    const { name, inside, at } = place(current.has(property) ? now : then, property);
    const after = current.get(property);
    if (after === undefined) {
      yield { name, inside, at, kind: "removed", property, renamed: renamed.get(property) };
      continue;
    }
    const below = inside ? spot : { ...spot, name: `${spot.name}.${segment(property)}` };
    const here = { name: below.name, inside, at };
    const [required, isRequired] = [had.has(property), has.has(property)];
    if (required !== isRequired) yield { ...here, kind: "required", property, now: isRequired };
    const [before, given] = [defaultOf(schema), defaultOf(after)];
    if (!sameJson(before, given) && !(isRequired && !required && given === undefined)) {
      yield { ...here, kind: "default", before, after: given, wasRequired: required };
    }
    const thenSide = { schema, at: place(then, property).at, walk: then.walk };
    yield* compare(thenSide, { schema: after, at, walk: now.walk }, { ...below, depth: spot.depth + 1 });
  }
  for (const [property, schema] of current) {
    if (old.has(property)) continue;
    const { name, inside, at } = place(now, property);
    const shared = {
      name,
      inside,
      at,
      property,
      required: has.has(property) && !had.has(property),
      hasDefault: defaultOf(schema) !== undefined,
    };
    yield { ...shared, kind: "added", renames: renames.get(property) };
  }
  for (const property of new Set([...had, ...has])) {
    // What both describe is told above, and so is what is gone or new with its property.
    if (old.has(property) || had.has(property) === has.has(property)) continue;
    if (current.has(property) && has.has(property)) continue;
    const name = spot.inside ? spot.name : `${spot.name}.${segment(property)}`;
    yield { name, inside: spot.inside, at: now.at, kind: "required", property, now: has.has(property) };
  }
}

function propertiesOf({ properties }: JsonObject): ReadonlyMap<string, Json> {
  return new Map(isJsonObject(properties) ? Object.entries(properties) : []);
}

function requiredOf({ required }: JsonObject): ReadonlySet<string> {
  return new Set(Array.isArray(required) ? required.filter((name) => typeof name === "string") : []);
}

function defaultOf(schema: Json): Json | undefined {
  return isJsonObject(schema) ? schema.default : undefined;
}

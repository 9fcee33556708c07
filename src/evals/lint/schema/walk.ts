import { isJsonObject, type Json, type JsonObject } from "../../types/json.ts";
import { once } from "../once.ts";
import type { Found, Path, ToolSubject } from "../rule.ts";

/** A schema inside of a schema, and what it is there for. */
export type Place = {
  schema: JsonObject;
  /** Where it is in its tool. */
  at: Path;
  /** `branch`: holds only beside others (anyOf, if, not, ...), so that it need not be whole by itself. */
  role: "root" | "property" | "items" | "branch" | "definition";
  /** The name of the property, for a place of that role. */
  name: string;
  /** How many properties and items lead to it. */
  level: number;
};

/** The schemas inside of a schema, it first, as they are written; `cut`: too deep or too many, and not all are here. */
export type Walk = { places: readonly Place[]; cut?: { by: "depth" | "number"; at: Path } };

/** More than this is not looked into; far above what any host takes (see the limits of the rules on size). */
export const maxPlaces = 6_000;
/** Steps of a path: a schema that is nested deeper is not followed further. */
export const maxPath = 100;

type Keyword = { role: Place["role"]; map?: true };
const keywords = new Map<string, Keyword>([
  ["properties", { role: "property", map: true }],
  ["patternProperties", { role: "items", map: true }],
  ["$defs", { role: "definition", map: true }],
  ["definitions", { role: "definition", map: true }],
  ["dependentSchemas", { role: "branch", map: true }],
  ["items", { role: "items" }],
  ["prefixItems", { role: "items" }],
  ["additionalItems", { role: "items" }],
  ["additionalProperties", { role: "items" }],
  ...["anyOf", "oneOf", "allOf", "not", "if", "then", "else", "contains", "propertyNames"].map(
    (keyword): [string, Keyword] => [keyword, { role: "branch" }],
  ),
]);

const walkFrom = (field: string) =>
  once((schema: JsonObject) => walk({ schema, at: [field], role: "root", name: "", level: 0 }));
const walks = { inputSchema: walkFrom("inputSchema"), outputSchema: walkFrom("outputSchema") };
const nothing: Walk = { places: [] };

/** The walk through a schema of a tool, made once; empty when the tool has no such schema or it is no object. */
export function walkOf(tool: JsonObject, field: "inputSchema" | "outputSchema"): Walk {
  const schema = tool[field];
  return isJsonObject(schema) ? walks[field](schema) : nothing;
}

/** A check of every place in the inputSchema. */
export function inInput(check: (place: Place) => Iterable<Found>) {
  return ({ tool }: ToolSubject) => visit(walkOf(tool, "inputSchema"), check);
}

/** A check of every place in both schemas of a tool. */
export function inSchemas(check: (place: Place) => Iterable<Found>) {
  return ({ tool }: ToolSubject) => [
    ...visit(walkOf(tool, "inputSchema"), check),
    ...visit(walkOf(tool, "outputSchema"), check),
  ];
}

/** A list: most places have no finding, and a generator for each costs more than the checks. */
function visit({ places }: Walk, check: (place: Place) => Iterable<Found>): Found[] {
  const found: Found[] = [];
  for (const place of places) for (const one of check(place)) found.push(one);
  return found;
}

/** In the order of the text. The recursion ends with the path that is followed, long before calls get too deep. */
function walk(root: Place): Walk {
  const places: Place[] = [];
  let cut: Walk["cut"];
  const enter = (place: Place) => {
    if (places.length === maxPlaces) {
      cut = { by: "number", at: place.at };
      return;
    }
    places.push(place);
    if (place.at.length > maxPath) {
      cut ??= { by: "depth", at: place.at };
      return;
    }
    for (const child of children(place)) {
      if (cut?.by === "number") return;
      enter(child);
    }
  };
  enter(root);
  return cut ? { places, cut } : { places };
}

/** The schemas directly inside of one. */
export function* children({ schema, at, level }: Place): Iterable<Place> {
  for (const [key, value] of Object.entries(schema)) {
    const keyword = keywords.get(key);
    if (!keyword) continue;
    for (const [name, child] of membersOf(value, keyword.map)) {
      if (!isJsonObject(child)) continue;
      const { role } = keyword;
      const deeper = role === "property" || role === "items" ? 1 : 0;
      const path = name === undefined ? [...at, key] : [...at, key, name];
      yield { schema: child, at: path, role, name: role === "property" ? `${name}` : "", level: level + deeper };
    }
  }
}

function membersOf(value: Json, map?: true): Iterable<readonly [string | number | undefined, Json]> {
  if (map) return isJsonObject(value) ? Object.entries(value) : [];
  return Array.isArray(value) ? value.entries() : [[undefined, value]];
}

import { once } from "../collections.ts";
import { decodePercent } from "../secrets/secrets.ts";
import { quoteWhole } from "../text/text.ts";
import { isJsonObject, type Json, type JsonObject, type Path } from "../types/json.ts";

/** Formats a path as JSONPath: `$.inputSchema.properties["the unit"].enum[0]`. Hidden characters are escaped. */
export function formatJsonPath(path: Path): string {
  let text = "$";
  for (const step of path) {
    if (typeof step === "number") text += `[${step}]`;
    else text += /^[A-Za-z_]\w*$/.test(step) ? `.${step}` : `[${quoteWhole(step)}]`;
  }
  return text;
}

/** Whether a `$ref` is a JSON pointer into its own document. */
const isLocalPointer = (ref: string) => ref === "#" || ref.startsWith("#/");

/** The value that a local `$ref` points to, with its path (RFC 6901, percent-decoded as a URI fragment is). */
export function resolvePointer(ref: string, root: JsonObject): { value: Json; path: string[] } | undefined {
  if (!isLocalPointer(ref)) return undefined;
  const steps = decodePercent(ref).split("/").slice(1);
  const path = steps.map((step) => step.replaceAll("~1", "/").replaceAll("~0", "~"));
  const enter = (value: Json | undefined, key: string) =>
    typeof value === "object" && value !== null && Object.hasOwn(value, key) ? (value as JsonObject)[key] : undefined;
  const value = path.reduce<Json | undefined>(enter, root);
  return value === undefined ? undefined : { value, path };
}

/** A schema inside a schema, and its role there. */
export type SchemaLocation = {
  schema: JsonObject;
  /** Its path from the root of the walk: of the tool, or of the schema. */
  at: Path;
  /** `branch`: applies only together with others (anyOf, if, not, ...), so it need not be complete. */
  role: "root" | "property" | "items" | "branch" | "definition";
  /** The name of the property, for a place of that role. */
  name: string;
  /** Its nesting level: the number of properties and items that lead to it. */
  level: number;
};

/** A schema and its subschemas in document order, without unused definitions: `maxPlaces` of them at most. */
export type Walk = readonly SchemaLocation[];

/** Limits of a walk, far above what any host accepts: the number of schemas, and the length of their paths. */
export const maxPlaces = 6_000;
const maxPath = 100;

type Keyword = { role: SchemaLocation["role"]; map?: true };
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

export type SchemaField = "inputSchema" | "outputSchema";
const toRoot = (schema: JsonObject, at: Path = []) => ({ schema, at, role: "root" as const, name: "", level: 0 });
const memoized = (field: SchemaField) => once((schema: JsonObject) => walk(toRoot(schema, [field])));
const walks = { inputSchema: memoized("inputSchema"), outputSchema: memoized("outputSchema") };

/** Walks a schema of a tool (memoized). Empty if the tool has no such schema, or it is not an object. */
export function walkToolSchema(tool: JsonObject, field: SchemaField): Walk {
  const schema = tool[field];
  return isJsonObject(schema) ? walks[field](schema) : [];
}

/** Walks a schema that belongs to no tool. */
export const walkSchema = (schema: JsonObject): Walk => walk(toRoot(schema));

/** Recursion is safe because it ends at `maxPath`. */
function walk(root: SchemaLocation): Walk {
  const locations: SchemaLocation[] = [];
  const isReferred = findReferred(root.schema);
  const enter = (location: SchemaLocation) => {
    if (locations.length === maxPlaces) return;
    locations.push(location);
    if (location.at.length > maxPath) return;
    for (const child of listChildren(location))
      if (child.role !== "definition" || isReferred(child.at.slice(root.at.length))) enter(child);
  };
  enter(root);
  return locations;
}

/**
 * Finds the definitions in use, by their path from the root: those that a reference leads to or into, from outside the
 * definitions or from one in use. A reference that is not a JSON pointer may lead to any of them.
 */
function findReferred(root: JsonObject): (path: Path) => boolean {
  const referred = new Set<string>();
  const reached = new Set<Json>([root]);
  // A set also visits what is added during the iteration.
  for (const schema of reached) {
    if (!isJsonObject(schema)) continue;
    const { $ref } = schema;
    if (typeof $ref === "string") {
      const target = resolvePointer($ref, root);
      if (!target) return () => true;
      for (const end of target.path.keys()) referred.add(JSON.stringify(target.path.slice(0, end + 1)));
      reached.add(target.value);
    }
    if ("$dynamicRef" in schema) return () => true;
    for (const child of listChildren(toRoot(schema))) if (child.role !== "definition") reached.add(child.schema);
  }
  return (path) => referred.has(JSON.stringify(path.map(String)));
}

function* listChildren({ schema, at, level }: SchemaLocation): Iterable<SchemaLocation> {
  for (const [key, value] of Object.entries(schema)) {
    const keyword = keywords.get(key);
    if (!keyword) continue;
    for (const [name, child] of listMembers(value, keyword.map)) {
      if (!isJsonObject(child)) continue;
      const { role } = keyword;
      const deeper = role === "property" || role === "items" ? 1 : 0;
      const path = name === undefined ? [...at, key] : [...at, key, name];
      yield { schema: child, at: path, role, name: role === "property" ? `${name}` : "", level: level + deeper };
    }
  }
}

function listMembers(value: Json, map?: true): Iterable<readonly [string | number | undefined, Json]> {
  if (map) return isJsonObject(value) ? Object.entries(value) : [];
  return Array.isArray(value) ? value.entries() : [[undefined, value]];
}

/** What a `$ref` leads to: a schema of the same document, nothing, or another document, which hosts do not fetch. */
type RefTarget = { kind: "local"; schema: Json; at: Path } | { kind: "nowhere" } | { kind: "remote" };

/** Resolves a `$ref` inside the schema of a walk: a JSON pointer, an anchor or an `$id`. */
export function followRef(ref: string, walk: Walk): RefTarget {
  const [root] = walk;
  if (!root) return { kind: "nowhere" };
  const own = typeof root.schema.$id === "string" && ref.startsWith(`${root.schema.$id}#`);
  const local = own ? ref.slice(ref.indexOf("#")) : ref;
  if (isLocalPointer(local)) {
    const target = resolvePointer(local, root.schema);
    return target ? { kind: "local", schema: target.value, at: [...root.at, ...target.path] } : { kind: "nowhere" };
  }
  const named = listAnchors(walk).get(local);
  if (named) return { kind: "local", schema: named.schema, at: named.at };
  return { kind: local.startsWith("#") ? "nowhere" : "remote" };
}

/** The schemas of a walk with an `$id` or an anchor, by the `$ref` that leads to them. */
const listAnchors = once((walk: Walk): ReadonlyMap<string, SchemaLocation> => {
  const anchors = new Map<string, SchemaLocation>();
  for (const location of walk) {
    const { $id, $anchor, $dynamicAnchor } = location.schema;
    if (typeof $id === "string") anchors.set($id, location);
    for (const name of [$anchor, $dynamicAnchor]) if (typeof name === "string") anchors.set(`#${name}`, location);
  }
  return anchors;
});

/** Finds the first `$ref` that leads back to a schema it is part of. */
export function findRecursiveRef(walk: Walk): SchemaLocation | undefined {
  const [root] = walk;
  if (!root || !walk.some(({ schema }) => typeof schema.$ref === "string")) return undefined;
  const open = new Set<JsonObject>();
  const seen = new Set<JsonObject>();
  const stack: { location: SchemaLocation; next: Iterator<SchemaLocation> }[] = [];
  const enter = (location: SchemaLocation) => {
    open.add(location.schema);
    seen.add(location.schema);
    stack.push({ location, next: listReachable(location, walk) });
  };
  enter(root);
  for (let top = stack.at(-1); top; top = stack.at(-1)) {
    const { value: location } = top.next.next();
    if (!location) {
      open.delete(top.location.schema);
      stack.pop();
    } else if (open.has(location.schema)) return top.location;
    else if (!seen.has(location.schema) && location.at.length <= maxPath) enter(location);
  }
  return undefined;
}

function* listReachable(location: SchemaLocation, walk: Walk): Iterator<SchemaLocation> {
  const target = typeof location.schema.$ref === "string" ? followRef(location.schema.$ref, walk) : undefined;
  if (target?.kind === "local" && isJsonObject(target.schema))
    yield { ...location, schema: target.schema, at: target.at };
  yield* listChildren(location);
}

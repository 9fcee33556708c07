import { isJsonObject, type Json, type JsonObject } from "../../types/json.ts";
import { once } from "../once.ts";
import type { Path } from "../rule.ts";
import { children, maxPath, type Place, type Walk } from "./walk.ts";

/** What a `$ref` leads to: a schema of the same document, nothing, or another document (which no host fetches). */
export type Target = { kind: "local"; schema: Json; at: Path } | { kind: "nowhere" } | { kind: "remote" };

/** Follows one `$ref` through the schema that a walk went through: a JSON pointer, an anchor or an `$id`. */
export function follow(ref: string, walk: Walk): Target {
  const [root] = walk.places;
  if (!root) return { kind: "nowhere" };
  const own = typeof root.schema.$id === "string" && ref.startsWith(`${root.schema.$id}#`);
  const local = own ? ref.slice(ref.indexOf("#")) : ref;
  if (local === "#" || local.startsWith("#/")) return point(local.slice(1), root);
  const named = anchorsOf(walk).get(local);
  if (named) return { kind: "local", schema: named.schema, at: named.at };
  return { kind: local.startsWith("#") ? "nowhere" : "remote" };
}

/** The schemas of a walk that have a name of their own, by what a `$ref` to it says. */
const anchorsOf = once((walk: Walk): ReadonlyMap<string, Place> => {
  const made = new Map<string, Place>();
  for (const place of walk.places) {
    const { $id, $anchor, $dynamicAnchor } = place.schema;
    if (typeof $id === "string") made.set($id, place);
    for (const name of [$anchor, $dynamicAnchor]) if (typeof name === "string") made.set(`#${name}`, place);
  }
  return made;
});

/** RFC 6901, percent-decoded as a URI fragment is. */
function point(pointer: string, root: Place): Target {
  let schema: Json = root.schema;
  const at = [...root.at];
  for (const part of decoded(pointer).split("/").slice(1)) {
    const key = part.replaceAll("~1", "/").replaceAll("~0", "~");
    const inside: boolean = typeof schema === "object" && schema !== null && Object.hasOwn(schema, key);
    const next: Json | undefined = inside ? (schema as JsonObject)[key] : undefined;
    if (next === undefined) return { kind: "nowhere" };
    schema = next;
    at.push(key);
  }
  return { kind: "local", schema, at };
}

function decoded(pointer: string): string {
  try {
    return decodeURIComponent(pointer);
  } catch {
    return pointer;
  }
}

/**
 * The first `$ref` that leads back to a schema it is part of, itself or through others. A depth-first search in which
 * each schema is entered once.
 */
export function recursiveRef(walk: Walk): Place | undefined {
  const [root] = walk.places;
  if (!root || !walk.places.some(({ schema }) => typeof schema.$ref === "string")) return undefined;
  const open = new Set<JsonObject>();
  const seen = new Set<JsonObject>();
  const stack: { place: Place; next: Iterator<Place> }[] = [];
  const enter = (place: Place) => {
    open.add(place.schema);
    seen.add(place.schema);
    stack.push({ place, next: below(place, walk) });
  };
  enter(root);
  for (let top = stack.at(-1); top; top = stack.at(-1)) {
    const { value: place } = top.next.next();
    if (!place) {
      open.delete(top.place.schema);
      stack.pop();
    } else if (open.has(place.schema)) return top.place;
    else if (!seen.has(place.schema) && place.at.length <= maxPath) enter(place);
  }
  return undefined;
}

function* below(place: Place, walk: Walk): Iterator<Place> {
  const target = typeof place.schema.$ref === "string" ? follow(place.schema.$ref, walk) : undefined;
  if (target?.kind === "local" && isJsonObject(target.schema)) {
    yield { ...place, schema: target.schema, at: target.at };
  }
  yield* children(place);
}

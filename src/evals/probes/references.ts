import type { Json, JsonObject } from "../types/json.ts";
import { typesOf, waysOf } from "./schema.ts";

const words = {
  path: /^(?:paths?|files?|filenames?|filepaths?|dirs?|directory|directories|folders?)$/,
  url: /^(?:urls?|uris?|links?|href)$/,
  id: /^(?:ids?|uuid|names?|keys?|slugs?|refs?|references?|handles?)$/,
};
type Sort = keyof typeof words;

/**
 * A value that refers to what cannot exist, for a parameter that by its name or format refers to something: a path, a
 * URL (under `.invalid`, RFC 2606), an id or a name. `mark` is a UUID that nobody else has.
 */
export function missingReference(name: string, schema: Json, root: JsonObject, mark: string): Json | undefined {
  for (const way of waysOf(schema, root)) {
    if ("enum" in way || "const" in way || "pattern" in way) continue;
    const [type] = typesOf(way);
    const inner = type === "array" ? waysOf(way.items, root)[0] : way;
    const sort = sortOf(name, inner);
    if (sort === undefined || inner === undefined || "enum" in inner || "pattern" in inner) continue;
    const value = typesOf(inner).includes("string") ? textOf(sort, mark, inner) : numberOf(sort, inner, mark);
    if (value !== undefined) return type === "array" ? [value] : value;
  }
  return undefined;
}

function sortOf(name: string, way: JsonObject | undefined): Sort | undefined {
  if (way?.format === "uri" || way?.format === "url") return "url";
  if (way?.format === "uuid") return "id";
  const last =
    name
      .replace(/([a-z\d])([A-Z])/g, "$1_$2")
      .toLowerCase()
      .split(/[^a-z]+/)
      .filter(Boolean)
      .at(-1) ?? "";
  return (Object.keys(words) as Sort[]).find((sort) => words[sort].test(last));
}

function textOf(sort: Sort, mark: string, { format }: JsonObject): string {
  if (format === "uuid") return mark;
  const short = mark.slice(0, 8);
  if (sort === "path") return `/no-such-folder-${short}/no-such-file-${short}.txt`;
  return sort === "url" ? `https://no-such-host-${short}.invalid/` : `no-such-${short}`;
}

function numberOf(sort: Sort, way: JsonObject, mark: string): number | undefined {
  if (sort !== "id" || !typesOf(way).some((type) => type === "integer" || type === "number")) return undefined;
  return 1_900_000_000 + (Number.parseInt(mark.slice(0, 6), 16) % 100_000_000);
}

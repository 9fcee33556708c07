import type { Json, JsonObject } from "../types/json.ts";
import { sample, valuesOf } from "./generate.ts";
import { numberAt, typesOf, waysOf } from "./schema.ts";

const longestString = 10_000;
const mostItems = 100;
const longUnbounded = 1_000;
const unicode = "naïve 日本語 👩‍🚀 \u202eright to left";

/** Values at the edges of what a parameter's schema allows. They have to be validated: several keywords may interact. */
export function edgesOf(schema: Json, root: JsonObject, seed: number): Json[] {
  return waysOf(schema, root).flatMap((way) => {
    if (Array.isArray(way.enum)) return way.enum.slice(0, 1).concat(way.enum.slice(-1));
    return typesOf(way).flatMap((type) => edgesOfType(type, way, root, seed));
  });
}

function edgesOfType(type: string, way: JsonObject, root: JsonObject, seed: number): Json[] {
  switch (type) {
    case "string": {
      const most = numberAt(way, "maxLength") ?? longUnbounded;
      const lengths = [numberAt(way, "minLength") ?? 0, ...(most <= longestString ? [most] : [])];
      // Only what the pattern makes is put to it: a long text may take it for ever.
      return "pattern" in way ? [] : [...lengths.map((n) => "x".repeat(Math.min(n, longestString))), unicode];
    }
    case "integer":
    case "number":
      return numberEdges(way);
    case "boolean":
      return [false, true];
    case "array":
      return [numberAt(way, "minItems") ?? 0, numberAt(way, "maxItems") ?? 0]
        .filter((n) => n <= mostItems)
        .flatMap((n) => sample(valuesOf({ ...way, type, minItems: n, maxItems: n }, root), seed, 1));
    case "object":
      return [{}];
    case "null":
      return [null];
    default:
      return [];
  }
}

function numberEdges(way: JsonObject): number[] {
  const [above, below] = [numberAt(way, "exclusiveMinimum"), numberAt(way, "exclusiveMaximum")];
  return [
    numberAt(way, "minimum"),
    numberAt(way, "maximum"),
    0,
    ...(above === undefined ? [] : [above + 1]),
    ...(below === undefined ? [] : [below - 1]),
  ].flatMap((n) => n ?? []);
}

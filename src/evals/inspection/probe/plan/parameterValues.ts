import { getNumber } from "../../../base/jsonSchema/values.ts";
import type { Json, JsonObject } from "../../../base/types/json.ts";
import { listAlternatives, splitWords } from "../../parameters.ts";
import { generateValues, guessTypes, sample } from "./values.ts";

// Values that test one parameter. All have to be validated: several keywords may interact.

/** What models often send instead of a value of the type. */
const mistakenValues: Readonly<Record<string, Json>> = {
  string: 7,
  integer: "7",
  number: "7",
  boolean: "true",
  array: "a,b",
  object: "{}",
};

/** Values of a wrong type: convertible, not convertible, and wrong elements. Never null, often treated as absent. */
export function listWrongTypes(schema: Json, root: JsonObject): Json[] {
  const types = new Set(listAlternatives(schema, root).flatMap((one) => [...guessTypes(one)]));
  const convertible = [...types].flatMap((type) => mistakenValues[type] ?? []);
  const other = types.has("object") ? [[]] : [{}];
  return [...convertible.slice(0, 1), ...other, ...(types.has("array") ? [[{}], [7]] : [])];
}

const maxString = 10_000;
const maxItems = 100;
/** The length of a long text without maxLength. */
const longText = 1_000;
const unicodeText = "naïve 日本語 👩‍🚀 \u202eright to left";

/** Values at the boundaries of a schema. */
export function listBoundaries(schema: Json, root: JsonObject, seed: number): Json[] {
  return listAlternatives(schema, root).flatMap((one) => {
    if (Array.isArray(one.enum)) return one.enum.slice(0, 1).concat(one.enum.slice(-1));
    return guessTypes(one).flatMap((type) => listTypeBoundaries(type, one, root, seed));
  });
}

function listTypeBoundaries(type: string, schema: JsonObject, root: JsonObject, seed: number): Json[] {
  switch (type) {
    case "string": {
      // A pattern may take extremely long to validate a long text.
      if ("pattern" in schema) return [];
      const max = getNumber(schema, "maxLength") ?? longText;
      const lengths = [getNumber(schema, "minLength") ?? 0, ...(max <= maxString ? [max] : [])];
      return [...lengths.map((n) => "x".repeat(Math.min(n, maxString))), unicodeText];
    }
    case "integer":
    case "number":
      return listNumberBoundaries(schema);
    case "boolean":
      return [false, true];
    case "array":
      return [getNumber(schema, "minItems") ?? 0, getNumber(schema, "maxItems") ?? 0]
        .filter((n) => n <= maxItems)
        .flatMap((n) => sample(generateValues({ ...schema, type, minItems: n, maxItems: n }, root), seed, 1));
    case "object":
      return [{}];
    case "null":
      return [null];
    default:
      return [];
  }
}

function listNumberBoundaries(schema: JsonObject): number[] {
  const [above, below] = [getNumber(schema, "exclusiveMinimum"), getNumber(schema, "exclusiveMaximum")];
  return [
    getNumber(schema, "minimum"),
    getNumber(schema, "maximum"),
    0,
    ...(above === undefined ? [] : [above + 1]),
    ...(below === undefined ? [] : [below - 1]),
  ].flatMap((n) => n ?? []);
}

const references: readonly { name: RegExp; format?: string; make(short: string, mark: string): string }[] = [
  {
    name: /^(?:files?|filenames?|filepaths?|paths?|dirs?|directory|directories|folders?)$/,
    make: (short) => `/no-such-folder-${short}/no-such-file-${short}.txt`,
  },
  { name: /^(?:urls?|uris?|links?|href)$/, format: "uri", make: (short) => `https://no-such-host-${short}.invalid/` },
  { name: /^uuid$/, format: "uuid", make: (_, mark) => mark },
  { name: /^(?:ids?|names?|keys?|slugs?|refs?|references?|handles?)$/, make: (short) => `no-such-${short}` },
];

/**
 * A text that refers to something that does not exist, for a parameter that by its name or format is a reference: a path, a
 * URL (under `.invalid`, RFC 2606), an id or a name. Undefined for other parameters.
 * @param mark a random UUID
 */
export function makeMissingReference(name: string, schema: Json, root: JsonObject, mark: string): Json | undefined {
  const text = listAlternatives(schema, root).find((one) => guessTypes(one).includes("string"));
  if (!text || "enum" in text || "const" in text || "pattern" in text) return undefined;
  const last = splitWords(name).at(-1) ?? "";
  const byFormat = references.find(({ format }) => format !== undefined && format === text.format);
  return (byFormat ?? references.find((one) => one.name.test(last)))?.make(mark.slice(0, 8), mark);
}

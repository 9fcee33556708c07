import * as fc from "fast-check";
import { getNumber } from "../../../base/jsonSchema/keywords.ts";
import { canonicalJson, isJsonObject, type Json, type JsonObject } from "../../../base/types/json.ts";
import { listAlternatives, listDefaults, listParameters, splitWords } from "../../parameters.ts";
import { isSameProbe, type Probe, type ProbedTool, type ProbeKind } from "./probe.ts";
import { deduplicate, generateValues, guessTypes, sample } from "./values.ts";

const attemptsPerInput = 20;

/**
 * The probes of one tool, the simplest first, the same for the same seed. Empty if no valid input could be generated.
 * @param runs the maximum per kind of probe, and for kinds that test a parameter, per parameter
 */
export function planProbes(tool: ProbedTool, { seed, runs }: { seed: number; runs: number }): Probe[] {
  const { inputSchema, allows, readOnly } = tool;
  const samples = sample(generateValues(inputSchema, inputSchema), seed, attemptsPerInput * (runs + 1));
  const inputs = deduplicate([{}, ...samples]).filter((one): one is JsonObject => isJsonObject(one) && allows(one));
  const rated = inputs.map((input) => ({ input, complexity: rateComplexity(input) }));
  const base = rated.sort((a, b) => a.complexity - b.complexity)[0]?.input;
  if (base === undefined) return [];
  const [mark] = sample(fc.uuid(), seed, 1);
  const simple = deduplicate([base, ...inputs]).slice(0, runs) as JsonObject[];
  const defaults = listDefaults(inputSchema);
  const ofParameters = [...listParameters(inputSchema)].flatMap(([parameter, schema]): Probe[][] => {
    const missing = makeMissingReference(parameter, schema, inputSchema, String(mark));
    const location = (kind: ProbeKind, value: Json) => makeProbe(kind, { ...base, [parameter]: value }, parameter);
    return [
      [omitParameter(parameter, base)],
      listWrongTypes(schema, inputSchema).map((value) => replaceParameter(parameter, value, base)),
      listBoundaries(schema, inputSchema, seed).map((value) => location("boundary", value)),
      missing === undefined ? [] : [location("reference", missing)],
    ];
  });
  const isSound = (probe: Probe) => isSameProbe(tool, probe, probe.base);
  return dropRepeated([
    // The repeat comes first, because after a valid probe of the same call both of its calls would be repeats.
    ...(readOnly ? [repeatCall(base)] : []),
    ...simple.slice(readOnly ? 1 : 0).map((one) => makeProbe("valid", one)),
    ...(Object.keys(defaults).length > 0 ? [omitDefaults(tool, defaults, base)].filter(isSound) : []),
    ...ofParameters.flatMap((probes) => probes.filter(isSound).slice(0, runs)),
  ]);
}

/** One call with the base as its arguments. */
function makeProbe(kind: ProbeKind, base: JsonObject, parameter?: string): Probe {
  return { kind, base, calls: (now) => [now], ...(parameter !== undefined && { parameter }) };
}

/** A call of a tool that the server does not list. */
export function probeUnknownTool(): Probe {
  return makeProbe("unknown tool", {});
}

/** The same call twice. */
export function repeatCall(base: JsonObject): Probe {
  return { kind: "repeat", base, calls: (now) => [now, now] };
}

/** A call without the parameters that have defaults. For a read-only tool it follows a call with the defaults given. */
export function omitDefaults({ readOnly }: ProbedTool, defaults: JsonObject, base: JsonObject): Probe {
  const calls = (now: JsonObject) => {
    const omitted = Object.fromEntries(Object.entries(now).filter(([name]) => !Object.hasOwn(defaults, name)));
    return [...(readOnly ? [{ ...omitted, ...defaults }] : []), omitted];
  };
  return { kind: "defaults", base, calls };
}

function omitParameter(parameter: string, base: JsonObject): Probe {
  const calls = ({ [parameter]: _, ...rest }: JsonObject) => [rest];
  return { kind: "missing", parameter, base, calls };
}

function replaceParameter(parameter: string, value: Json, base: JsonObject): Probe {
  return { kind: "wrong type", parameter, base, calls: (now) => [{ ...now, [parameter]: value }] };
}

function dropRepeated(probes: readonly Probe[]): Probe[] {
  const seen = new Set<string>();
  return probes.filter(({ base, calls }) => {
    const key = canonicalJson([...calls(base)]);
    return !seen.has(key) && seen.add(key);
  });
}

/** The length as JSON, in which non-ASCII characters and empty texts, which many tools refuse, count more. */
const rateComplexity = (value: Json) => canonicalJson(value).replace(/[^ -~]|""/g, "\\u0000").length;

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
function listWrongTypes(schema: Json, root: JsonObject): Json[] {
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
function listBoundaries(schema: Json, root: JsonObject, seed: number): Json[] {
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
function makeMissingReference(name: string, schema: Json, root: JsonObject, mark: string): Json | undefined {
  const text = listAlternatives(schema, root).find((one) => guessTypes(one).includes("string"));
  if (!text || "enum" in text || "const" in text || "pattern" in text) return undefined;
  const last = splitWords(name).at(-1) ?? "";
  const byFormat = references.find(({ format }) => format !== undefined && format === text.format);
  return (byFormat ?? references.find((one) => one.name.test(last)))?.make(mark.slice(0, 8), mark);
}

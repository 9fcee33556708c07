import * as fc from "fast-check";
import { getNumber } from "../../../base/jsonSchema/keywords.ts";
import { limitTime } from "../../../base/limitTime.ts";
import { canonicalJson, isJsonObject, type Json, type JsonObject } from "../../../base/types/json.ts";
import { listAlternatives, listParameters } from "../../parameters.ts";
import { isSameProbe, type Probe, type ProbedTool, type ProbeKind } from "./probe.ts";

const attemptsPerInput = 20;

/**
 * The probes of one tool, the simplest first, the same for the same seed. Empty if no valid input could be generated.
 * @param runs the maximum per kind of probe, and for kinds that test a parameter, per parameter
 */
export function planProbes(tool: ProbedTool, { seed, runs }: { seed: number; runs: number }): Probe[] {
  const { inputSchema, allows } = tool;
  const samples = sample(generateValues(inputSchema, inputSchema), seed, attemptsPerInput * (runs + 1));
  const inputs = deduplicate([{}, ...samples]).filter((one): one is JsonObject => isJsonObject(one) && allows(one));
  const rated = inputs.map((input) => ({ input, complexity: rateComplexity(input) }));
  const base = rated.sort((a, b) => a.complexity - b.complexity)[0]?.input;
  if (base === undefined) return [];
  const simple = deduplicate([base, ...inputs]).slice(0, runs) as JsonObject[];
  const ofParameters = [...listParameters(inputSchema)].flatMap(([parameter, schema]): Probe[][] => [
    [{ kind: "missing", parameter, base, args: ({ [parameter]: _, ...rest }) => rest }],
    listWrongTypes(schema, inputSchema).map((value) => {
      return { kind: "wrong type", parameter, base, args: (now) => ({ ...now, [parameter]: value }) };
    }),
    listBoundaries(schema, inputSchema, seed).map((value) => {
      return { ...probeBase("boundary", { ...base, [parameter]: value }), parameter };
    }),
  ]);
  const isSound = (probe: Probe) => isSameProbe(tool, probe, probe.base);
  return dropRepeated([
    ...simple.map((one) => probeBase("valid", one)),
    ...ofParameters.flatMap((probes) => probes.filter(isSound).slice(0, runs)),
  ]);
}

function probeBase(kind: ProbeKind, base: JsonObject): Probe {
  return { kind, base, args: (now) => now };
}

/** A call of a tool that the server does not list. */
export function probeUnknownTool(): Probe {
  return probeBase("unknown tool", {});
}

function dropRepeated(probes: readonly Probe[]): Probe[] {
  const seen = new Set<string>();
  return probes.filter(({ base, args }) => {
    const key = canonicalJson(args(base));
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
const maxBoundaryItems = 100;
const longText = 1_000;
const unicodeText = "naïve 日本語 👩‍🚀 \u202eright to left";

function listBoundaries(schema: Json, root: JsonObject, seed: number): Json[] {
  return listAlternatives(schema, root).flatMap((one) => {
    if (Array.isArray(one.enum)) return one.enum.slice(0, 1).concat(one.enum.slice(-1));
    return guessTypes(one).flatMap((type) => listTypeBoundaries(type, one, root, seed));
  });
}

function listTypeBoundaries(type: string, schema: JsonObject, root: JsonObject, seed: number): Json[] {
  if (type === "integer" || type === "number") return listNumberBoundaries(schema);
  if (type === "boolean") return [false, true];
  if (type === "object") return [{}];
  if (type === "null") return [null];
  if (type === "array")
    return [getNumber(schema, "minItems") ?? 0, getNumber(schema, "maxItems") ?? 0]
      .filter((n) => n <= maxBoundaryItems)
      .flatMap((n) => sample(generateValues({ ...schema, type, minItems: n, maxItems: n }, root), seed, 1));
  // A pattern may take extremely long to validate a long text.
  if (type !== "string" || "pattern" in schema) return [];
  const max = getNumber(schema, "maxLength") ?? longText;
  const lengths = [getNumber(schema, "minLength") ?? 0, ...(max <= maxString ? [max] : [])];
  return [...lengths.map((n) => "x".repeat(Math.min(n, maxString))), unicodeText];
}

function listNumberBoundaries(schema: JsonObject): number[] {
  const [above, below] = [getNumber(schema, "exclusiveMinimum"), getNumber(schema, "exclusiveMaximum")];
  const [first, last] = [above === undefined ? above : above + 1, below === undefined ? below : below - 1];
  return [getNumber(schema, "minimum"), getNumber(schema, "maximum"), 0, first, last].flatMap((n) => n ?? []);
}

/** The types of a schema: the declared ones, or that which its keywords suggest, or string, integer and boolean. */
function guessTypes(schema: JsonObject): readonly string[] {
  const { type } = schema;
  if (typeof type === "string") return [type];
  if (Array.isArray(type)) return type.filter((one) => typeof one === "string");
  if ("properties" in schema || "additionalProperties" in schema) return ["object"];
  if ("items" in schema) return ["array"];
  return ["string", "integer", "boolean"];
}

type Values = fc.Arbitrary<Json>;
/** Generates values for a part. `times`: how many of them each value of the whole needs (default: 1). */
type Generate = (part: Json | undefined, times?: number) => Values;

/** Stands in for schemas without a generated value. It violates them, so whatever contains it is discarded. */
const nothing: Values = fc.constant(null);

const maxParts = 2_000;
const maxDepth = 30;
/** Optional properties and items are omitted below this depth: schemas may contain themselves. */
const maxOptionalDepth = 3;
/** The maximum number of values in nested arrays, multiplied. */
const maxItems = 1_000;

/** Values that probably match a schema, and have to be validated. References resolve in `root`; the work is bounded. */
function generateValues(schema: Json | undefined, root: JsonObject): Values {
  let parts = 0;
  const generate = (part: Json | undefined, depth: number, items: number): Values => {
    parts += 1;
    if (parts > maxParts || depth > maxDepth || items > maxItems) return nothing;
    const inner: Generate = (one, times = 1) => generate(one, depth + 1, items * times);
    const values = listAlternatives(part, root).flatMap((one) => generateAlternative(one, inner, depth));
    return values.length === 0 ? nothing : fc.oneof(...values);
  };
  return generate(schema, 0, 1);
}

/** A pattern of the server can make generation take forever. */
const sampleMs = 5_000;

/** `count` values, the same for the same seed; empty if they cannot be generated in time. */
function sample(values: Values, seed: number, count: number): Json[] {
  try {
    return limitTime(sampleMs, () => fc.sample(values, { seed: seed | 0, numRuns: count }));
  } catch {
    return [];
  }
}

function deduplicate(values: readonly Json[]): Json[] {
  return [...new Map(values.map((value) => [canonicalJson(value), value])).values()];
}

function generateAlternative(schema: JsonObject, generate: Generate, depth: number): Values[] {
  if (schema.const !== undefined) return [fc.constant(schema.const)];
  if (Array.isArray(schema.enum)) return schema.enum.length === 0 ? [] : [fc.constantFrom(...schema.enum)];
  // The author's examples are more realistic than generated values.
  const examples = [
    ...(schema.default === undefined ? [] : [schema.default]),
    ...(Array.isArray(schema.examples) ? schema.examples : []),
  ];
  return [
    ...examples.map((value) => fc.constant(value)),
    ...guessTypes(schema).map((type) => generators.get(type)?.(schema, generate, depth) ?? nothing),
  ];
}

const generators = new Map<string, (schema: JsonObject, generate: Generate, depth: number) => Values>([
  ["string", generateStrings],
  ["integer", generateIntegers],
  ["number", (schema) => fc.oneof(generateIntegers(schema), ...generateFractions(schema))],
  ["boolean", () => fc.boolean()],
  ["array", generateArrays],
  ["object", generateObjects],
]);

/** Bounds default to small numbers: most are counts, and a large count may take a tool a long time. */
function getBounds(schema: JsonObject): { min: number; max: number } {
  const lower = getNumber(schema, "minimum") ?? getNumber(schema, "exclusiveMinimum");
  const upper = getNumber(schema, "maximum") ?? getNumber(schema, "exclusiveMaximum");
  const min = lower ?? Math.min(-100, (upper ?? 0) - 100);
  return { min, max: upper ?? Math.max(100, min + 100) };
}

function generateIntegers(schema: JsonObject): Values {
  const step = getNumber(schema, "multipleOf") ?? 1;
  const { min, max } = getBounds(schema);
  const [low, high] = [Math.ceil(min / step), Math.floor(max / step)];
  if (!(Number.isSafeInteger(low) && Number.isSafeInteger(high) && low <= high)) return nothing;
  return fc.integer({ min: low, max: high }).map((n) => n * step);
}

function generateFractions(schema: JsonObject): Values[] {
  const { min, max } = getBounds(schema);
  if (schema.multipleOf !== undefined || !(min < max)) return [];
  return [fc.integer({ min: 0, max: 1_000 }).map((part) => min + ((max - min) * part) / 1_000)];
}

function generateArrays(schema: JsonObject, generate: Generate, depth: number): Values {
  const minLength = getNumber(schema, "minItems") ?? 0;
  const maxLength = Math.min(getNumber(schema, "maxItems") ?? minLength + 3, minLength + 3);
  if (minLength > maxLength) return nothing;
  if (maxLength === 0 || (depth > maxOptionalDepth && minLength === 0)) return fc.constant([]);
  return fc.array(generate(schema.items ?? { type: "string" }, maxLength), { minLength, maxLength });
}

function generateObjects(schema: JsonObject, generate: Generate, depth: number): Values {
  const properties = isJsonObject(schema.properties) ? schema.properties : {};
  const required = new Set(Array.isArray(schema.required) ? schema.required : []);
  const isShallow = depth <= maxOptionalDepth;
  const names = [...new Set([...Object.keys(properties), ...required])].filter(
    (name) => typeof name === "string" && (required.has(name) || isShallow),
  ) as string[];
  const members = names.map((name) => {
    const value = generate(Object.hasOwn(properties, name) ? properties[name] : {});
    return required.has(name) ? value : fc.option(value, { nil: undefined });
  });
  return fc.tuple(...members).map((values) => {
    const given = names.map((name, at) => [name, values[at]] as const).filter(([, value]) => value !== undefined);
    return Object.fromEntries(given) as JsonObject;
  });
}

const maxPattern = 500;

const twoDigits = (min: number, max: number) => fc.integer({ min, max }).map((n) => String(n).padStart(2, "0"));
const date = fc
  .tuple(fc.integer({ min: 1970, max: 2099 }), twoDigits(1, 12), twoDigits(1, 28))
  .map((all) => all.join("-"));
const time = fc.tuple(twoDigits(0, 23), twoDigits(0, 59), twoDigits(0, 59)).map((all) => `${all.join(":")}Z`);

/** Names under `.example` are reserved (RFC 2606), so no real host is contacted. */
const host = fc.stringMatching(/^[a-z]{1,8}\.example$/);

const formats: Readonly<Record<string, fc.Arbitrary<string>>> = {
  date,
  "date-time": fc.tuple(date, time).map((both) => both.join("T")),
  email: host.map((at) => `somebody@${at}`),
  uuid: fc.uuid(),
  uri: host.map((at) => `https://${at}/page`),
  url: host.map((at) => `https://${at}/page`),
};

function generateStrings(schema: JsonObject): Values {
  const { pattern, format } = schema;
  if (typeof pattern === "string") return generateMatching(pattern);
  const ofFormat = typeof format === "string" && Object.hasOwn(formats, format) ? formats[format] : undefined;
  if (ofFormat) return ofFormat;
  const minLength = getNumber(schema, "minLength") ?? 0;
  const maxLength = Math.min(getNumber(schema, "maxLength") ?? minLength + 12, minLength + 12);
  if (minLength > maxString || minLength > maxLength) return nothing;
  if (minLength > 100) return fc.constant("x".repeat(minLength));
  const letters = fc.constantFrom(..."abcdefghijklmnopqrstuvwxyz 0123456789-");
  return fc.oneof(
    fc.string({ unit: letters, minLength, maxLength }),
    fc.string({ minLength, maxLength }),
    fc.string({ unit: "grapheme", minLength, maxLength }),
  );
}

/** Nothing for a pattern whose strings would be huge, or that fast-check does not support. */
function generateMatching(pattern: string): Values {
  const repeats = [...pattern.matchAll(/\{(\d+)/g)].reduce((product, [, n]) => product * Math.max(1, Number(n)), 1);
  if (pattern.length > maxPattern || repeats > maxString) return nothing;
  try {
    return fc.stringMatching(new RegExp(pattern, "u"), { size: "-1" });
  } catch {
    return nothing;
  }
}

import * as fc from "fast-check";
import { canonicalJson, isJsonObject, type Json, type JsonObject } from "../types/json.ts";
import { edgesOf } from "./edges.ts";
import { distinct, sample, valuesOf } from "./generate.ts";
import { wrongTypesOf } from "./invalid.ts";
import { isSameProbe, type Probe, type ProbedTool } from "./probe.ts";
import { missingReference } from "./references.ts";
import { parametersOf } from "./schema.ts";

/** Most tries to make one valid input. */
const triesForOne = 20;

/**
 * The probes of one tool, the plainest first: the same for the same seed. `runs` bounds them for each kind, and for the
 * kinds that are about a parameter for each parameter. Empty where no valid input could be made.
 */
export function probesFor(tool: ProbedTool, { seed, runs }: { seed: number; runs: number }): Probe[] {
  const { inputSchema, allows, readOnly } = tool;
  const tries = sample(valuesOf(inputSchema, inputSchema), seed, triesForOne * (runs + 1));
  const inputs = distinct([{}, ...tries]).filter((one): one is JsonObject => isJsonObject(one) && allows(one));
  const [base] = [...inputs].sort((a, b) => size(a) - size(b));
  if (base === undefined) return [];
  const [mark] = sample(fc.uuid(), seed, 1);
  const about = [...parametersOf(inputSchema)].flatMap(([parameter, schema]): Probe[] => {
    const gone = missingReference(parameter, schema, inputSchema, String(mark));
    const wrong = wrongTypesOf(schema, inputSchema).map((value) => replacing("wrong type", parameter, value, base));
    return [
      ...sound(tool, [omitting(parameter, base)]),
      ...sound(tool, wrong).slice(0, runs),
      ...sound(
        tool,
        edgesOf(schema, inputSchema, seed).map((value) => boundary(parameter, value, base)),
      ).slice(0, runs),
      ...(gone === undefined ? [] : sound(tool, [reference(parameter, gone, base)])),
    ];
  });
  const plain = distinct([base, ...inputs]).slice(0, runs) as JsonObject[];
  return unrepeated([
    // Before the same call is made for another end: only a first call has a second.
    ...(readOnly ? [repeating(base)] : []),
    ...plain.slice(readOnly ? 1 : 0).map((one): Probe => ({ kind: "valid", base: one, calls: (now) => [now] })),
    ...sound(tool, defaults(tool, base)),
    ...about,
  ]);
}

/** The call of a tool that the server does not offer. */
export function unknownToolProbe(): Probe {
  return { kind: "unknown tool", base: {}, calls: (base) => [base] };
}

/** The same call twice. */
export function repeating(base: JsonObject): Probe {
  return { kind: "repeat", base, calls: (now) => [now, now] };
}

/** The parameters with a default that the inputSchema names, with it. */
export function defaultsOf(inputSchema: JsonObject): JsonObject {
  return Object.fromEntries(
    [...parametersOf(inputSchema)].flatMap(([name, schema]) =>
      isJsonObject(schema) && schema.default !== undefined ? [[name, schema.default]] : [],
    ),
  );
}

/**
 * All defaults left out; of a read-only tool also given, before, and if it is idempotent after it too, so that a result
 * that changes by itself is not taken for another default.
 */
export function omittingDefaults({ readOnly, idempotent }: ProbedTool, given: JsonObject, base: JsonObject): Probe {
  const names = new Set(Object.keys(given));
  return {
    kind: "defaults",
    base,
    calls: (now) => {
      const omitted = Object.fromEntries(Object.entries(now).filter(([name]) => !names.has(name)));
      const explicit = { ...omitted, ...given };
      return [...(readOnly ? [explicit] : []), omitted, ...(readOnly && idempotent ? [explicit] : [])];
    },
  };
}

function defaults(tool: ProbedTool, base: JsonObject): Probe[] {
  const given = defaultsOf(tool.inputSchema);
  return Object.keys(given).length === 0 ? [] : [omittingDefaults(tool, given, base)];
}

function omitting(parameter: string, base: JsonObject): Probe {
  const calls = ({ [parameter]: _, ...rest }: JsonObject) => [rest];
  return { kind: "missing", parameter, base, calls };
}

function replacing(kind: Probe["kind"], parameter: string, value: Json, base: JsonObject): Probe {
  return { kind, parameter, base, calls: (now) => [{ ...now, [parameter]: value }] };
}

function boundary(parameter: string, value: Json, base: JsonObject): Probe {
  return { kind: "boundary", parameter, base: { ...base, [parameter]: value }, calls: (now) => [now] };
}

function reference(parameter: string, value: Json, base: JsonObject): Probe {
  return { kind: "reference", parameter, base: { ...base, [parameter]: value }, calls: (now) => [now] };
}

function sound(tool: ProbedTool, probes: readonly Probe[]): Probe[] {
  return probes.filter((probe) => isSameProbe(tool, probe, probe.base));
}

/** What makes the same calls as a probe before it is left out. */
function unrepeated(probes: readonly Probe[]): Probe[] {
  const seen = new Set<string>();
  return probes.filter(({ base, calls }) => {
    const key = canonicalJson([...calls(base)]);
    return !seen.has(key) && seen.add(key);
  });
}

/** The plain before the short: letters of ASCII are easier to tell apart, and many tools refuse an empty text. */
const size = (value: Json) => canonicalJson(value).replace(/[^ -~]|""/g, "\\u0000").length;

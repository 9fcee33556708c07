import * as fc from "fast-check";
import { canonicalJson, isJsonObject, type Json, type JsonObject } from "../../../base/types/json.ts";
import { listDefaults, listParameters } from "../../parameters.ts";
import { listBoundaries, listWrongTypes, makeMissingReference } from "./parameterValues.ts";
import { isSameProbe, type Probe, type ProbedTool, type ProbeKind } from "./probe.ts";
import { deduplicate, generateValues, sample } from "./values.ts";

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
    const place = (kind: ProbeKind, value: Json) => makeProbe(kind, { ...base, [parameter]: value }, parameter);
    return [
      [omitParameter(parameter, base)],
      listWrongTypes(schema, inputSchema).map((value) => replaceParameter(parameter, value, base)),
      listBoundaries(schema, inputSchema, seed).map((value) => place("boundary", value)),
      missing === undefined ? [] : [place("reference", missing)],
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

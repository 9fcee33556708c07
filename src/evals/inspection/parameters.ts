import { listProperties } from "../base/jsonSchema/keywords.ts";
import { resolvePointer } from "../base/jsonSchema/walk.ts";
import { isJsonObject, type Json, type JsonObject } from "../base/types/json.ts";

// The parameters of an inputSchema.

const maxVisits = 500;
const maxAlternatives = 16;

/**
 * The alternatives of a schema, each an object without $ref, allOf, anyOf and oneOf at its top. At most 16, found in a
 * bounded number of steps; references resolve inside of `root` only. They approximate the schema: a value that is
 * generated from one still has to be validated.
 */
export function listAlternatives(schema: Json | undefined, root: JsonObject): JsonObject[] {
  let visits = 0;
  const expand = (part: Json | undefined): JsonObject[] => {
    visits += 1;
    if (part === true) return [{}];
    if (!isJsonObject(part) || visits > maxVisits) return [];
    const { $ref, allOf, anyOf, oneOf, ...own } = part;
    const choices: (Json | undefined)[][] = [
      ...(typeof $ref === "string" ? [[resolvePointer($ref, root)?.value]] : []),
      ...(Array.isArray(allOf) ? allOf.map((one) => [one]) : []),
      ...[anyOf, oneOf].filter(Array.isArray),
    ];
    let alternatives: JsonObject[] = [own];
    for (const choice of choices) {
      const found = choice.flatMap(expand).slice(0, maxAlternatives);
      alternatives = alternatives.flatMap((one) => found.map((other) => merge(one, other))).slice(0, maxAlternatives);
    }
    return alternatives;
  };
  return expand(schema);
}

function merge(a: JsonObject, b: JsonObject): JsonObject {
  const both = { ...a, ...b };
  if (isJsonObject(a.properties) && isJsonObject(b.properties)) both.properties = { ...a.properties, ...b.properties };
  if (Array.isArray(a.required) && Array.isArray(b.required)) both.required = [...a.required, ...b.required];
  return both;
}

/** The parameters of a tool, each with its schema in the first alternative of the inputSchema that has it. */
export function listParameters(inputSchema: JsonObject): ReadonlyMap<string, Json> {
  const parameters = new Map<string, Json>();
  for (const alternative of listAlternatives(inputSchema, inputSchema))
    for (const [name, schema] of listProperties(alternative)) if (!parameters.has(name)) parameters.set(name, schema);
  return parameters;
}

/** The parameters of an inputSchema that have a default, with the default. */
function listDefaults(inputSchema: JsonObject): JsonObject {
  return Object.fromEntries(
    [...listParameters(inputSchema)].flatMap(([name, schema]) =>
      isJsonObject(schema) && schema.default !== undefined ? [[name, schema.default]] : [],
    ),
  );
}

/** The words of a parameter's name, in lower case and without digits. */
export function splitWords(name: string): readonly string[] {
  const spaced = name.slice(0, 200).replace(/([a-z\d])([A-Z])/g, "$1_$2");
  return spaced.toLowerCase().match(/[a-z]+/g) ?? [];
}

const times = /^(?:wait|delay|sleep|pause|duration|timeout|seconds|secs?|ms|millis(?:econds)?|minutes|interval)$/;

/** Whether a call asks a tool to wait: an argument, or the default of an omitted one, is a time. */
export function asksToWait(inputSchema: JsonObject, args: JsonObject): boolean {
  return Object.entries({ ...listDefaults(inputSchema), ...args }).some(
    ([name, value]) => typeof value === "number" && value > 0 && splitWords(name).some((word) => times.test(word)),
  );
}

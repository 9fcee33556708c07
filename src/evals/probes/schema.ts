import { resolvePointer } from "../jsonSchema/paths.ts";
import { listProperties } from "../jsonSchema/values.ts";
import { isJsonObject, type Json, type JsonObject } from "../types/json.ts";

const maxVisits = 500;
const maxAlternatives = 16;

/**
 * The alternatives of a schema, each an object without $ref, allOf, anyOf and oneOf at its top. At most 16, found in a
 * bounded number of steps; references resolve inside of `root` only. They approximate the schema: a value that is made
 * from one still has to be validated.
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

/** The parameters of a tool with their schemas, each by the first alternative of the inputSchema that names it. */
export function listParameters(inputSchema: JsonObject): ReadonlyMap<string, Json> {
  const parameters = new Map<string, Json>();
  for (const alternative of listAlternatives(inputSchema, inputSchema))
    for (const [name, schema] of listProperties(alternative)) if (!parameters.has(name)) parameters.set(name, schema);
  return parameters;
}

/** The types of a schema: the declared ones, else those that its keywords suggest, else the simple ones. */
export function guessTypes(schema: JsonObject): readonly string[] {
  const { type } = schema;
  if (typeof type === "string") return [type];
  if (Array.isArray(type)) return type.filter((one) => typeof one === "string");
  if ("properties" in schema || "additionalProperties" in schema) return ["object"];
  if ("items" in schema || "prefixItems" in schema) return ["array"];
  if ("pattern" in schema || "minLength" in schema || "maxLength" in schema || "format" in schema) return ["string"];
  if ("minimum" in schema || "maximum" in schema || "multipleOf" in schema) return ["number"];
  return ["string", "integer", "boolean"];
}

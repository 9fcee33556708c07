import { isJsonObject, type Json, type JsonObject } from "../types/json.ts";

const mostVisits = 500;
const mostWays = 16;

/**
 * The ways to meet a schema, each one an object without $ref, allOf, anyOf and oneOf at its top. At most 16, found in a
 * bounded number of steps; references lead inside of `root` only. It is a guide to make values by, and no more: what was
 * made has to be validated.
 */
export function waysOf(schema: Json | undefined, root: JsonObject): JsonObject[] {
  let visits = 0;
  const expand = (part: Json | undefined): JsonObject[] => {
    visits += 1;
    if (part === true) return [{}];
    if (!isJsonObject(part) || visits > mostVisits) return [];
    const { $ref, allOf, anyOf, oneOf, ...own } = part;
    const choices: (Json | undefined)[][] = [
      ...(typeof $ref === "string" ? [[target($ref, root)]] : []),
      ...(Array.isArray(allOf) ? allOf.map((one) => [one]) : []),
      ...[anyOf, oneOf].filter(Array.isArray),
    ];
    let ways: JsonObject[] = [own];
    for (const choice of choices) {
      const found = choice.flatMap(expand).slice(0, mostWays);
      ways = ways.flatMap((way) => found.map((one) => merged(way, one))).slice(0, mostWays);
    }
    return ways;
  };
  return expand(schema);
}

/** The parameters of a tool with their schemas, as any way to meet the inputSchema names them first. */
export function parametersOf(inputSchema: JsonObject): ReadonlyMap<string, Json> {
  const found = new Map<string, Json>();
  for (const { properties } of waysOf(inputSchema, inputSchema))
    for (const [name, schema] of Object.entries(isJsonObject(properties) ? properties : {}))
      if (!found.has(name)) found.set(name, schema);
  return found;
}

/** The types that a schema allows: as it says, else as its keywords let guess, else the simple ones. */
export function typesOf(way: JsonObject): readonly string[] {
  const { type } = way;
  if (typeof type === "string") return [type];
  if (Array.isArray(type)) return type.filter((one) => typeof one === "string");
  if ("properties" in way || "additionalProperties" in way) return ["object"];
  if ("items" in way || "prefixItems" in way) return ["array"];
  if ("pattern" in way || "minLength" in way || "maxLength" in way || "format" in way) return ["string"];
  if ("minimum" in way || "maximum" in way || "multipleOf" in way) return ["number"];
  return ["string", "integer", "boolean"];
}

/** A keyword's number, where it is one. */
export function numberAt(way: JsonObject, keyword: string): number | undefined {
  const value = way[keyword];
  return typeof value === "number" ? value : undefined;
}

function target(reference: string, root: JsonObject): Json | undefined {
  if (reference !== "#" && !reference.startsWith("#/")) return undefined;
  let at: Json | undefined = root;
  for (const part of reference.split("/").slice(1)) {
    const key = unescaped(part);
    at = (isJsonObject(at) || Array.isArray(at)) && Object.hasOwn(at, key) ? (at as JsonObject)[key] : undefined;
  }
  return at;
}

function unescaped(part: string): string {
  try {
    return decodeURIComponent(part).replaceAll("~1", "/").replaceAll("~0", "~");
  } catch {
    return part;
  }
}

function merged(a: JsonObject, b: JsonObject): JsonObject {
  const both = { ...a, ...b };
  if (isJsonObject(a.properties) && isJsonObject(b.properties)) both.properties = { ...a.properties, ...b.properties };
  if (Array.isArray(a.required) && Array.isArray(b.required)) both.required = [...a.required, ...b.required];
  return both;
}

import { isJsonObject, type Json, type JsonObject } from "../types/json.ts";
import { resolvePointer } from "./walk.ts";

/** Limits for untrusted schemas, far above what real tools need. */
const schemaLimits = {
  parts: 20_000,
  members: 2_000,
  depth: 100,
  patternLength: 5_000,
  alternatives: 10_000,
} as const;

/** Keywords whose subschemas apply to the same value as the schema. */
const inPlaceLists = ["allOf", "anyOf", "oneOf"] as const;
const inPlaceOnes = ["not", "if", "then", "else"] as const;

/** With more parts than this after expansion, validation may be slow. */
const manyParts = 5_000;

/** `fault`: why the schema must not be compiled. `isCostly`: validation may be slow, so its time must be limited. */
export type SchemaCost = { fault?: string; isCostly: boolean };

/**
 * Estimates the cost of an untrusted schema before it is compiled: its size, references that lead back to themselves
 * without going deeper into the value, and how many schemas are tried on one value, which grows exponentially with
 * nested alternatives. Does not recurse, so that no schema overflows the stack.
 */
export function estimateCost(root: JsonObject): SchemaCost {
  const parts: JsonObject[] = [];
  let isCostly = false;
  const waiting: { value: Json; depth: number }[] = [{ value: root, depth: 0 }];
  let seen = 0;
  for (let next = waiting.pop(); next; next = waiting.pop()) {
    const { value, depth } = next;
    if (typeof value !== "object" || value === null) continue;
    if (++seen > schemaLimits.parts) return refuse(`it has more than ${schemaLimits.parts} parts`);
    if (depth > schemaLimits.depth) return refuse(`it is nested more than ${schemaLimits.depth} levels deep`);
    const members = Object.values(value);
    if (isJsonObject(value)) {
      parts.push(value);
      if (members.length > schemaLimits.members)
        return refuse(`a part of it has more than ${schemaLimits.members} members`);
      const { pattern, patternProperties, uniqueItems, $ref, $dynamicRef, $recursiveRef } = value;
      const patterns = [pattern, ...(isJsonObject(patternProperties) ? Object.keys(patternProperties) : [])];
      if (patterns.some((one) => typeof one === "string" && one.length > schemaLimits.patternLength))
        return refuse(`a pattern has more than ${schemaLimits.patternLength} characters`);
      const isNamed = typeof $ref === "string" && !/^#(\/|$)/.test($ref);
      const hasPattern = typeof pattern === "string" || patternProperties !== undefined;
      if (hasPattern || uniqueItems === true || isNamed || $dynamicRef !== undefined || $recursiveRef !== undefined)
        isCostly = true;
    }
    for (const member of members) waiting.push({ value: member, depth: depth + 1 });
  }
  const inPlace = countPaths(parts, (part) => listInPlace(part, root));
  if (inPlace.hasCycle) return refuse("it refers to itself without end");
  if (inPlace.most > schemaLimits.alternatives)
    return refuse(`more than ${schemaLimits.alternatives} of its parts apply to one value`);
  const expanded = countPaths(parts, (part) => [...listInPlace(part, root), ...listNested(part)]);
  return { isCostly: isCostly || expanded.hasCycle || expanded.most > manyParts };
}

const refuse = (fault: string): SchemaCost => ({ fault, isCostly: true });

/** The subschemas that apply to the same value as this schema. */
function listInPlace(part: JsonObject, root: JsonObject): Json[] {
  const { $ref, dependentSchemas } = part;
  return [
    ...inPlaceLists.flatMap((key) => (Array.isArray(part[key]) ? part[key] : [])),
    ...inPlaceOnes.flatMap((key) => part[key] ?? []),
    ...(isJsonObject(dependentSchemas) ? Object.values(dependentSchemas) : []),
    ...(typeof $ref === "string" ? [resolvePointer($ref, root)?.value ?? null] : []),
  ];
}

/** All other subschemas. */
function listNested(part: JsonObject): Json[] {
  return Object.entries(part).flatMap(([key, value]) =>
    [...inPlaceLists, ...inPlaceOnes, "$defs", "definitions", "enum", "const", "default", "examples"].includes(key)
      ? []
      : isJsonObject(value)
        ? [value, ...Object.values(value)]
        : Array.isArray(value)
          ? value
          : [],
  );
}

/**
 * Whether a graph of schemas has a cycle, and the maximum number of schemas that are reached from one of them, counting
 * a schema once for each path to it.
 */
function countPaths(
  parts: readonly JsonObject[],
  listNext: (part: JsonObject) => Json[],
): { hasCycle: boolean; most: number } {
  const counts = new Map<JsonObject, number>();
  let hasCycle = false;
  let most = 0;
  for (const start of parts) {
    const stack = counts.has(start)
      ? []
      : [{ part: start, next: listNext(start).filter(isJsonObject), at: 0, count: 1 }];
    if (stack.length > 0) counts.set(start, Number.POSITIVE_INFINITY);
    for (let top = stack.at(-1); top; top = stack.at(-1)) {
      const child = top.next[top.at++];
      if (child === undefined) {
        counts.set(top.part, top.count);
        most = Math.max(most, top.count);
        stack.pop();
        const parent = stack.at(-1);
        if (parent) parent.count += top.count;
        continue;
      }
      const known = counts.get(child);
      if (known === undefined) {
        counts.set(child, Number.POSITIVE_INFINITY);
        stack.push({ part: child, next: listNext(child).filter(isJsonObject), at: 0, count: 1 });
      } else if (known === Number.POSITIVE_INFINITY) hasCycle = true;
      else top.count += known;
    }
  }
  return { hasCycle, most };
}

import type { Json, JsonObject } from "../../src/evals/base/types/json.ts";

// What a hostile server may list and send, shared by the tests that meet it.

/** A pattern that takes the native engine exponential time on `evilText`. */
export const evilPattern = "^(([a-z])+.)+[A-Z]([a-z])+$";
export const evilText = "a".repeat(45);

/** Compiles, and overflows the stack when it is applied. */
export const selfReference: JsonObject = {
  type: "object",
  $defs: { x: { allOf: [{ $ref: "#/$defs/x" }] } },
  properties: { a: { $ref: "#/$defs/x" } },
};

/** Every definition tries the next one twice: 2^n attempts on one value. */
export function exponentialSchema(levels: number): JsonObject {
  const $defs: JsonObject = { [`d${levels}`]: { type: "number" } };
  for (let at = 0; at < levels; at++) {
    const next = { $ref: `#/$defs/d${at + 1}` };
    $defs[`d${at}`] = { anyOf: [next, next] };
  }
  return { type: "object", $defs, properties: { a: { $ref: "#/$defs/d0" } } };
}

/** The same through properties, with the value that takes 2^n attempts. */
export function nestedAlternatives(levels: number): { schema: JsonObject; value: JsonObject } {
  const $defs: JsonObject = { [`d${levels}`]: { type: "number" } };
  for (let at = 0; at < levels; at++) {
    const branch = { properties: { a: { $ref: `#/$defs/d${at + 1}` } }, required: ["a"] };
    $defs[`d${at}`] = { anyOf: [branch, { ...branch, title: "again" }] };
  }
  return { schema: { $defs, $ref: "#/$defs/d0" }, value: deepValue(levels) };
}

/** An object schema inside an object schema, so many times. */
export function deepSchema(levels: number): JsonObject {
  let schema: JsonObject = { type: "string" };
  for (let at = 0; at < levels; at++) schema = { type: "object", properties: { a: schema } };
  return schema;
}

/** `{"a":{"a":...}}` */
export function deepValue(levels: number): JsonObject {
  let value: Json = {};
  for (let at = 0; at < levels; at++) value = { a: value };
  return value as JsonObject;
}

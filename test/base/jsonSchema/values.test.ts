import { expect, test } from "vitest";
import {
  explainTypeMisfit,
  getNumber,
  getProperty,
  getSingleType,
  listRequired,
  listTypes,
  withoutNull,
} from "../../../src/evals/base/jsonSchema/values.ts";
import type { Json, JsonObject } from "../../../src/evals/base/types/json.ts";

test("types are those of JSON Schema, each once", () => {
  expect(listTypes({ type: ["string", "null", "string", "dict", 5] })).toEqual(["string", "null"]);
  expect(listTypes({})).toEqual([]);
  expect(getSingleType({ type: ["integer", "null"] })).toBe("integer");
  expect(getSingleType({ type: ["integer", "string"] })).toBeUndefined();
});

test("required and properties are read from malformed schemas too", () => {
  expect(listRequired({ required: ["a", 5, "a", "b"] })).toEqual(["a", "b"]);
  expect(listRequired({ required: "a" })).toEqual([]);
  expect(getProperty({ properties: {} }, "constructor")).toBeUndefined();
});

test("a number is finite", () => {
  const schema = JSON.parse('{ "minimum": 0, "maximum": 1e999, "minLength": "5" }');
  expect(["minimum", "maximum", "minLength"].map((keyword) => getNumber(schema, keyword))).toEqual([
    0,
    undefined,
    undefined,
  ]);
});

test("a nullable schema without null is its other branch, with the keywords next to it", () => {
  const nullable = { anyOf: [{ type: "string" }, { type: "null" }], description: "A text." };
  expect(withoutNull(nullable)).toEqual({ type: "string", description: "A text." });
  const union = { anyOf: [{ type: "string" }, { type: "integer" }] };
  expect(withoutNull(union)).toBe(union);
  const twice = { anyOf: [{ type: "string" }, { type: "null" }, { type: "null" }] };
  expect(withoutNull(twice)).toBe(twice);
  const both = { anyOf: [{ type: "string" }, { type: "null" }], oneOf: [{ minLength: 1 }] };
  expect(withoutNull(both)).toBe(both);
});

test.each<[Json, JsonObject, string | undefined]>([
  ["5", { type: "integer" }, "is a string, not an integer"],
  [null, { type: ["string", "array"] }, "is null, not a string or an array"],
  [5.5, { type: "integer" }, "is a number, not an integer"],
  [5, { type: ["integer", "null"] }, undefined],
])("the type of %j in %j", (value, schema, reason) => {
  expect(explainTypeMisfit(value, schema)).toBe(reason);
});

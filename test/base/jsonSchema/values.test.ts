import { Ajv2020 } from "ajv/dist/2020.js";
import fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import {
  explainMisfit,
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

test("a nullable schema without null is its other branch, with the keywords next to it", () => {
  const nullable = { anyOf: [{ type: "string" }, { type: "null" }], description: "A text." };
  expect(withoutNull(nullable)).toEqual({ type: "string", description: "A text." });
  const union = { anyOf: [{ type: "string" }, { type: "integer" }] };
  expect(withoutNull(union)).toBe(union);
  const twice = { anyOf: [{ type: "string" }, { type: "null" }, { type: "null" }] };
  expect(withoutNull(twice)).toBe(twice);
});

describe("explainMisfit", () => {
  it.each<[Json, JsonObject, string | undefined]>([
    ["5", { type: "integer" }, "is a string, not an integer"],
    [null, { type: ["string", "array"] }, "is null, not a string or an array"],
    ["c", { enum: ["a", "b"] }, 'is not one of the allowed values ("a", "b")'],
    [0, { minimum: 1 }, "is below the minimum of 1"],
    ["abc", { maxLength: 2 }, "is above the maxLength of 2"],
    [[1, "x"], { items: { type: "integer" } }, 'contains "x", which is a string, not an integer'],
    [5, { anyOf: [{ type: "string" }, { maximum: 4 }] }, "is a number, not a string"],
    [5, { type: "integer", minimum: 5 }, undefined],
  ])("%j in %j", (value, schema, reason) => {
    expect(explainMisfit(value, schema)).toBe(reason);
  });

  it("returns undefined for every value that a validator accepts", () => {
    const ajv = new Ajv2020({ strict: false, logger: false });
    const size = fc.integer({ min: 0, max: 3 });
    const schema = fc.record(
      {
        type: fc.constantFrom("string", "integer", "number", "array", "null"),
        ...{ minimum: size, maximum: size, minLength: size, maxLength: size, minItems: size, maxItems: size },
        items: fc.record({ type: fc.constantFrom("string", "integer") }),
        anyOf: fc.array(fc.record({ type: fc.constantFrom("string", "null") }), { minLength: 1, maxLength: 2 }),
        enum: fc.uniqueArray(fc.constantFrom("a", 1, null), { minLength: 1 }),
      },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(schema, fc.jsonValue({ maxDepth: 2 }), (one, value) => {
        const misfit = explainMisfit(value as Json, one as JsonObject);
        expect(ajv.validate(one, value) ? misfit : undefined).toBeUndefined();
      }),
    );
  });
});

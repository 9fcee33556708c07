import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Json, jsonObjectSchema, jsonSchema } from "../../../src/evals/base/types/json.ts";

describe("jsonSchema", () => {
  it("takes every JSON value as it is", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const json = JSON.parse(JSON.stringify(value)) as Json;
        expect(jsonSchema.parse(json)).toEqual(json);
      }),
    );
  });

  it.each([
    ["undefined", undefined],
    ["a member that is undefined", { a: undefined }],
    ["a function", [() => 1]],
    ["a number that JSON cannot write", { a: [Number.NaN] }],
    ["an object of a class", { a: new Date() }],
    ["a big integer", 1n],
  ])("refuses %s", (_, value) => {
    expect(jsonSchema.safeParse(value).success).toBe(false);
  });

  it("does not overflow the stack on deep values", () => {
    let deep: Json = 1;
    for (let level = 0; level < 100_000; level++) deep = [deep];
    expect(jsonSchema.safeParse(deep).success).toBe(true);
  });
});

it("takes only plain objects as JSON objects", () => {
  expect(jsonObjectSchema.parse({ a: [1, null] })).toEqual({ a: [1, null] });
  for (const other of [[], null, "a", 1]) expect(jsonObjectSchema.safeParse(other).success).toBe(false);
});

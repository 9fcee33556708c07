import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { showJson } from "../../../src/evals/base/text/text.ts";
import {
  isMarked,
  type Json,
  jsonObjectSchema,
  jsonSchema,
  parseExactJson,
  toNumbers,
  writeExactJson,
} from "../../../src/evals/base/types/json.ts";

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

it.each([
  "1234567890123456789",
  "-1234567890123456789",
  "9007199254740993",
  "18446744073709551616",
  '{"id":1234567890123456701,"tags":["1234567890123456701",12],"at":0.1234567890123456}',
  '{"text":"a \\"9007199254740993\\" b","n":[9007199254740993,9007199254740992]}',
])("keeps every digit of %s", (json) => {
  expect(writeExactJson(parseExactJson(json))).toBe(json);
  expect(showJson(parseExactJson(json))).toBe(json);
});

it.each(["9007199254740992", "10000000000000000", "1e30", "0.1234567890123456789", '"1234567890123456789"', "12"])(
  "leaves what is no whole number, or what a number holds: %s",
  (json) => expect(parseExactJson(json)).toEqual(JSON.parse(json)),
);

it("is a number again for a check by a schema", () => {
  const value = parseExactJson('{"id":1234567890123456789,"ids":[1234567890123456789,1]}');
  expect(isMarked((value as { id: string }).id)).toBe(true);
  expect(toNumbers(value)).toEqual(JSON.parse('{"id":1234567890123456789,"ids":[1234567890123456789,1]}'));
});

import { expect, it, test } from "vitest";
import {
  explainTypeMisfit,
  findMalformed,
  getNumber,
  getProperty,
  getSingleType,
  listRequired,
  listTypes,
  withoutNull,
} from "../../../src/evals/base/jsonSchema/keywords.ts";
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

const describeAll = (schema: JsonObject) => [...findMalformed(schema)].map(({ message, fix }) => `${message} ${fix}`);

test.each([
  ["integer", ["int", "long", "int32", "int64", "Integer"]],
  ["number", ["float", "double", "decimal", "Number"]],
  ["string", ["str", "text", "String", "date", "datetime", "uuid", "file", "enum"]],
  ["boolean", ["bool", "Boolean"]],
  ["array", ["list", "tuple", "set", "Array"]],
  ["object", ["dict", "map", "json", "Object"]],
])("the type %s has other names in other languages", (type, names) => {
  expect(names.flatMap((name) => describeAll({ type: name }))).toEqual(
    names.map((name) => `"${name}" is not a type of JSON Schema. Write "${type}".`),
  );
});

test("a keyword of another form is named with the form that it must have", () => {
  const schema: JsonObject = {
    ...{ type: ["string", "any"], properties: { a: 1 }, $defs: [], additionalProperties: "no", anyOf: [], items: 5 },
    ...{ required: ["a", "a"], enum: {}, maximum: "9", multipleOf: 0, minLength: -1, uniqueItems: 1, title: 7 },
    ...{ pattern: "(", patternProperties: { "[": {} } },
  };
  expect(describeAll(schema).join("\n")).toMatchInlineSnapshot(`
    ""a" in properties is 1; it must be a schema. Make it a schema, or remove it.
    $defs is an array; it must be an object that gives each name a schema. Make $defs an object that gives each name a schema, or remove it.
    additionalProperties is "no"; it must be a schema. Make additionalProperties a schema, or remove it.
    anyOf is an array; it must be a list of one or more schemas. Make anyOf a list of one or more schemas, or remove it.
    items is 5; it must be a schema. Make items a schema, or remove it.
    required is an array; it must be a list of names, each once. Make required a list of names, each once, or remove it.
    enum is an object; it must be a list of values. Make enum a list of values, or remove it.
    maximum is "9"; it must be a number. Make maximum a number, or remove it.
    multipleOf is 0; it must be a number above 0. Make multipleOf a number above 0, or remove it.
    minLength is -1; it must be a whole number of 0 or more. Make minLength a whole number of 0 or more, or remove it.
    uniqueItems is 1; it must be true or false. Make uniqueItems true or false, or remove it.
    title is 7; it must be a string. Make title a string, or remove it.
    "any" is not a type of JSON Schema. Use one of string, integer, number, boolean, array, object, null.
    The pattern "(" is not a regular expression of JSON Schema (ECMA-262, Unicode). Write it so that new RegExp(pattern, 'u') accepts it.
    The pattern "[" is not a regular expression of JSON Schema (ECMA-262, Unicode). Write it so that new RegExp(pattern, 'u') accepts it."
  `);
  expect(describeAll({ type: [] })).toMatchInlineSnapshot(`
    [
      "an array is not a type of JSON Schema. Use one of string, integer, number, boolean, array, object, null.",
    ]
  `);
});

it.each([
  ...[{ type: 5 }, { minimum: "1" }, { exclusiveMinimum: true }, { maxLength: 1.5 }, { anyOf: {} }, { pattern: 5 }],
  ...[{ required: true }, { required: [1] }, { required: [null] }, { properties: ["a"] }, { description: ["a"] }],
])("one keyword of another form is one fault: %j", (schema) => {
  expect(describeAll(schema)).toHaveLength(1);
});

it.each([
  ["(?P<year>\\d{4})", "A named group is (?<name>...)."],
  ["(?i)abc", "There are no flags: for (?i), write [Aa]."],
  ["(?i:abc)", "There are no flags: for (?i), write [Aa]."],
  ["\\Aabc\\Z", "Write ^ and $ for \\A and \\Z."],
  ["[[:alpha:]]+", "Write ranges for POSIX classes: [A-Za-z] for [[:alpha:]]."],
  ["a++b", "No possessive or atomic match: write a+ for a++."],
  ["(?>a)", "No possessive or atomic match: write a+ for a++."],
  ["^\\p{Han}+$", "Unicode classes are \\p{L}, \\p{Lu} or \\p{Script=Greek}."],
  ["^\\@x$", "Remove the backslash before a sign that has no meaning of its own."],
])("the pattern %s has its remedy", (pattern, advice) => {
  const [violation] = findMalformed({ pattern });
  expect(violation?.fix).toBe(`${advice} Write it so that new RegExp(pattern, 'u') accepts it.`);
});

test("every form that JSON Schema allows is accepted", () => {
  const schema: JsonObject = {
    ...{ type: ["string", "null"], properties: { a: true }, $defs: {}, additionalProperties: false, anyOf: [{}, true] },
    ...{ items: [{}], required: [], enum: [], maximum: -1.5, multipleOf: 0.01, minLength: 0, uniqueItems: false },
    ...{ title: "", pattern: "^\\p{L}$", patternProperties: { "^x": {} }, "x-unknown": 1 },
  };
  expect(describeAll(schema)).toEqual([]);
});

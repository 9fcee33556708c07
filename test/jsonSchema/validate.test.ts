import { describe, expect, test } from "vitest";
import { compileSchema } from "../../src/evals/jsonSchema/validate.ts";
import type { Json, JsonObject } from "../../src/evals/types/json.ts";

const check = (schema: JsonObject, value: Json) => {
  const validate = compileSchema(schema);
  if (typeof validate === "string") return `unreadable: ${validate}`;
  const validity = validate(value, "args");
  return validity.kind === "valid" ? "valid" : validity.why;
};

describe("compileSchema", () => {
  test("formats are checked, unknown ones and unknown keywords are not", () => {
    const email = { properties: { to: { type: "string", format: "email" } } };
    expect(check(email, { to: "nobody" })).toBe('args.to must match format "email", got "nobody"');
    expect(check({ properties: { to: { type: "string", format: "smell" } }, "x-order": 1 }, { to: "a" })).toBe("valid");
  });

  test("draft 7 tuples are read with and without the draft's name", () => {
    const pair = { properties: { p: { type: "array", items: [{ type: "number" }, { type: "string" }] } } };
    expect(check(pair, { p: ["a", 1] })).toBe('args.p.0 must be number, got "a"');
    const named = { $schema: "http://json-schema.org/draft-07/schema#", ...pair };
    expect(check(named, { p: [1, 1] })).toBe("args.p.1 must be string, got 1");
  });

  test("2020-12 tuples and definitions", () => {
    const schema = {
      $schema: "https://json-schema.org/draft/2020-12/schema",
      properties: { p: { prefixItems: [{ $ref: "#/$defs/n" }] } },
      $defs: { n: { type: "number" } },
    };
    expect(check(schema, { p: ["a"] })).toBe('args.p.0 must be number, got "a"');
  });

  test("reports what cannot be compiled", () => {
    expect(check({ properties: { a: { $ref: "#/nowhere" } } }, {})).toBe(
      "unreadable: can't resolve reference #/nowhere from id inputSchema",
    );
    expect(check({ properties: { a: { $ref: "https://example.com/a" } } }, {})).toBe(
      "unreadable: can't resolve reference https://example.com/a from id inputSchema",
    );
  });

  test.each([
    [{ type: "strin" }, '$: "strin" is not a type of JSON Schema'],
    [{ properties: [] }, "$: properties is an array; it must be an object that gives each name a schema"],
    [{ properties: { a: "string" } }, '$: "a" in properties is "string"; it must be a schema'],
    [
      { properties: { a: { items: { minLength: -1 } } } },
      "$.properties.a.items: minLength is -1; it must be a whole number of 0 or more",
    ],
    [{ properties: { a: { multipleOf: 0 } } }, "$.properties.a: multipleOf is 0; it must be a number above 0"],
    [{ anyOf: [] }, "$: anyOf is an array; it must be a list of one or more schemas"],
    [{ required: "a" }, 'required value must be ["array"]'],
  ])("a schema that JSON Schema does not allow is not compiled: %j", (schema, why) => {
    expect(compileSchema(schema as JsonObject)).toBe(why);
  });

  test("a malformed definition that nothing refers to does no harm", () => {
    expect(check({ $defs: { a: { type: "strin" } }, properties: { b: { type: "string" } } }, { b: 1 })).toBe(
      "args.b must be string, got 1",
    );
  });

  test("a schema may name itself, and an inherited member is no argument", () => {
    const tree = { type: "object", properties: { child: { $ref: "#" }, name: { type: "string" } } };
    expect(check(tree, { child: { child: { name: 1 } } })).toBe("args.child.child.name must be string, got 1");
    expect(check({ type: "object", required: ["constructor"] }, {})).toBe(
      "args must have required property 'constructor'",
    );
  });

  test("two schemas may carry the same $id", () => {
    const schema = (type: string) => ({ $id: "https://example.com/tool", properties: { a: { type } } });
    expect(check(schema("string"), { a: "x" })).toBe("valid");
    expect(check(schema("number"), { a: "x" })).toBe('args.a must be number, got "x"');
  });
});

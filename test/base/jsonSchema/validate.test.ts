import { describe, expect, test } from "vitest";
import { compileSchema } from "../../../src/evals/base/jsonSchema/validate.ts";
import type { Json, JsonObject } from "../../../src/evals/base/types/json.ts";

const check = (schema: JsonObject, value: Json) => {
  const validate = compileSchema(schema);
  if (typeof validate === "string") return `unreadable: ${validate}`;
  const validity = validate(value, "args");
  return validity.kind === "valid" ? "valid" : validity.why;
};

describe("compileSchema", () => {
  test.each<[JsonObject, Json]>([
    // Local times and dates, which servers made with zod and pydantic accept, and all else that only a format refuses.
    [{ type: "string", format: "time" }, "07:30"],
    [{ type: "string", format: "date-time" }, "2026-03-01T19:30"],
    [{ type: "string", format: "uri" }, "example.com"],
    [{ type: "string", format: "smell", "x-order": 1 }, "a"],
    [{ multipleOf: 0.01 }, 19.99],
    [{ multipleOf: 0.1 }, 0.3],
    [{ multipleOf: 0.001 }, 1234.567],
    [{ multipleOf: 0.01 }, 1234567.89],
    [{ multipleOf: 1e-7 }, 0.0000003],
    [{ multipleOf: 5 }, 1e21],
    // OpenAPI, whose servers accept null in all of these.
    [{ type: "string", nullable: true }, null],
    [{ type: "string", nullable: true, enum: ["x"] }, null],
    [{ nullable: true, anyOf: [{ type: "string" }, { type: "number" }] }, null],
    [{ nullable: true, allOf: [{ type: "object" }] }, null],
    [{ nullable: false, allOf: [{ type: "object" }] }, {}],
    // schemars and pydantic.
    [{ anyOf: [{ enum: ["x"] }, { type: "null" }], default: null }, null],
    [{ type: ["string", "null"], title: "A" }, null],
    [{ propertyNames: { enum: ["x"] }, additionalProperties: { type: "number" } }, { x: 1 }],
    [{ type: "string", id: "name", pattern: "^x" }, "x"],
  ])("%j accepts %j", (schema, value) => expect(check({ properties: { a: schema } }, { a: value })).toBe("valid"));

  test("fractions are still refused", () => {
    expect(check({ properties: { a: { multipleOf: 0.01 } } }, { a: 19.995 })).toBe(
      "args.a must be multiple of 0.01, got 19.995",
    );
  });

  test("draft 7 tuples are read with and without the draft's name", () => {
    const pair = { properties: { p: { type: "array", items: [{ type: "number" }, { type: "string" }] } } };
    expect(check(pair, { p: ["a", 1] })).toBe('args.p.0 must be number, got "a"');
    const named = { $schema: "http://json-schema.org/draft-07/schema#", ...pair };
    expect(check(named, { p: [1, 1] })).toBe("args.p.1 must be string, got 1");
  });

  test.each<[JsonObject, Json, string]>([
    [{ minimum: 0, exclusiveMinimum: true }, 0, "args.a must be > 0, got 0"],
    [{ minimum: 0, exclusiveMinimum: false }, -1, "args.a must be >= 0, got -1"],
    [{ maximum: 9, exclusiveMaximum: true, id: "#nine" }, 9, "args.a must be < 9, got 9"],
    [{ nullable: true, anyOf: [{ type: "string" }] }, 1, "args.a must be string, got 1"],
    [{ nullable: true, allOf: [{ minimum: "0", maximum: 1 }] }, 2, "args.a must be <= 1, got 2"],
    [{ type: "object", unevaluatedProperties: false }, { b: 1 }, 'args.a must NOT have unevaluated properties: "b"'],
  ])("%j refuses %j", (schema, value, why) => expect(check({ properties: { a: schema } }, { a: value })).toBe(why));

  test.each(["https://json-schema.org/draft/2019-09/schema", "http://json-schema.org/draft-04/schema#", undefined])(
    "a list under items is a tuple in %s",
    ($schema) => {
      const schema = {
        ...($schema && { $schema }),
        properties: { p: { items: [{ type: "number" }], additionalItems: false } },
      };
      expect(check(schema, { p: [1] })).toBe("valid");
      expect(check(schema, { p: [1, 2] })).toBe("args.p must NOT have more than 1 items, got [1,2]");
    },
  );

  test.each([
    ["$ref", "#/$defs/gone"],
    ["$ref", "https://example.com/other.json"],
    ["$dynamicRef", "#nope"],
  ])("a %s to %s leaves out itself alone", (keyword, reference) => {
    const schema = { properties: { a: { [keyword]: reference, maxLength: 1 }, b: { type: "string" } } };
    expect(check(schema, { a: "x", b: 1 })).toBe("args.b must be string, got 1");
    expect(check(schema, { a: "xy" })).toBe('args.a must NOT have more than 1 characters, got "xy"');
    const leftOut = `$.properties.a: ${keyword} leads to no schema of the same document`;
    expect(compileSchema(schema)).toHaveProperty("leftOut", leftOut);
  });

  test("2020-12 tuples and definitions", () => {
    const schema = {
      $schema: "https://json-schema.org/draft/2020-12/schema",
      properties: { p: { prefixItems: [{ $ref: "#/$defs/n" }] } },
      $defs: { n: { type: "number" } },
    };
    expect(check(schema, { p: ["a"] })).toBe('args.p.0 must be number, got "a"');
  });

  test("lists the refused members of an object, the one of the message first", () => {
    const faults = (schema: JsonObject, value: Json) => {
      const validate = compileSchema(schema);
      const validity = typeof validate === "string" ? undefined : validate(value, "args");
      return validity?.kind === "invalid" && validity.faults?.map(({ member, kind }) => `${member} ${kind}`);
    };
    const properties = { a: { type: "string" }, b: { type: "object", properties: { c: { enum: [1] } } } };
    const schema = { type: "object", properties, required: ["a", "b"] };
    expect(faults(schema, { a: 1, b: { c: 2 } })).toEqual(["a wrong-type", "b wrong-value"]);
    expect(faults(schema, {})).toEqual(["a missing", "b missing"]);
    expect(faults({ ...schema, additionalProperties: false }, { x: 1, b: 1 })).toEqual([
      "a missing",
      "x invented",
      "b wrong-type",
    ]);
    // One of these is enough, so not all of them are missing.
    const either = { type: "object", anyOf: [{ required: ["a"] }, { required: ["b"] }] };
    expect(faults(either, {})).toEqual(["a missing"]);
    const whole = { allOf: [{ $ref: "#/$defs/t" }], unevaluatedProperties: false, $defs: { t: schema } };
    expect(faults(whole, { a: "x", b: 1 })).toEqual(["b wrong-type"]);
    const many = Object.fromEntries(Array.from({ length: 50 }, (_, at) => [`m${at}`, at]));
    expect(faults({ type: "object", additionalProperties: false }, many)).toHaveLength(20);
  });

  test("a $dynamicRef or $recursiveRef within one document is a $ref", () => {
    const node = { $dynamicAnchor: "node", type: "object", properties: { n: { type: "number" } } };
    for (const reference of ["#node", "#/$defs/node"]) {
      const schema = { type: "object", properties: { a: { $dynamicRef: reference } }, $defs: { node } };
      expect(check(schema, { a: { n: 1 } })).toBe("valid");
      expect(check(schema, { a: { n: "x" } })).toBe('args.a.n must be number, got "x"');
    }
    const tree = { $dynamicAnchor: "tree", properties: { n: { type: "number" }, next: { $dynamicRef: "#tree" } } };
    expect(check(tree, { next: { next: { n: "x" } } })).toBe('args.next.next.n must be number, got "x"');
    const defined = { $ref: "#/$defs/tree", $defs: { tree: { properties: { next: { $recursiveRef: "#" } } } } };
    expect(check({ ...defined, required: ["n"] }, { n: 1, next: {} })).toBe(
      "args.next must have required property 'n'",
    );
  });

  test("a $dynamicRef that leads to itself is not checked", () => {
    expect(check({ type: "object", $dynamicRef: "#" }, {})).toBe("validating does not end");
    const own = { type: "object", properties: { a: { $dynamicAnchor: "a", $dynamicRef: "#a" } } };
    expect(check(own, { a: "x" })).toBe("validating does not end");
  });

  test("reports what cannot be compiled", () => {
    const schema = { $ref: "#/$defs/a", $defs: { a: { $id: "x" }, b: { $id: "x", type: "string" } } };
    expect(check(schema, {})).toBe('unreadable: reference "x" resolves to more than one schema');
    const endless = { type: "object", properties: { a: { $ref: "#/properties/a" } } };
    expect(check(endless, {})).toBe("unreadable: it refers to itself without end");
  });

  test("compiles thousands of properties", () => {
    const properties = Object.fromEntries(Array.from({ length: 4_000 }, (_, at) => [`p${at}`, { type: "string" }]));
    expect(check({ type: "object", properties }, { p0: "a", p3999: 5 })).toBe("args.p3999 must be string, got 5");
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
    [{ required: "a" }, '$: required is "a"; it must be a list of names, each once'],
    [
      { properties: { a: { pattern: "^(?P<year>\\d{4})$" } } },
      '$.properties.a: The pattern "^(?P<year>\\\\d{4})$" is not a regular expression of JSON Schema (ECMA-262, Unicode)',
    ],
    [
      { patternProperties: { "(?i)x": { type: "string" } } },
      '$: The pattern "(?i)x" is not a regular expression of JSON Schema (ECMA-262, Unicode)',
    ],
  ])("what JSON Schema does not allow leaves out itself alone: %j", (part, leftOut) => {
    const schema = { allOf: [part], required: ["b"] } as unknown as JsonObject;
    const validate = compileSchema(schema);
    expect(typeof validate === "string" ? validate : validate.leftOut).toBe(leftOut.replace("$", "$.allOf[0]"));
    expect(check(schema, { a: "many", x: 1 })).toBe("args must have required property 'b'");
    expect(check(schema, { a: "many", x: 1, b: 1 })).toBe("valid");
  });

  test.each(["additionalProperties", "unevaluatedProperties"])(
    "names that only a pattern left out allows are not refused by %s",
    (rest) => {
      const patternProperties = { "(?i)^x": { type: "integer" }, "^y": { type: "integer" } };
      const schema = { properties: { a: { type: "string" } }, patternProperties, [rest]: false };
      expect(check(schema, { a: "b", X1: 3, y1: 2 })).toBe("valid");
      expect(check(schema, { y1: "no" })).toBe('args.y1 must be integer, got "no"');
    },
  );

  test("a pattern that takes too long hides nothing else that is wrong", () => {
    const properties = { a: { type: "string", pattern: "^(a+)+$" }, pattern: { type: "integer" } };
    const a = `${"a".repeat(40)}!`;
    expect(check({ properties }, { a, pattern: "many" })).toBe('args.pattern must be integer, got "many"');
    expect(check({ properties }, { a, pattern: 1 })).toBe("validating takes more than 1000 ms");
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

import type { ToolSubject } from "../../../../src/evals/inspection/lint/rule.ts";
import { aChangedTool, aToolWith, type CasesOf } from "./cases.ts";

const city = { type: "string", description: "The city." };
const input = (inputSchema: unknown) => aChangedTool({ inputSchema });
const output = (outputSchema: unknown) => aChangedTool({ outputSchema });
const one = (schema: unknown) => aToolWith({ city: schema as Record<string, unknown> });
const root = (more: Record<string, unknown>) => input({ type: "object", properties: { city }, ...more });
const plain = aChangedTool({});
const none = input({ type: "object", properties: {} });
const nested = (levels: number) => {
  let schema: Record<string, unknown> = city;
  for (let level = 0; level < levels; level++) schema = { type: "object", properties: { inner: schema } };
  return input(schema);
};
const names = (count: number) => Array.from({ length: count }, (_, index) => `part_${index}`);
const properties = (count: number) => Object.fromEntries(names(count).map((name) => [name, city]));

const shapeCases: CasesOf<ToolSubject> = {
  "tool-shape": {
    clean: [
      plain,
      none,
      output({ type: "object", oneOf: [{}] }),
      aChangedTool({ description: undefined, annotations: {} }),
      aChangedTool({ title: "Weather", annotations: { title: "Weather", readOnlyHint: true, destructiveHint: false } }),
    ],
    violations: {
      "the name is a string of one character or more": [undefined, 7, ["get_weather"], ""].map((name) =>
        aChangedTool({ name }),
      ),
      "a title and a description are strings": [
        aChangedTool({ title: 5 }),
        aChangedTool({ description: ["a", "b"] }),
        aChangedTool({ description: null }),
      ],
      "there is an inputSchema, and it is an object": [undefined, null, [], "object", true].map(input),
      'the type of the inputSchema is "object"': [
        input({ properties: {} }),
        input({ type: "string" }),
        input({ type: ["object"], properties: {} }),
      ],
      'an outputSchema is an object of type "object"': [
        output("object"),
        output([]),
        output({ type: "array", items: city }),
        output({ properties: {} }),
      ],
      "annotations are an object": [[], "read-only", null].map((annotations) => aChangedTool({ annotations })),
      "hints are true or false, and the title of annotations is a string": [
        { readOnlyHint: "true" },
        { idempotentHint: 1 },
        { title: 1 },
      ].map((annotations) => aChangedTool({ annotations })),
    },
  },
  "root-combinator": {
    clean: [plain, one({ anyOf: [{ type: "string" }, { type: "null" }] })],
    violations: {
      "no oneOf at the root": [root({ oneOf: [{ required: ["city"] }] })],
      "no anyOf at the root": [root({ anyOf: [{ required: ["city"] }] })],
      "no allOf at the root": [root({ allOf: [{ required: ["city"] }] })],
      "no not or enum at the root": [root({ not: { required: ["city"] } }), root({ enum: [{}] })],
    },
  },
  "root-properties-missing": {
    clean: [plain, none],
    violations: {
      "the root has properties, even if none": [
        input({ type: "object" }),
        input({ type: "object", additionalProperties: false }),
      ],
    },
  },
  "keyword-unknown-to-gemini": {
    clean: [plain, one({ anyOf: [{ type: "string", minLength: 1, pattern: "^a" }, { type: "null" }] })],
    violations: {
      "no keyword that Gemini lacks": [
        one({ type: "number", exclusiveMinimum: 0 }),
        one({ type: "array", items: { const: "a" }, uniqueItems: true }),
        one({ oneOf: [{ type: "string" }, { type: "number" }] }),
      ],
      "no enum of numbers, null or an empty text": [
        one({ type: "integer", enum: [10, 20] }),
        one({ type: ["string", "null"], enum: ["a", null] }),
        one({ type: "string", enum: ["", "a"] }),
      ],
      "no tuple of older drafts": [one({ type: "array", items: [{ type: "string" }, { type: "string" }] })],
      "no list of types, and no reference": [
        one({ type: ["string", "null"] }),
        input({ type: "object", properties: { a: { $ref: "#/$defs/a" } }, $defs: { a: { type: "string" } } }),
      ],
    },
  },
  "required-unknown": {
    clean: [
      plain,
      one({ type: "object", properties: { a: city, b: city }, anyOf: [{ required: ["a"] }, { required: ["b"] }] }),
      one({ type: "object", required: ["a"], allOf: [{ properties: { a: city } }] }),
    ],
    violations: {
      "required names properties of the schema": [
        root({ required: ["town"] }),
        root({ required: ["constructor"] }),
        input({ type: "object", required: ["city"] }),
        one({ type: "object", properties: { name: city }, required: ["title"] }),
        output({ type: "object", properties: {}, required: ["result"] }),
      ],
    },
  },
  "required-with-default": {
    clean: [plain, aToolWith({ city: { ...city, default: "Oslo" } })],
    violations: {
      "a parameter with a default is not required": [
        aToolWith({ city: { ...city, default: "Oslo" } }, ["city"]),
        aToolWith({ city: { ...city, default: null } }, ["city"]),
        one({ type: "object", properties: { name: { ...city, default: "" } }, required: ["name"] }),
      ],
    },
  },
  "required-many": {
    clean: [plain, aToolWith(properties(9), names(5))],
    violations: { "few parameters are required": [aToolWith(properties(9), names(6))] },
  },
};

const contentCases: CasesOf<ToolSubject> = {
  "schema-not-valid": {
    clean: [
      plain,
      // Names of properties are no keywords.
      aToolWith({ type: city, pattern: city, enum: city, minimum: city }),
    ],
    violations: {
      "types are those of JSON Schema": [
        one({ type: "int" }),
        output({ type: "object", properties: { city: { type: "String" } } }),
      ],
      "properties, items and branches contain schemas": [root({ properties: ["city"] })],
      "bounds are numbers and lengths whole numbers": [one({ type: "integer", minimum: "1" })],
      "an enum is a list": [one({ ...city, enum: "a|b" })],
      "a pattern is a regular expression": [one({ ...city, pattern: "(" })],
      "required is a list of names, each once": [root({ required: "city" })],
      "titles, descriptions and formats are strings": [one({ ...city, description: ["The city."] })],
    },
  },
  "schema-unsatisfiable": {
    clean: [
      plain,
      one({ type: "integer", minimum: 1, maximum: 1 }),
      one({ type: ["string", "null"], enum: ["a", null] }),
      one({ type: "number", enum: [1, 2.5] }),
    ],
    violations: {
      "a minimum is not above its maximum": [one({ type: "integer", minimum: 2, maximum: 1 })],
      "a minimum length is not above its maximum": [one({ ...city, minLength: 5, maxLength: 4 })],
      "a minimum number of items is not above its maximum": [
        one({ type: "array", items: city, minItems: 2, maxItems: 1 }),
        one({ type: "object", minProperties: 2, maxProperties: 1 }),
      ],
      "an enum allows a value": [one({ ...city, enum: [] })],
      "the values of an enum are of the type": [
        one({ type: "integer", enum: ["1", "2"] }),
        one({ ...city, enum: ["a", null] }),
      ],
      "a const is of the type": [one({ ...city, const: 5 })],
    },
  },
  "default-violates-schema": {
    clean: [
      plain,
      one({ type: "integer", default: 5, minimum: 1, maximum: 5 }),
      one({ anyOf: [{ type: "string" }, { type: "null" }], default: null }),
      one({ type: "array", items: { enum: ["a"] }, default: ["a"] }),
      one({ $ref: "#/$defs/City", default: 5 }),
      one({ type: "array", items: { $ref: "#" }, default: ["a"] }),
    ],
    violations: {
      "a default is of the type": [one({ type: "integer", default: "5" })],
      "a default is an allowed value": [one({ ...city, enum: ["a", "b"], default: "all" })],
      "a default matches the step and the properties": [
        one({ type: "object", properties: { page: { type: "integer" } }, default: { page: "1" } }),
      ],
      "a default is within the bounds": [one({ type: "integer", minimum: 1, default: 0 })],
    },
  },
};

const hostCases: CasesOf<ToolSubject> = {
  "ref-unresolved": {
    clean: [
      plain,
      root({
        properties: { a: { $ref: "#/$defs/a~1b" }, c: { $ref: "#/$defs/%C3%A4" } },
        $defs: { "a/b": city, ä: city },
      }),
      root({ properties: { a: { $ref: "#city" } }, $defs: { city: { ...city, $anchor: "city" } } }),
      root({
        $id: "https://example.com/a",
        properties: { a: { $ref: "https://example.com/a#/$defs/b" } },
        $defs: { b: city },
      }),
    ],
    violations: {
      "a local $ref leads to a schema": [
        one({ $ref: "#/$defs/City" }),
        one({ $ref: "#City" }),
        one({ $ref: "#/constructor" }),
        output({ type: "object", properties: { a: { $ref: "#/definitions/A" } } }),
      ],
      "no $ref leads to another document": [
        one({ $ref: "https://example.com/city.json" }),
        one({ $ref: "city.json#/a" }),
      ],
    },
  },
  "ref-recursive": {
    clean: [plain, root({ properties: { a: { $ref: "#/$defs/c" }, b: { $ref: "#/$defs/c" } }, $defs: { c: city } })],
    violations: {
      "no $ref leads back to a schema it is part of": [
        one({ $ref: "#" }),
        root({ properties: { a: { $ref: "#/$defs/a" } }, $defs: { a: { $ref: "#/$defs/a" } } }),
        root({
          properties: { a: { $ref: "#/$defs/a" } },
          $defs: { a: { items: { $ref: "#/$defs/b" } }, b: { anyOf: [{ $ref: "#/$defs/a" }] } },
        }),
      ],
    },
  },
  "schema-too-large": {
    clean: [plain, aToolWith(properties(1000)), nested(10)],
    violations: {
      "at most 10 levels": [nested(11), nested(500)],
      "at most 5,000 properties": [aToolWith(properties(5001)), one({ anyOf: Array(7000).fill({ type: "string" }) })],
      "at most 1,000 values of enums": [
        one({ type: "integer", enum: Array.from({ length: 1001 }, (_, at) => at) }),
        aToolWith(Object.fromEntries(["a", "b"].map((name) => [name, { enum: Array(501).fill("x") }]))),
      ],
      "at most 100,000 characters": [aChangedTool({ description: "a".repeat(100_001) })],
    },
  },
};

export const schemaCases: CasesOf<ToolSubject> = { ...shapeCases, ...contentCases, ...hostCases };

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { maxPlaces, walkToolSchema } from "../../../src/evals/base/jsonSchema/walk.ts";
import type { JsonObject } from "../../../src/evals/base/types/json.ts";
import type { Violation } from "../../../src/evals/inspection/lint/rule.ts";
import { annotationRules } from "../../../src/evals/inspection/lint/rules/annotations.ts";
import { descriptionRules } from "../../../src/evals/inspection/lint/rules/descriptions.ts";
import { nameRules } from "../../../src/evals/inspection/lint/rules/names.ts";
import { propertyRules } from "../../../src/evals/inspection/lint/rules/properties.ts";
import { schemaRules } from "../../../src/evals/inspection/lint/rules/schemas.ts";
import { collectTexts, maxSearched } from "../../../src/evals/inspection/lint/text.ts";
import { anyText } from "../../fakes/text.ts";
import { aLintedTool, aToolSubject } from "./cases/cases.ts";

const rules = [...nameRules, ...descriptionRules, ...schemaRules, ...propertyRules, ...annotationRules];

type Seen = Violation & { rule: string };

function findings(tool: JsonObject): Seen[] {
  const subject = aToolSubject(tool);
  return rules.flatMap(({ id, check }) => [...check(subject)].map((found) => ({ rule: id, ...found })));
}

type Schema = { [key: string]: unknown };
const object = (properties: Schema, more: Schema = {}) => ({ type: "object", properties, ...more });
const numbered = (count: number, value: (index: number) => unknown) =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`part_${index}`, value(index)]));
const nested = (levels: number, wrap: (schema: Schema) => Schema) => {
  let schema: Schema = { type: "string" };
  for (let level = 0; level < levels; level++) schema = wrap(schema);
  return schema;
};
const tenMegabytes = (text: string) => text.repeat(1e7 / text.length);
const described = (description: string) => ({ description });
const input = (inputSchema: Schema) => ({ inputSchema });
const text = (more: Schema) => input(object({ city: { type: "string", description: "The city.", ...more } }));

// Built as a message from a server would be parsed: JSON.parse would refuse to nest so deep.
const inputs: [string, Schema, string][] = [
  ["10 MB of description", described(tenMegabytes("a word ")), "description-cut"],
  ["10 MB of spaces", described(tenMegabytes(" ")), "description-missing"],
  ["10 MB of what an attack starts with", described(tenMegabytes("must read ")), "schema-too-large"],
  ["10 MB of hidden characters", described(tenMegabytes(String.fromCharCode(0x200b))), "hidden-unicode"],
  ["10 MB of name", { name: tenMegabytes("a.") }, "name-charset"],
  [
    "10 MB of allowed values in a description",
    text({ description: tenMegabytes("one of: 'a', ") }),
    "schema-too-large",
  ],
  ["properties nested 500 deep", input(nested(500, (schema) => object({ inner: schema }))), "schema-too-deep"],
  ["branches nested 100,000 deep", input(nested(100_000, (schema) => ({ anyOf: [schema] }))), "schema-too-deep"],
  ["100,000 properties", input(object(numbered(100_000, () => ({ type: "string" })))), "schema-too-large"],
  [
    "100,000 broken properties",
    input(object(numbered(100_000, () => ({ type: "integer", minimum: 5, maximum: 1, default: "a", pattern: "(" })))),
    "schema-unsatisfiable",
  ],
  ["a schema that contains itself", input(object({ child: { $ref: "#" } })), "ref-recursive"],
  [
    "a ring of 5,000 references",
    input(object(numbered(5000, (index) => ({ $ref: `#/properties/part_${(index + 1) % 5000}` })))),
    "ref-recursive",
  ],
  ["a remote reference", text({ $ref: "https://example.com/city.json" }), "ref-remote"],
  ["a pattern that never ends", text({ pattern: "^(a+)+$", default: 5 }), "default-violates-schema"],
  ["a pattern of 1,000,000 brackets", text({ pattern: "(".repeat(1e6) }), "schema-not-valid"],
  [
    "an enum of 1,000,000 values",
    text({ enum: Array.from({ length: 1e6 }, (_, i) => `${i}`), const: 5 }),
    "schema-unsatisfiable",
  ],
  [
    "1,000,000 required names",
    input(object({}, { required: Object.keys(numbered(1e6, () => 0)) })),
    "required-unknown",
  ],
  ["numbers beyond numbers", text({ type: "integer", minimum: Infinity, default: -Infinity }), "schema-not-valid"],
];

describe("hostile tools", () => {
  // That no more is looked at than is meant to be.
  test.each(inputs)("%s: a finding, and not all of it is looked at", (_, changes, expected) => {
    const tool = { ...aLintedTool(), ...changes } as JsonObject;
    const found = findings(tool);
    expect(walkToolSchema(tool, "inputSchema").places.length).toBeLessThanOrEqual(maxPlaces);
    expect(collectTexts(tool).texts.reduce((sum, { text }) => sum + text.length, 0)).toBeLessThanOrEqual(maxSearched);
    expect(found.map(({ rule }) => rule)).toContain(expected);
    expect(Math.max(...found.map(({ message }) => message.length))).toBeLessThan(1000);
  });

  test("names that every object has are names like others", () => {
    const inputSchema = JSON.parse(`{
      "type": "object",
      "properties": { "__proto__": { "type": "int" }, "constructor": { "type": "string", "description": "A." } },
      "required": ["__proto__", "constructor", "toString"]
    }`);
    expect(findings({ ...aLintedTool(), inputSchema }).map(({ rule, at }) => [rule, at.at(-1)])).toEqual([
      ["parameter-description-missing", "__proto__"],
      ["required-unknown", "required"],
      ["schema-not-valid", "type"],
    ]);
  });
});

describe("arbitrary tools", () => {
  const words = [
    "type",
    "properties",
    "required",
    "items",
    "enum",
    "const",
    "default",
    "minimum",
    "maxLength",
    "pattern",
  ]
    .concat(["anyOf", "allOf", "not", "$ref", "$defs", "$id", "$anchor", "description", "additionalProperties"])
    .concat(["__proto__", "constructor", "unit", "limit", "enabled", "tags", "priority"]);
  const values = ["object", "string", "array", "integer", "#", "#/properties/unit", "#/$defs/a", "(", "one of: a, b"];
  const { schema } = fc.letrec((tie) => ({
    schema: fc.dictionary(fc.constantFrom(...words), tie("value"), { maxKeys: 6 }),
    value: fc.oneof(
      { maxDepth: 6, depthSize: "medium" },
      fc.constantFrom<unknown>(...values, "", 0, -1, 1.5, true, false, null, Infinity),
      fc.string(),
      fc.array(tie("value"), { maxLength: 4 }),
      tie("schema"),
    ),
  }));
  const fields = ["name", "title", "description", "inputSchema", "outputSchema", "annotations"];
  const anything = fc.dictionary(fc.constantFrom(...fields), fc.oneof(schema, fc.jsonValue(), anyText()));

  test("never make a rule throw, and every finding has a path, a message and a fix", () => {
    fc.assert(
      fc.property(anything, (tool) => {
        for (const { at, message, fix } of findings(tool as JsonObject)) {
          expect(at.every((step) => typeof step === "string" || Number.isInteger(step))).toBe(true);
          expect(message).toMatch(/^\S[\s\S]*\.$/);
          expect(fix).toMatch(/^[A-Z][\s\S]*\.$/);
        }
      }),
      { numRuns: 500 },
    );
  });
});

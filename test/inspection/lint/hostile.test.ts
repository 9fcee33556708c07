import { describe, expect, test } from "vitest";
import { maxPlaces, walkToolSchema } from "../../../src/evals/base/jsonSchema/walk.ts";
import type { JsonObject } from "../../../src/evals/base/types/json.ts";
import { collectTexts, maxSearched } from "../../../src/evals/inspection/lint/language.ts";
import type { Violation } from "../../../src/evals/inspection/lint/rule.ts";
import { rules } from "../../../src/evals/inspection/lint/rules/index.ts";
import { aLintedTool, aToolSubject } from "./cases/cases.ts";

type Seen = Violation & { rule: string };

function findings(tool: JsonObject): Seen[] {
  const subject = aToolSubject(tool);
  return rules.tools.flatMap(({ id, check }) => [...check(subject)].map((found) => ({ rule: id, ...found })));
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
  ["10 MB of values in a description", text({ description: tenMegabytes("one of: 'a', ") }), "schema-too-large"],
  ["properties nested 500 deep", input(nested(500, (schema) => object({ inner: schema }))), "schema-too-large"],
  ["branches nested 100,000 deep", input(nested(100_000, (schema) => ({ anyOf: [schema] }))), "tool-shape"],
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
  ["a remote reference", text({ $ref: "https://example.com/city.json" }), "ref-unresolved"],
  ["a pattern that never ends", text({ pattern: "^(a+)+$", default: 5 }), "default-violates-schema"],
  ["a pattern of 1,000,000 brackets", text({ pattern: "(".repeat(1e6) }), "schema-not-valid"],
  [
    "an enum of 1,000,000 values",
    text({ enum: Array.from({ length: 1e6 }, (_, i) => `${i}`), const: 5 }),
    "schema-unsatisfiable",
  ],
  [
    "a million required names",
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
    expect(walkToolSchema(tool, "inputSchema").length).toBeLessThanOrEqual(maxPlaces);
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

/** A set that counts how many of its values are looked at. */
class Counted extends Set<string> {
  looked = 0;

  override *[Symbol.iterator](): SetIterator<string> {
    for (const value of super.values()) {
      this.looked++;
      yield value;
    }
    return undefined;
  }
}

test.each(["get_thing_", "browser_tab_"])(
  "of 1,000 tools called %s and a number, few are held against each",
  (name) => {
    const description = "Returns the thing by its number. For the newest use the date, as it is in the list. ".repeat(
      8,
    );
    const tools = Array.from({ length: 1000 }, (_, index) => ({ name: `${name}${index}`, description }));
    const names = new Counted(tools.map((tool) => tool.name));
    for (const tool of tools) for (const { check } of rules.tools) void [...check({ ...aToolSubject(tool), names })];
    expect(names.looked).toBeLessThanOrEqual(100 * tools.length);
  },
);

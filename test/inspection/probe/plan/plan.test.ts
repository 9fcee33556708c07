import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Json, JsonObject } from "../../../../src/evals/base/types/json.ts";
import { planProbes } from "../../../../src/evals/inspection/probe/plan/plan.ts";
import { asciiJson } from "../../../../src/evals/reports/escape.ts";
import { probed } from "./make.ts";

const object = (properties: JsonObject, required: string[] = [], more: JsonObject = {}): JsonObject => ({
  ...{ type: "object", properties, required },
  ...more,
});
const one = (schema: Json) => object({ value: schema }, ["value"]);

/** Schemas for which valid inputs can be made. */
const schemas: Record<string, JsonObject> = {
  "no parameter": { type: "object" },
  "bounded text": one({ type: "string", minLength: 3, maxLength: 5 }),
  "long text": one({ type: "string", minLength: 900 }),
  pattern: one({ type: "string", pattern: "^[A-Z]{3}-\\d+$" }),
  "slow pattern": one({ type: "string", pattern: "^(a+)+$" }),
  ...Object.fromEntries(
    ["date", "date-time", "email", "uuid", "uri"].map((format) => [format, one({ type: "string", format })]),
  ),
  integer: one({ type: "integer", minimum: 3, maximum: 9 }),
  exclusive: one({ type: "integer", exclusiveMinimum: 3, exclusiveMaximum: 9 }),
  multiple: one({ type: "number", multipleOf: 0.5, minimum: 0, maximum: 2 }),
  number: one({ type: "number", minimum: 0, maximum: 1 }),
  enum: one({ enum: ["low", "medium", "high"] }),
  const: one({ const: 7 }),
  boolean: one({ type: "boolean" }),
  list: one({ type: "array", items: { type: "integer" }, minItems: 2, maxItems: 4 }),
  set: one({ type: "array", items: { enum: ["a", "b", "c"] }, uniqueItems: true, minItems: 2 }),
  map: one({ type: "object", additionalProperties: { type: "integer" } }),
  nullable: one({ type: ["string", "null"], maxLength: 4 }),
  either: one({ anyOf: [{ type: "integer" }, { type: "array", items: { type: "string" } }] }),
  "one of": {
    type: "object",
    oneOf: [object({ id: { type: "integer" } }, ["id"]), object({ name: { type: "string" } }, ["name"])],
  },
  "all of": { allOf: [object({ a: { type: "string" } }, ["a"]), object({ b: { type: "integer" } }, ["b"])] },
  reference: object({ unit: { $ref: "#/$defs/unit%20of~1it" } }, ["unit"], {
    $defs: { "unit of/it": { enum: ["m", "km"] } },
  }),
  tree: object({ node: { $ref: "#/$defs/node" } }, ["node"], {
    $defs: {
      node: object({ value: { type: "integer" }, children: { type: "array", items: { $ref: "#/$defs/node" } } }, [
        "value",
      ]),
    },
  }),
  nested: one(object({ a: one({ type: "string", minLength: 1 }) }, ["a"])),
  defaults: object({ page: { type: "integer", default: 1 }, size: { type: "integer", default: 20, maximum: 50 } }),
  untyped: one({ description: "anything" }),
  "odd names": object(JSON.parse('{ "__proto__": { "type": "string" }, "a b": { "type": "string" } }') as JsonObject, [
    "__proto__",
    "a b",
  ]),
};
const planOf = (schema: JsonObject, seed: number, runs = 5) => planProbes(probed(schema), { seed, runs });

describe("probes", () => {
  it.each(Object.entries(schemas))("are valid or invalid as intended: %s", (_, schema) => {
    const { allows } = probed(schema);
    fc.assert(
      fc.property(fc.nat(), (seed) => {
        const probes = planOf(schema, seed);
        expect(probes.some(({ kind }) => kind === "valid")).toBe(true);
        for (const { kind, base, args } of probes)
          expect(allows(args(base)), JSON.stringify(args(base))).toBe(kind !== "missing" && kind !== "wrong type");
      }),
      { numRuns: 4 },
    );
  });

  it("are the same for the same seed, and different for another", () => {
    const calls = (seed: number) => planOf(schemas.tree ?? {}, seed).map(({ kind, base, args }) => [kind, args(base)]);
    expect(calls(7)).toEqual(calls(7));
    expect(calls(7)).not.toEqual(calls(8));
  });

  it("include every kind that a schema allows", () => {
    const schema = object(
      {
        path: { type: "string" },
        depth: { type: "integer", minimum: 0, maximum: 3, default: 1 },
        tags: { type: "array", items: { type: "string" }, maxItems: 2 },
      },
      ["path"],
    );
    const shown = planOf(schema, 1).map(({ kind, parameter, base, args }) =>
      [kind, parameter, asciiJson(args(base))]
        .filter(Boolean)
        .join(" ")
        .replace(/x{9,}/, (run) => `x*${run.length}`),
    );
    expect(shown).toMatchSnapshot();
  });

  it.each<[string, JsonObject]>([
    ["a pattern with a look-ahead", one({ type: "string", pattern: "^a(?=b)c$" })],
    ["a huge text", one({ type: "string", minLength: 1e9 })],
    ["a pattern for a huge text", one({ type: "string", pattern: "^(a{1000}){1000}$" })],
    ["huge lists of huge lists", one({ type: "array", minItems: 1000, items: { type: "array", minItems: 1000 } })],
    ["a set larger than its values", one({ type: "array", minItems: 5, uniqueItems: true, items: { enum: [1, 2] } })],
    ["what is not allowed at all", one(false)],
    ["an endless reference", one({ $ref: "#/properties/value" })],
    ["bounds that exclude each other", one({ type: "integer", minimum: 5, maximum: 4 })],
  ])("are none for %s", (what, schema) => {
    const tool = {
      ...probed({ type: "object" }),
      inputSchema: schema,
      allows: (args: JsonObject) => "value" in args && args.value !== null,
    };
    const allowed = what === "an endless reference" ? tool : probed(schema);
    expect(planProbes(allowed, { seed: 1, runs: 5 })).toEqual([]);
  });

  it("are planned to an end, whatever the schema", () => {
    const wide = {
      $defs: { x: { anyOf: Array.from({ length: 100 }, () => ({ $ref: "#/$defs/x" })) } },
      ...one({ $ref: "#/$defs/x" }),
    };
    const fan: JsonObject = object(
      Object.fromEntries(Array.from({ length: 60 }, (_, n) => [`p${n}`, { $ref: "#/$defs/fan" }])),
    );
    // What takes more than linear time does not end here.
    for (const schema of [wide, { ...fan, $defs: { fan } }]) {
      const tool = { ...probed({ type: "object" }), inputSchema: schema, allows: () => true };
      expect(planProbes(tool, { seed: 1, runs: 3 })).toBeInstanceOf(Array);
    }
  });
});

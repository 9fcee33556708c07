import { Ajv2020 } from "ajv/dist/2020.js";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Baseline } from "../../../src/evals/base/types/check.ts";
import type { Json, JsonObject } from "../../../src/evals/base/types/json.ts";
import type { OfferedTool, Tool } from "../../../src/evals/base/types/tool.ts";
import { listBaselineTools, listChanges } from "../../../src/evals/servers/changes/changes.ts";
import { listEffects } from "../../../src/evals/servers/changes/tools.ts";

const text = { type: "string", description: "A text." };

function tool(name: string, properties: JsonObject = {}, required: string[] = [], more: JsonObject = {}): JsonObject {
  return { name, description: `Does ${name}.`, inputSchema: { type: "object", properties, required }, ...more };
}

/** The effects, one line each: class, kind, path and sentence. */
function describeAll(before: readonly JsonObject[], after: readonly JsonObject[]): string[] {
  return listEffects(before, after).map((change) => {
    return [change.class, change.kind, change.path.join("/"), change.what].join(" | ");
  });
}

/** The same for one parameter `p` of a tool, as class and sentence only. */
function describeParameter(before: Json, after: Json): string[] {
  const changes = listEffects([tool("t", { p: before })], [tool("t", { p: after })]);
  return changes.map((change) => `${change.class}: ${change.what}`);
}
const same = "description only: The inputSchema of t is written differently and means the same.";

describe("tools", () => {
  it("that are gone, new, renamed or deprecated", () => {
    const before = [
      tool("kept"),
      tool("gone"),
      tool("old"),
      tool("rash"),
      tool("left", {}, [], { description: "DEPRECATED: use left_v2. Does it." }),
      tool("left_v2"),
      tool("late", {}, [], { description: "DEPRECATED: use late_v2" }),
      tool("ended", {}, [], { description: "DEPRECATED" }),
      tool("search"),
    ];
    const after = [
      tool("kept"),
      tool("new", {}, [], { description: "Does old." }),
      tool("rash_v2"),
      tool("left_v2"),
      tool("late_v2"),
      tool("search", {}, [], { description: "DEPRECATED: use `search_v2`. Does search." }),
      tool("search_v2"),
    ];
    expect(describeAll(before, after)).toEqual([
      "unknown | tool-retired | ended | ended was removed after it was marked deprecated without a successor.",
      "breaking | tool-removed | gone | gone was removed.",
      "breaking | deprecated-early | late | late was removed when late_v2 was added: the two were never listed together.",
      "compatible | tool-added | late_v2 | late_v2 is new.",
      "compatible | tool-retired | left | left was removed after it was listed as deprecated together with left_v2.",
      "breaking | tool-renamed | old | old was renamed to new: calls of the old name fail.",
      "breaking | deprecated-early | rash | rash was removed without having been marked deprecated in favor of rash_v2.",
      "compatible | tool-added | rash_v2 | rash_v2 is new.",
      "compatible | deprecated | search/description | search is now marked deprecated in favor of search_v2.",
      "compatible | tool-added | search_v2 | search_v2 is new, next to search.",
    ]);
    expect(describeAll([], [tool("instructions:demo")])).toEqual([
      "description only | wording | instructions:demo | The instructions:demo are new.",
    ]);
  });

  it("whose successor is missing are reported once, when it goes missing", () => {
    const deprecated = tool("a", {}, [], { description: "DEPRECATED: use b." });
    const missing = ["unknown | successor-missing | a/description | a refers its callers to b, which is not listed."];
    expect(describeAll([tool("a")], [deprecated])).toEqual(missing);
    expect(describeAll([deprecated, tool("b")], [deprecated]).slice(0, 1)).toEqual(missing);
    expect(describeAll([deprecated], [deprecated])).toEqual([]);
  });

  it("are deprecated by the usual spellings, not by a first word that speaks of something else", () => {
    const marking = (description: string) => [tool("a", {}, [], { description }), tool("b")];
    const unmarked = [tool("a"), tool("b")];
    const marked = "compatible | deprecated | a/description | a is now marked deprecated in favor of b.";
    expect(describeAll(unmarked, marking("Deprecated: use b instead."))).toContain(marked);
    expect(describeAll(unmarked, marking("DEPRECATED: Use b instead."))).toContain(marked);
    expect(describeAll(unmarked, marking("Deprecated packages are listed; use b."))).not.toContain(marked);
  });

  it("that are reworded, or whose hints change", () => {
    const before = tool("a", {}, [], { title: "A", annotations: { readOnlyHint: true, idempotentHint: false } });
    const after = tool("a", {}, [], { description: "Does more.", annotations: { idempotentHint: true } });
    expect(describeAll([before], [after])).toEqual([
      "unknown | annotation | a/annotations/readOnlyHint | readOnlyHint of a changed from true to false.",
      "compatible | annotation-safer | a/annotations/idempotentHint | idempotentHint of a changed from false to true.",
      "description only | wording | a/description | The description of a was reworded.",
      "description only | wording | a | The title of a was reworded.",
    ]);
  });
});

describe("parameters", () => {
  it("that are gone, new, renamed or newly required", () => {
    const before = tool("t", { gone: { type: "string" }, old: text, optional: text, must: text }, ["must"]);
    const added = { bare: { type: "string" }, safe: { ...text, default: "x" }, forced: { type: "string" } };
    const after = tool("t", { new: text, optional: text, must: text, ...added }, ["optional", "forced"]);
    expect(describeAll([before], [after])).toEqual([
      "breaking | newly-required | t/inputSchema/properties/forced | t.forced is new and required: calls that were valid before now fail.",
      "breaking | parameter-removed | t/inputSchema/properties/gone | t.gone was removed.",
      "breaking | parameter-removed | t/inputSchema/properties/old | t.old was renamed to new.",
      "breaking | newly-required | t/inputSchema/properties/optional | t.optional is now required.",
      "unknown | no-default | t/inputSchema/properties/bare | t.bare is new and has no default.",
      "unknown | no-default | t/inputSchema/properties/new | t.new is new (formerly old) and has no default.",
      "compatible | widened | t/inputSchema/properties/must | t.must is no longer required.",
      "compatible | parameter-added | t/inputSchema/properties/safe | t.safe is new and has a default.",
    ]);
  });

  it.each<[Json, Json, ...string[]]>([
    [{ type: "integer" }, { type: "number" }, "compatible: t.p: type changed from integer to number."],
    [{ type: "string" }, { type: "integer" }, "breaking: t.p: type changed from string to integer."],
    [{}, { type: "string" }, "breaking: t.p: type changed from not set to string."],
    [{ type: "string" }, { type: ["string", "null"] }, "compatible: t.p: type changed from string to string or null."],
    [
      text,
      { anyOf: [{ type: "string" }, { type: "null" }], description: "A text." },
      "compatible: t.p: type changed from string to string or null.",
    ],
    [{ enum: ["a", "b"] }, { enum: ["b", "c"] }, 'breaking: t.p: no longer accepts "a" and now accepts "c".'],
    [
      { minimum: 1, maximum: 9 },
      { minimum: 0, maximum: 8 },
      "breaking: t.p: maximum changed from 9 to 8.",
      "compatible: t.p: minimum changed from 1 to 0.",
    ],
    [
      { minimum: 1 },
      { exclusiveMinimum: 1 },
      "breaking: t.p: exclusiveMinimum changed from not set to 1.",
      "compatible: t.p: minimum changed from 1 to not set.",
    ],
    [{}, { exclusiveMinimum: 0 }, "breaking: t.p: exclusiveMinimum changed from not set to 0."],
    [{ multipleOf: 10 }, { multipleOf: 5 }, "compatible: t.p: multipleOf changed from 10 to 5."],
    [{ pattern: "a" }, { pattern: "b" }, 'unknown: t.p: pattern changed from "a" to "b".'],
    [{ type: "string" }, { type: "string", format: "date" }, 'unknown: t.p: format changed from not set to "date".'],
    [
      { type: "object" },
      { type: "object", additionalProperties: false },
      "breaking: t.p: no longer accepts properties that it does not name.",
    ],
    [
      { type: "array", items: { type: "string" } },
      { type: "array", items: { type: "string", maxLength: 3 } },
      "breaking: t.p[]: maxLength changed from not set to 3.",
    ],
    [{ items: { properties: { a: text } } }, { items: { properties: {} } }, "breaking: t.p[].a was removed."],
    [{ items: [text] }, { items: text }, 'unknown: t.p: "items" changed.'],
    [{ default: 1 }, { default: 2 }, "breaking: The default of t.p changed from 1 to 2."],
    [{ default: 1 }, {}, "unknown: t.p no longer has a default (it was 1)."],
    [{}, { default: [1] }, "unknown: t.p now has the default [1]."],
    [text, { ...text, not: { const: "a" } }, 'unknown: t.p: "not" changed.'],
    [
      { type: "string" },
      { type: "dict" },
      'unknown: t.p: "type" changed.',
      "compatible: t.p: type changed from string to not set.",
    ],
    [text, { ...text, description: "A text of any length." }, "description only: The description of t.p was reworded."],
    [
      { description: "The city." },
      { description: "Whether to sort." },
      "unknown: t.p seems to mean something else: its description shares hardly a word with the old one.",
    ],
    [
      { description: "Time to wait (seconds)." },
      { description: "Time to wait (ms)." },
      "unknown: t.p seems to mean something else: its unit or range changed.",
    ],
  ])("from %j to %j", (before, after, ...changes) => {
    expect(describeParameter(before, after)).toEqual(changes);
  });

  it.each<[string, Json, Json]>([
    ["an enum as alternatives", { enum: ["a", "b"] }, { anyOf: [{ const: "a" }, { const: "b" }] }],
    ["a bound of an integer", { type: "integer", minimum: 1 }, { type: "integer", exclusiveMinimum: 0 }],
    ["a length of 0", { type: "string" }, { type: "string", minLength: 0 }],
    ["a keyword that restricts no value of the type", { type: "string" }, { type: "string", maximum: 5 }],
  ])("that are written differently and mean the same: %s", (_, before, after) => {
    expect(describeParameter(before, after)).toEqual([same]);
  });

  const described = (description: string) => ({ anyOf: [{ minimum: 1 }, { minLength: 1, description }] });
  const titled = (title: number): Json => {
    const title_ = { properties: { title: { const: { title } } } };
    return { anyOf: [title_, { properties: { description: { minimum: 1 } } }] };
  };
  it.each<[string, Json, Json, string]>([
    [
      "branches that overlap",
      { anyOf: [{ minimum: 1 }, { type: "null" }] },
      { anyOf: [{ type: "null" }] },
      "unknown: t.p: anyOf lost branches.",
    ],
    [
      "a branch of several that overlap, once",
      { anyOf: [{ properties: { a: {}, b: {} } }, { properties: { c: {} } }] },
      { anyOf: [{ properties: { a: { type: "string" } }, required: ["a"] }, { properties: { c: {} } }] },
      'unknown: t.p: "anyOf" changed.',
    ],
    [
      "one more alternative to an object",
      { type: "object", properties: { a: text } },
      { anyOf: ["b", "a"].map((name) => ({ type: "object", properties: { [name]: text } })) },
      "compatible: t.p: anyOf gained branches.",
    ],
    [
      "a value that two branches list, which oneOf refuses",
      { enum: ["a", "b"] },
      { oneOf: [{ enum: ["a", "b"] }, { const: "b" }] },
      'unknown: t.p: "oneOf" changed.',
    ],
    ["names and values that look like wording", titled(1), titled(2), 'unknown: t.p: "anyOf" changed.'],
    [
      "what is inside of an object or null",
      { anyOf: [{ type: "object", properties: { a: text } }, { type: "null" }] },
      { anyOf: [{ type: "object", properties: { a: { ...text, maxLength: 3 } } }, { type: "null" }] },
      "breaking: t.p.a: maxLength changed from not set to 3.",
    ],
    [
      "one more of several that overlap",
      described("a"),
      { anyOf: [{ type: "string" }, ...described("b").anyOf] },
      "compatible: t.p: anyOf gained branches.",
    ],
    ["the wording of overlapping", described("a"), described("b"), "description only: The anyOf of t.p was reworded."],
    [
      "a branch of its own type",
      { anyOf: [{ type: "string", maxLength: 5 }, { type: "null" }] },
      { anyOf: [{ type: "null" }, { type: "string", maxLength: 4 }] },
      "breaking: t.p: maxLength changed from 5 to 4.",
    ],
  ])("in branches: %s", (_, before, after, change) => {
    expect(describeParameter(before, after)).toEqual([change]);
  });

  it("follows references, in circles too", () => {
    const node = (limit: number) => ({ properties: { size: { maximum: limit }, child: { $ref: "#/$defs/node" } } });
    const list = (limit: number) => [
      { name: "t", inputSchema: { properties: { root: { $ref: "#/$defs/node" } }, $defs: { node: node(limit) } } },
    ];
    expect(describeAll(list(5), list(4))).toEqual([
      "breaking | narrowed | t/inputSchema/$defs/node/properties/size | t.root.child.size: maximum changed from 5 to 4.",
      "breaking | narrowed | t/inputSchema/$defs/node/properties/size | t.root.size: maximum changed from 5 to 4.",
    ]);
  });
});

it("takes results the other way round: they may hold less, but no more", () => {
  const giving = (properties: JsonObject, required: string[]) =>
    tool("t", {}, [], { outputSchema: { type: "object", properties, required } });
  const before = giving({ id: text, count: { type: "integer" }, state: { enum: ["a", "b"] }, gone: text }, ["id"]);
  const after = giving({ id: text, count: { type: "number" }, state: { enum: ["a"] }, new: text }, ["count"]);
  expect(describeAll([before], [after])).toEqual([
    "breaking | output | t/outputSchema/properties/count | t result.count: type changed from integer to number.",
    "breaking | output | t/outputSchema/properties/gone | t result.gone was removed.",
    "breaking | output | t/outputSchema/properties/id | t result.id is no longer always present.",
    "compatible | output-wider | t/outputSchema/properties/count | t result.count is now always present.",
    "compatible | output-wider | t/outputSchema/properties/new | t result.new is new.",
    'compatible | output-wider | t/outputSchema/properties/state | t result.state: no longer accepts "b".',
  ]);
  expect(describeAll([before], [tool("t")])).toEqual(["breaking | output | t | t no longer has an outputSchema."]);
  expect(describeAll([tool("t")], [before])).toEqual([
    "compatible | output-wider | t/outputSchema | t now has an outputSchema.",
  ]);
});

describe("what holds of any two lists", () => {
  const values: Json[] = [
    ...["a", "b", "abc", 0, 1, 2, 2.5, -1, 10, true, null],
    ...[[], ["a", "a"], [1, 2, 3], {}, { p: 1 }, { p: "a", q: null }],
  ];
  const value = fc.constantFrom(...values);
  const type = fc.constantFrom("string", "integer", "number", "boolean", "array", "object", "null");
  const size = fc.integer({ min: 0, max: 4 });
  const some = <T>(keywords: { [K in keyof T]: fc.Arbitrary<T[K]> }) => fc.record(keywords, { requiredKeys: [] });
  const { schema } = fc.letrec<{ schema: Json }>((tie) => ({
    schema: fc.oneof(
      { maxDepth: 2 },
      some({
        type: fc.oneof(type, fc.uniqueArray(type, { minLength: 1, maxLength: 3 })),
        description: fc.constantFrom("x", "y"),
      }),
      some({ type, enum: fc.uniqueArray(value, { minLength: 1, maxLength: 4 }), const: value }),
      some({ type, minimum: size, exclusiveMinimum: size, maximum: size, multipleOf: fc.constantFrom(1, 2, 0.5) }),
      some({
        type,
        minLength: size,
        maxLength: size,
        pattern: fc.constantFrom("^a", "b$"),
        maxItems: size,
        uniqueItems: fc.boolean(),
      }),
      some({
        properties: fc.dictionary(fc.constantFrom("p", "q"), tie("schema")),
        required: fc.subarray(["p", "q"]),
        additionalProperties: tie("schema"),
      }),
      some({ type: fc.constant("array"), items: tie("schema") }),
      some({ anyOf: fc.array(tie("schema"), { minLength: 1, maxLength: 3 }) }),
      some({
        oneOf: fc.array(tie("schema"), { minLength: 1, maxLength: 2 }),
        allOf: fc.array(tie("schema"), { minLength: 1, maxLength: 2 }),
      }),
      some({ not: tie("schema") }),
      fc.constantFrom({ $ref: "#/$defs/shared" }, { $ref: "#/$defs/shared", maximum: 2 }),
    ) as fc.Arbitrary<Json>,
  }));
  const isPlain = (one: Json) => !JSON.stringify(one).includes("$ref");
  const inputOf = (p: Json, shared: Json): JsonObject => ({ type: "object", properties: { p }, $defs: { shared } });
  const inputs = fc
    .tuple(schema, schema, schema.filter(isPlain), schema.filter(isPlain))
    .chain(([one, other, shared, now]) =>
      fc.constantFrom(
        [inputOf(one, shared), inputOf(other, now)] as const,
        [inputOf(one, shared), inputOf({ anyOf: [one, other] }, shared)] as const,
        [inputOf(one, shared), inputOf(one, now)] as const,
      ),
    );

  const ajv = new Ajv2020({ strict: false, logger: false });
  const harmful = expect.stringMatching(/breaking|unknown/);
  const classify = (field: string, before: JsonObject, after: JsonObject) =>
    listEffects([{ name: "t", [field]: before }], [{ name: "t", [field]: after }]).map((one) => one.class);

  const bounds = [-1, 0, 1, 2, 2.5];
  const sizes = [0, 1, 2, 3];
  it.each<[keyword: string, settings: Json[]]>([
    ["type", ["string", "integer", "number", "boolean", "array", "object", "null", ["string", "null"]]],
    ["enum", [["a"], ["a", "b", null], [0, 1, 2.5], [true], [{}], [[], "a"]]],
    ["const", ["a", 1, 2.5, null, true, {}]],
    ...["minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum"].map((one): [string, Json[]] => [one, bounds]),
    ...["minLength", "maxLength", "minItems", "maxItems"].map((one): [string, Json[]] => [one, sizes]),
    ...["minProperties", "maxProperties"].map((one): [string, Json[]] => [one, sizes]),
    ["multipleOf", [0.5, 1, 2, 2.5, 3]],
    ["pattern", ["^a", "b$"]],
    ["uniqueItems", [true, false]],
    ["items", [true, false, {}, { type: "string" }, { minimum: 2 }]],
    ["required", [[], ["p"], ["p", "q"]]],
  ])("never takes a change of %s for harmless that refuses a value, or gives another", (keyword, settings) => {
    for (const common of [{}, { type: "integer" }, { type: ["array", "number", "object", "string"] }]) {
      const schemas = [common, ...settings.map((setting) => ({ ...common, [keyword]: setting }))].map((p) => {
        const whole: JsonObject = { type: "object", properties: { p } };
        return { whole, accepted: new Set(values.filter((one) => ajv.validate(whole, { p: one }))) };
      });
      for (const [one, other] of schemas.flatMap((each) => schemas.map((next) => [each, next] as const))) {
        const isLost = [...one.accepted].some((each) => !other.accepted.has(each));
        const isGained = [...other.accepted].some((each) => !one.accepted.has(each));
        if (isLost) expect(classify("inputSchema", one.whole, other.whole)).toContainEqual(harmful);
        if (isGained) expect(classify("outputSchema", one.whole, other.whole)).toContainEqual(harmful);
      }
    }
  });

  it("never takes a change for harmless that refuses a value, or gives one that was not expected", () => {
    fc.assert(
      fc.property(inputs, fc.array(value, { minLength: 12, maxLength: 12 }), ([before, after], values) => {
        const [then, now] = [ajv.compile(before), ajv.compile(after)];
        if (values.some((p) => then({ p }) && !now({ p }))) {
          expect(classify("inputSchema", before, after)).toContainEqual(harmful);
        }
        // A new field is taken for compatible whatever the older schema says of other keys.
        const isOpen = !JSON.stringify(before).includes("additionalProperties");
        if (isOpen && values.some((p) => !then({ p }) && now({ p }))) {
          expect(classify("outputSchema", before, after)).toContainEqual(harmful);
        }
      }),
      { numRuns: 120 },
    );
  });

  it("finds nothing between a list and itself, whatever the order of tools and keys", () => {
    const list = fc.uniqueArray(fc.record({ name: fc.string(), inputSchema: inputs.map(([one]) => one) }), {
      selector: ({ name }) => name,
      maxLength: 4,
    });
    const reversed = (one: Json): Json => {
      if (typeof one !== "object" || one === null || Array.isArray(one)) return one;
      return Object.fromEntries(
        Object.entries(one)
          .reverse()
          .map(([key, member]) => [key, reversed(member)]),
      );
    };
    // Two effects of one sentence, at different places.
    const listed = (additionalProperties: JsonObject) => {
      const $defs = { shared: { type: "object", additionalProperties } };
      return [{ name: "t", inputSchema: { type: "object", properties: { p: { $ref: "#/$defs/shared" } }, $defs } }];
    };
    fc.assert(
      fc.property(list, list, (one, other) => {
        const turned = one.toReversed().map((each) => reversed(each) as JsonObject);
        expect(listEffects(one, turned)).toEqual([]);
        expect(listEffects(turned, other)).toEqual(listEffects(one, other.toReversed()));
      }),
      { numRuns: 40, examples: [[listed({ properties: { q: {}, p: {} } }), listed({})]] },
    );
  });

  it("does not take the way back of a purely wider schema for harmless", () => {
    fc.assert(
      fc.property(inputs, ([before, after]) => {
        const [one, other] = [[{ name: "t", inputSchema: before }], [{ name: "t", inputSchema: after }]];
        const there = listEffects(one, other);
        const isWider = there.length > 0 && there.every(({ kind }) => kind === "widened");
        const back = listEffects(other, one).map((change) => change.class);
        if (isWider) expect(back).toContainEqual(expect.stringMatching(/breaking|unknown/));
      }),
      { numRuns: 120 },
    );
  });

  it("does not throw, whatever a list holds", () => {
    const keywords = fc.constantFrom(
      ...["name", "description", "inputSchema", "outputSchema", "annotations", "type", "properties", "required"],
      ...["enum", "default", "items", "anyOf", "oneOf", "allOf", "$ref", "$defs", "minimum", "additionalProperties"],
      "__proto__",
    );
    const nested = fc.letrec<{ value: unknown }>((tie) => ({
      value: fc.oneof(
        { maxDepth: 4 },
        fc.jsonValue({ maxDepth: 1 }),
        fc.dictionary(keywords, tie("value"), { maxKeys: 5 }),
        fc.array(tie("value"), { maxLength: 4 }),
      ),
    })).value;
    const list = fc.array(fc.dictionary(keywords, nested), { maxLength: 3 });
    const named = (tools: unknown[]): JsonObject[] =>
      JSON.parse(JSON.stringify(tools)).map((one: JsonObject, at: number) => ({ name: `t${at}`, ...one }));
    fc.assert(
      fc.property(list, list, (one, other) => {
        expect(() => listEffects(named(one), named(other))).not.toThrow();
      }),
      { numRuns: 40 },
    );
  });
});

describe("hostile lists", () => {
  const nested = (levels: number, inner: Json): Json => {
    let schema = inner;
    for (let level = 0; level < levels; level++) schema = { type: "object", properties: { p: schema } };
    return schema;
  };

  it("with deep nesting are reported as changed, not where", () => {
    expect(describeParameter(nested(50_000, text), nested(50_000, text))).toEqual([]);
    const [only, ...others] = describeParameter(nested(5_000, text), nested(5_000, { type: "integer" }));
    expect(others).toEqual([]);
    expect(only).toMatch(/^unknown: t\.p(\.p)+: a deeply nested schema changed\.$/);
  });

  it("with very long lists of values in two branches are compared value by value", () => {
    const values = Array.from({ length: 200_000 }, (_, at) => at);
    const split = { anyOf: [{ const: -1 }, { enum: values }] };
    expect(describeParameter({ enum: [-2, -1, ...values] }, split)).toEqual(["breaking: t.p: no longer accepts -2."]);
  });

  it("with thousands of other parameters are reported one by one", () => {
    const wide = (prefix: string) =>
      tool("w", Object.fromEntries(Array.from({ length: 5_000 }, (_, at) => [`${prefix}${at}`, text])));
    expect(listEffects([wide("a")], [wide("b")])).toHaveLength(10_000);
  });

  it("end, though references double at each of 60 levels", () => {
    const doubled = (leaf: JsonObject) => {
      const levels = Array.from({ length: 60 }, (_, at) => {
        const next = { $ref: `#/$defs/l${at + 1}` };
        return [`l${at}`, { properties: { a: { ...next, description: "a" }, b: { ...next, description: "b" } } }];
      });
      return { name: "t", inputSchema: { $ref: "#/$defs/l0", $defs: { ...Object.fromEntries(levels), l60: leaf } } };
    };
    expect(describeAll([doubled({ type: "string" })], [doubled({ type: "integer" })])).toHaveLength(1);
  });
});

describe("the classes of changes of wording", () => {
  const orNull = (properties: JsonObject) => ({ anyOf: [{ type: "object", properties }, { type: "null" }] });
  const before = [tool("a", { p: text, q: text, n: orNull({ x: text }), "odd name": text }), tool("b"), tool("c")];
  const after = [
    tool("a", {
      ...{ p: { ...text, maxLength: 5 }, q: { ...text, description: "A text, or none." }, n: orNull({}), r: text },
    }),
    tool("b", {}, [], { description: "Does b well.", outputSchema: { type: "object" } }),
    tool("d", {}, [], { description: "Does c." }),
    tool("e"),
  ];

  it("are given with every change", () => {
    const changes = listChanges(before as Tool[], after as Tool[]);
    expect(Object.fromEntries(changes.map((change) => [change.id, change.class]))).toEqual({
      'a."odd name":removed': "breaking",
      "a.n:schema": "breaking",
      "a.p:schema": "breaking",
      "a.q": "description only",
      "a.r:added": "unknown",
      b: "description only",
      "b:outputSchema": "compatible",
      "c:renamed": "breaking",
      "e:added": "compatible",
    });
  });

  it("are those of the schema around it for a parameter that became one of several branches", () => {
    const object = { type: "object", properties: { x: text } };
    const lists = [object, { anyOf: [{ type: "object", properties: { y: text } }, object] }].map((p) => [
      tool("t", { p }),
    ]);
    const [base, head] = lists as unknown as [Tool[], Tool[]];
    const classes = (changes: ReturnType<typeof listChanges>) => changes.map((change) => [change.id, change.class]);
    expect(classes(listChanges(base, head))).toEqual([
      ["t.p.x:removed", "compatible"],
      ["t.p:schema", "compatible"],
    ]);
    expect(classes(listChanges(head, base))).toEqual([
      ["t.p.x:added", "unknown"],
      ["t.p:schema", "unknown"],
    ]);
  });

  it("are those of the parameters that refer to a changed definition", () => {
    const list = (maximum: number) => [
      { name: "t", inputSchema: { properties: { p: { $ref: "#/$defs/n" } }, $defs: { n: { maximum } } } },
    ];
    expect(listChanges(list(5), list(4)).map((change) => [change.id, change.class])).toEqual([
      ["t:schema", "breaking"],
    ]);
  });

  it.each<[keywords: JsonObject, expected: string]>([
    [{}, ""],
    [{ description: "A number." }, "description only"],
    [{ maximum: 4 }, "unknown"],
    [{ enum: [1, 2] }, "unknown"],
  ])("count a restriction that is added beside a reference: %j", (keywords, expected) => {
    const list = (more: JsonObject) => [
      {
        name: "t",
        inputSchema: { properties: { p: { $ref: "#/$defs/n", ...more } }, $defs: { n: { type: "integer" } } },
      },
    ];
    expect(listChanges(list({}), list(keywords)).map((change) => change.class)).toEqual(expected ? [expected] : []);
  });

  it("are breaking for a removed skill, as for a removed tool, and compatible for an added one", () => {
    const lists = [[tool("skill:pdf"), tool("pdf")], [tool("skill:docx")]] as unknown as [Tool[], Tool[]];
    expect(listChanges(...lists).map((change) => [change.id, change.class])).toEqual([
      ["pdf:removed", "breaking"],
      ["skill:pdf:removed", "breaking"],
      ["skill:docx:added", "compatible"],
    ]);
  });

  it("are those of its removal for tools that name a removed tool as their successor", () => {
    const old = tool("old", {}, [], { description: "DEPRECATED: use new." });
    const [change] = listChanges([old, tool("new")] as unknown as Tool[], [old] as unknown as Tool[]);
    expect(change?.effects.map(({ kind }) => kind)).toEqual(["tool-removed", "successor-missing"]);
  });
});

it("takes the tools of a baseline, each once, without skills and distractors", () => {
  const offered = (name: string, origin: OfferedTool["origin"], server = "demo"): OfferedTool => ({
    ...{ name, server, origin, description: `Does ${name}.`, inputSchema: { type: "object" } },
  });
  const toolsets = {
    one: [offered("a", "server"), offered("b", "static"), offered("x", "distractor")],
    two: [offered("a", "server"), offered("s", "skill"), offered("a", "server", "other")],
  };
  const own = (name: string) => ({ name, description: `Does ${name}.`, inputSchema: { type: "object" } });
  expect(listBaselineTools({ toolsets } as unknown as Baseline)).toEqual([own("a"), own("b"), own("a")]);
});

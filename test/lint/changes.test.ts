import { Ajv2020 } from "ajv/dist/2020.js";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { changesBetween, classesOf, toolsOfBaseline } from "../../src/evals/changes/compatibility.ts";
import { listChanges } from "../../src/evals/changes/lists.ts";
import type { Baseline } from "../../src/evals/types/baseline.ts";
import type { Json, JsonObject } from "../../src/evals/types/json.ts";
import type { OfferedTool, Tool } from "../../src/evals/types/tool.ts";

const text = { type: "string", description: "A text." };

function tool(name: string, properties: JsonObject = {}, required: string[] = [], more: JsonObject = {}): JsonObject {
  return { name, description: `Does ${name}.`, inputSchema: { type: "object", properties, required }, ...more };
}

/** What changed, in a line each: class, kind, path and sentence. */
function told(before: readonly JsonObject[], after: readonly JsonObject[]): string[] {
  return changesBetween(before, after).map((change) => {
    return [change.class, change.kind, change.path.join("/"), change.what].join(" | ");
  });
}

/** The same for one parameter `p` of a tool, without what is the same in every line. */
function toldOf(before: Json, after: Json): string[] {
  const changes = changesBetween([tool("t", { p: before })], [tool("t", { p: after })]);
  return changes.map((change) => `${change.class}: ${change.what}`);
}

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
    expect(told(before, after)).toEqual([
      "unknown | tool-retired | ended | ended was removed after having been marked deprecated, in favour of no other tool.",
      "breaking | tool-removed | gone | gone was removed.",
      "breaking | deprecated-early | late | late went as late_v2 came: the two never stood side by side.",
      "compatible | tool-added | late_v2 | late_v2 is new.",
      "compatible | tool-retired | left | left was removed after having stood deprecated beside left_v2.",
      "breaking | tool-renamed | old | old was renamed to new: calls of the old name fail.",
      "breaking | deprecated-early | rash | rash went without having been marked deprecated in favour of rash_v2.",
      "compatible | tool-added | rash_v2 | rash_v2 is new.",
      "compatible | deprecated | search/description | search is now marked deprecated in favour of search_v2.",
      "compatible | tool-added | search_v2 | search_v2 is new, beside search.",
    ]);
  });

  it("whose successor is missing are told once, when it goes missing", () => {
    const deprecated = tool("a", {}, [], { description: "DEPRECATED: use b." });
    const missing = ["unknown | successor-missing | a/description | a sends its callers to b, which is not listed."];
    expect(told([tool("a")], [deprecated])).toEqual(missing);
    expect(told([deprecated, tool("b")], [deprecated]).slice(0, 1)).toEqual(missing);
    expect(told([deprecated], [deprecated])).toEqual([]);
  });

  it("are deprecated by the usual spellings, not by a first word that speaks of something else", () => {
    const marking = (description: string) => [tool("a", {}, [], { description }), tool("b")];
    const unmarked = [tool("a"), tool("b")];
    const marked = "compatible | deprecated | a/description | a is now marked deprecated in favour of b.";
    expect(told(unmarked, marking("Deprecated: use b instead."))).toContain(marked);
    expect(told(unmarked, marking("DEPRECATED: Use b instead."))).toContain(marked);
    expect(told(unmarked, marking("Deprecated packages are listed; use b."))).not.toContain(marked);
  });

  it("that are reworded, or whose hints change", () => {
    const before = tool("a", {}, [], { title: "A", annotations: { readOnlyHint: true, idempotentHint: false } });
    const after = tool("a", {}, [], { description: "Does more.", annotations: { idempotentHint: true } });
    expect(told([before], [after])).toEqual([
      "unknown | annotation | a/annotations/readOnlyHint | readOnlyHint of a was true and is false.",
      "compatible | annotation-safer | a/annotations/idempotentHint | idempotentHint of a was false and is true.",
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
    expect(told([before], [after])).toEqual([
      "breaking | newly-required | t/inputSchema/properties/forced | t.forced is new and required: calls as they were made before now fail.",
      "breaking | parameter-removed | t/inputSchema/properties/gone | t.gone was removed.",
      "breaking | parameter-removed | t/inputSchema/properties/old | t.old was renamed to new.",
      "breaking | newly-required | t/inputSchema/properties/optional | t.optional is now required.",
      "unknown | no-default | t/inputSchema/properties/bare | t.bare is new, and has no default.",
      "unknown | no-default | t/inputSchema/properties/new | t.new is new: it was old, and has no default.",
      "compatible | widened | t/inputSchema/properties/must | t.must is no longer required.",
      "compatible | parameter-added | t/inputSchema/properties/safe | t.safe is new, with a default.",
    ]);
  });

  it.each<[string, Json, Json, string[]]>([
    [
      "integer within number",
      { type: "integer" },
      { type: "number" },
      ["compatible: t.p: type was integer and is number."],
    ],
    ["another type", { type: "string" }, { type: "integer" }, ["breaking: t.p: type was string and is integer."]],
    ["a type where there was none", {}, { type: "string" }, ["breaking: t.p: type was not said and is string."]],
    [
      "null too, by type",
      { type: "string" },
      { type: ["string", "null"] },
      ["compatible: t.p: type was string and is string or null."],
    ],
    [
      "null too, by anyOf",
      text,
      { anyOf: [{ type: "string" }, { type: "null" }], description: "A text." },
      ["compatible: t.p: now takes null."],
    ],
    [
      "an enum that lost and gained",
      { enum: ["a", "b"] },
      { enum: ["b", "c"] },
      ['breaking: t.p: no longer takes "a" and now takes "c".'],
    ],
    [
      "an enum written as alternatives",
      { enum: ["a", "b"] },
      { anyOf: [{ const: "a" }, { const: "b" }] },
      ["description only: The inputSchema of t is written differently and says the same."],
    ],
    [
      "bounds",
      { minimum: 1, maximum: 9 },
      { minimum: 0, maximum: 8 },
      ["breaking: t.p: maximum was 9 and is 8.", "compatible: t.p: minimum was 1 and is 0."],
    ],
    [
      "the same bound of an integer",
      { type: "integer", minimum: 1 },
      { type: "integer", exclusiveMinimum: 0 },
      ["description only: The inputSchema of t is written differently and says the same."],
    ],
    [
      "an open bound",
      { minimum: 1 },
      { exclusiveMinimum: 1 },
      ["breaking: t.p: minimum was 1 and is 1 (itself outside)."],
    ],
    ["a multiple", { multipleOf: 10 }, { multipleOf: 5 }, ["compatible: t.p: multipleOf was 10 and is 5."]],
    ["another pattern", { pattern: "a" }, { pattern: "b" }, ['unknown: t.p: pattern was "a" and is "b".']],
    [
      "a format",
      { type: "string" },
      { type: "string", format: "date" },
      ['unknown: t.p: format was not set and is "date".'],
    ],
    [
      "no other keys",
      { type: "object" },
      { type: "object", additionalProperties: false },
      ["breaking: t.p: no longer takes keys that it does not name."],
    ],
    [
      "items",
      { type: "array", items: { type: "string" } },
      { type: "array", items: { type: "string", maxLength: 3 } },
      ["breaking: t.p[]: maxLength was not set and is 3."],
    ],
    [
      "what is inside of items",
      { items: { properties: { a: text } } },
      { items: { properties: {} } },
      ["breaking: t.p[].a was removed."],
    ],
    ["a default", { default: 1 }, { default: 2 }, ["breaking: The default of t.p was 1 and is 2."]],
    ["a default that is gone", { default: 1 }, {}, ["unknown: t.p no longer says its default, which was 1."]],
    ["a first default", {}, { default: [1] }, ["unknown: t.p now has the default [1]."]],
    [
      "branches that overlap",
      { anyOf: [{ minimum: 1 }, { type: "null" }] },
      { anyOf: [{ type: "null" }] },
      ["unknown: t.p: no longer takes what one of its branches took."],
    ],
    ["a condition", text, { ...text, not: { const: "a" } }, ['unknown: t.p: "not" changed.']],
    ["a malformed keyword", { type: "string" }, { type: "dict" }, ["unknown: t.p: type was or is no valid one."]],
    [
      "a description",
      text,
      { ...text, description: "A text of any length." },
      ["description only: The description of t.p was reworded."],
    ],
    [
      "another meaning",
      { description: "The city." },
      { description: "Whether to sort." },
      ["unknown: t.p seems to mean something else: its description has hardly a word of the old one."],
    ],
    [
      "another unit",
      { description: "Time to wait (seconds)." },
      { description: "Time to wait (ms)." },
      ["unknown: t.p seems to mean something else: its unit or range is another."],
    ],
  ])("%s", (_, before, after, changes) => {
    expect(toldOf(before, after)).toEqual(changes);
  });

  it("follows references, in circles too", () => {
    const node = (limit: number) => ({ properties: { size: { maximum: limit }, child: { $ref: "#/$defs/node" } } });
    const list = (limit: number) => [
      { name: "t", inputSchema: { properties: { root: { $ref: "#/$defs/node" } }, $defs: { node: node(limit) } } },
    ];
    expect(told(list(5), list(4))).toEqual([
      "breaking | narrowed | t/inputSchema/$defs/node/properties/size | t.root.child.size: maximum was 5 and is 4.",
      "breaking | narrowed | t/inputSchema/$defs/node/properties/size | t.root.size: maximum was 5 and is 4.",
    ]);
  });
});

it("takes results the other way round: they may hold less, but no more", () => {
  const giving = (properties: JsonObject, required: string[]) =>
    tool("t", {}, [], { outputSchema: { type: "object", properties, required } });
  const before = giving({ id: text, count: { type: "integer" }, state: { enum: ["a", "b"] }, gone: text }, ["id"]);
  const after = giving({ id: text, count: { type: "number" }, state: { enum: ["a"] }, new: text }, ["count"]);
  expect(told([before], [after])).toEqual([
    "breaking | output | t/outputSchema/properties/count | t result.count: type was integer and is number.",
    "breaking | output | t/outputSchema/properties/gone | t result.gone was removed.",
    "breaking | output | t/outputSchema/properties/id | t result.id is no longer always there.",
    "compatible | output-wider | t/outputSchema/properties/count | t result.count is now always there.",
    "compatible | output-wider | t/outputSchema/properties/new | t result.new is new.",
    'compatible | output-wider | t/outputSchema/properties/state | t result.state: no longer takes "b".',
  ]);
  expect(told([before], [tool("t")])).toEqual(["breaking | output | t | t no longer has an outputSchema."]);
  expect(told([tool("t")], [before])).toEqual([
    "compatible | output-wider | t/outputSchema | t now has an outputSchema.",
  ]);
});

describe("what holds of any two lists", () => {
  const value = fc.constantFrom<Json>(
    "a",
    "b",
    "abc",
    0,
    1,
    2,
    2.5,
    -1,
    10,
    true,
    null,
    [],
    ["a", "a"],
    [1, 2, 3],
    {},
    { p: 1 },
    { p: "a", q: null },
  );
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
      fc.constant({ $ref: "#/$defs/shared" }),
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

  it("never takes a change for harmless that refuses a value, or gives one that was not expected", () => {
    const ajv = new Ajv2020({ strict: false, logger: false });
    const classes = (field: string, before: JsonObject, after: JsonObject) =>
      changesBetween([{ name: "t", [field]: before }], [{ name: "t", [field]: after }]).map((one) => one.class);
    const harmful = expect.stringMatching(/breaking|unknown/);
    fc.assert(
      fc.property(inputs, fc.array(value, { minLength: 12, maxLength: 12 }), ([before, after], values) => {
        const [then, now] = [ajv.compile(before), ajv.compile(after)];
        if (values.some((p) => then({ p }) && !now({ p }))) {
          expect(classes("inputSchema", before, after)).toContainEqual(harmful);
        }
        // A new field is taken for compatible whatever the older schema says of other keys.
        const isOpen = !JSON.stringify(before).includes("additionalProperties");
        if (isOpen && values.some((p) => !then({ p }) && now({ p }))) {
          expect(classes("outputSchema", before, after)).toContainEqual(harmful);
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
    fc.assert(
      fc.property(list, list, (one, other) => {
        const turned = one.toReversed().map((each) => reversed(each) as JsonObject);
        expect(changesBetween(one, turned)).toEqual([]);
        expect(changesBetween(turned, other)).toEqual(changesBetween(one, other.toReversed()));
      }),
      { numRuns: 40 },
    );
  });

  it("does not take the way back of a purely wider schema for harmless", () => {
    fc.assert(
      fc.property(inputs, ([before, after]) => {
        const [one, other] = [[{ name: "t", inputSchema: before }], [{ name: "t", inputSchema: after }]];
        const there = changesBetween(one, other);
        const isWider = there.length > 0 && there.every(({ kind }) => kind === "widened");
        const back = changesBetween(other, one).map((change) => change.class);
        if (isWider) expect(back).toContainEqual(expect.stringMatching(/breaking|unknown/));
      }),
      { numRuns: 120 },
    );
  });

  it("does not throw, whatever a list holds", () => {
    const keywords = fc.constantFrom(
      ...[
        "name",
        "description",
        "inputSchema",
        "outputSchema",
        "annotations",
        "type",
        "properties",
        "required",
        "enum",
      ],
      ...[
        "default",
        "items",
        "anyOf",
        "oneOf",
        "allOf",
        "$ref",
        "$defs",
        "minimum",
        "additionalProperties",
        "__proto__",
      ],
    );
    const nested = fc.letrec<{ value: unknown }>((tie) => ({
      value: fc.oneof(
        { maxDepth: 4 },
        fc.jsonValue({ maxDepth: 1 }),
        fc.dictionary(keywords, tie("value")),
        fc.array(tie("value")),
      ),
    })).value;
    const list = fc.array(fc.dictionary(keywords, nested), { maxLength: 3 });
    const named = (tools: unknown[]): JsonObject[] =>
      JSON.parse(JSON.stringify(tools)).map((one: JsonObject, at: number) => ({ name: `t${at}`, ...one }));
    fc.assert(
      fc.property(list, list, (one, other) => {
        expect(() => changesBetween(named(one), named(other))).not.toThrow();
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

  it("nested deep are told to have changed, not where", () => {
    expect(toldOf(nested(50_000, text), nested(50_000, text))).toEqual([]);
    const [only, ...others] = toldOf(nested(5_000, text), nested(5_000, { type: "integer" }));
    expect(others).toEqual([]);
    expect(only).toMatch(/^unknown: t\.p(\.p)+: what is nested deep in it changed\.$/);
  });

  it("with thousands of other parameters are told one by one", () => {
    const wide = (prefix: string) =>
      tool("w", Object.fromEntries(Array.from({ length: 5_000 }, (_, at) => [`${prefix}${at}`, text])));
    expect(changesBetween([wide("a")], [wide("b")])).toHaveLength(10_000);
  });

  it("end, though references double at each of 60 levels", () => {
    const doubled = (leaf: JsonObject) => {
      const levels = Array.from({ length: 60 }, (_, at) => {
        const next = { $ref: `#/$defs/l${at + 1}` };
        return [`l${at}`, { properties: { a: { ...next, description: "a" }, b: { ...next, description: "b" } } }];
      });
      return { name: "t", inputSchema: { $ref: "#/$defs/l0", $defs: { ...Object.fromEntries(levels), l60: leaf } } };
    };
    expect(told([doubled({ type: "string" })], [doubled({ type: "integer" })])).toHaveLength(1);
  });
});

describe("the classes of changes of wording", () => {
  const before = [tool("a", { p: text, q: text, "odd name": text }), tool("b"), tool("c")];
  const after = [
    tool("a", { p: { ...text, maxLength: 5 }, q: { ...text, description: "A text, or none." }, r: text }),
    tool("b", {}, [], { description: "Does b well.", outputSchema: { type: "object" } }),
    tool("d", {}, [], { description: "Does c." }),
    tool("e"),
  ];

  it("are given to every id that is listed for the same two lists", () => {
    const classOf = classesOf(changesBetween(before, after));
    const listed = listChanges(before as Tool[], after as Tool[]);
    expect(Object.fromEntries(listed.map((change) => [change.id, classOf(change)]))).toEqual({
      'a."odd name":removed': "breaking",
      "a.p:schema": "breaking",
      "a.q": "description only",
      "a.r:added": "unknown",
      b: "description only",
      "b:outputSchema": "compatible",
      "c:renamed": "breaking",
      "e:added": "compatible",
    });
  });

  it("are the worst of the tool where the schema only refers elsewhere", () => {
    const list = (maximum: number) => [
      { name: "t", inputSchema: { properties: { p: { $ref: "#/$defs/n" } }, $defs: { n: { maximum } } } },
    ];
    const classOf = classesOf(changesBetween(list(5), list(4)));
    expect(listChanges(list(5), list(4)).map((change) => [change.id, classOf(change)])).toEqual([
      ["t:schema", "breaking"],
    ]);
  });
});

it("takes the tools of a baseline, each once, without skills and tools that stood beside", () => {
  const offered = (name: string, origin: OfferedTool["origin"], server = "demo"): OfferedTool => ({
    ...{ name, server, origin, description: `Does ${name}.`, inputSchema: { type: "object" } },
  });
  const toolsets = {
    one: [offered("a", "server"), offered("b", "static"), offered("x", "distractor")],
    two: [offered("a", "server"), offered("s", "skill"), offered("a", "server", "other")],
  };
  const own = (name: string) => ({ name, description: `Does ${name}.`, inputSchema: { type: "object" } });
  expect(toolsOfBaseline({ toolsets } as unknown as Baseline)).toEqual([own("a"), own("b"), own("a")]);
});

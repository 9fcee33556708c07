import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { canonicalJson, type JsonObject, jsonSchema } from "../../../src/evals/base/types/json.ts";
import type { Expectation } from "../../../src/evals/base/types/suite.ts";
import type { Tool } from "../../../src/evals/base/types/tool.ts";
import {
  type CurrentCases,
  compareAccepted,
  listChanges,
  listChangesByCase,
} from "../../../src/evals/servers/changes/changes.ts";
import { applyChanges, findEdits } from "../../../src/evals/servers/changes/edits.ts";
import { sortEffects } from "../../../src/evals/servers/changes/parameters.ts";
import { listEffects } from "../../../src/evals/servers/changes/tools.ts";
import { aTool } from "../../fakes/suite.ts";

const read = aTool("read_file", {
  description: "Reads a file.",
  inputSchema: {
    type: "object",
    properties: {
      path: { type: "string", description: "Where it is." },
      tags: {
        type: "array",
        items: { type: "object", properties: { name: { type: "string", description: "A tag" } } },
      },
    },
    required: ["path"],
  },
});

const object = (properties: JsonObject, required: string[]): JsonObject => ({ type: "object", properties, required });
const ids = (base: readonly Tool[], head: readonly Tool[]) => listChanges(base, head).map(({ id }) => id);

describe("findEdits", () => {
  it("finds nothing between equal lists, whatever the order of tools and keys", () => {
    const { name, description, ...rest } = read;
    expect(findEdits([read, aTool("b")], [aTool("b"), { ...rest, description, name }])).toEqual([]);
  });

  it("distinguishes each wording: of the tool, of a parameter, of one inside an array", () => {
    const head = {
      ...read,
      description: "Opens a file.",
      inputSchema: object(
        {
          path: { type: "string", description: "The absolute path." },
          tags: { type: "array", items: { type: "object", properties: { name: { type: "string" } } } },
        },
        ["path"],
      ),
    };
    const edits = findEdits([read], [head]);
    expect(edits.map(({ kind, id, label, before, after }) => [kind, id, label, before, after])).toEqual([
      ["description", "read_file", "read_file: description", "Reads a file.", "Opens a file."],
      ["parameter", "read_file.path", "read_file.path: description", "Where it is.", "The absolute path."],
      ["parameter", "read_file.tags[].name", "read_file.tags[].name: description", "A tag", undefined],
    ]);
    expect(edits[2]).toMatchObject({ tool: "read_file", parameter: "tags[].name", what: "description" });
  });

  it("lists parameters that were added, removed, became required or changed type", () => {
    const base = aTool("t", { inputSchema: object({ a: { type: "string" }, b: { type: "string" }, c: {} }, ["a"]) });
    const head = aTool("t", {
      inputSchema: object({ a: { type: "number" }, b: { type: "string" }, d: { enum: [1] } }, ["b", "d"]),
    });
    expect(findEdits([base], [head]).map(({ label, before, after }) => [label, before, after])).toEqual([
      ["t.a: schema", '{"type":"string"} required', '{"type":"number"}'],
      ["t.b: schema", '{"type":"string"}', '{"type":"string"} required'],
      ["t.c: removed parameter", "{}", undefined],
      ["t.d: new parameter", undefined, '{"enum":[1]} required'],
    ]);
  });

  it("lists new, removed and renamed tools; a rename keeps all but name and title", () => {
    const base = [aTool("gone", { description: "Was." }), aTool("old", { description: "Same." })];
    const head = [aTool("fresh", { description: "Is." }), aTool("new", { description: "Same.", title: "New" })];
    expect(findEdits(base, head)).toEqual([
      { kind: "removed", id: "gone:removed", label: "gone: removed tool", tool: "gone", before: "Was." },
      { kind: "renamed", id: "old:renamed", label: "old: renamed to new", tool: "old", to: "new" },
      { kind: "added", id: "fresh:added", label: "fresh: new tool", tool: "fresh", after: "Is." },
    ]);
  });

  it("lists titles, annotations, output schemas, and the schema of all arguments together", () => {
    const head = aTool("t", {
      title: "T",
      annotations: { readOnlyHint: false },
      outputSchema: { type: "object" },
      inputSchema: { type: "object", properties: {}, additionalProperties: false },
    });
    expect(findEdits([aTool("t")], [head]).map(({ kind, id, before, after }) => [kind, id, before, after])).toEqual([
      ["title", "t:title", undefined, "T"],
      ["annotations", "t:annotations", '{"readOnlyHint":true}', '{"readOnlyHint":false}'],
      ["outputSchema", "t:outputSchema", undefined, '{"type":"object"}'],
      ["schema", "t:schema", '{"type":"object"}', '{"additionalProperties":false,"type":"object"}'],
    ]);
  });

  it("lists search hints, always loaded tools and instructions, and applies each by itself", () => {
    const meta = (alwaysLoad: boolean, hint?: string) => ({
      ...(alwaysLoad && { "anthropic/alwaysLoad": true as const }),
      ...(hint && { "anthropic/searchHint": hint }),
    });
    const guide = (description: string) => aTool("instructions:s", { description, origin: "instructions" });
    const base = [aTool("t", { _meta: meta(false, "old") }), guide("Ask.")];
    const head = [aTool("t", { description: "New.", _meta: meta(true, "new") }), guide("Never ask.")];
    expect(listChanges(base, head).map(({ id, before, after, class: effect }) => [id, before, after, effect])).toEqual([
      ["instructions:s", "Ask.", "Never ask.", "description only"],
      ["t", "Does t.", "New.", "description only"],
      ["t:alwaysLoad", undefined, "true", "description only"],
      ["t:searchHint", "old", "new", "description only"],
    ]);
    const [mixed] = applyChanges(base, head, new Set(["t:alwaysLoad"]));
    expect(mixed).toEqual(aTool("t", { _meta: meta(true, "old") }));
    const without = [aTool("t"), guide("Ask.")];
    expect(applyChanges(base, without, new Set(["t:searchHint"]))[0]).toEqual(aTool("t"));
    expect(
      listChanges([aTool("t")], [aTool("t"), guide("Ask.")]).map(({ label, class: effect }) => [label, effect]),
    ).toEqual([["instructions:s: new instructions", "description only"]]);
    expect(
      listChanges([aTool("t"), guide("Ask.")], [aTool("t")]).map(({ label, class: effect }) => [label, effect]),
    ).toEqual([["instructions:s: removed instructions", "description only"]]);
  });

  it("misses nothing: a difference without a name is listed as other", () => {
    const required = (...names: string[]) => aTool("t", { inputSchema: object({ a: {}, b: {} }, names) });
    expect(findEdits([required("a", "b")], [required("b", "a")])).toMatchObject([
      {
        id: "t:other",
        label: "t: other",
        before: '{"inputSchema":{"properties":{"a":{},"b":{}},"required":["a","b"],"type":"object"}}',
      },
    ]);
    expect(ids([aTool("t")], [aTool("t", { server: "another" })])).toEqual(["t:other"]);
  });

  it("keeps ids apart where names look like paths", () => {
    const nested = (properties: JsonObject) => aTool("a", { inputSchema: object(properties, []) });
    const words = (description: string) => [
      aTool("a.b", { description }),
      nested({ "b.c": { description }, b: { properties: { c: { description } } } }),
    ];
    expect(ids(words("old"), words("new"))).toEqual(['a."b.c"', "a.b.c", '"a.b"']);
  });
});

describe("applyChanges", () => {
  it("serves the base list with just the chosen wording", () => {
    const head = [
      {
        ...read,
        description: "Opens a file.",
        inputSchema: object({ path: { type: "string", description: "The path." } }, ["path"]),
      },
      aTool("fresh"),
    ];
    expect(applyChanges([read], head, new Set(["read_file.path", "fresh:added"]))).toEqual([
      {
        ...read,
        inputSchema: object(
          {
            path: { type: "string", description: "The path." },
            tags: (read.inputSchema.properties as JsonObject).tags ?? null,
          },
          ["path"],
        ),
      },
      aTool("fresh"),
    ]);
  });
});

describe("listChangesByCase", () => {
  it("compares each pair of lists once, with its cases, and only cases that are in both", () => {
    const toolsets = { old: [aTool("t")], new: [aTool("t", { description: "New." })], other: [aTool("u")] };
    const list = (...cases: [string, string][]) => ({
      cases: cases.map(([id, toolset]) => ({ id, toolset })),
      toolsets,
    });
    const then = list(["a", "old"], ["b", "old"], ["same", "other"], ["gone", "old"]);
    const now = list(["a", "new"], ["b", "new"], ["same", "other"], ["fresh", "new"]);
    expect(listChangesByCase(then, now)).toEqual([
      { base: "old", head: "new", cases: ["a", "b"], changes: listChanges(toolsets.old, toolsets.new) },
    ]);
    expect(listChangesByCase(then, then)).toEqual([]);
  });
});

const names = fc.constantFrom("a", "b", "a.b", "constructor", "x");
const words = fc.constantFrom("One.", "Two.", "");
// `required` names parameters of the schema, and sometimes one that no schema has.
const sound = (schema: JsonObject): JsonObject => {
  const known = new Set([...Object.keys(schema.properties ?? {}), "stray"]);
  return Array.isArray(schema.required)
    ? { ...schema, required: schema.required.filter((name) => known.has(String(name))) }
    : schema;
};
const leaf = fc.record({ type: fc.constantFrom("string", "number"), description: words }, { requiredKeys: [] });
const schemas = fc.letrec<{ object: JsonObject; node: JsonObject }>((tie) => ({
  object: fc
    .record(
      {
        type: fc.constantFrom("object", "string"),
        description: words,
        properties: fc.dictionary(names, fc.oneof({ depthSize: "small" }, tie("node"), fc.constant(true)), {
          maxKeys: 3,
        }),
        required: fc.uniqueArray(fc.oneof(names, fc.constant("stray")), { maxLength: 3 }),
        items: tie("node"),
      },
      { requiredKeys: [] },
    )
    .map((schema) => sound(schema as JsonObject)),
  node: fc.oneof({ depthSize: "small" }, leaf as fc.Arbitrary<JsonObject>, tie("object")),
}));
const tools: fc.Arbitrary<Tool[]> = fc.uniqueArray(
  fc.record(
    {
      name: fc.constantFrom("a", "b", "c", "a.b"),
      description: words,
      title: words,
      annotations: fc.record({ readOnlyHint: fc.boolean() }),
      inputSchema: schemas.object,
    },
    { requiredKeys: ["name", "inputSchema"] },
  ),
  { selector: ({ name }) => name, maxLength: 4 },
);
const canonical = (list: readonly Tool[]) => list.map((tool) => canonicalJson(jsonSchema.parse(tool))).sort();

describe("lists of any shape", () => {
  it("have changes with classes, which together hold every effect once", () => {
    fc.assert(
      fc.property(tools, tools, (base, head) => {
        const changes = listChanges(base, head);
        const effects = changes.flatMap((change) => change.effects);
        expect(effects).toHaveLength(new Set(effects).size);
        expect(sortEffects(effects)).toEqual(listEffects(base as JsonObject[], head as JsonObject[]));
        for (const { kind, class: known } of changes) if (kind === "removed") expect(known).toBe("breaking");
      }),
    );
  });

  it("are the base with no change, and the head with all", () => {
    fc.assert(
      fc.property(tools, tools, (base, head) => {
        expect(canonical(applyChanges(base, head, new Set()))).toEqual(canonical(base));
        expect(canonical(applyChanges(base, head, new Set(ids(base, head))))).toEqual(canonical(head));
        expect(ids(base, head).length === 0).toBe(canonicalJson(canonical(base)) === canonicalJson(canonical(head)));
      }),
    );
  });

  it("differ from the base by just the changes that were applied, and from the head by just the others", () => {
    fc.assert(
      fc.property(tools, tools, fc.infiniteStream(fc.boolean()), (base, head, coins) => {
        const all = ids(base, head);
        const chosen = all.filter(() => coins.next().value);
        const mixed = applyChanges(base, head, new Set(chosen));
        expect(new Set(all).size).toBe(all.length);
        expect(ids(base, mixed).sort()).toEqual([...chosen].sort());
        expect(ids(mixed, head).sort()).toEqual(all.filter((id) => !chosen.includes(id)).sort());
      }),
      { numRuns: 150 },
    );
  });
});

const describedTool = (name: string, description: string): Tool => ({
  name,
  description,
  inputSchema: { type: "object" },
});
const before = [describedTool("read", "Reads."), describedTool("list", "Lists."), describedTool("skill:pdf", "Forms.")];
const calls = (...tools: string[]): Expectation => ({
  ...{ kind: "calls", order: "strict", extras: false, argsMode: "partial", avoid: [] },
  calls: tools.map((tool) => ({ tools: [tool] })),
});

const record = {
  cases: ["read", "both", "none", "skill", "thin", "old", "edited"].map((id) => ({
    ...{ id, hash: `hash of ${id}`, toolset: "a" },
    trials: id === "thin" ? 0 : 5,
  })),
  toolsets: { a: before },
};
const current = (tools: readonly Tool[]): CurrentCases => ({
  cases: [
    { id: "read", hash: "hash of read", expect: calls("read"), toolset: "b" },
    { id: "both", hash: "hash of both", expect: calls("read", "list"), toolset: "b" },
    { id: "none", hash: "hash of none", expect: { kind: "none", avoid: [] }, toolset: "b" },
    { id: "skill", hash: "hash of skill", expect: { kind: "skill", skill: "pdf", avoid: ["list"] }, toolset: "b" },
    { id: "thin", hash: "hash of thin", expect: calls("read"), toolset: "b" },
    { id: "edited", hash: "another", expect: calls("read"), toolset: "b" },
    { id: "new", hash: "hash of new", expect: calls("read"), toolset: "b" },
  ],
  toolsets: { b: tools },
});
const states = (tools: readonly Tool[]) =>
  compareAccepted(record, current(tools)).cases.map(({ id, state, tools: named }) => [id, state, ...named].join(" "));

describe("what an accepted record covers", () => {
  it("covers all cases that were graded while neither they nor the tools changed", () => {
    expect(states(before.toReversed()).join()).toBe(
      "read accepted,both accepted,none accepted,skill accepted,thin not graded,edited edited,new new",
    );
    expect(compareAccepted(record, current(before))).toMatchObject({ lists: [], removed: ["old"] });
  });

  it("does not cover cases that name a changed tool, nor those that name none", () => {
    const changed = before.map((tool) => (tool.name === "list" ? describedTool("list", "Lists files.") : tool));
    expect(states(changed).join()).toBe(
      "read accepted,both stale list,none stale list,skill stale list,thin not graded,edited edited,new new",
    );
  });

  it("counts a renamed tool under both names, and a changed skill", () => {
    const changed = states([
      describedTool("read_file", "Reads."),
      describedTool("list", "Lists."),
      describedTool("skill:pdf", "Fills forms."),
    ]);
    expect(changed.slice(0, 4)).toEqual([
      ...["read stale read", "both stale read", "none stale read read_file skill:pdf", "skill stale skill:pdf"],
    ]);
  });

  it("counts the instructions of a server for every case", () => {
    const withInstructions = [...before, describedTool("instructions:files", "Read before you list.")];
    expect(states(withInstructions).slice(0, 3)).toEqual([
      ...["read stale instructions:files", "both stale instructions:files", "none stale instructions:files"],
    ]);
  });
});

import fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import type { OfferedTool } from "../../src/evals/base/types/tool.ts";
import { applyVariants, type ReadVariants, readVariants } from "../../src/evals/experiments/variants/ask.ts";
import { applyVariant } from "../../src/evals/servers/overlay.ts";
import { createToolset } from "../../src/evals/servers/toolList.ts";
import { aCase, aSuite, aTool } from "../fakes/suite.ts";
import { complaint, workspace } from "../input/suites/workspace.ts";

const text = (description: string) => ({ type: "string", description });
const read = aTool("read", {
  title: "Read",
  inputSchema: {
    type: "object",
    properties: { path: text("the path"), head: { type: "integer" } },
    required: ["path"],
  },
});
const edit = aTool("edit", {
  inputSchema: {
    type: "object",
    properties: {
      edits: { type: "array", items: { type: "object", properties: { oldText: text("old"), newText: text("new") } } },
      options: { type: "object", properties: { "dry.run": text("try"), sure: true } },
    },
  },
  annotations: { destructiveHint: true },
});
const list = [read, edit, aTool("find", { origin: "distractor", server: "other" })];

describe("overlay", () => {
  it("changes a description and nothing else", () => {
    expect(applyVariant(list, { read: "Shows a file." })).toEqual([
      { ...read, description: "Shows a file." },
      ...list.slice(1),
    ]);
  });

  it("changes search hints, whether a tool is always loaded, and the instructions of a server", () => {
    const hinted = { ...read, _meta: { "anthropic/searchHint": "open" } };
    const guide = aTool("instructions:s", { description: "Ask.", origin: "instructions" });
    expect(
      applyVariant([hinted, edit, guide], {
        read: { searchHint: "" },
        edit: { alwaysLoad: true, searchHint: "patch" },
        "instructions:s": "Never ask.",
      }),
    ).toEqual([
      read,
      { ...edit, _meta: { "anthropic/alwaysLoad": true, "anthropic/searchHint": "patch" } },
      { ...guide, description: "Never ask." },
    ]);
    const loaded = { ...read, _meta: { "anthropic/alwaysLoad": true as const } };
    expect(applyVariant([loaded], { read: { alwaysLoad: false } })).toEqual([read]);
  });

  it("changes the descriptions of parameters, also of nested ones, of items, and of dotted names", () => {
    const parameters = { "edits.oldText": "a", "edits[].newText": "b", "options.dry.run": "c", edits: "all" };
    const [, changed] = applyVariant(list, { edit: { parameters } });
    expect(changed).toEqual({
      ...edit,
      inputSchema: {
        type: "object",
        properties: {
          edits: {
            type: "array",
            description: "all",
            items: { type: "object", properties: { oldText: text("a"), newText: text("b") } },
          },
          options: { type: "object", properties: { "dry.run": text("c"), sure: true } },
        },
      },
    });
  });

  it("takes a whole tool, but for its own name, its annotations and where calls to it go", () => {
    const tool = { description: "Edits.", inputSchema: { type: "object", properties: { all: text("everything") } } };
    expect(applyVariant(list, { edit: { tool } })[1]).toEqual({
      ...tool,
      name: "edit",
      annotations: { destructiveHint: true },
      server: "s",
      origin: "server",
    });
    expect(applyVariant(list, { read: { tool } })[0]).not.toHaveProperty("title");
  });

  test("names, order, annotations and origins never change, and what is not named is the very same tool", () => {
    const change = fc.oneof(
      fc.string(),
      fc.record({ description: fc.string(), parameters: fc.dictionary(fc.constantFrom("path", "edits"), fc.string()) }),
      fc.record({ tool: fc.record({ inputSchema: fc.constant({ type: "object" }) }) }),
    );
    fc.assert(
      fc.property(fc.dictionary(fc.constantFrom("read", "edit", "find", "gone"), change), (variant) => {
        const kept = ({ name, annotations, server, origin }: OfferedTool) => ({ name, annotations, server, origin });
        const laid = applyVariant(list, variant);
        expect(laid.map(kept)).toEqual(list.map(kept));
        for (const [at, tool] of list.entries()) if (!(tool.name in variant)) expect(laid[at]).toBe(tool);
      }),
    );
  });
});

const planned = (tools: readonly OfferedTool[]) => {
  const one = aCase("a");
  return { suite: aSuite("s", [one]), case: one, arm: "head", toolset: createToolset(tools) };
};

async function readFileOf(content: string, name = "w.yaml"): Promise<ReadVariants> {
  return await readVariants(name, await workspace({ [name]: content }));
}

const told = (content: string, name?: string) => complaint(readFileOf(content, name));
const toldOver = (content: string, lists = [list]) =>
  complaint(readFileOf(content).then((file) => applyVariants(file, lists.map(planned))));

describe("a variants file", () => {
  it("lays every variant over every list, each list once", async () => {
    const file = await readFileOf(
      "variants:\n  terse: { read: Reads. }\n  long:\n    find: { description: Finds it. }\n",
    );
    const [a, b] = [planned(list), planned([read])];
    const [terse, long] = applyVariants(file, [a, b]);
    expect([terse?.name, long?.name]).toEqual(["terse", "long"]);
    expect(terse?.getToolset(b).tools).toEqual([{ ...read, description: "Reads." }]);
    expect(terse?.getToolset(planned(list))).toBe(terse?.getToolset(a));
    expect(long?.getToolset(b).hash).toBe(b.toolset.hash);
  });

  it("reports what is malformed, with its place", async () => {
    expect(
      await told(`variants:
  a:
    read: 5
    edit: { descripton: x }
    find: { tool: { description: y, annotations: {} } }
  b: none
`),
    ).toMatchInlineSnapshot(`
      "w.yaml:3:11: error: "read" must be text or an object, got 5.
        Give a description, or an object with "description", "parameters" or "tool".
      w.yaml:4:13: error: Unknown key "descripton".
        Did you mean "description"?
      w.yaml:5:19: error: "inputSchema" is missing.
      w.yaml:5:37: error: Unknown key "annotations".
        Known keys here: name, title, description, inputSchema, outputSchema.
      w.yaml:6:6: error: "b" must be an object, got "none".
        Write variants: { <name>: { <tool>: <its description> } }."
    `);
    expect(await told("varaints: {}\n")).toMatchInlineSnapshot(`
      "w.yaml:1:1: error: "variants" is missing.
      w.yaml:1:1: error: Unknown key "varaints".
        Did you mean "variants"?"
    `);
    expect(await told("- a\n")).toMatchInlineSnapshot(`
      "w.yaml:1:1: error: This is not a variants file.
        Write variants: { <name>: { <tool>: <its description> } }."
    `);
    expect(await told("# nothing yet\n")).toMatchInlineSnapshot(`
      "w.yaml: error: The file is empty.
        Write its content, or remove it."
    `);
    expect(await told("variants: {}\n")).toMatchInlineSnapshot(`
      "w.yaml:1:1: error: There are no variants.
        Write variants: { <name>: { <tool>: <its description> } }."
    `);
    expect(await told('{"variants": {"a": {"read": "x",}}}', "w.json")).toMatchInlineSnapshot(`
      "w.json:1:33: error: Invalid JSON: property name expected.
        Put keys in double quotes, and no comma after the last member."
    `);
    expect(await told("variants:\n  a: { read: x, read: y }\n")).toMatchInlineSnapshot(`
      "w.yaml:2:17: error: "read" appears twice in this object.
        Remove one of them."
    `);
    expect(await told("variants:\n  head: { read: x }\n")).toMatchInlineSnapshot(`
      "w.yaml:2:3: error: A variant cannot be named "head".
        Use another name: incumbent, base, head are reserved."
    `);
  });

  it("reports names that are not listed", async () => {
    expect(
      await toldOver(`variants:
  a:
    raed: Reads.
    read: { parameters: { pth: x, size: y } }
    nothing_like_it: x
`),
    ).toMatchInlineSnapshot(`
      "w.yaml:3:5: error: No tool "raed" is listed.
        Did you mean "read"?
      w.yaml:4:27: error: "read" has no parameter "pth".
        Did you mean "path"?
      w.yaml:4:35: error: "read" has no parameter "size".
        Its parameters: path, head.
      w.yaml:5:5: error: No tool "nothing_like_it" is listed.
        Listed tools: read, edit, find."
    `);
  });

  it.each([
    ["of another tool", "read: { name: edit }", "another tool has this name"],
    ["of a tool renamed to it", "read: { name: look }, edit: { tool: { name: look, inputSchema: {} } }", "another"],
    ["of a tool of another server", "read: { name: find }", "another tool has this name"],
    ["of a tool of a host", "read: { name: apply-patch }", "Codex has a tool of its own with this name"],
    ["that model APIs refuse", "read: { name: read file }", "model APIs refuse such a name"],
    ["that is empty", 'read: { name: "" }', "model APIs refuse such a name"],
    ["for a distractor", "find: { name: look }", "it is no tool that the server under test shows"],
    ["of another parameter", "read: { parameters: { path: { name: head } } }", "another parameter has this name"],
    ["for a nested parameter", "edit: { parameters: { edits.oldText: { name: old } } }", "inside of another"],
    ["for a parameter that model APIs refuse", "read: { parameters: { path: { name: a.b } } }", "model APIs refuse"],
  ])("refuses a name %s", async (_, variant, why) => {
    expect(await toldOver(`variants:\n  a: { ${variant} }\n`)).toContain(why);
  });

  it("takes a name that another tool gives up", async () => {
    const file = await readFileOf("variants:\n  swapped: { peek: { name: seek }, seek: { name: peek } }\n");
    expect(applyVariants(file, [planned([aTool("peek"), aTool("seek")])])).toHaveLength(1);
  });

  it("refuses a variant that changes nothing, and one that is there twice", async () => {
    expect(
      await toldOver(`variants:
  same: { read: Does read. }
  empty: {}
  one: { read: Reads. }
  two:
    read: { description: Reads. }
`),
    ).toMatchInlineSnapshot(`
      "w.yaml:2:3: error: The variant "same" changes nothing.
        Change its wording, or remove it.
      w.yaml:3:3: error: The variant "empty" changes nothing.
        Change its wording, or remove it.
      w.yaml:5:3: error: The variant "two" equals "one".
        Change its wording, or remove it."
    `);
  });

  it("finds a tool that only some cases are shown", async () => {
    const file = await readFileOf("variants:\n  a: { find: Finds. }\n");
    expect(applyVariants(file, [planned([read]), planned(list)])).toHaveLength(1);
  });
});

import { describe, expect, it } from "vitest";
import { findRecursiveRef, followRef, maxPlaces, walkToolSchema } from "../../../src/evals/base/jsonSchema/walk.ts";
import type { JsonObject } from "../../../src/evals/base/types/json.ts";

const walk = (inputSchema: JsonObject) => walkToolSchema({ inputSchema }, "inputSchema");

describe("a walk", () => {
  it("visits every schema with its path, role and level", () => {
    const locations = walk({
      properties: { tags: { items: { anyOf: [{ $ref: "#/$defs/id" }, true] } } },
      $defs: { id: {}, unused: { $ref: "#/$defs/loop" }, loop: { $ref: "#/$defs/unused" } },
    });
    expect(locations.map(({ at, role, name, level }) => [at.join("."), role, name, level])).toEqual([
      ["inputSchema", "root", "", 0],
      ["inputSchema.properties.tags", "property", "tags", 1],
      ["inputSchema.properties.tags.items", "items", "", 2],
      ["inputSchema.properties.tags.items.anyOf.0", "branch", "", 2],
      ["inputSchema.$defs.id", "definition", "", 0],
    ]);
  });

  it("visits the definitions that references lead to, or into, from what is visited", () => {
    const definitions = (schema: JsonObject) =>
      walk(schema)
        .filter(({ role }) => role === "definition")
        .map(({ at }) => at.slice(1).join("/"));
    const $defs = { a: { items: { $ref: "#/$defs/b" } }, b: {}, c: { properties: { d: {} } }, e: {} };
    expect(definitions({ not: { $ref: "#/$defs/a" }, $defs })).toEqual(["$defs/a", "$defs/b"]);
    expect(definitions({ not: { $ref: "#/$defs/c/properties/d" }, $defs })).toEqual(["$defs/c"]);
    expect(definitions({ $defs })).toEqual([]);
    expect(definitions({ not: { $ref: "#name" }, $defs })).toHaveLength(4);
  });

  it("is empty without a schema that is an object", () => {
    expect(walkToolSchema({ inputSchema: true }, "inputSchema")).toEqual([]);
    expect(walkToolSchema({}, "outputSchema")).toEqual([]);
  });

  it("stops at its limits", () => {
    const wide = Object.fromEntries(Array.from({ length: maxPlaces }, (_, at) => [`p${at}`, {}]));
    expect(walk({ properties: wide })).toHaveLength(maxPlaces);
    let deep: JsonObject = {};
    for (let level = 0; level < 50_000; level++) deep = { not: deep };
    expect(walk(deep).length).toBeLessThan(200);
  });
});

describe("a reference", () => {
  const schema = {
    $id: "https://example.com/tool",
    properties: { a: { $anchor: "here" } },
    $defs: { x: { type: "string" } },
  };

  it.each([
    ["#/$defs/x", "local"],
    ["https://example.com/tool#/$defs/x", "local"],
    ["#here", "local"],
    ["https://example.com/tool", "local"],
    ["#/$defs/y", "nowhere"],
    ["#there", "nowhere"],
    ["https://example.com/other", "remote"],
  ])("%s is %s", (ref, kind) => {
    expect(followRef(ref, walk(schema)).kind).toBe(kind);
  });

  it("is recursive when it leads back to a schema it is part of, itself or through others", () => {
    expect(findRecursiveRef(walk({ properties: { child: { $ref: "#" } } }))?.at.at(-1)).toBe("child");
    const ring = {
      $defs: { a: { $ref: "#/$defs/b" }, b: { $ref: "#/$defs/a" } },
      properties: { p: { $ref: "#/$defs/a" } },
    };
    expect(findRecursiveRef(walk(ring))).toBeDefined();
    const shared = { $defs: { a: {} }, properties: { p: { $ref: "#/$defs/a" }, q: { $ref: "#/$defs/a" } } };
    expect(findRecursiveRef(walk(shared))).toBeUndefined();
  });
});

import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { fillArguments } from "../../../src/evals/asking/models/fillArguments.ts";
import type { JsonObject } from "../../../src/evals/base/types/json.ts";
import { tool } from "./request.ts";

const string = { type: "string" };
const integer = { type: "integer" };
const boolean = { type: "boolean" };
const level = { type: "string", enum: ["low", "medium", "high"] };

function fill(query: string, properties: Record<string, JsonObject>, required = Object.keys(properties)): JsonObject {
  return fillArguments(tool("search_notes", "Searches the notes.", properties, required), query);
}

describe("values that the query spells out", () => {
  it.each<[string, Record<string, JsonObject>, JsonObject]>([
    ['say "good morning"', { text: string }, { text: "good morning" }],
    ["say 'good morning' to “them”", { a: string, b: string }, { a: "good morning", b: "them" }],
    ["don't say `this`", { text: string }, { text: "this" }],
    ["open https://a.example/x?y=1.", { url: string }, { url: "https://a.example/x?y=1" }],
    ["get http://a.example", { target: { ...string, format: "uri" } }, { target: "http://a.example" }],
    ["write to bob@a.example, please", { to: { ...string, description: "email address" } }, { to: "bob@a.example" }],
    [
      "copy a/b.txt to ../c.txt",
      { source: string, destination: string },
      { source: "a/b.txt", destination: "../c.txt" },
    ],
    ["open ~/notes", { path: string }, { path: "~/notes" }],
    ["free on 2026-11-30?", { date: string }, { date: "2026-11-30" }],
    ["add 2 and -3.5", { a: { type: "number" }, b: { type: "number" } }, { a: 2, b: -3.5 }],
    ["2.5 litres in 4 cups", { cups: integer }, { cups: 4 }],
    ["a High priority task", { priority: level }, { priority: "high" }],
    ["in dark mode", { mode: { enum: ["dark_mode", "light_mode"] } }, { mode: "dark_mode" }],
    ["add 1, 2 and 3", { numbers: { type: "array", items: integer } }, { numbers: [1, 2, 3] }],
    ['tag it "a" and "b"', { tags: { type: "array", items: string } }, { tags: ["a", "b"] }],
    ["read a.txt and b.txt", { paths: { type: "array", items: string } }, { paths: ["a.txt", "b.txt"] }],
    ["high and low", { levels: { type: "array", items: level } }, { levels: ["high", "low"] }],
    [
      "at 3 and 4",
      { at: { type: "object", properties: { x: integer, y: integer }, required: ["x", "y"] } },
      { at: { x: 3, y: 4 } },
    ],
    ["in 5 days", { count: { type: ["null", "integer"] } }, { count: 5 }],
    ["in 5 days", { count: { anyOf: [{ type: "null" }, { type: "integer" }] } }, { count: 5 }],
  ])("%s", (query, properties, expected) => {
    expect(fill(query, properties)).toEqual(expected);
  });
});

it("a number is evidence for an optional parameter only where the query names it", () => {
  expect(fill("in 5 days", { count: integer }, [])).toEqual({});
  expect(fill("with a count of 5", { count: integer }, [])).toEqual({ count: 5 });
});

describe("booleans", () => {
  it.each<[string, JsonObject]>([
    ["search with archived ones", { archived: true, include_archived: true }],
    ["search without archived ones", { archived: false, include_archived: false }],
    ["search, not archived", { archived: false, include_archived: false }],
    ["not today, but archived", { archived: true, include_archived: true }],
    ["search", {}],
  ])("%s", (query, expected) => {
    expect(fill(query, { archived: boolean, include_archived: boolean }, [])).toEqual(expected);
  });
});

describe("the text of a single required parameter", () => {
  it.each<[string, string | undefined]>([
    ["Search: red wine", "red wine"],
    ["Please search my notes for red wine", "red wine"],
    ["Which notes are about the wine of Jane?", "wine of Jane"],
    ["search notes", "notes"],
    ["", undefined],
  ])("%s", (query, expected) => {
    expect(fill(query, { query: string, limit: integer }, ["query"])).toEqual(expected ? { query: expected } : {});
  });

  it("is not made up where two are missing", () => {
    expect(fill("search for wine", { query: string, folder: string })).toEqual({});
  });
});

describe("parameters that are not required", () => {
  const properties = { query: string, limit: integer, lang: { ...level, default: "low" }, tag: string };

  it("are left to their defaults without evidence", () => {
    expect(fill('search "wine"', properties, ["query"])).toEqual({ query: "wine" });
  });

  it("are filled in when the query names them, or a value of theirs", () => {
    const query = 'search "wine" with tag "red", limit 5, high';
    expect(fill(query, properties, ["query"])).toEqual({ query: "wine", tag: "red", limit: 5, lang: "high" });
  });
});

it("fills in nothing that is not in the query, for any text and schema", () => {
  const types = fc.constantFrom<JsonObject>(string, integer, boolean, level, { type: "array", items: integer }, {});
  fc.assert(
    fc.property(fc.string(), fc.dictionary(fc.string(), types, { maxKeys: 5 }), (query, properties) => {
      const filled = fill(query, properties);
      for (const value of Object.values(filled).flat()) {
        if (typeof value === "string") expect(query.toLowerCase()).toContain(value.toLowerCase().split(" ")[0]);
        if (typeof value === "number") expect(query).toContain(String(Math.abs(value)).split("e")[0]);
      }
    }),
  );
});

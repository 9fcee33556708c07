import * as fc from "fast-check";
import { expect, it } from "vitest";
import { joinPieces, stringifyInParts } from "../../../src/evals/base/text/jsonParts.ts";

it.each([0, 2])("joined, the parts are what JSON.stringify makes (indent %i)", (indent) => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 7 }), fc.nat(5), (value, depth) => {
      expect([...stringifyInParts(value, { indent, depth })].join("")).toBe(JSON.stringify(value, null, indent));
    }),
  );
});

it.each([0, 2])("joined, the parts of a long list with elements of any size are the same (indent %i)", (indent) => {
  const list = Array.from({ length: 3_000 }, (_, at) => ({ at, text: "z".repeat((at * at) % 1_000), none: undefined }));
  expect([...stringifyInParts(list, { indent, depth: 0 })].join("")).toBe(JSON.stringify(list, null, indent));
});

it("leaves out members that are undefined", () => {
  const value = { a: undefined, b: [{ c: undefined, d: [undefined, 1] }], e: {}, f: [], g: { h: undefined } };
  expect([...stringifyInParts(value, { indent: 2 })].join("")).toBe(JSON.stringify(value, null, 2));
});

it("makes several parts of what is large, and splits no text", () => {
  const cases = Array.from({ length: 2_000 }, (_, at) => ({ id: `case ${at}`, input: "x".repeat(100) }));
  const parts = [...stringifyInParts({ suites: [{ cases }] }, { indent: 2 })];
  expect(parts.length).toBeGreaterThan(2);
  for (const part of parts) expect(part.split('"').length % 2).toBe(1);
  expect(JSON.parse(parts.join(""))).toEqual({ suites: [{ cases }] });
});

it("puts the separator between texts, also where a part ends", () => {
  const texts = Array.from({ length: 300 }, (_, at) => "y".repeat(at * 10));
  expect([...joinPieces(texts, ",")].join("")).toBe(texts.join(","));
});

import { describe, expect, it, test } from "vitest";
import { formatJsonPath, resolvePointer } from "../../../src/evals/base/jsonSchema/walk.ts";

test("a path is written in JSONPath syntax, with hidden characters escaped", () => {
  expect(formatJsonPath(["inputSchema", "properties", "the unit", "enum", 0])).toBe(
    '$.inputSchema.properties["the unit"].enum[0]',
  );
  expect(formatJsonPath(["a\u200bb"])).toBe('$["a\\u{200b}b"]');
});

describe("resolvePointer", () => {
  const root = { $defs: { "a/b": { type: "string" }, "c d": [true] }, $ref: "x" };

  it.each([
    ["#", root, []],
    ["#/$defs/a~1b", { type: "string" }, ["$defs", "a/b"]],
    ["#/$defs/c%20d/0", true, ["$defs", "c d", "0"]],
  ])("follows %s", (ref, value, path) => {
    expect(resolvePointer(ref, root)).toEqual({ value, path });
  });

  it.each(["#/$defs/none", "#/constructor", "#anchor", "other.json#/a", "#/$defs/%", "#/$ref/length"])(
    "finds nothing at %s",
    (ref) => {
      expect(resolvePointer(ref, root)).toBeUndefined();
    },
  );
});

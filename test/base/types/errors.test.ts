import { describe, expect, it } from "vitest";
import * as z from "zod";
import { formatIssues } from "../../../src/evals/base/types/errors.ts";
import { jsonSchema } from "../../../src/evals/base/types/json.ts";

const schema = z.strictObject({
  name: z.string().min(1).max(4),
  count: z.int().min(0).max(9),
  kind: z.enum(["a", "b"]),
  only: z.literal(true),
  list: z.array(z.strictObject({ id: z.string().regex(/^\d+$/) })).min(2),
  either: z.union([z.string(), z.number()]),
  deep: z.union([z.string(), z.object({ x: z.number() }), z.object({ x: z.string(), y: z.string(), z: z.string() })]),
  grade: z.union([z.literal(1), z.literal(2)]),
  map: z.record(z.string(), z.number()),
  tagged: z.discriminatedUnion("of", [z.object({ of: z.literal("p") }), z.object({ of: z.literal("q") })]),
  part: z.union([z.object({ type: z.literal("p") }), z.object({ of: z.string(), type: z.literal("q") })]),
  json: jsonSchema,
});
const right = {
  ...{ name: "n", count: 1, kind: "a", only: true, list: [{ id: "1" }, { id: "2" }], either: 1 },
  ...{ deep: "d", map: {}, grade: 1, tagged: { of: "p" }, part: { type: "p" }, json: null },
};

function explain(value: unknown): string {
  const { error } = schema.safeParse(value);
  return error ? formatIssues(error) : "nothing wrong";
}

describe("formatIssues", () => {
  it.each([
    [{ name: undefined }, "name is missing: expected text"],
    [{ name: 5 }, "name must be text, got a number"],
    [{ name: null }, "name must be text, got null"],
    [{ name: "" }, "name is empty"],
    [{ name: "12345" }, "name must have at most 4 characters"],
    [{ count: 1.5 }, "count must be a whole number, got a number"],
    [{ count: -1 }, "count must be at least 0"],
    [{ count: 10 }, "count must be at most 9"],
    [{ kind: "c" }, 'kind must be one of "a", "b"'],
    [{ only: false }, "only must be true"],
    [{ list: [] }, "list must have at least 2 entries"],
    [{ list: {} }, "list must be a list, got an object"],
    [{ list: [{ id: "1" }, {}] }, "list[1].id is missing: expected text"],
    [{ list: [{ id: "1" }, { id: "x" }] }, "list[1].id is invalid: Invalid string: must match pattern /^\\d+$/"],
    [{ list: [{ id: "1" }, { id: "2", no: 1 }] }, "list[1] has an unknown key: no"],
    [{ either: undefined }, "either is missing: expected text or a number"],
    [{ either: [] }, "either must be text or a number, got a list"],
    [{ deep: { x: true } }, "deep.x must be a number, got true or false"],
    [{ grade: 3 }, "grade must be one of 1, 2"],
    [{ map: undefined }, "map is missing: expected an object"],
    [{ map: { a: "b" } }, "map.a must be a number, got text"],
    [{ tagged: { of: "r" } }, "tagged.of has an unknown value"],
    [{ part: { type: "r" } }, 'part.type must be one of "p", "q"'],
    [{ part: { type: "q" } }, "part.of is missing: expected text"],
    [{ json: undefined }, "json is invalid: not a JSON value"],
    [{ more: 1 }, "it has an unknown key: more"],
    [{}, "nothing wrong"],
  ])("says of %j: %s", (changes, expected) => {
    expect(explain({ ...right, ...changes })).toBe(expected);
  });

  it("names a whole value that is wrong, and the first five of many issues", () => {
    expect(explain([])).toBe("it must be an object, got a list");
    expect(explain(undefined)).toBe("it is missing: expected an object");
    expect(explain({})).toMatch(/^name is missing: expected text; (?:[^;]+; ){4}and 7 more$/);
  });
});

import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { canonicalJson, type Json, type JsonObject } from "../../../../src/evals/base/types/json.ts";
import { shrink, simplifyObject } from "../../../../src/evals/inspection/probe/plan/shrink.ts";

const smallest = (start: JsonObject, fails: (input: JsonObject) => boolean, held?: string, most = 10_000) => {
  let left = most;
  return shrink(
    start,
    (from) => simplifyObject(from, held),
    canonicalJson,
    async (input) => (left-- > 0 ? fails(input) : "stop"),
  );
};
/** Signs of texts, sizes of numbers, one for true, and one for each member. Not the length as JSON: false is longer than true. */
const weight = (value: Json): number => {
  if (typeof value === "string") return [...value].length;
  if (typeof value === "number") return Math.abs(value);
  if (typeof value !== "object" || value === null) return Number(value);
  return Object.values(value).reduce<number>((sum, member) => sum + 1 + weight(member), 0);
};
const text = (value: Json | undefined) => (typeof value === "string" ? value : "");

describe("shrinking", () => {
  it.each<[string, JsonObject, (input: JsonObject) => boolean, JsonObject]>([
    ["a length", { s: "q7 zz 日本語 and more of it" }, ({ s }) => [...text(s)].length > 5, { s: "aaaaaa" }],
    ["one sign", { s: "before 💥 after", t: "x" }, ({ s }) => text(s).includes("💥"), { s: "💥" }],
    ["a number", { n: 900, m: 4 }, ({ n }) => Number(n) > 32, { n: 33 }],
    ["a negative number", { n: -77.5 }, ({ n }) => Number(n) < 0, { n: -1 }],
    [
      "an item",
      { list: [1, "b", { c: true }, null] },
      ({ list }) => JSON.stringify(list ?? null).includes("c"),
      { list: [{ c: false }] },
    ],
    ["nothing", { a: 1, b: [2] }, () => true, {}],
  ])("finds %s", async (_, start, fails, expected) => {
    expect(await smallest(start, fails)).toEqual(expected);
  });

  it("keeps the held parameter unchanged", async () => {
    expect(await smallest({ wrong: "seven", other: "text" }, () => true, "wrong")).toEqual({ wrong: "seven" });
  });

  it("stops on request", async () => {
    expect(await smallest({ s: "abcdefgh" }, ({ s }) => text(s).length > 2, undefined, 0)).toEqual({ s: "abcdefgh" });
  });

  it("returns a failing input that is not larger than the first", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.dictionary(fc.string(), fc.jsonValue()),
        fc.string({ minLength: 1, maxLength: 1 }),
        async (object, sign) => {
          const start = JSON.parse(JSON.stringify(object)) as JsonObject;
          const fails = (input: JsonObject) => JSON.stringify(input).includes(sign);
          fc.pre(fails(start));
          const found = await smallest(start, fails, undefined, 200);
          expect(fails(found)).toBe(true);
          expect(weight(found)).toBeLessThanOrEqual(weight(start));
        },
      ),
      { numRuns: 50 },
    );
  });
});

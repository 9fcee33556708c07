import { expect, it } from "vitest";
import { groupBy } from "../../src/evals/base/collections.ts";

it("groups items by key, in the order of first occurrence", () => {
  const groups = groupBy(["cat", "horse", "dog", "mouse"], (word) => String(word.length));
  expect([...groups]).toEqual([
    ["3", ["cat", "dog"]],
    ["5", ["horse", "mouse"]],
  ]);
});

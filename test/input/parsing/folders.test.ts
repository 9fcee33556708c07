import { expect, it } from "vitest";
import { isWithin } from "../../../src/evals/input/parsing/folders.ts";

it.each([
  ["/a", "/a", true],
  ["/a", "/a/b", true],
  ["/a", "/a/..b", true],
  ["/a", "/a/...", true],
  ["/a", "/", false],
  ["/a", "/b", false],
  ["/a", "/b/c", false],
  ["/a", "/ab", false],
  ["/a/b", "/a/c/b", false],
])("of the folder %s, %s is within: %s", (folder, path, expected) => {
  expect(isWithin(folder, path)).toBe(expected);
});

import { expect, it } from "vitest";
import { isWithin, listFiles } from "../../../src/evals/input/parsing/folders.ts";
import { workspace } from "../skills/workspace.ts";

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

it("lists no folder with more files and folders than asked for", () => {
  const folder = workspace({ "a.md": "", "b/c.md": "", "b/d.md": "", ".git/HEAD": "", "b/node_modules/x.js": "" });
  expect(listFiles(folder, { most: 5 })?.map(({ path }) => path)).toEqual(["a.md", "b/c.md", "b/d.md"]);
  expect(listFiles(folder, { most: 4 })).toBeUndefined();
});

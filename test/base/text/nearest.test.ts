import { expect, test } from "vitest";
import { nearest } from "../../../src/evals/base/text/nearest.ts";

const tools = ["read_text_file", "write_file", "list_directory", "get"];

test.each([
  ["read_txt_file", "read_text_file"],
  ["read_text", "read_text_file"],
  ["wirte_file", "write_file"],
  ["List_Directory", "list_directory"],
  ["set", "get"],
  ["text", "read_text_file"],
  ["list", "list_directory"],
  ["file", undefined],
  ["fetch_weather", undefined],
  ["x", undefined],
  ["", undefined],
])("%s is meant to be %s", (name, meant) => {
  expect(nearest(name, new Set(tools).values())).toBe(meant);
});

test("the first of equally near ones, and the nearest of all", () => {
  expect(nearest("file1", ["file2", "file3"])).toBe("file2");
  expect(nearest("file1", ["fil", "file1x", "file1"])).toBe("file1");
  expect(nearest("anything", [])).toBeUndefined();
});

test("a swap of neighbors counts once", () => {
  expect(nearest("ab", ["ba"])).toBe("ba");
  expect(nearest("ab", ["cd"])).toBeUndefined();
});

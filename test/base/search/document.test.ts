import { expect, it } from "vitest";
import { stemWords } from "../../../src/evals/base/search/document.ts";

it("splits names and text, and drops what says nothing", () => {
  expect(stemWords("readTextFile read_text-file files.read2 The file, please: Ærø’s")).toEqual(
    "read text fil read text fil fil read2 fil ærø".split(" "),
  );
});

it.each([
  ["create creates created creating", 1],
  ["query queries querying", 1],
  ["file files filing", 1],
  ["stop stops stopped stopping", 1],
  ["add adds added adding", 1],
  ["search searches searched searching", 1],
  ["box boxes", 1],
  ["address addresses addressing", 1],
  ["issue issues", 1],
  ["movie movies", 1],
  ["status bus news sing string red", 6],
  ["create creation", 2],
])("%s: %i stems", (text, stems) => {
  expect(new Set(stemWords(text)).size).toBe(stems);
});

it("takes what no language has for a word as it is, in no time", () => {
  const data = "ya".repeat(1_000_000);
  expect(stemWords(`${data}ing files`)).toEqual([`${data}ing`, "fil"]);
});

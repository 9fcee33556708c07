import { describe, expect, it } from "vitest";
import { findRepeatedQueries } from "../../../src/evals/base/types/suite.ts";
import { aCase, aTool } from "../../fakes/suite.ts";

const asks = (id: string, content: string, change = {}) =>
  aCase(id, { messages: [{ role: "user", content }], ...change });

describe("repeated queries", () => {
  it("are those that differ in case and white space only, each with the first", () => {
    const cases = [
      asks("a", "Open the note"),
      asks("b", "Close it"),
      asks("c", " open  the\nNOTE "),
      asks("d", "Close it"),
    ];
    expect(findRepeatedQueries(cases)).toEqual([
      { index: 2, id: "c", first: "a" },
      { index: 3, id: "d", first: "b" },
    ]);
  });

  it("are not those with other tools, files, turns or wordings", () => {
    const cases = [
      asks("plain", "Open it"),
      asks("tools", "Open it", { tools: [aTool("x")] }),
      asks("files", "Open it", { files: [{ path: "a", content: "b" }] }),
      asks("turns", "Open it", { turns: [{ content: "Open it" }, { content: "Now close it" }] }),
      asks("wordings", "Open it", { paraphrases: ["Open it", "Please open it"] }),
    ];
    expect(findRepeatedQueries(cases)).toEqual([]);
  });
});

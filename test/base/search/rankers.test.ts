import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { bm25Parameters } from "../../../src/evals/base/search/bm25.ts";
import type { SearchDocument } from "../../../src/evals/base/search/document.ts";
import { toSearchDocument } from "../../../src/evals/base/search/document.ts";
import { buildRanker, type RankerName, rankerNames } from "../../../src/evals/base/search/rankers.ts";
import { anyText } from "../../fakes/text.ts";

const documents: SearchDocument[] = [
  { name: "mcp__disk__read_text_file", description: "Returns the contents of a file.", parameterNames: ["path"] },
  { name: "mcp__disk__write_file", description: "Creates or replaces a file.", parameterNames: ["path", "content"] },
  { name: "mcp__disk__move", description: "Renames something, or puts it elsewhere.", parameterNames: ["newName"] },
  {
    name: "mcp__weather__forecast",
    description: "Temperature and rain of the next days.",
    hint: "meteorology",
    parameterNames: ["city"],
  },
];

function find(name: RankerName, text: string, limit = 10, among: readonly SearchDocument[] = documents) {
  const result = buildRanker(name, among)(text, limit);
  return result.kind === "refused" ? result.reason : result.ranked.map(({ document }) => document.name.split("__")[2]);
}

describe.each(rankerNames)("%s", (name) => {
  it("gives the documents as they came in, with falling scores, at most as many as asked for", () => {
    const result = buildRanker(name, documents)("file", 1);
    expect(result).toMatchObject({ kind: "found", ranked: [{ score: expect.any(Number) }] });
    if (result.kind === "found") expect(documents).toContain(result.ranked[0]?.document);
    expect(find(name, "file")).toHaveLength(2);
  });

  it("finds nothing where no document has the word, and nothing among none", () => {
    expect(find(name, "invoice")).toEqual([]);
    expect(find(name, "file", 10, [])).toEqual([]);
  });

  it("does not depend on the order of documents", () => {
    const word = fc.constantFrom(..."file files read write weather city replace days (?i)File|rain +file".split(" "));
    fc.assert(
      fc.property(fc.array(word, { minLength: 1, maxLength: 5 }), fc.shuffledSubarray(documents), (words, some) => {
        const sorted = some.toSorted((a, b) => (a.name < b.name ? -1 : 1));
        expect(find(name, words.join(" "), 10, some)).toEqual(find(name, words.join(" "), 10, sorted));
      }),
    );
  });

  it("reads only the beginning of a text of megabytes, and takes any text", () => {
    const huge: SearchDocument = { name: "huge", description: `${"x ".repeat(1e6)} needle`, parameterNames: [] };
    expect(find(name, "needle", 10, [huge])).toEqual([]);
    fc.assert(
      fc.property(anyText({ maxLength: 30 }), (text) => {
        expect(buildRanker(name, documents)(text, 3).kind).toMatch(/found|refused/);
      }),
    );
  });
});

describe("keyword", () => {
  it("puts a part of the name before something inside a part, the hint and the description", () => {
    const of = (part: Partial<SearchDocument>, name: string) => ({
      name,
      description: "",
      parameterNames: [],
      ...part,
    });
    const each = [
      of({ description: "The needle." }, "a__a__description"),
      of({ hint: "needle" }, "a__a__hint"),
      of({}, "a__a__needles"),
      of({}, "a__a__needle"),
    ];
    expect(find("keyword", "needle", 10, each)).toEqual(["needle", "needles", "hint", "description"]);
  });

  it("adds up as Claude Code does: 12 for a name, 8 for a part, 5 for a piece, and 2 and 1 for hint and description", () => {
    const score = (name: string, hint: string, description: string) => {
      const result = buildRanker("keyword", [{ name, hint, description, parameterNames: [] }])("needle", 1);
      return result.kind === "found" ? (result.ranked[0]?.score ?? 0) : result.reason;
    };
    expect(score("mcp__a__needle", "", "")).toBe(12);
    expect(score("mcp__a__needle_b", "", "")).toBe(8);
    expect(score("mcp__a__needles_b", "", "A needle.")).toBe(6);
    expect(score("mcp__a__b", "needle", "The needle, a needle.")).toBe(3);
    expect(score("mcp__needle__b", "", "")).toBe(8);
  });

  it("sees word boundaries where ASCII letters end", () => {
    const text = "Größe, été und 使用必应搜索. kqa.kqb kqc-kqd (kqe) kqf_kqg";
    const found = (word: string) =>
      find("keyword", word, 1, [{ name: "a__b__c", description: text, parameterNames: [] }]);
    const words = "größ größe kqa kqb kqa.kqb .kqb kqd kqe kqf_kqg".split(" ");
    expect(words.filter((word) => found(word)?.length !== 1)).toEqual([]);
    expect("été 搜索 使用必应搜索 kqf kqb. (kqe) kqd.".split(" ").filter((word) => found(word)?.length !== 0)).toEqual(
      [],
    );
  });

  it("takes words literally: no inflections, no sentence marks, no parameters", () => {
    expect(find("keyword", "creates")).toEqual(["write_file"]);
    expect(find("keyword", "create")).toEqual([]);
    expect(find("keyword", "creates?")).toEqual([]);
    expect(find("keyword", "city")).toEqual([]);
    expect(find("keyword", "FORECAST")).toEqual(["forecast"]);
  });

  it("does not find a part of a word in a description, nor two parts of a name at once", () => {
    expect(find("keyword", "temper")).toEqual([]);
    expect(find("keyword", "read_text")).toEqual([]);
  });

  it("finds by name: select:, a whole name, and required words", () => {
    expect(find("keyword", "select:mcp__disk__move, mcp__weather__forecast,nothing")).toEqual(["move", "forecast"]);
    expect(find("keyword", "select:nothing")).toEqual([]);
    expect(find("keyword", "mcp__disk__write_file")).toEqual(["write_file"]);
    expect(find("keyword", "+file contents")).toEqual(["read_text_file", "write_file"]);
    expect(find("keyword", "+file +contents")).toEqual(["read_text_file"]);
    expect(find("keyword", "+weather file")).toEqual(["forecast"]);
  });

  it("finds by a hint that the model is not shown", () => {
    expect(find("keyword", "meteorology")).toEqual(["forecast"]);
  });
});

describe("bm25", () => {
  it("adds up the textbook's scores of the distinct words", () => {
    const two = [
      { name: "alpha", description: "beta beta gamma", parameterNames: [] },
      { name: "delta", description: "gamma", parameterNames: [] },
    ];
    const result = buildRanker("bm25", two)("beta gamma gamma", 2);
    // N = 2, lengths 4 and 2, mean 3. beta: n = 1, f = 2; gamma: n = 2, f = 1.
    const { k1, b } = bm25Parameters;
    const score = (n: number, f: number, length: number) =>
      (Math.log(1 + (2 - n + 0.5) / (n + 0.5)) * f * (k1 + 1)) / (f + k1 * (1 - b + (b * length) / 3));
    if (result.kind !== "found") throw new Error(result.reason);
    const [first, second] = result.ranked;
    expect(first?.document).toBe(two[0]);
    expect(first?.score).toBeCloseTo(score(1, 2, 4) + score(2, 1, 4), 12);
    expect(second?.score).toBeCloseTo(score(2, 1, 2), 12);
  });

  it("knows inflections, camelCase and parameters, and ignores stop words and repeats", () => {
    expect(find("bm25", "How do I create the files?")).toEqual(["write_file", "read_text_file"]);
    expect(find("bm25", "new")).toEqual(["move"]);
    expect(find("bm25", "city")).toEqual(["forecast"]);
    expect(find("bm25", "what is it of the")).toEqual([]);
    expect(find("bm25", "meteorology")).toEqual(["forecast"]);
  });
});

describe("regex", () => {
  it("finds by pattern, in the name before the rest, with case unless (?i)", () => {
    expect(find("regex", "read_.*file")).toEqual(["read_text_file"]);
    expect(find("regex", "forecast|rain|file")).toEqual(["forecast", "read_text_file", "write_file"]);
    expect(find("regex", "TEMPERATURE")).toEqual([]);
    expect(find("regex", "(?i)TEMPERATURE")).toEqual(["forecast"]);
    expect(find("regex", "(?i)new[A-Z]ame$")).toEqual(["move"]);
  });

  it("counts alternatives of the top level only", () => {
    const score = (pattern: string) => {
      const result = buildRanker("regex", documents)(pattern, 1);
      return result.kind === "found" ? result.ranked[0]?.score : result.reason;
    };
    expect(score("Temperature|rain")).toBe(2);
    expect(score("rain|rain")).toBe(1);
    expect(score("(Temperature|rain)")).toBe(1);
    expect(score("Temperature|(rain|days)|[|]|\\|")).toBe(2);
    expect(score("[]|]|Temperature")).toBe(1);
    expect(score("(?i)TEMPERATURE|RAIN")).toBe(2);
    expect(score("Temperature|(?i)RAIN")).toBe(1);
    expect(score("\\QTemperature|rain\\E|days")).toBe(1);
  });

  it.each([
    ["", "The pattern is empty."],
    ["(", "Not a valid pattern: "],
    ["(?=file)", "Not a valid pattern: "],
    ["x".repeat(201), "The pattern has 201 characters; at most 200 are allowed."],
  ])("refuses %j", (pattern, reason) => {
    expect(find("regex", pattern)).toContain(reason);
  });

  it("takes a pattern that a backtracking engine does not finish", () => {
    const text = { name: "a", description: "a".repeat(5000), parameterNames: [] };
    expect(find("regex", "(a+)+$|^(a|a)*b", 10, [text])).toHaveLength(1);
  });

  it("refuses a pattern whose counted repetitions take too long", () => {
    const text = { name: "a", description: "a".repeat(5000), parameterNames: [] };
    expect(find("regex", `${"\\pL{0,900}".repeat(17)}[0-9]$`, 10, [text])).toBe("The pattern takes more than 1 s.");
  });
});

it("reads the document of a tool, whatever is wrong with it", () => {
  const properties = { city: { type: "string" }, day: true };
  expect(toSearchDocument({ name: "x", description: "Y.", inputSchema: { properties } }, "hint")).toEqual({
    name: "x",
    description: "Y.",
    hint: "hint",
    parameterNames: ["city", "day"],
  });
  const empty = { name: "", description: "", parameterNames: [] };
  expect(toSearchDocument({ name: 5, description: [], inputSchema: { properties: [] } })).toEqual(empty);
  expect(toSearchDocument({ inputSchema: "no" })).toEqual(empty);
});

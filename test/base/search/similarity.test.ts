import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  findSimilarPairs,
  listConfusablePairs,
  listSharedWords,
  measureSimilarity,
  toToolText,
  weighWords,
} from "../../../src/evals/base/search/similarity.ts";

const texts = [
  toToolText({ name: "read_file", description: "Reads the contents of a file." }),
  toToolText({ name: "read_text_file", description: "Reads the contents of a text file." }),
  toToolText({ name: "send_mail", description: "Sends a letter to somebody." }),
];
const [file, textFile, mail] = weighWords(texts);
if (!file || !textFile || !mail) throw new Error("three texts are weighed");

const vocabulary = fc.constantFrom(..."read file write mail send list city weather forecast delete".split(" "));
const description = fc.array(vocabulary, { maxLength: 12 }).map((list) => ({ description: list.join(" ") }));
const list = fc.array(description, { minLength: 2, maxLength: 8 });

describe("similarity", () => {
  it("is 1 for the same text, 0 where no word is shared, and between where some are", () => {
    expect(measureSimilarity(file, file)).toBe(1);
    expect(measureSimilarity(file, mail)).toBe(0);
    expect(measureSimilarity(file, textFile)).toBeGreaterThan(0.6);
    expect(measureSimilarity(file, textFile)).toBeLessThan(1);
  });

  it("does not take two equal descriptions for different in a list of two", () => {
    const [a, b] = weighWords([
      { name: "get_weather", description: "Returns the forecast of one city for the next day." },
      { name: "fetch_forecast", description: "Returns the forecast of one city for the next day." },
    ]);
    expect(a && b && measureSimilarity(a, b)).toBeGreaterThan(0.6);
  });

  it("is symmetrical, from 0 to 1, and the same pair by pair as for all pairs at once", () => {
    fc.assert(
      fc.property(list, (some) => {
        const weights = weighWords(some);
        const pairs = findSimilarPairs(weights, 1e-9);
        for (const [a, one] of weights.entries()) {
          for (const [b, other] of weights.entries()) {
            const alike = measureSimilarity(one, other);
            expect(alike).toBeCloseTo(measureSimilarity(other, one), 12);
            expect(alike).toBeGreaterThanOrEqual(0);
            expect(alike).toBeLessThanOrEqual(1);
            const found = pairs.find((pair) => pair.a === a && pair.b === b);
            if (a < b) expect(found?.similarity ?? 0).toBeCloseTo(alike, 12);
            else expect(found).toBeUndefined();
          }
        }
        const ranks = pairs.map((pair) => pair.similarity);
        expect(ranks).toEqual(ranks.toSorted((a, b) => b - a));
      }),
      { numRuns: 40 },
    );
  });
});

it("names the shared words, those that weigh most first", () => {
  expect(listSharedWords(file, textFile)).toEqual(["fil", "read", "content"]);
  expect(listSharedWords(file, mail)).toEqual([]);
});

it("does not take tools for alike because of lines that several have in common", () => {
  const notes = "\nOutput may be truncated.\nWarn of truncated output, always.\nProvide a project slug or a URL.";
  const tools = ["Lists artifacts.", "Finds flaky tests.", "Reruns a workflow."].map((first, at) => ({
    name: `tool${at}`,
    description: first + notes,
  }));
  expect(listConfusablePairs(tools)).toEqual([]);
  expect(listConfusablePairs(tools.slice(1))).toHaveLength(1);
  // Without the first line, nothing would be left of tools that say the same.
  expect(listConfusablePairs(tools.map((tool) => ({ ...tool, description: notes })))).toHaveLength(3);
});

describe("what is indexed", () => {
  it("is no more than the beginning of a text", () => {
    const text = toToolText({ name: "x", description: `${"word ".repeat(2_000_000)}end`, inputSchema: {} });
    expect(text.description?.length).toBe(10_000);
  });

  it("is empty where a field is of another kind", () => {
    const empty = { name: "", description: " ", parameters: "" };
    expect(toToolText({})).toEqual(empty);
    expect(toToolText({ name: 5, description: [], title: null, inputSchema: { properties: [] } })).toEqual(empty);
  });

  it("names parameters with their descriptions", () => {
    const properties = { city: { description: "The city." }, day: true, days: { description: 5 } };
    expect(toToolText({ inputSchema: { properties } }).parameters).toBe("city The city. day  days ");
  });
});

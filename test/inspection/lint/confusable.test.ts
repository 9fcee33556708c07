import { readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { listConfusablePairs } from "../../../src/evals/base/search/similarity.ts";
import type { JsonObject } from "../../../src/evals/base/types/json.ts";
import { alikeRules } from "../../../src/evals/inspection/lint/rules/siblings.ts";
import { aLintedTool } from "./cases/cases.ts";

function realTools(server: string): JsonObject[] {
  return JSON.parse(readFileSync(new URL(`../../fixtures/lint/${server}.json`, import.meta.url), "utf8")).tools;
}

const ranked = (tools: readonly JsonObject[], most: number) =>
  listConfusablePairs(tools, { most }).map(({ a, b, similarity }) => `${similarity.toFixed(2)} ${a} ~ ${b}`);

const found = (tools: readonly JsonObject[]) =>
  alikeRules
    .filter(({ id }) => id === "same-description")
    .flatMap(({ check }) => [...check({ server: "demo", tools })]);

describe("on real servers", () => {
  it("ranks the pairs that a person would name", () => {
    expect(ranked(realTools("filesystem"), 3)).toEqual([
      "0.79 list_directory ~ list_directory_with_sizes",
      "0.58 read_file ~ read_text_file",
      "0.43 list_allowed_directories ~ list_directory",
    ]);
    expect(ranked(realTools("everything"), 2)).toEqual([
      "0.54 get-resource-links ~ get-resource-reference",
      "0.39 toggle-simulated-logging ~ toggle-subscriber-updates",
    ]);
  });

  it("names the words that a pair shares as they are written", () => {
    const [first] = listConfusablePairs(realTools("filesystem"), { most: 1 });
    expect(first?.shared.slice(0, 6)).toEqual(["listing", "directories", "clearly", "dir", "distinguish", "prefixes"]);
  });
});

type BfclCase = {
  id: string;
  category: string;
  tools: { name: string; parameters: JsonObject }[];
  possible_answer: Record<string, JsonObject>[];
};

/** For each tool that was right and each other of its list: how alike they are, and whether a model took the other. */
function recorded() {
  const read = (file: string) => readFileSync(new URL(`../../fixtures/bfcl/${file}`, import.meta.url), "utf8");
  const picked: Record<string, string[]> = JSON.parse(read("confused.json"));
  const cases = read("cases.jsonl")
    .trim()
    .split("\n")
    .map((line): BfclCase => JSON.parse(line));
  return cases.flatMap(({ id, category, tools, possible_answer }) => {
    if (category !== "multiple" && category !== "live_multiple") return [];
    const [right] = Object.keys(possible_answer[0] ?? {});
    const listed = tools.map(({ parameters, ...tool }) => ({ ...tool, inputSchema: parameters }));
    const pairs = listConfusablePairs(listed, { least: 1e-9, most: Number.POSITIVE_INFINITY });
    const others = tools.filter(({ name }) => name !== right);
    return others.map(({ name }) => ({
      case: id,
      confused: picked[id]?.includes(name) ?? false,
      alike: pairs.find(({ a, b }) => (a === right && b === name) || (a === name && b === right))?.similarity ?? 0,
    }));
  });
}

it("ranks pairs that recorded models mixed up above others, though it does not foretell them", () => {
  const pairs = recorded();
  const confused = pairs.filter((pair) => pair.confused);
  const others = pairs.filter((pair) => !pair.confused);
  const above = confused.map(({ alike }) => others.filter((pair) => pair.alike < alike).length / others.length);
  const mean = above.reduce((sum, share) => sum + share, 0) / above.length;
  const isTop = (one: (typeof pairs)[number]) =>
    pairs.every((pair) => pair.case !== one.case || pair.alike <= one.alike);
  // The figures of the documentation: a better similarity may raise them, none may lower them.
  expect({ pairs: pairs.length, confused: confused.length }).toEqual({ pairs: 634, confused: 8 });
  expect(mean).toBeGreaterThan(0.8);
  expect(confused.filter(isTop).length).toBe(8);
  expect(pairs.filter(({ alike }) => alike >= 0.3).length).toBe(173);
  expect(confused.filter(({ alike }) => alike >= 0.3).length).toBe(6);
});

it("does not depend on the order of tools", () => {
  const tools = realTools("filesystem");
  fc.assert(
    fc.property(fc.shuffledSubarray(tools, { minLength: tools.length }), (shuffled) => {
      expect(listConfusablePairs(shuffled)).toEqual(listConfusablePairs(tools));
    }),
    { numRuns: 10 },
  );
});

describe("hostile lists", () => {
  it("are compared by the beginning of what they say: megabytes take no longer", () => {
    const long = { description: "word ".repeat(2_000_000) };
    const data = { description: "ya".repeat(5_000_000) };
    const list = [aLintedTool(long), aLintedTool({ name: "data", ...data }), aLintedTool({ name: "same", ...long })];
    expect(found(list).map(({ at }) => at)).toEqual([[2, "description"]]);
  });

  it("name each of many equal tools once", () => {
    const tools = Array.from({ length: 300 }, (_, at) => aLintedTool({ name: `tool_${at}` }));
    expect(found(tools).map(({ at }) => at[0])).toEqual(tools.slice(1).map((_, at) => at + 1));
  });

  it("of thousands of tools are searched for equal descriptions", () => {
    const many = Array.from({ length: 2000 }, (_, at) => ({
      name: `rotate_${at}`,
      description: `Rotates gadget ${at}.`,
    }));
    const last = { name: "rotate", description: "ROTATES  gadget 7." };
    expect(found([...many, last])).toMatchObject([
      { at: [2000, "description"], message: '"rotate" has the same description as "rotate_7".' },
    ]);
  });
});

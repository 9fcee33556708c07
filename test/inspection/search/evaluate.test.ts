import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type SearchDocument, toSearchDocument } from "../../../src/evals/base/search/document.ts";
import { rankerNames } from "../../../src/evals/base/search/rankers.ts";
import {
  evaluateSearch,
  findShortfall,
  parseThreshold,
  type SearchCase,
  type SearchQuery,
  summarizeRanker,
  toSearchText,
} from "../../../src/evals/inspection/search/evaluate.ts";

const documents: SearchDocument[] = [
  { name: "read_file", description: "Returns the contents of a file.", parameterNames: ["path"] },
  { name: "write_file", description: "Replaces the contents of a file.", parameterNames: ["path"] },
  { name: "list_files", description: "Lists the files of a folder.", parameterNames: [] },
  { name: "send_mail", description: "Sends a letter.", hint: "email", parameterNames: ["to"] },
];
const request = (text: string): SearchQuery => ({ kind: "request", text });
const written = (text: string): SearchQuery => ({ kind: "written", text });
const searchCase = (queries: SearchQuery[], ...expected: string[][]): SearchCase => ({ id: "one", queries, expected });

describe("the text that is searched for", () => {
  it.each([
    ["bm25", request("What is in the file notes.txt?"), "What is in the file  ? file path"],
    ["keyword", request("What is in the file notes.txt, the File?"), "file notes txt"],
    ["regex", request("What is in the file notes.txt?"), "(?i)file|notes|txt"],
    ["keyword", written("+read notes.txt"), "+read notes.txt"],
    ["regex", written("read the notes"), "(?i)read|notes"],
    ["regex", written("/read_.*|Open/"), "read_.*|Open"],
    ["keyword", written("/read_.*|Open/"), undefined],
    ["bm25", written("/read_.*|Open/"), undefined],
    ["regex", request("?"), ""],
  ] as const)("%s %j", (ranker, query, text) => {
    expect(toSearchText(query, ranker)).toBe(text);
  });

  it("is a pattern of as many words as an API takes", () => {
    const text = toSearchText(request(Array.from({ length: 100 }, (_, at) => `word${at}`).join(" ")), "regex") ?? "";
    expect(text.length).toBeGreaterThan(190);
    expect(text.length).toBeLessThanOrEqual(200);
    expect(text).toMatch(/^\(\?i\)word0\|.*\|word\d+$/);
  });
});

describe("evaluation", () => {
  it("gives the rank of the best tool of each expected set, and the words that no expected tool has", () => {
    const cases = [
      searchCase(
        [request("Read the file, then email it quickly at 14.50")],
        ["read_file", "list_files"],
        ["send_mail"],
      ),
    ];
    const [result] = evaluateSearch(documents, cases, ["keyword", "bm25"]);
    expect(result).toEqual({
      case: "one",
      query: request("Read the file, then email it quickly at 14.50"),
      expected: [["read_file", "list_files"], ["send_mail"]],
      ranks: { keyword: [1, 4], bm25: [1, 2] },
      refused: {},
      missing: ["quickly"],
    });
  });

  it("reports a query that is refused", () => {
    const cases = [searchCase([written("/(/"), written("read file")], ["read_file"])];
    const queries = evaluateSearch(documents, cases, rankerNames);
    expect(queries.map(({ ranks }) => ranks)).toEqual([{ regex: [null] }, { keyword: [1], bm25: [1], regex: [1] }]);
    expect(queries[0]?.refused.regex).toMatch(/^Not a valid pattern: /);
    expect(summarizeRanker("keyword", queries)).toMatchObject({ queries: 1, notFound: 0 });
    expect(summarizeRanker("regex", queries)).toMatchObject({ queries: 2, notFound: 1, recall: { 1: 0.5, 10: 0.5 } });
  });

  it("is the mean over queries of the share of their expected tools among the first k", () => {
    const query = { query: request("x"), refused: {}, missing: [], case: "a" };
    const queries = [
      { ...query, expected: [["a"], ["b"]], ranks: { bm25: [1, 4] } },
      { ...query, expected: [["c"]], ranks: { bm25: [null] } },
    ];
    expect(summarizeRanker("bm25", queries)).toEqual({
      ranker: "bm25",
      queries: 2,
      recall: { 1: 0.25, 3: 0.25, 5: 0.5, 10: 0.5 },
      notFound: 1,
    });
  });

  it("finds nothing of a tool that is not there", () => {
    const [result] = evaluateSearch(documents, [searchCase([request("read file")], ["gone"])], ["bm25"]);
    expect(result).toMatchObject({ ranks: { bm25: [null] }, missing: ["read", "file"] });
  });
});

describe("thresholds", () => {
  it.each([
    ["recall@5=0.9", { depth: 5, least: 0.9 }],
    ["recall@10=85%", { depth: 10, least: 0.85 }],
    ["recall@1=1", { depth: 1, least: 1 }],
  ])("reads %s", (text, threshold) => {
    expect(parseThreshold(text)).toEqual({ ...threshold, text });
  });

  it.each(["", "recall", "recall@5", "recall@4=0.9", "recall@5=0", "recall@5=1.1", "recall@5=90", "rank=5"])(
    "refuses %j",
    (text) => {
      expect(parseThreshold(text)).toBeUndefined();
    },
  );

  it("say by how much they are missed", () => {
    const cases = [searchCase([request("read file"), request("post letter")], ["read_file"])];
    const queries = evaluateSearch(documents, cases, ["keyword"]);
    const result = summarizeRanker("keyword", queries);
    const check = (text: string) => {
      const threshold = parseThreshold(text);
      if (!threshold) throw new Error(text);
      return findShortfall(threshold, result);
    };
    expect(check("recall@5=50%")).toBeUndefined();
    expect(check("recall@5=0.6")).toBe("recall@5 is 0.50, below 0.60");
  });
});

it("reaches a plain BM25 on the labeled steps and tasks of LiveMCPBench", () => {
  const rows = (file: string) =>
    readFileSync(join(import.meta.dirname, "../../../bench/data/livemcp", file), "utf8")
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
  const tools = rows("tools.jsonl").map((tool) => toSearchDocument(tool));
  const names = new Set(tools.map(({ name }) => name));
  const toCase = (text: string, labels: string[]) =>
    searchCase([request(text)], ...[...new Set(labels)].filter((label) => names.has(label)).map((label) => [label]));
  type Task = { query: string; steps: string[]; tools: string[]; paired: boolean };
  const tasks: Task[] = rows("tasks.jsonl");
  const recall = (cases: SearchCase[]) => {
    const queries = evaluateSearch(
      tools,
      cases.filter(({ expected }) => expected.length > 0),
      ["bm25"],
    );
    const { recall, queries: n } = summarizeRanker("bm25", queries);
    return [n, ...[recall[1], recall[3], recall[5], recall[10]].map((share) => Math.round(share * 100) / 100)];
  };
  const steps = tasks.flatMap((task) =>
    task.paired ? task.steps.map((step, at) => toCase(step, [task.tools[at] ?? ""])) : [],
  );
  // The figures of docs/hosts.md. A plain BM25 without stems and stop words: .43/.61/.68/.73 and .12/.21/.28/.35.
  expect(recall(steps)).toEqual([95, 0.47, 0.64, 0.71, 0.75]);
  expect(recall(tasks.map((task) => toCase(task.query, task.tools)))).toEqual([94, 0.15, 0.25, 0.35, 0.43]);
});

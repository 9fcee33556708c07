import { describe, expect, it } from "vitest";
import { parseLabels } from "../../../src/evals/asking/scoring/judge.ts";
import { EvalsError } from "../../../src/evals/base/types/errors.ts";

const parse = (...lines: unknown[]) =>
  parseLabels(lines.map((line) => (typeof line === "string" ? line : JSON.stringify(line))).join("\n"), "labels.jsonl");
const faults = (...lines: unknown[]) => {
  try {
    return parse(...lines);
  } catch (thrown) {
    // What the parser says differs between versions of Node.
    if (thrown instanceof EvalsError) return thrown.message.replaceAll(/(not a line of JSON: ).+/g, "$1...");
    throw thrown;
  }
};
const label = { transcript: "It asked.", criterion: "asks", label: "met" };

describe("a file of labels", () => {
  it("holds transcripts as text, or as turns: of a journal, or written by hand", () => {
    const execution = {
      status: "executed",
      ms: 3,
      result: { isError: false, content: [{ type: "text", text: "42" }] },
    };
    const usage = { inputTokens: 1, outputTokens: 1, cacheReadTokens: 0, cacheWriteTokens: 0 };
    const calls = [{ id: "1", tool: "add", arguments: { a: 40 }, execution }];
    const labels = parse({ ...label, id: 7, input: "Go", annotator: "ada" }, "", {
      turns: [{ text: "", calls, stop: "calls", usage, ms: 1 }, { text: "42" }],
      criterion: "adds",
      label: "not met",
    });
    const told = labels.map(({ transcript, ...one }) => ({
      ...one,
      transcript: transcript.map(({ of, label: what, text }) => `${of}: ${what}: ${text}`),
    }));
    const first = ["given: the user says: Go", "done: the transcript: It asked."];
    const second = ['the model calls: add {"a":40}', "the call returned: 42", "the model says: 42"];
    expect(told).toEqual([
      { id: "7", line: 1, criterion: "asks", human: "met", transcript: first },
      { id: "line 3", line: 3, criterion: "adds", human: "not met", transcript: second.map((one) => `done: ${one}`) },
    ]);
  });

  it("takes the usual spellings of a label", () => {
    const spellings = ["met", "Not met", " cannot tell ", true, false, "pass", "FAIL", "true"];
    const read = parse(...spellings.map((one) => ({ ...label, label: one }))).map(({ human }) => human);
    expect(read.join()).toBe("met,not met,cannot tell,met,not met,met,not met,met");
  });

  it("says all that is wrong, with its line", () => {
    expect(
      faults(
        label,
        "met",
        { ...label, label: "yes" },
        { transcript: "a", criterion: "b" },
        { criterion: "b", label: true },
        { ...label, turns: [{}] },
        { ...label, criterion: " " },
        { turns: [{ text: 5 }], criterion: "b", label: true },
        "[]",
      ),
    ).toMatchInlineSnapshot(`
      "labels.jsonl:2: error: The line is not JSON: Unexpected token 'm', "met" is not valid JSON.
      labels.jsonl:3: error: label is invalid: expected "met", "not met" or "cannot tell" (or true, false, "pass", "fail"), got "yes".
      labels.jsonl:4: error: label is invalid: expected "met", "not met" or "cannot tell" (or true, false, "pass", "fail"), got nothing.
      labels.jsonl:5: error: The line is invalid: expected either \`transcript\` or \`turns\`.
      labels.jsonl:6: error: The line is invalid: expected either \`transcript\` or \`turns\`.
      labels.jsonl:7: error: criterion is empty.
      labels.jsonl:8: error: turns[0].text must be text, got a number.
      labels.jsonl:9: error: The line must be an object, got a list.
        Write one label per line: {"input": "...", "transcript": "...", "criterion": "...", "label": "met"}"
    `);
  });

  it("reports only the first of many problems", () => {
    const text = String(faults(...Array.from({ length: 100 }, () => "{")));
    expect(text.split("\n")).toHaveLength(22);
    expect(text).toContain("\nlabels.jsonl: error: 80 more problems.\n");
  });

  it("must hold one", () => {
    expect(faults("", " ")).toMatchInlineSnapshot(`
      "labels.jsonl: error: The file has no labels.
        Write one label per line: {"input": "...", "transcript": "...", "criterion": "...", "label": "met"}"
    `);
  });
});

import { expect, test } from "vitest";
import { compileResult } from "../../../src/evals/asking/scoring/calls.ts";
import { noJudge } from "../../../src/evals/asking/scoring/matchers.ts";
import { type JsonObject, parseExactJson } from "../../../src/evals/base/types/json.ts";
import type { ResultMatcher } from "../../../src/evals/base/types/suiteFile.ts";
import { joinResult, type ToolResult } from "../../../src/evals/base/types/tool.ts";
import type { Execution } from "../../../src/evals/base/types/trial.ts";
import { executed } from "./make.ts";

const check = (expected: ResultMatcher, execution: Execution | undefined) => {
  const found = compileResult(expected)(execution, noJudge);
  return found.met === "yes" ? "yes" : `${found.met}: ${found.why}`;
};
const structured = executed("3 files", { success: true, data: { files: ["a", "b", "c"] } });
const failed = executed('{"success": false, "error": "no such file", "retry_hint": "list first"}', undefined, true);

test.each<[ResultMatcher, Execution | undefined, string]>([
  [{ success: true }, structured, "yes"],
  [{ success: false }, failed, "yes"],
  [
    { success: true },
    failed,
    'no: result.success: expected true, got {"success":false,"error":"no such file","retry_hint":"list first"}',
  ],
  [{ success: true }, executed("done"), 'no: expected JSON with success true, got "done"'],
  [
    { success: true },
    executed('{"success": "yes"}'),
    'no: expected JSON with success true, got "{\\"success\\": \\"yes\\"}"',
  ],
  [{ success: true }, executed("", { ok: true }), 'no: expected JSON with success true, got {"ok":true}'],
  [{ isError: false }, structured, "yes"],
  [{ isError: false }, executed("boom", undefined, true), 'no: expected isError false, got the error "boom"'],
  [{ isError: true }, executed("fine"), 'no: expected isError true, got "fine"'],
  [{ contains: "files" }, structured, "yes"],
  [{ contains: "Files" }, structured, 'no: expected text with "Files", got "3 files"'],
  [{ matches: "^\\d+ files$" }, structured, "yes"],
  [{ matches: "^files" }, structured, 'no: expected text that matches "^files", got "3 files"'],
  [
    { matches: "(a" },
    structured,
    'unknown: "(a" is not a regular expression in RE2 syntax: error parsing regexp: missing closing ): `(a`',
  ],
  [{ json: { success: true, data: { files: { $contains: "b" } } } }, structured, "yes"],
  [{ json: { data: { $any: true }, success: { $judge: "fine" } } }, structured, "unknown: no judge model was given"],
  [{ json: [1, { $gte: 2 }] }, executed("[1, 3]"), "yes"],
  [{ json: [1, { $gte: 2 }] }, executed("[1, 1]"), "no: result[1]: expected a number >= 2, got 1"],
  [{ json: { $any: true } }, executed("no JSON"), 'no: expected JSON, got "no JSON"'],
  [{ isError: false, contains: "3", success: true }, structured, "yes"],
  [{ isError: false, contains: "4", success: true }, structured, 'no: expected text with "4", got "3 files"'],
  [{ success: true }, undefined, "unknown: the call was not executed"],
  [{ success: true }, { status: "skipped", reason: "no tool x" }, "unknown: the call was not executed: no tool x"],
])("%j", (expected, execution, found) => {
  expect(check(expected, execution)).toBe(found);
});

test("the texts of several items are one text, and images have none", () => {
  const content = [
    { type: "text", text: "one" },
    { type: "image", mimeType: "image/png", bytes: 12 },
    { type: "text", text: "two" },
  ];
  const execution: Execution = { status: "executed", ms: 1, result: { isError: false, content } };
  expect(check({ matches: "^one\\ntwo$" }, execution)).toBe("yes");
});

const note = { name: "shopping.md", lines: 2 };
const everything: ToolResult = {
  isError: false,
  content: [
    { type: "text", text: "downloaded (SHA 12ab)" },
    { type: "resource", uri: "note://shopping.md", mimeType: "text/markdown", text: "Flour, milk" },
    { type: "resource", uri: "note://scan.pdf", mimeType: "application/pdf", bytes: 9 },
    { type: "resource_link", uri: "note://todo.md", name: "todo.md", description: "What is left to do" },
    { type: "image", mimeType: "image/png", bytes: 12 },
    { type: "audio", mimeType: "audio/wav", bytes: 12 },
    { type: "resource_link", uri: "note://a.md", name: "a.md" },
  ],
  structuredContent: note,
};

test("a model reads everything that a result holds", () => {
  expect(joinResult(everything)).toMatchInlineSnapshot(`
    "downloaded (SHA 12ab)
    [resource text/markdown note://shopping.md]
    Flour, milk
    [resource application/pdf note://scan.pdf]
    [resource_link note://todo.md] todo.md: What is left to do
    [image image/png]
    [audio audio/wav]
    [resource_link note://a.md] a.md
    {"name":"shopping.md","lines":2}"
  `);
});

test("what a model reads is matched", () => {
  const contains = joinResult(everything);
  expect(check({ contains }, { status: "executed", ms: 1, result: everything })).toBe("yes");
});

test.each([JSON.stringify(note), JSON.stringify(note, null, 2), '{ "lines": 2, "name": "shopping.md" }'])(
  "structured content that a text repeats is read once: %j",
  (text) => expect(joinResult({ content: [{ type: "text", text }], structuredContent: note })).toBe(text),
);

test.each(['{"id":9007199254740993}', '{"ids":[-12345678901234567890,7]}'])(
  "large numbers of structured content are read once, by their digits: %s",
  (text) => {
    const structuredContent = parseExactJson(text) as JsonObject;
    expect(joinResult({ content: [{ type: "text", text }], structuredContent })).toBe(text);
    expect(joinResult({ content: [], structuredContent })).toBe(text);
    const result = { isError: false, content: [], structuredContent };
    expect(check({ json: structuredContent }, { status: "executed", ms: 1, result })).toBe("yes");
  },
);

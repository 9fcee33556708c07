import { expect, test } from "vitest";
import { compileResult } from "../../../src/evals/asking/scoring/call.ts";
import { noJudge } from "../../../src/evals/asking/scoring/match.ts";
import type { ResultMatcher } from "../../../src/evals/base/types/suite.ts";
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
  [
    { success: true },
    { status: "skipped", reason: "x is a distractor" },
    "unknown: the call was not executed: x is a distractor",
  ],
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

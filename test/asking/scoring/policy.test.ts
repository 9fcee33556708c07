import { expect, test } from "vitest";
import { executable } from "../../../src/evals/asking/scoring/tools.ts";
import type { OfferedTool } from "../../../src/evals/base/types/tool.ts";

const tool: OfferedTool = { name: "write_file", inputSchema: {}, server: "files", origin: "server" };
const unsafe = { yes: false, reason: "write_file is not annotated read-only or non-destructive (execute: safe)" };

test("always executes every tool of the own server, never none", () => {
  expect(executable(tool, "always")).toEqual({ yes: true });
  expect(executable(tool, "never")).toEqual({ yes: false, reason: "no call is executed (execute: never)" });
  const readOnly = { ...tool, annotations: { readOnlyHint: true } };
  expect(executable(readOnly, "never")).toEqual({ yes: false, reason: "no call is executed (execute: never)" });
});

test("safe goes by the annotations, and silence is no permission", () => {
  expect(executable({ ...tool, annotations: { readOnlyHint: true } }, "safe")).toEqual({ yes: true });
  expect(executable({ ...tool, annotations: { destructiveHint: false } }, "safe")).toEqual({ yes: true });
  expect(executable(tool, "safe")).toEqual(unsafe);
  expect(executable({ ...tool, annotations: { idempotentHint: true } }, "safe")).toEqual(unsafe);
  expect(executable({ ...tool, annotations: { readOnlyHint: false, destructiveHint: true } }, "safe")).toEqual(unsafe);
});

test("distractors and static tools are never executed", () => {
  const readOnly = { ...tool, annotations: { readOnlyHint: true } };
  expect(executable({ ...readOnly, origin: "distractor" }, "always")).toEqual({
    yes: false,
    reason: "write_file is a distractor",
  });
  expect(executable({ ...readOnly, origin: "static" }, "always")).toEqual({
    yes: false,
    reason: "write_file comes from a static list, not a server",
  });
});

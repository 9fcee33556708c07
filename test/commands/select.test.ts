import { expect, test } from "vitest";
import { loadingHost } from "../../src/evals/workspace/suites.ts";

test("Claude Code decides by itself which of two skills of one name it loads", () => {
  expect(loadingHost({ host: "plain", model: ["claude-code", "claude-code:claude-haiku-5-5"] })).toBe("claude-code");
  expect(loadingHost({ host: "codex", model: "claude-code" })).toBe("claude-code");
  expect(loadingHost({ host: "plain", model: ["claude-code", "lexical"] })).toBe("plain");
  expect(loadingHost({ host: "codex" })).toBe("codex");
});

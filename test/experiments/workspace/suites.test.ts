import { expect, test } from "vitest";
import { chooseLoadingHost } from "../../../src/evals/experiments/workspace/suites.ts";

test("leaves it to Claude Code which of two skills with the same name it loads", () => {
  expect(chooseLoadingHost({ host: "plain", model: ["claude-code", "claude-code:claude-haiku-5-5"] })).toBe(
    "claude-code",
  );
  expect(chooseLoadingHost({ host: "codex", model: "claude-code" })).toBe("claude-code");
  expect(chooseLoadingHost({ host: "plain", model: ["claude-code", "lexical"] })).toBe("plain");
  expect(chooseLoadingHost({ host: "plain", model: "codex:gpt-6.1-sol" })).toBe("codex");
  expect(chooseLoadingHost({ host: "plain", model: ["codex:gpt-6.1-sol", "copilot:gpt-6.1"] })).toBe("plain");
  expect(chooseLoadingHost({ host: "codex" })).toBe("codex");
});

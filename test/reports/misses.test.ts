import { expect, it } from "vitest";
import { forms, runReport } from "../../src/evals/reports/index.ts";
import { missed, missSentences } from "./missed.ts";
import { manifest, runOf, suiteOf } from "./samples.ts";

it.each(["terminal", "markdown"] as const)("explains why trials missed: %s", (form) => {
  const display = { colour: false, width: 200, unicode: true };
  const shown = forms[form]
    .render(runReport({ summary: missed, manifest }), display)
    .replaceAll(/[`\\]/g, "")
    .replaceAll(/\s+/g, " ");
  for (const sentence of missSentences) expect(shown).toContain(sentence);
  expect(shown).not.toContain("move_note");
  expect(shown).toMatch(/missing\W+wrong type\W+wrong value\W+invented/);
});

it("lists no tool that was picked and called rightly in every trial, if only an assertion failed", () => {
  const tool = {
    expected: "save_note",
    trials: 1,
    picked: 1,
    passed: 0,
    wrongArguments: 0,
    reachedLater: 0,
    instead: [],
  };
  const misses = { tools: [tool], parameters: [], preconditions: [], repeated: [] };
  const summary = runOf([suiteOf({ cases: [], misses })], 1);
  expect(forms.terminal.render(runReport({ summary, manifest }))).not.toContain("Picks and calls that missed");
});

it.each(["junit", "github"] as const)("counts passes with an acceptable tool: %s", (form) => {
  expect(forms[form].render(runReport({ summary: missed, manifest }))).toContain("1 substituted");
});

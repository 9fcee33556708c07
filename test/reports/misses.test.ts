import { expect, it } from "vitest";
import { forms, runReport } from "../../src/evals/reports/index.ts";
import { missed, missSentences } from "./missed.ts";
import { manifest } from "./samples.ts";

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

it.each(["junit", "github"] as const)("counts passes with an acceptable tool: %s", (form) => {
  expect(forms[form].render(runReport({ summary: missed, manifest }))).toContain("1 substituted");
});

import { expect, it } from "vitest";
import { forms, runReport } from "../../../../src/evals/experiments/run/report/forms.ts";
import { briefDocument } from "../../../../src/evals/experiments/run/report/run.ts";
import { renderTerminal } from "../../../../src/evals/reports/terminal.ts";
import { missed, missSentences } from "../../../reports/missed.ts";
import { caseOf, manifest, runOf, suiteOf } from "../../../reports/samples.ts";

it.each(["terminal", "markdown"] as const)("explains why trials missed: %s", (form) => {
  const display = { color: false, width: 200, unicode: true };
  const shown = forms[form]
    .render(runReport({ summary: missed, manifest }), display)
    .replaceAll(/[`\\|]/g, "")
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
  expect(forms.terminal.render(runReport({ summary, manifest }))).not.toContain("Confused tools and wrong calls");
});

it.each(["terminal", "markdown"] as const)("says once which tools were confused: %s", (form) => {
  const [suite = suiteOf({ cases: [] })] = missed.suites;
  const confusion = [
    { expected: "save_note", picked: "append_note", n: 8 },
    { expected: "(none)", picked: "list_notes", n: 2 },
  ];
  const summary = runOf([{ ...suite, confusion }], 1);
  const shown = forms[form].render(runReport({ summary, manifest })).replaceAll(/[`\\]/g, "");
  expect(shown.match(/append_note/g)).toHaveLength(1);
  expect(shown).toContain("2x expected (none), picked list_notes");
});

it("counts the picks beyond the most frequent ones", () => {
  const instead = [6, 5, 4, 3, 2, 1, 1].map((n, at) => ({ picked: `tool-${at}`, n }));
  const tool = { expected: "save_note", trials: 22, picked: 0, passed: 0, wrongArguments: 0, reachedLater: 0, instead };
  const misses = { tools: [tool], parameters: [], preconditions: [], repeated: [] };
  const summary = runOf([suiteOf({ cases: [], misses })], 1);
  expect(forms.markdown.render(runReport({ summary, manifest })).replaceAll("\\", "")).toContain("tool-4 2 and 2 more");
});

it.each(["junit", "github"] as const)("counts passes with an acceptable tool: %s", (form) => {
  expect(forms[form].render(runReport({ summary: missed, manifest }))).toContain("1 substituted");
});

it("says on the first screen why trials could not be graded, each cause once", () => {
  const open = { trials: 0, passed: 0, notGradable: 2, reasons: [{ text: "not gradable: reply: it is empty", n: 2 }] };
  const cases = ["a", "b"].map((id) => caseOf({ id, input: id, expected: "(none)", ...open }));
  const summary = runOf([suiteOf({ cases })], 3);
  const shown = renderTerminal(briefDocument({ summary, manifest }), { color: false, width: 80, unicode: true });
  expect(shown).toContain("Not gradable\n  4x reply: it is empty (a, b)");
});

import { describe, expect, it } from "vitest";
import { displayWidth } from "../../src/evals/base/text/display.ts";
import { forms, runReport } from "../../src/evals/experiments/run/report/forms.ts";
import { makeColumns, table, text } from "../../src/evals/reports/document.ts";
import { renderTerminal } from "../../src/evals/reports/terminal.ts";
import { sampleReports } from "./checks.ts";
import { caseOf, manifest, runOf, suiteOf } from "./samples.ts";

const display = { color: false, width: 100, unicode: true };

describe.each(sampleReports)("%s", (name, report) => {
  it("renders on a wide pipe", async () => {
    await expect(forms.terminal.render(report, display)).toMatchFileSnapshot(`snapshots/${name}.terminal.txt`);
  });

  it.each([80, 100, 132])("fits %d columns, without a control character", (width) => {
    const text = forms.terminal.render(report, { ...display, width });
    for (const line of text.split("\n")) expect(displayWidth(line)).toBeLessThanOrEqual(width);
    expect(text.replaceAll("\n", "")).not.toMatch(/[\p{Cc}\p{Cf}\p{Cs}]/u);
  });

  it("is ASCII without unicode, and still fits", () => {
    const text = forms.terminal.render(report, { ...display, width: 80, unicode: false });
    expect(text).toMatch(/^[\n -~]*$/);
    for (const line of text.split("\n")) expect(line.length).toBeLessThanOrEqual(80);
  });

  it("differs only by color codes if colored", () => {
    const text = forms.terminal.render(report, { ...display, color: true });
    const codes = new RegExp(`${String.fromCharCode(27)}\\[\\d+m`, "g");
    expect(text).toMatch(codes);
    // Without color, changed words are marked with brackets.
    const rest = (shown: string) => shown.replace(/Changes in the tool list.*?\n\n/gs, "").replace(/ +$/gm, "");
    expect(rest(text.replace(codes, ""))).toBe(rest(forms.terminal.render(report, display)));
  });
});

it("names the program in commands as it was started, and wraps them as a whole", () => {
  const blocks = [text("Next: read it with `evals show a --failed`, as evals does.")];
  expect(renderTerminal(blocks, { ...display, width: 46, program: "npx evals" })).toBe(
    "Next: read it with\n  `npx evals show a --failed`, as evals does.\n",
  );
});

it("omits and counts passed cases in a long table", () => {
  const cases = Array.from({ length: 200 }, (_, at) =>
    caseOf({
      id: `case-${at}`,
      input: "x",
      expected: "tool",
      ...(at % 50 === 0 && { passed: 0, outcomes: { "no-call": 5 } }),
    }),
  );
  const text = forms.terminal.render(runReport({ summary: runOf([suiteOf({ cases })], 1), manifest }), display);
  expect(text.split("\n\n")[2]).toMatchSnapshot();
});

it("prints no workflow command from outside", () => {
  const blocks = [text("::error::first"), text("   ::warning::second ##[error]third")];
  const printed = renderTerminal(blocks, { width: 80, color: false, unicode: true });
  expect(printed).not.toMatch(/^\s*::/m);
  expect(printed).not.toContain("##[");
});

it("leaves out an aside for which little room is left", () => {
  const columns = makeColumns(["name", "case"], ["aside", "query"], ["name", "expected"]);
  const row = ["lunch-on-monday-with-ada", "I just paid 14.50 for my lunch", "record_expense"];
  const heads = [70, 46].map((width) => renderTerminal([table("case", columns, [row])], { ...display, width }));
  expect(heads.map((one) => one.split("\n")[0]?.split(/ +/))).toEqual([
    ["case", "query", "expected"],
    ["case", "expected"],
  ]);
});

it("wraps prose in a table that is too wide, and shortens names and texts", () => {
  const columns = makeColumns(["name", "case"], ["text", "query"], ["figure", "rank"], ["prose", "missing words"]);
  const row = ["lunch-on-monday-with-ada", "I just paid 14.50 for my lunch", "none", "paid, lunch, put, under, food"];
  expect(renderTerminal([table("case", columns, [row])], { ...display, width: 50 })).toMatchSnapshot();
});

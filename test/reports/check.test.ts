import { describe, expect, it } from "vitest";
import { checkLines, checkView } from "../../src/evals/reports/check.ts";
import { headline, runStatus } from "../../src/evals/reports/view.ts";
import type { RunSummary } from "../../src/evals/types/run.ts";
import { checked, checkedRun, checkOf } from "./checks.ts";
import { caseOf, passed } from "./samples.ts";

const viewOf = ({ suites: [suite] }: RunSummary) => suite && checkView(suite);
const given = { kind: "no-regression", headline: "NO REGRESSION within 10 points", reason: "why" } as const;

it("is in the first line of the run where it must not be missed", () => {
  expect(Object.entries(checked).map(([name, summary]) => `${name}: ${headline(summary)}`)).toMatchInlineSnapshot(`
    [
      "regressed: REGRESSED 1 of 2 suites · 6 of 6 cases passed · 48 trials · anthropic:claude-sonnet-5-5 (default effort), lexical (a retrieval baseline, not a language model)",
      "no-regression: PASSED 3 of 3 cases · 21 trials · anthropic:claude-sonnet-5-5 (default effort)",
      "inconclusive: PASSED 3 of 3 cases · 1 check inconclusive · 21 trials · anthropic:claude-sonnet-5-5 (default effort)",
      "stopped: INCOMPLETE 3 of 3 cases passed · 1 check inconclusive · 21 trials · anthropic:claude-sonnet-5-5 (default effort)",
      "unchanged: PASSED 3 of 3 cases · 21 trials · anthropic:claude-sonnet-5-5 (default effort)",
      "not-comparable: INCOMPLETE 3 of 3 cases passed · 1 check not comparable · 21 trials · anthropic:claude-sonnet-5-5 (default effort)",
      "certain: REGRESSED 1 of 1 suite · 3 of 3 cases passed · 21 trials · lexical (a retrieval baseline, not a language model)",
      "hostile-check: REGRESSED 1 of 1 suite · 0 of 1 case passed (1 failed) · 5 trials · anthropic:claude-sonnet-5-5 (default effort)",
    ]
  `);
});

it.each([1, 3, 130])("calls a run regressed whatever its exit code: %d", (exitCode) =>
  expect(runStatus({ ...checked.regressed, exitCode })).toBe("REGRESSED"),
);

it("says nothing where no check was made", () => {
  expect(viewOf(passed)).toBeUndefined();
});

describe("a rate", () => {
  it("stands with the number of cases that were scored in both arms", () => {
    const cases = ["read-one", "rename", "added"].map((id) =>
      caseOf({ id, input: "x", expected: "t", trials: id === "rename" ? 0 : 5 }),
    );
    expect(viewOf(checkedRun(checkOf(given), { cases }))?.sentences).toEqual([
      "Why",
      "Net change −1.1 points (95% interval −7.1 to +4.8), mean over 3 cases; the margin is 10 points",
    ]);
  });

  it("has neither interval nor p where the model always answers alike", () => {
    expect(viewOf(checked.certain)).toMatchObject({
      sentences: [
        "1 case passed before and fails now: read-head 1/1 -> 0/1",
        "Net change −33.3 points, mean over 3 cases; the model always answers alike",
      ],
      net: { interval: [-1 / 3, -1 / 3] },
      tables: [{ heads: ["case", "base passed", "head passed"], rows: [["read-head", "1/1", "0/1"]] }],
      facts: [
        ["calls of the deterministic design", "3 base, 3 head"],
        ["spent on the suite", "$0.4108"],
      ],
    });
  });
});

describe("changes", () => {
  const changes = ["move_file: title", "read: description", "read.path: description", '"a b": new tool'].map(
    (label) => ({
      label,
      before: "a",
    }),
  );
  const cases = [caseOf({ id: "one", input: "x", expected: "read | open" })];
  const counts = { base: { passed: 9, trials: 9 }, head: { passed: 0, trials: 9 } };
  const labels = (flagged: string[]) => {
    const check = checkOf({
      ...given,
      changes,
      flagged: flagged.map((id) => ({ case: id, ...counts, p: 0, adjusted: 0 })),
    });
    const view = viewOf(checkedRun(check, { cases }));
    return [view?.involved, view?.others].map((list) => list?.map(({ label }) => label));
  };

  it("of the tools that a dropped case expects stand apart", () => {
    expect(labels(["one"])).toEqual([
      ["read: description", "read.path: description"],
      ["move_file: title", '"a b": new tool'],
    ]);
  });

  it("are all involved where no tool is named", () => {
    expect(labels([])).toEqual([changes.map(({ label }) => label), []]);
  });

  it("beyond the first twenty are named without their wording", () => {
    const many = Array.from({ length: 22 }, (_, at) => ({ label: `t${at}: description`, before: "a", after: "b" }));
    const view = viewOf(checkedRun(checkOf({ ...given, changes: many })));
    expect(view?.involved.slice(19)).toEqual([many[19], { label: "t20: description" }, { label: "t21: description" }]);
  });
});

it("counts nothing for a check that was cut short", () => {
  const view = viewOf(checked.stopped);
  expect(view && checkLines(view)).toEqual([
    "INCONCLUSIVE: the run was stopped at look 2 · Resume the run to finish the look",
    "read_text_file: description: Read [-the complete contents of-] a text file. Use head or tail [-for the first or last lines-]{+to get part of it+}.",
    "spent on the suite: $0.4108",
  ]);
});

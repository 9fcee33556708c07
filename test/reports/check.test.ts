import { describe, expect, it } from "vitest";
import { checkBlocks, checkLines, checkReason } from "../../src/evals/reports/check.ts";
import { headline, runStatus } from "../../src/evals/reports/runText.ts";
import type { CheckBasis, RunSummary } from "../../src/evals/types/run.ts";
import { checked, checkedRun, checkOf } from "./checks.ts";
import { caseOf, passed } from "./samples.ts";

const blocksOf = ({ suites }: RunSummary) => suites.slice(0, 1).flatMap(checkBlocks);

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

it("is absent where no check was made", () => {
  expect(blocksOf(passed)).toEqual([]);
});

describe("the sentences", () => {
  it("are these for every verdict", () => {
    const lines = Object.entries(checked).map(([name, { suites }]) => {
      const verdict = suites[0]?.verdict;
      return [name, ...(verdict && name !== "hostile-check" ? checkLines(verdict, 2) : [])];
    });
    expect(lines).toMatchInlineSnapshot(`
      [
        [
          "regressed",
          "REGRESSED · 1 case dropped: read-head 12/12 -> 5/12 (p = .002 against alpha = .015, look 4 of 5).",
          "Net change -12.3 pp (95% CI -20.1 to -3.1 pp), mean over 3 cases; the margin is 10 pp.",
          "Dropped: read-head: 12/12 -> 5/12",
          "Confused more often: read_text_file -> read_multiple_files: 0/12 (0%) -> 7/26 (27%)",
          "Changed: list_directory.path: description",
          "Changed: move_file: title",
          "Smallest detectable break of one case: 20/20 -> 3/7 (p = .002)",
          "Paired t-test (secondary): p < .001",
          "Trials of the screen design: 12 baseline, 45 now, 1 broken; 243 saved by stopping early",
          "Model drift: the model passes less often with the baseline's own list than it did then (p = .004): the model has changed, not the wording.",
          "Added (not compared): weather",
        ],
        [
          "no-regression",
          "NO REGRESSION within 10 pp · A mean drop of 7.1 pp or more is ruled out, within the margin of 10 pp (look 1 of 5).",
          "Net change -1.1 pp (95% CI -7.1 to +4.8 pp), mean over 3 cases; the margin is 10 pp.",
          "Changed: read_text_file: description",
          "Smallest detectable break of one case: 20/20 -> 3/7 (p = .002)",
          "Paired t-test (secondary): p = .310",
          "Trials of the screen design: 0 baseline, 42 now; 258 saved by stopping early",
        ],
        [
          "inconclusive",
          "INCONCLUSIVE: 14 more trials per case and arm would settle it · Neither a drop (p = .081 against alpha = .02) nor its absence is shown: a mean drop of 31.4 pp is not ruled out.",
          "Net change -15.3 pp (95% CI -31.4 to +4.7 pp), mean over 3 cases; the margin is 10 pp.",
          "Changed: read_text_file: description",
          "Smallest detectable break of one case: 20/20 -> 3/7 (p = .002)",
          "Paired t-test (secondary): p = .310",
          "Trials of the screen design: 60 baseline, 81 now",
        ],
        [
          "stopped",
          "INCONCLUSIVE: the run was stopped at look 2 · Resume the run to finish the look.",
          "Changed: read_text_file: description",
        ],
        [
          "unchanged",
          "UNCHANGED: the tool list is byte-identical to the baseline's, so nothing had to be compared",
          "Removed (not compared): read-two",
        ],
        [
          "not-comparable",
          "NOT COMPARABLE with the baseline: The host profile differs: "plain" before, "claude-code" now. Use the same --host, or accept a new baseline for it.",
          "The major version differs: "0.1" before, "0.2" now. Accept a new baseline with this version.",
        ],
        [
          "certain",
          "REGRESSED · 1 case passed before and fails now: read-head 1/1 -> 0/1.",
          "Net change -33.3 pp, mean over 3 cases; the model is deterministic.",
          "Dropped: read-head: 1/1 -> 0/1",
          "Changed: read_text_file: description",
          "Trials of the deterministic design: 3 baseline, 3 now",
        ],
        [
          "hostile-check",
        ],
      ]
    `);
  });

  it("are these for every basis", () => {
    const bases: CheckBasis[] = [
      { kind: "nothing scored" },
      { kind: "cases not scored", cases: ["a", "b"] },
      { kind: "too much variance" },
      { kind: "drop ruled out", drop: null, look: 1, looks: 1 },
      { kind: "drop ruled out", drop: 0.071, look: 1, looks: 1 },
      { kind: "dropped", test: { kind: "e-value", e: 31.27, threshold: 20 }, look: 3, looks: 50 },
    ];
    expect(bases.map((basis) => checkReason(checkOf({ kind: "inconclusive", basis })))).toMatchInlineSnapshot(`
      [
        "No case was scored in both arms, so nothing can be compared.",
        "No trial of 2 cases could be scored: a, b.",
        "No case looks worse than its baseline, but the suite varies too much to rule out a mean drop beyond the margin.",
        "No case that passed before fails now. The model is deterministic.",
        "A mean drop of 7.1 pp or more is ruled out, within the margin of 10 pp.",
        "At least one case dropped, but none can be named individually (e-value 31.3 against 20, look 3 of 50).",
      ]
    `);
  });
});

describe("changes", () => {
  const changes = ["move_file: title", "read: description", "read.path: description", '"a b": new tool'].map(
    (label) => ({ label, before: "a" }),
  );
  const cases = [caseOf({ id: "one", input: "x", expected: "read | open" })];
  const counts = { base: { passed: 9, trials: 9 }, head: { passed: 0, trials: 9 } };
  const basis = { kind: "drop ruled out", drop: 0.07, look: 1, looks: 5 } as const;
  const labels = (given: Partial<Parameters<typeof checkOf>[0]>) => {
    const blocks = blocksOf(checkedRun(checkOf({ kind: "no-regression", basis, changes, ...given }), { cases }));
    const diffs = blocks.flatMap((block) => (block.kind === "details" ? block.blocks : [block]));
    return diffs.flatMap((block) => (block.kind === "diff" ? [block.changes.map(({ label }) => label)] : []));
  };

  it("of the tools that a dropped case expects stand apart", () => {
    expect(labels({ flagged: [{ case: "one", ...counts, p: 0, adjusted: 0 }] })).toEqual([
      ["read: description", "read.path: description"],
      ["move_file: title", '"a b": new tool'],
    ]);
  });

  it("are all involved where no tool is named", () => {
    expect(labels({})).toEqual([changes.map(({ label }) => label)]);
  });

  it("beyond the first twenty are named without their wording", () => {
    const many = Array.from({ length: 22 }, (_, at) => ({ label: `t${at}: description`, before: "a", after: "b" }));
    const blocks = blocksOf(checkedRun(checkOf({ kind: "no-regression", basis, changes: many })));
    const diff = blocks.find((block) => block.kind === "diff");
    expect(diff?.changes.slice(19)).toEqual([many[19], { label: "t20: description" }, { label: "t21: description" }]);
  });
});

import { describe, expect, it } from "vitest";
import type { ComparedCheck } from "../../../src/evals/base/types/check.ts";
import type { RunSummary, SuiteSummary } from "../../../src/evals/base/types/run.ts";
import { checkBlocks, checkLines } from "../../../src/evals/experiments/check/report.ts";
import { checkNext, checkReason, type FollowUp } from "../../../src/evals/experiments/check/sentences.ts";
import { formNames, forms, runReport } from "../../../src/evals/experiments/run/report/forms.ts";
import { exitText, headline, leadLines, runStatus } from "../../../src/evals/experiments/run/report/status.ts";
import { pipe, renderTerminal } from "../../../src/evals/reports/terminal.ts";
import { checked, checkedRun, checkOf } from "../../reports/checks.ts";
import { caseOf, manifest, passed } from "../../reports/samples.ts";

const blocksOf = ({ suites }: RunSummary) => suites.slice(0, 1).flatMap((suite) => checkBlocks(suite));

it("puts an important verdict in the headline of the run", () => {
  expect(Object.entries(checked).map(([name, summary]) => `${name}: ${headline(summary)}`)).toMatchInlineSnapshot(`
    [
      "regressed: REGRESSED · 1 of 2 suites · 6 of 6 cases pass · anthropic:claude-sonnet-5-5, lexical",
      "suite-regressed: REGRESSED · 3 of 3 cases pass · anthropic:claude-sonnet-5-5",
      "permitted: REGRESSED · 3 of 3 cases pass · anthropic:claude-sonnet-5-5",
      "traded: REGRESSED · 3 of 3 cases pass · anthropic:claude-sonnet-5-5",
      "selected: REGRESSED · 3 of 3 cases pass · anthropic:claude-sonnet-5-5",
      "no-regression: NO REGRESSION · 2 of 3 cases pass · anthropic:claude-sonnet-5-5",
      "inconclusive: PASSED · 3 of 3 cases pass · 1 check inconclusive · anthropic:claude-sonnet-5-5",
      "missing: INCOMPLETE · 3 of 3 cases pass · 1 check inconclusive · anthropic:claude-sonnet-5-5",
      "answers-repeat: INCOMPLETE · 3 of 3 cases pass · 1 check inconclusive · anthropic:claude-sonnet-5-5",
      "nothing-can-fall: INCOMPLETE · 3 of 3 cases pass · 1 check inconclusive · anthropic:claude-sonnet-5-5",
      "stopped: INCOMPLETE · 3 of 3 cases pass · 1 check inconclusive · anthropic:claude-sonnet-5-5",
      "unchanged: PASSED · 3 of 3 cases pass · anthropic:claude-sonnet-5-5",
      "drifted: DRIFTED · 3 of 3 cases pass · anthropic:claude-sonnet-5-5",
      "not-comparable: INCOMPLETE · 3 of 3 cases pass · 1 check not comparable · anthropic:claude-sonnet-5-5",
      "certain: CHANGED · 3 of 3 cases pass · lexical",
      "hostile-check: REGRESSED · 0 of 1 case passes · anthropic:claude-sonnet-5-5",
    ]
  `);
});

it("never contradicts the exit code, and explains it if needed", () => {
  expect(
    Object.entries(checked).map(
      ([name, summary]) => `${name}: ${exitText(summary, { ...manifest, failOn: ["regressed"] })}`,
    ),
  ).toMatchInlineSnapshot(`
    [
      "regressed: 1, because of --fail-on regressed",
      "suite-regressed: 1, because of --fail-on regressed",
      "permitted: 0, because --fail-on suite did not trigger",
      "traded: 1, because of --fail-on regressed",
      "selected: 1, because of --fail-on regressed",
      "no-regression: 0, because --fail-on regressed did not trigger",
      "inconclusive: undefined",
      "missing: undefined",
      "answers-repeat: undefined",
      "nothing-can-fall: undefined",
      "stopped: undefined",
      "unchanged: undefined",
      "drifted: 1, because of --fail-on drifted",
      "not-comparable: undefined",
      "certain: 0, because --fail-on regressed did not trigger",
      "hostile-check: undefined",
    ]
  `);
});

it.each([1, 3, 130])("calls a run regressed whatever the exit code: %d", (exitCode) =>
  expect(runStatus({ ...checked.regressed, exitCode })).toBe("REGRESSED"),
);

it("shows a placebo as edits of the list of today", () => {
  const moved = { base: { passed: 3, trials: 20 }, head: { passed: 17, trials: 20 }, p: 0.00001 };
  const placebo = checkOf({
    ...{ kind: "changed", method: "placebo", trials: 20, cap: 20, net: null, selection: null },
    ...{ suite: null, calls: { base: 60, head: 60, ahead: 0, copies: 0, missing: 0 } },
    rose: [{ case: "read-head", ...moved }],
    changes: [
      { label: "read: description", class: "description only", before: "Reads one file.", after: "Reads a file." },
    ],
  });
  const blocks = blocksOf(checkedRun(placebo, { failOn: ["regressed"], failed: [] }));
  expect(renderTerminal(blocks, pipe)).toMatchInlineSnapshot(`
    "PLACEBO: harmless edits moved 1 of 3 cases
      Edits that change no meaning (another article, reordered sentences, a trailing space) moved 1 of
        3 cases: read-head (3/20 edited, 17/20 as it is). A fall of a few queries after a real change
        may be no more than that.
      Next: give these cases paraphrases (a list as \`input\`), so that a check names what holds for
        several wordings.

    Cases that rose (passed/answered)
    case       edited  as it is  p
    ──────────────────────────────────
    read-head  3/20    17/20     <.001

    Edits
      read: description
        Reads [-a-]{+one+} file.

    Trials of the check: 60 baseline, 60 now
    Spent on the suite: $0.41
    "
  `);
});

it("is absent without a check", () => {
  expect(blocksOf(passed)).toEqual([]);
});

describe("the sentences", () => {
  it("cover every verdict", () => {
    const lines = Object.entries(checked).map(([name, { suites }]) => {
      const verdict = suites[0]?.verdict;
      return [name, ...(verdict && name !== "hostile-check" ? checkLines(verdict, 2) : [])];
    });
    expect(lines).toMatchInlineSnapshot(`
      [
        [
          "regressed",
          "REGRESSED (read-head) · Your change broke read-head: it passed 12 of 12 before and 5 of 12 now. This is one query, without paraphrases. read-one (11/12 before, 8/12 now) looks worse too, which may be chance. The other case did not look worse in 8 trials, and was not tested further.",
          "Next: find the wording at fault with \`evals blame latest\`, then revert or reword it; or accept the change with \`evals baseline accept\`.",
          "Net change -12.3 pp (95% CI -20.1 to -3.1 pp), mean over 3 cases; the margin is 10 pp.",
          "Dropped: read-head: 12/12 -> 5/12",
          "Confused more often: read_text_file -> read_multiple_files: 0/12 (0%) -> 7/26 (27%)",
          "Changed: list_directory.path: description",
          "Changed: move_file: title",
          "Decided: by Fisher's exact test of each case, after 12 trials per case and list (interim analysis 4 of 8, cap 40)",
          "Sign test of the suite: 9 pairs worse, 1 better: p = .011 against .0062",
          "Tool selection: net change 0 pp (95% CI -6 to +6 pp), mean over 3 cases",
          "Error rate: 5% for the whole run, shared by 2 checks (2.5% each)",
          "Missing answers: 1 baseline, 1 now; 2 came when asked again; net change -16 pp at worst, -10 pp at best",
          "Baseline's tools: 58/60 (97%) when accepted, 30/36 (83%) now: the model passes less often with the same tools than when the baseline was accepted (p = .004)",
          "Trials of the check: 43 baseline, 45 now; 14 of them beyond the deciding analysis, 2 repeated replies dropped, 5 without an answer",
          "Added (not compared): weather",
        ],
        [
          "suite-regressed",
          "REGRESSED (suite) · Your change made the cases worse as a whole: on average they pass 22 pp less often than before. No single case can be named for certain. read-head (12/12 before, 5/12 now) fell most.",
          "Next: find the wording at fault with \`evals blame latest\`, then revert or reword it; or accept the change with \`evals baseline accept\`.",
          "Net change -22 pp (95% CI -33 to -11 pp), mean over 3 cases; the margin is 10 pp.",
          "Changed: read_text_file: description",
          "Decided: by the sign test, after 8 trials per case and list (interim analysis 3 of 8, cap 40)",
          "Sign test of the suite: 12 pairs worse, 1 better: p = .002 against .0042",
          "Tool selection: net change 0 pp (95% CI -6 to +6 pp), mean over 3 cases",
          "Trials of the check: 24 baseline, 24 now",
        ],
        [
          "permitted",
          "REGRESSED (read-head) · Your change broke read-head: it passed 12 of 12 before and 5 of 12 now. This is one query, without paraphrases. The other two did not look worse in 8 trials, and were not tested further.",
          "Next: find the wording at fault with \`evals blame latest\`, then revert or reword it; or accept the change with \`evals baseline accept\`.",
          "Net change -1.1 pp (95% CI -7.1 to +4.8 pp), mean over 3 cases; the margin is 10 pp.",
          "Dropped: read-head: 12/12 -> 5/12",
          "Changed: read_text_file: description",
          "Decided: by Fisher's exact test of each case, after 8 trials per case and list (interim analysis 3 of 8, cap 40)",
          "Sign test of the suite: 2 pairs worse, 1 better: p = .500 against .0042",
          "Tool selection: net change 0 pp (95% CI -6 to +6 pp), mean over 3 cases",
          "Trials of the check: 24 baseline, 24 now",
        ],
        [
          "traded",
          "REGRESSED (read-head) · Your change broke read-head: it passed 12 of 12 before and 5 of 12 now. This is one query, without paraphrases. rename (2/12 before, 11/12 now) got better. The other case did not look worse in 8 trials, and was not tested further.",
          "Next: find the wording at fault with \`evals blame latest\`, then revert or reword it; or accept the change with \`evals baseline accept\`.",
          "Net change -1.1 pp (95% CI -7.1 to +4.8 pp), mean over 3 cases; the margin is 10 pp.",
          "Dropped: read-head: 12/12 -> 5/12",
          "Rose: rename: 2/12 -> 11/12",
          "Changed: read_text_file: description",
          "Decided: by Fisher's exact test of each case, after 8 trials per case and list (interim analysis 3 of 8, cap 40)",
          "Sign test of the suite: 2 pairs worse, 1 better: p = .500 against .0042",
          "Tool selection: net change 0 pp (95% CI -6 to +6 pp), mean over 3 cases",
          "Trials of the check: 24 baseline, 24 now",
        ],
        [
          "selected",
          "REGRESSED (tool selection of rename, and the suite) · Your change broke rename: its tool was selected in 12 of 12 before and 3 of 12 now. This is one query, without paraphrases. The other two did not look worse in 8 trials, and were not tested further.",
          "Next: find the wording at fault with \`evals blame latest\`, then revert or reword it; or accept the change with \`evals baseline accept\`.",
          "Net change -1.1 pp (95% CI -7.1 to +4.8 pp), mean over 3 cases; the margin is 10 pp.",
          "Dropped: rename: 12/12 -> 3/12 (tool selection)",
          "Changed: read_text_file: description",
          "Decided: by Fisher's exact test of each case, after 8 trials per case and list (interim analysis 3 of 8, cap 40)",
          "Sign test of the suite: 9 pairs worse in tool selection, 0 better: p = .002 against .0042",
          "Tool selection: net change -25 pp (95% CI -40 to -10 pp), mean over 3 cases",
          "Trials of the check: 24 baseline, 24 now",
        ],
        [
          "no-regression",
          "NO REGRESSION within 10 pp · The cases pass and select their tools as often as before, or at most 10 pp less often on average. Of a single case, 8 of 10 such checks catch a loss of 60 pp.",
          "Net change -1.1 pp (95% CI -7.1 to +4.8 pp), mean over 3 cases; the margin is 10 pp.",
          "Changed: read_text_file: description",
          "Decided: by the intervals of both net changes, after 8 trials per case and list (interim analysis 3 of 8, cap 40)",
          "Sign test of the suite: 2 pairs worse, 1 better: p = .500 against .0042",
          "Tool selection: net change 0 pp (95% CI -6 to +6 pp), mean over 3 cases",
          "Trials of the check: 24 baseline, 24 now",
        ],
        [
          "inconclusive",
          "INCONCLUSIVE · The check could not decide: the cases vary too much from trial to trial to tell a drop of 10 pp from none.",
          "Next: run it again with \`-n 52\`, which is as likely as not to decide it, and \`-n 115\` does so 8 times in 10.",
          "Net change -5.3 pp (95% CI -21.4 to +4.7 pp), mean over 3 cases; the margin is 10 pp.",
          "Changed: read_text_file: description",
          "Decided: after 25 trials per case and list (interim analysis 6 of 8, cap 40)",
          "Sign test of the suite: 2 pairs worse, 1 better: p = .500 against .0042",
          "Tool selection: net change 0 pp (95% CI -6 to +6 pp), mean over 3 cases",
          "Reach: of a single case, 8 of 10 such checks catch a loss of 60 pp",
          "Trials of the check: 24 baseline, 24 now",
        ],
        [
          "missing",
          "INCONCLUSIVE · The check could not decide: too many answers are missing (6 with the new tools).",
          "Next: find out below why trials got no answer, then run \`evals run --resume latest --retry-broken\`.",
          "Net change -1.1 pp (95% CI -7.1 to +4.8 pp), mean over 3 cases; the margin is 10 pp.",
          "Changed: read_text_file: description",
          "Decided: after 8 trials per case and list (interim analysis 3 of 8, cap 40)",
          "Sign test of the suite: 2 pairs worse, 1 better: p = .500 against .0042",
          "Tool selection: net change 0 pp (95% CI -6 to +6 pp), mean over 3 cases",
          "Reach: of a single case, 8 of 10 such checks catch a loss of 60 pp",
          "Missing answers: 0 baseline, 6 now; net change -25 pp at worst, 0 pp at best",
          "Trials of the check: 24 baseline, 24 now",
        ],
        [
          "answers-repeat",
          "INCONCLUSIVE · The check could not decide: consecutive answers repeat each other, so they are not separate evidence.",
          "Next: turn off caches on the way to the model, use a temperature above 0 and no fixed seed, then run again.",
          "Net change -1.1 pp (95% CI -7.1 to +4.8 pp), mean over 3 cases; the margin is 10 pp.",
          "Changed: read_text_file: description",
          "Decided: after 8 trials per case and list (interim analysis 3 of 8, cap 40)",
          "Sign test of the suite: 2 pairs worse, 1 better: p = .500 against .0042",
          "Tool selection: net change 0 pp (95% CI -6 to +6 pp), mean over 3 cases",
          "Consecutive answers: correlated (0.51), so they count in blocks",
          "Reach: of a single case, 8 of 10 such checks catch a loss of 60 pp",
          "Trials of the check: 24 baseline, 24 now",
        ],
        [
          "nothing-can-fall",
          "INCONCLUSIVE · The check could not decide: no case passed with either tool list, so none can fall.",
          "Next: correct the cases or the descriptions until some cases pass, then accept a new baseline.",
          "Changed: read_text_file: description",
          "Decided: after 8 trials per case and list (interim analysis 3 of 8, cap 40)",
          "Sign test of the suite: 2 pairs worse, 1 better: p = .500 against .0042",
          "Reach: of a single case, 8 of 10 such checks catch a loss of 60 pp",
          "Trials of the check: 24 baseline, 24 now",
        ],
        [
          "stopped",
          "INCONCLUSIVE: the run was stopped · The check was stopped before it could decide.",
          "Next: finish it with \`evals run --resume latest\`.",
          "Changed: read_text_file: description",
          "Tool selection: net change 0 pp (95% CI -6 to +6 pp), mean over 3 cases",
          "Trials of the check: 9 baseline, 8 now",
        ],
        [
          "unchanged",
          "UNCHANGED: the tools are those of the baseline, so there is nothing to compare",
          "Removed (not compared): read-two",
        ],
        [
          "drifted",
          "UNCHANGED: the tools are those of the baseline, so there is nothing to compare",
        ],
        [
          "not-comparable",
          "NOT COMPARABLE with the baseline: The host profile differs: "plain" before, "claude-code" now. Use the same --host, or accept a new baseline for it.",
          "Next: fix the reason, or accept a new baseline with \`evals baseline accept\`.",
          "The major version differs: "0.1" before, "0.2" now. Accept a new baseline with this version.",
        ],
        [
          "certain",
          "CHANGED · 1 case flipped: read-head passed before and fails now. A deterministic model shows that something changed, not whether it matters.",
          "Next: look at the cases that fell (below). Accept the change with \`evals baseline accept\`, or make it fail the build with \`--fail-on changed\`.",
          "Net change -33.3 pp, mean over 3 cases; the model is deterministic.",
          "Differs: read-head: only before 1, only now 0 of 1",
          "Changed: read_text_file: description",
          "Trials of the check: 3 baseline, 3 now",
        ],
        [
          "hostile-check",
        ],
      ]
    `);
  });

  it("state the reason without test statistics", () => {
    for (const { suites } of Object.values(checked)) {
      const verdict = suites[0]?.verdict;
      if (verdict && "method" in verdict) expect(checkReason(verdict)).not.toMatch(/\bp [=<]|CI|alpha|z =/);
    }
  });

  it.each(["changed", "no-regression"] as const)(
    "claim no certainty if repeats alone suggest a deterministic model: %s",
    (kind) => {
      const flips = [{ case: "read-head", down: 1, up: 0, pairs: 1 }];
      const render = (repeats?: number) => {
        const summary = checkedRun(
          checkOf({ kind, method: "exhausted", flips, ...(repeats !== undefined && { repeats }) }),
        );
        const report = runReport({ summary, manifest });
        return formNames.map((form) => forms[form].render(report, pipe).replace(/\s+/g, " "));
      };
      for (const text of render()) expect(text).not.toContain("How sure");
      const assumed = render(6);
      const sure = "this assumes that the model is deterministic: 6 repeated requests got the same answers as before";
      expect(assumed.filter((text) => text.includes(sure)).length).toBeGreaterThanOrEqual(3);
      for (const text of assumed) expect(text).not.toMatch(/: certain|model is deterministic\.|A deterministic model/);
    },
  );

  it("say what would settle an inconclusive check", () => {
    const open = (advice: ComparedCheck["advice"]) =>
      checkNext(checkOf({ kind: "inconclusive", because: "cap", trials: 25, advice }));
    expect([
      open({ likely: 20, safe: 60, atLeast: false }),
      open({ likely: 90, safe: 400, atLeast: false }),
      open({ likely: 900, safe: 4000, atLeast: false }),
      open({ likely: 20_000, safe: 20_000, atLeast: true }),
      open(null),
    ]).toMatchInlineSnapshot(`
      [
        "Next: run it again with \`-n 45\`, which is as likely as not to decide it, and \`-n 85\` does so 8 times in 10.",
        "Next: run it again with \`-n 115\`, which is as likely as not to decide it.",
        "Next: more trials would hardly decide this (about 900 more per case and list). Use a wider margin (\`--margin\`), or cases that vary less.",
        "Next: more trials would hardly decide this (about 20,000 more per case and list). Use a wider margin (\`--margin\`), or cases that vary less.",
        "Next: see below why trials got no answer, then run again.",
      ]
    `);
  });

  it("propose nothing that the command does itself", () => {
    const accepted = ["regressed", "certain", "not-comparable"] as const;
    for (const name of accepted) {
      const all = (followUp?: FollowUp) => {
        const report = runReport({ summary: checked[name], manifest, ...(followUp && { followUp }) });
        return formNames.map((form) => forms[form].render(report, pipe).replace(/\s+/g, " "));
      };
      expect(all().filter((text) => text.includes("baseline accept")).length).toBeGreaterThanOrEqual(5);
      for (const text of all({ accept: true })) expect(text).not.toContain("baseline accept");
      for (const text of all({ blame: true })) expect(text).not.toContain("blame latest");
    }
    expect(leadLines(passed, manifest)).toContainEqual(expect.stringContaining("`evals baseline accept`"));
    expect(leadLines(passed, manifest, { accept: true }).join()).not.toContain("Next");
    const [{ verdict }] = checked.regressed.suites as [SuiteSummary];
    expect(verdict && checkNext(verdict, { blame: true })).toBe(
      "Next: revert or reword what the blame report names; or accept the change with `evals baseline accept`.",
    );
  });
});

describe("changes", () => {
  const changes = ["move_file: title", "read: description", "read.path: description", '"a b": new tool'].map(
    (label) => ({ label, before: "a" }),
  );
  const cases = [caseOf({ id: "one", input: "x", expected: "read | open" })];
  const counts = { base: { passed: 9, trials: 9 }, head: { passed: 0, trials: 9 } };
  const labels = (given: Partial<Parameters<typeof checkOf>[0]>) => {
    const blocks = blocksOf(checkedRun(checkOf({ kind: "no-regression", changes, ...given }), { cases }));
    const diffs = blocks.flatMap((block) => (block.kind === "details" ? block.blocks : [block]));
    return diffs.flatMap((block) => (block.kind === "diff" ? [block.changes.map(({ label }) => label)] : []));
  };

  it("of tools that a dropped case expects come first", () => {
    expect(labels({ flagged: [{ case: "one", ...counts, p: 0 }] })).toEqual([
      ["read: description", "read.path: description"],
      ["move_file: title", '"a b": new tool'],
    ]);
  });

  it("all come first if no tool is named", () => {
    expect(labels({})).toEqual([changes.map(({ label }) => label)]);
  });

  it("beyond the first twenty are listed without a diff", () => {
    const many = Array.from({ length: 22 }, (_, at) => ({ label: `t${at}: description`, before: "a", after: "b" }));
    const blocks = blocksOf(checkedRun(checkOf({ kind: "no-regression", changes: many })));
    const diff = blocks.find((block) => block.kind === "diff");
    expect(diff?.changes.slice(19)).toEqual([many[19], { label: "t20: description" }, { label: "t21: description" }]);
  });
});

import { describe, expect, it } from "vitest";
import { type ComparisonReport, comparisonDocument } from "../../src/evals/reports/comparison.ts";
import { renderTerminal } from "../../src/evals/reports/terminal.ts";
import { displayWidth } from "../../src/evals/types/columns.ts";

const display = { colour: false, width: 100, unicode: true };

const check = {
  kind: "regressed",
  basis: { kind: "dropped", test: { kind: "p-value", p: 0.0000023, alpha: 0.05 }, look: 1, looks: 1 },
  method: "records",
  margin: 0.1,
  net: { change: -0.084, interval: [-0.152, -0.031], cases: 10 },
  flagged: [
    {
      case: "read-several",
      base: { passed: 20, trials: 20 },
      head: { passed: 6, trials: 20 },
      p: 0.0000023,
      adjusted: 0.000009,
    },
  ],
  grew: [
    {
      expected: "read_multiple_files",
      picked: "read_text_file",
      base: { passed: 0, trials: 20 },
      head: { passed: 13, trials: 20 },
    },
  ],
  changes: [
    {
      label: "read_multiple_files: description",
      before: "Read several files at once.",
      after: "Read a batch of resources at once.",
    },
    ...Array.from({ length: 7 }, (_, i) => ({ label: `tool_${i}: new tool`, after: "New." })),
  ],
  reach: { baseTrials: 20, headTrials: 20, headPasses: 15, p: 0.024 },
  furtherTrials: null,
  pairedT: 0.041,
  calls: { base: 200, head: 200, broken: 3, saved: 0 },
  modelDrift: null,
  notes: ["Added (not compared): rename"],
  exitCode: 1,
} as const;

const report = {
  base: { name: "evals/baselines/files.lexical.json", what: "the baseline of 2026-11-20, from the run 2026-11-20T08" },
  head: { name: "2026-11-21T09-30-00-000", what: "the run of 2026-11-21 09:30 UTC" },
  interleaved: false,
  comparisons: [
    {
      kind: "compared",
      suite: "files",
      model: "anthropic:x",
      cases: 10,
      base: { passed: 190, trials: 198 },
      head: { passed: 173, trials: 199 },
      better: { kind: "base", p: 0.0000046 },
      check,
      improved: [
        {
          case: "find",
          base: { passed: 4, trials: 20 },
          head: { passed: 15, trials: 20 },
          p: 0.0007,
          adjusted: 0.0041,
        },
      ],
    },
    {
      kind: "compared",
      suite: "files",
      model: "lexical",
      cases: 1,
      base: { passed: 1, trials: 1 },
      head: { passed: 1, trials: 1 },
      better: { kind: "none", p: null },
      check: {
        ...check,
        kind: "no-regression",
        basis: { kind: "drop ruled out", drop: null, look: 1, looks: 1 },
        method: "deterministic",
        net: { change: 0, interval: [0, 0], cases: 1 },
        flagged: [],
        grew: [],
        changes: [],
        calls: { base: 1, head: 1, broken: 0, saved: 0 },
        notes: [],
      },
      improved: [],
    },
    {
      kind: "refused",
      suite: "mail",
      model: "anthropic:x",
      reasons: [
        "the host profile was plain then and is codex now",
        "the harness's major version was 1 then and is 2 now",
      ],
    },
  ],
  notes: ["Only in B: mail on lexical"],
} as const satisfies Readonly<Record<keyof ComparisonReport, unknown>>;

// The literal is deeply read-only; the report takes what a program makes.
const given = structuredClone(report) as unknown as ComparisonReport;

describe("a comparison of two records", () => {
  it("says first which is better, then what that rests on", () => {
    expect(renderTerminal(comparisonDocument(given), display)).toMatchInlineSnapshot(`
      "A is better than B (two-sided p < .001) · A to B: REGRESSED · files · anthropic:x
      No difference shown · A to B: NO REGRESSION within 10 pp · files · lexical
      NOT COMPARABLE · mail · anthropic:x
        A: evals/baselines/files.lexical.json (the baseline of 2026-11-20, from the run 2026-11-20T08)
        B: 2026-11-21T09-30-00-000 (the run of 2026-11-21 09:30 UTC)
        Not interleaved: the two were recorded at different times, so a change of the model in between
          looks like a change of the wording.
        Only in B: mail on lexical

      files · anthropic:x

      Passed: A 190/198 (96%), B 173/199 (87%), in 10 cases
      1 case dropped: read-several 20/20 -> 6/20 (p < .001 against alpha = .05).
      Net change from A to B: -8.4 pp (95% CI -15.2 to -3.1 pp), mean over 10 cases; the margin is 10
        pp.

      Cases that dropped from A to B (passed/graded)
      case          A      B     p      adjusted p
      ────────────────────────────────────────────
      read-several  20/20  6/20  <.001  <.001

      Cases that improved from A to B (passed/graded)
      case  A     B      p      adjusted p
      ────────────────────────────────────
      find  4/20  15/20  <.001  .004

      Confusions that grew (of graded trials)
      expected             picked          A          B
      ───────────────────────────────────────────────────────────
      read_multiple_files  read_text_file  0/20 (0%)  13/20 (65%)

      Changes in the tool list
        read_multiple_files: description
          Read [-several files-]{+a batch of resources+} at once.
        tool_0: new tool
          {+New.+}
        tool_1: new tool
          {+New.+}
        tool_2: new tool
          {+New.+}
        tool_3: new tool
          {+New.+}
        tool_4: new tool
          {+New.+}
        … and 2 more changes

      Smallest detectable break of one case: 20/20 -> 15/20 (p = .024)
      Paired t-test (secondary): p = .041
      Broken (excluded from rates): 3 trials of the two records

      Added (not compared): rename

      files · lexical

      Passed: A 1/1 (100%), B 1/1 (100%), in 1 case
      No case that passed before fails now. The model is deterministic.
      Net change from A to B: 0 pp, mean over 1 case; the model is deterministic.

      The tool lists are the same in both, so what differs between A and B is not in them.

      Smallest detectable break of one case: 20/20 -> 15/20 (p = .024)
      Trials of the deterministic design: 1 baseline, 1 now

      mail · anthropic:x

        The host profile was plain then and is codex now
        The harness's major version was 1 then and is 2 now
      "
    `);
  });

  it.each(["mixed", "head"] as const)("has a sentence for %s", (kind) => {
    const [first] = given.comparisons;
    const comparisons = first?.kind === "compared" ? [{ ...first, better: { kind, p: 0.012 } }] : [];
    const [line] = renderTerminal(comparisonDocument({ ...given, comparisons }), { ...display, width: 200 }).split(
      "\n",
    );
    expect(line).toBe(
      {
        mixed:
          "Neither is better throughout: some cases dropped from A to B, others or the mean rose (two-sided p = .012) · A to B: REGRESSED · files · anthropic:x",
        head: "B is better than A (two-sided p = .012) · A to B: REGRESSED · files · anthropic:x",
      }[kind],
    );
  });

  it.each([60, 100])("fits %d columns", (width) => {
    const lines = renderTerminal(comparisonDocument(given), { ...display, width }).split("\n");
    for (const line of lines) expect(displayWidth(line)).toBeLessThanOrEqual(width);
  });

  it("lets nothing of what it shows move a cursor", () => {
    const base = { name: "a\u001b[2Jb", what: "x\u202ey" };
    expect(renderTerminal(comparisonDocument({ ...given, base }), display)).toContain("A: a\\x1b[2Jb (x\\u{202e}y)");
  });
});

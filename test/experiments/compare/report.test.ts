import { describe, expect, it } from "vitest";
import { displayWidth } from "../../../src/evals/base/text/display.ts";
import { type ComparisonReport, comparisonDocument } from "../../../src/evals/experiments/compare/report.ts";
import { renderTerminal } from "../../../src/evals/reports/terminal.ts";
import { checkOf } from "../../reports/checks.ts";

const display = { color: false, width: 100, unicode: true };

const check = {
  ...checkOf({ kind: "regressed", by: "cases" }),
  method: "records",
  ...{ look: 1, looks: 1, trials: 18, cap: 18, cases: 10 },
  net: { change: -0.084, interval: [-0.152, -0.031], standardError: 0.034, z: 1.76, cases: 10 },
  suite: { down: 21, up: 6, p: 0.003, level: 0.04 },
  flagged: [{ case: "read-several", base: { passed: 20, trials: 20 }, head: { passed: 6, trials: 20 }, p: 0.0000023 }],
  missing: { base: 1, head: 2, recovered: { base: 0, head: 0 }, worst: -0.09, best: -0.08 },
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
  calls: { base: 200, head: 200, ahead: 0, copies: 0, missing: 3 },
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
      better: "base",
      check,
      improved: [
        {
          case: "find",
          base: { passed: 4, trials: 20 },
          head: { passed: 15, trials: 20 },
          p: 0.0007,
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
      better: "none",
      check: {
        ...check,
        kind: "no-regression",
        by: null,
        method: "exhausted",
        missing: null,
        net: { change: 0, interval: [0, 0], standardError: 0, z: 1.76, cases: 1 },
        flagged: [],
        grew: [],
        changes: [],
        calls: { base: 1, head: 1, ahead: 0, copies: 0, missing: 0 },
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

// The literal is deeply read-only, which the parameter of the report is not.
const given = structuredClone(report) as unknown as ComparisonReport;

describe("a comparison of two records", () => {
  it("says which is better, then shows the evidence", () => {
    expect(renderTerminal(comparisonDocument(given), display)).toMatchInlineSnapshot(`
      "A is better than B · A to B: REGRESSED (read-several) · files · anthropic:x
      No difference shown · A to B: NO REGRESSION within 10 pp · files · lexical
      NOT COMPARABLE · mail · anthropic:x
        How sure: less than a check. The two were recorded at different times, so a change of the model
          in between looks like a change of the wording.
        Next: confirm it with a check, which asks both tool lists in turn: \`evals run --check on\`.
        A: evals/baselines/files.lexical.json (the baseline of 2026-11-20, from the run 2026-11-20T08)
        B: 2026-11-21T09-30-00-000 (the run of 2026-11-21 09:30 UTC)
        Only in B: mail on lexical

      files · anthropic:x

      Passed: A 190/198 (96%), B 173/199 (87%), in 10 cases
      What changed broke read-several: it passed 20 of 20 before and 6 of 20 now. No fall is shown in
        the other nine.
      Net change from A to B: -8.4 pp (95% CI -15.2 to -3.1 pp), mean over 10 cases; the margin is 10
        pp.

      Cases that dropped from A to B (passed/graded)
      case          A      B     p
      ────────────────────────────────
      read-several  20/20  6/20  <.001

      Cases that improved from A to B (passed/graded)
      case  A     B      p
      ────────────────────────
      find  4/20  15/20  <.001

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

      Sign test of the suite: 21 pairs of the two records worse, 6 better: p = .003 against .04
      Tool selection: net change 0 pp (95% CI -6 to +6 pp), mean over 3 cases
      Missing answers: 1 baseline, 2 now; net change -9 pp at worst, -8 pp at best

      Added (not compared): rename

      files · lexical

      Passed: A 1/1 (100%), B 1/1 (100%), in 1 case
      Nothing broke: every case that passed before passes now.
      Net change from A to B: 0 pp, mean over the 1 of 10 cases that can fall; the model is
        deterministic.

      The tool lists are the same in both, so what differs between A and B is not in them.

      Trials of the check: 1 baseline, 1 now

      mail · anthropic:x

        The host profile was plain then and is codex now
        The harness's major version was 1 then and is 2 now
      "
    `);
  });

  it.each(["mixed", "head"] as const)("has a sentence for %s", (kind) => {
    const [first] = given.comparisons;
    const comparisons = first?.kind === "compared" ? [{ ...first, better: kind }] : [];
    const [line] = renderTerminal(comparisonDocument({ ...given, comparisons }), { ...display, width: 200 }).split(
      "\n",
    );
    expect(line).toBe(
      {
        mixed:
          "Neither is better throughout: some cases dropped from A to B, others rose · A to B: REGRESSED (read-several) · files · anthropic:x",
        head: "B is better than A · A to B: REGRESSED (read-several) · files · anthropic:x",
      }[kind],
    );
  });

  it.each([60, 100])("fits %d columns", (width) => {
    const lines = renderTerminal(comparisonDocument(given), { ...display, width }).split("\n");
    for (const line of lines) expect(displayWidth(line)).toBeLessThanOrEqual(width);
  });

  it("escapes control characters", () => {
    const base = { name: "a\u001b[2Jb", what: "x\u202ey" };
    expect(renderTerminal(comparisonDocument({ ...given, base }), display)).toContain("A: a\\x1b[2Jb (x\\u{202e}y)");
  });
});

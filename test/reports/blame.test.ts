import { describe, expect, it } from "vitest";
import { blameDocument } from "../../src/evals/reports/blame.ts";
import { renderTerminal } from "../../src/evals/reports/terminal.ts";
import { displayWidth } from "../../src/evals/types/columns.ts";
import type { BlameReport } from "../../src/evals/verdicts/blameCases.ts";

const display = { colour: false, width: 100, unicode: true };
const wording = (tool: string, before: string, after: string) => ({
  id: tool,
  label: `${tool}: description`,
  before,
  after,
});
const changes = [
  wording("read_file", "Reads one file.", "Reads one or more files."),
  wording("read_several", "Reads several files at once.", "Reads a batch of resources at once."),
  wording("move_file", "Moves a file.", "Moves or renames a file."),
];
const calls = { search: 17, confirmation: 20, oneAtATime: 30 };

const report: BlameReport = {
  from: "the run 2026-11-21T09-30-00-000",
  suite: "files",
  model: "anthropic:x",
  deterministic: false,
  cases: [
    {
      case: "compare-two",
      input: "Compare a.txt and b.txt",
      known: { old: { passed: 19, trials: 20 }, new: { passed: 6, trials: 20 } },
      changes,
      verdict: {
        kind: "blamed",
        basis: { kind: "confirmed" },
        culprits: ["read_file", "read_several"],
        relation: "both",
        chance: 0.997,
        ranking: [{ kind: "both", changes: ["read_file", "read_several"], chance: 0.997 }],
        necessity: {
          reverted: { passed: 10, trials: 10 },
          allNew: { passed: 3, trials: 10 },
          ...{ p: 0.0015, alpha: 0.015, look: 2, confirmed: true },
        },
        calls,
      },
    },
    {
      case: "rename",
      input: "Rename a.txt to b.txt",
      known: { old: { passed: 15, trials: 20 } },
      changes,
      verdict: {
        kind: "inconclusive",
        basis: { kind: "not confirmed" },
        culprits: [],
        relation: "single",
        chance: 0.61,
        ranking: [
          { kind: "single", changes: ["move_file"], chance: 0.61 },
          { kind: "both", changes: ["move_file", "read_file"], chance: 0.2 },
        ],
        necessity: {
          reverted: { passed: 4, trials: 5 },
          allNew: { passed: 5, trials: 5 },
          ...{ p: 1, alpha: 0.01, look: 1, confirmed: false },
        },
        calls: { ...calls, confirmation: 10 },
      },
    },
    {
      case: "find",
      input: "Where is c.txt?",
      known: { old: { passed: 20, trials: 20 }, new: { passed: 1, trials: 20 } },
      changes,
      verdict: null,
    },
  ],
  stopped: "the budget is spent",
  costUsd: 0.1234,
  run: "2026-11-21T10-00-00-000",
  dir: "reports/2026-11-21T10-00-00-000",
};

describe("who is to blame", () => {
  it("names culprits first, then their wording and the test", () => {
    expect(renderTerminal(blameDocument(report), display)).toMatchInlineSnapshot(`
      "TO BLAME: read_file and read_several
        Reverting read_file and read_several fixes the case. By the search, it takes both to break it.
        Next: revert or reword what is to blame.
        Case compare-two: 19/20 with the old list, 6/20 with the new one
        "Compare a.txt and b.txt"

      The changes
        read_file: description
          Reads one [-file-]{+or more files+}.
        read_several: description
          Reads [-several files-]{+a batch of resources+} at once.

      Necessity test on fresh trials: 10/10 with it reverted, 3/10 with all new (p = .002, one-sided,
        alpha = .05 over all looks).
      3 changes; 17 trials to search, 20 to confirm. Reverting each change by itself ten times would
        have taken 30, and misses two that each suffice.

      INCONCLUSIVE
        move_file is the likeliest, but reverting it was not shown to fix the case (p = 1).
        Case rename
        "Rename a.txt to b.txt"

      Likeliest by the search: move_file (61%), move_file + read_file (20%).
      3 changes; 17 trials to search, 10 to confirm. Reverting each change by itself ten times would
        have taken 30, and misses two that each suffice.

      NOT DECIDED: find
        Case find: 20/20 with the old list, 1/20 with the new one
        "Where is c.txt?"

      Suite: files · anthropic:x, against the run 2026-11-21T09-30-00-000 · cost $0.12
      Stopped: the budget is spent. Blame again to decide (record 2026-11-21T10-00-00-000).
      Record: reports/2026-11-21T10-00-00-000
      "
    `);
  });

  it("needs no test for a deterministic model", () => {
    const [first] = report.cases;
    if (!first?.verdict) throw new Error("the sample has no verdict");
    const { necessity: _, ...verdict } = first.verdict;
    const certain: BlameReport = {
      ...report,
      model: "lexical",
      note: "a retrieval baseline, not a language model",
      deterministic: true,
      cases: [{ ...first, verdict: { ...verdict, calls: { search: 7, confirmation: 0, oneAtATime: 3 } } }],
      stopped: null,
      costUsd: 0,
    };
    expect(renderTerminal(blameDocument(certain), display)).toMatchInlineSnapshot(`
      "TO BLAME: read_file and read_several
        Reverting read_file and read_several fixes the case. By the search, it takes both to break it.
        Next: revert or reword what is to blame.
        Case compare-two: 19/20 with the old list, 6/20 with the new one
        "Compare a.txt and b.txt"

      The changes
        read_file: description
          Reads one [-file-]{+or more files+}.
        read_several: description
          Reads [-several files-]{+a batch of resources+} at once.

      3 changes; 7 trials to search, 0 to confirm. Reverting each change by itself once would have taken
        3, and misses two that each suffice.

      Suite: files · lexical (a retrieval baseline, not a language model), against the run
        2026-11-21T09-30-00-000 · cost $0
      Record: reports/2026-11-21T10-00-00-000
      "
    `);
  });

  it.each([60, 100])("fits %d columns", (width) => {
    const lines = renderTerminal(blameDocument(report), { ...display, width }).split("\n");
    for (const line of lines) expect(displayWidth(line)).toBeLessThanOrEqual(width);
  });
});

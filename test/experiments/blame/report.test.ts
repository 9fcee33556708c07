import { describe, expect, it } from "vitest";

import { blameDocument, blameJson } from "../../../src/evals/experiments/blame/report.ts";
import type { BlamedCase } from "../../../src/evals/experiments/blame/verdict.ts";
import { type BlameReport, blameReportSchema } from "../../../src/evals/experiments/blame/verdict.ts";
import { renderTerminal } from "../../../src/evals/reports/terminal.ts";

const display = { color: false, width: 100, unicode: true };
const counts = (passed: number, trials: number) => ({ passed, trials });
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

const single = (id: string): BlamedCase => ({
  ...{ case: id, kind: "blamed", because: null, descriptions: ["read_file"], relation: "single" },
  ...{ sets: [{ descriptions: ["read_file"], relation: "single", chance: 0.97 }], seen: null },
});
const asked = (id: string, verdict: BlamedCase | null) => ({
  case: id,
  input: `Query of ${id}`,
  known: { old: counts(20, 20), new: counts(6, 20) },
  changes,
  verdict,
});

const report: BlameReport = {
  ...{ run: "2026-11-21T10-00-00-000", dir: "reports/2026-11-21T10-00-00-000", suite: "files", model: "anthropic:x" },
  ...{ note: null, costUsd: 0.1234, from: "the run 2026-11-21T09-30-00-000", deterministic: false },
  cases: [asked("compare-two", single("compare-two")), asked("read-one", single("read-one"))],
  tests: [
    {
      ...{ description: "read_file", round: 1, look: 2, p: 0.0000012, level: 0.006, isConfirmed: true },
      cases: [
        { case: "compare-two", reverted: counts(12, 12), new: counts(4, 12), p: 0.0004 },
        { case: "read-one", reverted: counts(11, 12), new: counts(4, 12), p: 0.005 },
      ],
    },
  ],
  calls: { search: 22, confirmation: 48, most: 1304 },
  stopped: null,
};

/** A report of one case. */
const about = (verdict: Partial<BlamedCase>, tests: BlameReport["tests"] = []): BlameReport => ({
  ...report,
  cases: [asked("c3", { ...single("c3"), descriptions: [], ...verdict })],
  tests,
});
const print = (one: BlameReport) => {
  expect(blameReportSchema.parse(one)).toEqual(one);
  return renderTerminal(blameDocument(one), display);
};
/** The verdict, its reason and the next step. */
const brief = (verdict: Partial<BlamedCase>, tests: BlameReport["tests"] = []) =>
  print(about(verdict, tests)).split("\n\n")[0];

const test = (description: string, isConfirmed = true) => ({
  ...{ description, round: 1, look: 3, p: isConfirmed ? 0.0004 : 0.4, level: 0.009, isConfirmed },
  cases: [{ case: "c3", reverted: counts(23, 24), new: counts(isConfirmed ? 8 : 22, 24), p: 0.0004 }],
});
const sets: BlamedCase["sets"] = [
  { descriptions: ["read_file"], relation: "single", chance: 0.48 },
  { descriptions: ["read_file", "move_file"], relation: "add", chance: 0.3 },
  { descriptions: [], relation: "none", chance: 0.18 },
];

describe("the report of blame", () => {
  it("names the culprit, its wording and the tests, once per cause", async () => {
    await expect(print(report)).toMatchFileSnapshot("snapshots/blamed.txt");
  });

  it("explains how two descriptions interact, and what remains if only one is confirmed", () => {
    const both = { descriptions: ["read_file", "move_file"], relation: "or" as const };
    expect(brief(both, [test("read_file"), test("move_file")])).toMatchInlineSnapshot(`
      "BLAMED: read_file and move_file
        The change of read_file breaks c3: with it reverted, c3 passes 23 of 24 times; with it, 8 of 24.
          The change of move_file breaks c3: with it reverted, c3 passes 23 of 24 times; with it, 8 of 24.
          Either of them is enough to break it (likeliest, not tested).
        Next: revert or reword read_file and move_file."
    `);
    const inPart = about({ kind: "in-part", descriptions: ["move_file"], sets }, [
      test("read_file", false),
      test("move_file"),
    ]);
    const [verdict, , , , remains] = print(inPart).split("\n\n");
    expect(`${verdict}\n\n${remains}`).toMatchInlineSnapshot(`
      "BLAMED IN PART: move_file
        The change of move_file breaks c3: with it reverted, c3 passes 23 of 24 times; with it, 8 of 24.
          It may not be all: likeliest read_file (48%), read_file and move_file (30%), the edits together
          (18%), not tested.
        Next: revert or reword move_file, then check again.

      Suite: files · anthropic:x, against the run 2026-11-21T09-30-00-000
      Trials: 70: 22 to search, 48 to confirm, at most 1,304 · cost $0.12
      Record: reports/2026-11-21T10-00-00-000
      "
    `);
  });

  it("explains verdicts that are not settled", () => {
    expect(brief({ kind: "undecided", sets }, [test("read_file", false)])).toMatchInlineSnapshot(`
      "UNDECIDED: c3
        What broke c3 is undecided: likeliest read_file (48%), read_file and move_file (30%), the edits
          together (18%), not tested.
        Next: revert read_file, the likeliest, and check again."
    `);
    expect(brief({ kind: "undecided", because: "missing", sets: [] })).toMatchInlineSnapshot(`
      "UNDECIDED: c3
        Too many trials of c3 got no answer, so nothing can be decided.
        Next: find out why trials broke, then run it again."
    `);
    expect(
      brief({ kind: "chance", sets: [{ descriptions: [], relation: "none", chance: 0.96 }] }),
    ).toMatchInlineSnapshot(`
      "NOTHING TO BLAME: c3
        Most likely no change or pair of changes broke c3 by itself. Its fall in the check is larger
          than chance, so the edits together may have (not tested).
        Next: check again; if it still falls, revert half of the changes, or look at what else changed."
    `);
    expect(brief({ kind: "nothing", because: "no-drop", sets: [] })).toMatchInlineSnapshot(`
      "NOTHING TO EXPLAIN: c3
        c3 did not drop.
        Next: nothing to do."
    `);
    expect(brief({ kind: "nothing", because: "unchanged", sets: [] })).toContain(
      "Nothing changed in the tool list of c3.",
    );
  });

  it("needs no test for a deterministic model", () => {
    const seen = { reverted: ["read_file"], breaking: ["read_file", "read_several"] };
    const certain: BlameReport = {
      ...about({ descriptions: ["read_file", "read_several"], relation: "and", seen }),
      model: "lexical",
      note: "a retrieval baseline, not a language model",
      deterministic: true,
      calls: { search: 7, confirmation: 0, most: 23 },
      costUsd: 0,
    };
    const [verdict, , , suite] = print(certain).split("\n\n");
    expect(`${verdict}\n\n${suite}`).toMatchInlineSnapshot(`
      "BLAMED: read_file and read_several
        Reverting read_file repairs c3, and read_file and read_several together break it. The model is
          deterministic, so this is certain.
        Next: revert or reword read_file and read_several.

      Suite: files · lexical (a retrieval baseline, not a language model), against the run
        2026-11-21T09-30-00-000
      Trials: 7, at most 23 · cost $0
      Record: reports/2026-11-21T10-00-00-000
      "
    `);
    expect(brief({ kind: "nothing", because: "fails-old", sets: [] })).toMatchInlineSnapshot(`
      "NOTHING TO EXPLAIN: c3
        c3 fails with the old list, too, so no change of the list broke it.
        Next: look at what changed besides the tool list: the model, the server's answers, the case."
    `);
    expect(brief({ kind: "nothing", because: "passes-new", sets: [] })).toContain("c3 passes with everything new.");
  });

  it("says how to resume a stopped search", () => {
    const stopped = { ...report, cases: [asked("find", null)], tests: [], stopped: "the budget is spent" };
    const [verdict, , end] = print(stopped).split("\n\n");
    expect(verdict).toMatchInlineSnapshot(`
      "NOT DECIDED: find
        The search for what broke find was stopped.
        Next: finish it with \`evals blame --resume 2026-11-21T10-00-00-000\`."
    `);
    expect(end).toContain("\nStopped: the budget is spent\n");
  });

  it("has the verdict in words in the JSON", () => {
    expect(blameJson(report).cases[0]).toMatchObject({ headline: "BLAMED: read_file", verdict: { kind: "blamed" } });
  });
});

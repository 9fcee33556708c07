import { describe, expect, it } from "vitest";
import { blameDocument, blameJson } from "../../../src/evals/experiments/blame/report.ts";
import type { BlamedCase } from "../../../src/evals/experiments/blame/verdict.ts";
import { type BlameReport, blameReportSchema } from "../../../src/evals/experiments/blame/verdict.ts";
import { renderTerminal } from "../../../src/evals/reports/terminal.ts";
import { sections } from "../../fakes/text.ts";

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

  it("says what each verdict came to, and what to do", async () => {
    const both = { descriptions: ["read_file", "move_file"], relation: "or" as const };
    const inPart = { kind: "in-part" as const, descriptions: ["move_file"], sets };
    const seen = { reverted: ["read_file"], breaking: ["read_file", "read_several"] };
    const certain: BlameReport = {
      ...about({ descriptions: ["read_file", "read_several"], relation: "and", seen }),
      ...{ model: "lexical", note: "a retrieval baseline, not a language model", deterministic: true },
      ...{ calls: { search: 7, confirmation: 0, most: 23 }, costUsd: 0 },
    };
    const stopped = { ...report, cases: [asked("find", null)], tests: [], stopped: "the budget is spent" };
    await expect(
      sections({
        "two descriptions": brief(both, [test("read_file"), test("move_file")]),
        "one of two confirmed": print(about(inPart, [test("read_file", false), test("move_file")])),
        "two that break it together, of a deterministic model": print(certain),
        undecided: brief({ kind: "undecided", sets }, [test("read_file", false)]),
        "too few answers": brief({ kind: "undecided", because: "missing", sets: [] }),
        chance: brief({ kind: "chance", sets: [{ descriptions: [], relation: "none", chance: 0.96 }] }),
        "no drop": brief({ kind: "nothing", because: "no-drop", sets: [] }),
        "nothing changed": brief({ kind: "nothing", because: "unchanged", sets: [] }),
        "fails with the old list, too": brief({ kind: "nothing", because: "fails-old", sets: [] }),
        "passes with everything new": brief({ kind: "nothing", because: "passes-new", sets: [] }),
        "a stopped search": print(stopped),
      }),
    ).toMatchFileSnapshot("snapshots/verdicts.txt");
  });

  it("has the verdict in words in the JSON", () => {
    expect(blameJson(report).cases[0]).toMatchObject({ headline: "BLAMED: read_file", verdict: { kind: "blamed" } });
  });
});

import { describe, expect, it, test } from "vitest";
import type { Opinion } from "../../../src/evals/asking/scoring/judge.ts";

import {
  type JudgeCheckSummary,
  judgeDocument,
  summarizeJudgeCheck,
} from "../../../src/evals/experiments/judge/report.ts";
import { judgeSentence } from "../../../src/evals/experiments/workspace/judgeFigure.ts";
import { renderTerminal } from "../../../src/evals/reports/terminal.ts";

test("the disagreements that do the most harm come first, those of one kind by line", () => {
  const pairs: [human: Opinion, judge: Opinion][] = [
    ["met", "cannot tell"],
    ["cannot tell", "not met"],
    ["met", "not met"],
    ["met", "met"],
    ["cannot tell", "met"],
    ["not met", "met"],
    ["not met", "met"],
  ];
  const judged = pairs.map(([human, judge], at) => {
    return { id: `${at}`, line: at + 1, criterion: "names the files", human, judge, why: null, evidence: null };
  });
  const facts = { judge: "j", prompt: "p", labels: { file: "f", sha256: "s", count: 7 }, minKappa: null, costUsd: 0 };
  const { disagreements } = summarizeJudgeCheck(judged, { ...facts, stopped: undefined });
  expect(disagreements.map(({ line }) => line)).toEqual([6, 7, 5, 3, 2, 1]);
});

const display = { color: false, width: 100, unicode: true };

const measured: JudgeCheckSummary = {
  judge: "anthropic:claude-opus-5-5",
  prompt: "0123456789abcdef",
  labels: { file: "evals/labels.jsonl", sha256: "ab", count: 50 },
  counts: {
    met: { met: 27, "not met": 1, "cannot tell": 0 },
    "not met": { met: 1, "not met": 19, "cannot tell": 1 },
    "cannot tell": { met: 0, "not met": 0, "cannot tell": 1 },
  },
  agreed: { n: 47, of: 50, interval: [0.8378, 0.9794] },
  kappa: { value: 0.8846, interval: [0.7601, 1] },
  falsePasses: { n: 1, of: 21, interval: [0.0085, 0.2267] },
  falseFails: { n: 1, of: 28, interval: [0.0063, 0.177] },
  cannotTell: { n: 2, of: 50, interval: [0.011, 0.1346] },
  stopped: false,
  minKappa: null,
  disagreements: [
    {
      ...{ id: "late-question", line: 12, criterion: "asks for a target size before it starts", human: "not met" },
      ...{ judge: "met", why: null, evidence: "Done. Which size\ndo you want next time?" },
    },
    {
      ...{ id: "line 30", line: 30, criterion: "names the files", human: "met", judge: "not met" },
      ...{ why: "the judge: It names none.", evidence: "Done." },
    },
    {
      ...{ id: "line 44", line: 44, criterion: "keeps the originals", human: "not met", judge: "cannot tell" },
      ...{ why: "the judge quoted what is not in the transcript", evidence: null },
    },
  ],
  broken: [],
  costUsd: 0.1234,
  written: "evals/judges/anthropic-claude-opus-5-5.json",
  exitCode: 0,
};

describe("the report of a judge", () => {
  it("renders a fully answered check", async () => {
    await expect(renderTerminal(judgeDocument(measured), display)).toMatchFileSnapshot("snapshots/measured.txt");
  });

  it("renders a check without any answer", () => {
    const none = { n: 0, of: 0, interval: null };
    const broken = Array.from({ length: 7 }, (_, at) => ({ id: `line ${at + 1}`, line: at + 1, why: "it hangs" }));
    const nothing = {
      ...{ agreed: none, falsePasses: none, falseFails: none, cannotTell: none, kappa: null },
      ...{ broken, disagreements: [], written: null, exitCode: 3 },
    };
    const printed = renderTerminal(judgeDocument({ ...measured, ...nothing }), display);
    expect(printed).toContain(
      "NOT MEASURED: no label was answered\n  No figure was written, because not every label was answered.\n",
    );
    expect(printed).toContain("  line 5: it hangs\n  … and 2 more broken labels\n");
    expect(printed).not.toContain("False passes");
    expect(renderTerminal(judgeDocument({ ...measured, ...nothing, stopped: true }), display)).toMatch(
      /^STOPPED before a label was answered\n/,
    );
  });

  it.each<[string, Partial<JudgeCheckSummary>, string]>([
    ["below the gate", { minKappa: 0.9, exitCode: 1 }, "BELOW kappa 0.90: agrees with people on 47 of 50"],
    ["at the gate", { minKappa: 0.8 }, "MEASURED: agrees with people on 47 of 50"],
    ["not defined", { kappa: null, minKappa: 0, exitCode: 1 }, "BELOW kappa 0.00: agrees with people on 47 of 50"],
    ["stopped", { stopped: true, exitCode: 130 }, "STOPPED: agrees with people on 47 of 50"],
    [
      "broken",
      { broken: [{ id: "a", line: 1, why: "it hangs" }], minKappa: 0.9, exitCode: 3 },
      "INCOMPLETE: agrees with people on 47 of 50",
    ],
  ])("begins with what it came to: %s", (_, changes, start) => {
    expect(renderTerminal(judgeDocument({ ...measured, ...changes }), display).startsWith(start)).toBe(true);
  });

  it("explains an undefined kappa", () => {
    const headline = (kappa: JudgeCheckSummary["kappa"]) =>
      renderTerminal(judgeDocument({ ...measured, kappa }), { ...display, width: 200 }).split("\n", 1)[0];
    expect(headline(null)).toMatch(/, kappa not defined \(only one answer was ever given\)$/);
    expect(headline({ value: 1, interval: null })).toMatch(/ kappa 1.00 \(no CI: no disagreement\)$/);
  });
});

it("is one sentence in reports of runs", () => {
  expect(judgeSentence(measured.judge, measured)).toBe(
    "judge anthropic:claude-opus-5-5: agreed with people on 47 of 50 labels (kappa 0.88), 1 false pass",
  );
  expect(judgeSentence("j", { ...measured, kappa: null, falsePasses: { n: 0, of: 3, interval: null } })).toBe(
    "judge j: agreed with people on 47 of 50 labels (kappa not defined), 0 false passes",
  );
});

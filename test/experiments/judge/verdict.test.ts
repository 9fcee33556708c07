import { expect, test } from "vitest";
import type { Opinion } from "../../../src/evals/asking/scoring/judge.ts";
import { summarizeJudgeCheck } from "../../../src/evals/experiments/judge/verdict.ts";

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

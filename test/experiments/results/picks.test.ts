import { expect, it } from "vitest";
import type { Score } from "../../../src/evals/base/types/trial.ts";
import { ConfusionGrowth } from "../../../src/evals/experiments/results/picks.ts";
import { aTrial, passed } from "../../fakes/record.ts";

it("lists substitutions that got more frequent, apart from confusions", () => {
  const growth = new ConfusionGrowth("base", "head");
  const substituted: Score = { ...passed, picked: "list", substituted: ["list"] };
  const missed: Score = { ...passed, grade: "fail", selection: "wrong-tool", picked: "list" };
  const add = (arm: string, ...verdicts: Score[]) => {
    for (const [at, verdict] of verdicts.entries()) {
      const trial = aTrial("a", at + 1, { verdict });
      growth.add({ ...trial, cell: { ...trial.cell, arm } });
    }
  };
  add("base", passed, passed, passed, substituted);
  add("head", substituted, substituted, missed, passed);
  const counts = (base: number, head: number) => ({
    base: { passed: base, trials: 4 },
    head: { passed: head, trials: 4 },
  });
  expect(growth.pairs()).toEqual([
    { expected: "read", picked: "list", acceptable: true, ...counts(1, 2) },
    { expected: "read", picked: "list", ...counts(0, 1) },
  ]);
});

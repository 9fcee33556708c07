import { describe, expect, it } from "vitest";
import { countCases, countTrials, EvidenceBook, madeTrials, stillMissing } from "../../src/evals/verdicts/design.ts";
import { evidenceOf } from "./support.ts";

const evidence = evidenceOf({ a: { base: "ppfb-p", head: "bb" } });

describe("evidence", () => {
  it("counts scored trials only, and only those of the span", () => {
    expect(countTrials(evidence, "a", "base")).toEqual({ passed: 3, trials: 4 });
    expect(countTrials(evidence, "a", "base", { from: 2, to: 3 })).toEqual({ passed: 1, trials: 2 });
    expect(countCases(evidence, ["a", "unknown"], ["base", "head"])).toEqual([
      { case: "a", base: { passed: 3, trials: 4 }, head: { passed: 0, trials: 0 } },
      { case: "unknown", base: { passed: 0, trials: 0 }, head: { passed: 0, trials: 0 } },
    ]);
  });

  it("counts broken trials as made", () => {
    expect(madeTrials(evidence, ["a"], "base")).toEqual({ made: 5, broken: 1 });
  });

  it("asks for a hole, not for a broken trial", () => {
    const request = (from: number, trials: number) => ({ case: "a", arm: "base", from, trials });
    expect(stillMissing(evidence, [request(1, 4)])).toEqual([]);
    expect(stillMissing(evidence, [request(1, 5), request(6, 6)])).toEqual([request(1, 5)]);
  });

  it("does not depend on the order in which trials arrive", () => {
    const book = new EvidenceBook();
    book.add("a", "base", 3, "fail");
    book.add("a", "base", 1, "pass");
    expect(countTrials(book.evidence, "a", "base")).toEqual({ passed: 1, trials: 2 });
    expect(stillMissing(book.evidence, [{ case: "a", arm: "base", from: 1, trials: 3 }])).toHaveLength(1);
  });
});

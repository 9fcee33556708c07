import { describe, expect, it } from "vitest";
import { TrialRecord } from "../../../src/evals/asking/trials/design.ts";
import type { JsonObject } from "../../../src/evals/base/types/json.ts";
import type { Broken, Score, Trial } from "../../../src/evals/base/types/trial.ts";
import { addTrial, hashAnswer, readObservation } from "../../../src/evals/experiments/design/observe.ts";
import { turn } from "../../fakes/model.ts";
import { aTrial, passed } from "../../fakes/record.ts";

const failed = (selection: Score["selection"]): Score => ({ ...passed, grade: "fail", selection });
const broken = (stage: Broken["stage"]): Partial<Trial> => ({
  outcome: { kind: "broken", stage, message: "it broke" },
  turns: [],
});

describe("readObservation", () => {
  it.each<[string, Partial<Trial>, string | undefined]>([
    ["a pass", {}, "pass"],
    ["a wrong pick", { verdict: failed("wrong-tool") }, "fail"],
    ["a reply that was cut off", { verdict: failed("cut-off") }, "fail"],
    ["a refusal", { verdict: failed("refused") }, "fail"],
    ["the right tool with malformed arguments", { verdict: failed("malformed-arguments") }, "selected"],
    ["an error of the provider", broken("model"), "missing"],
    ["a time-out", broken("timeout"), "missing"],
    ["a dead server", broken("server"), "missing"],
    ["a judge without an answer", { verdict: { ...passed, grade: "not-gradable", reason: "no judge" } }, "missing"],
    ["a wrong text where no call is expected", { verdict: { ...failed("abstained"), expected: "(none)" } }, "selected"],
    ["a call where none is expected", { verdict: { ...failed("over-triggered"), expected: "(none)" } }, "fail"],
    ["a repeated reply", { copy: true }, "copy"],
    ["an interruption", broken("cancelled"), undefined],
    ["the end of the budget", broken("budget"), undefined],
  ])("%s", (_, changes, observation) => {
    expect(readObservation(aTrial("a", 1, changes))).toBe(observation);
  });
});

describe("hashAnswer", () => {
  it("is the same for the same text and calls, in whatever order their arguments are written", () => {
    const answer = (args: JsonObject, text = "") => hashAnswer(aTrial("a", 1, { turns: [turn(text, ["read", args])] }));
    expect(answer({ a: 1, b: 2 }, "I read.")).toBe(answer({ b: 2, a: 1 }, "I read."));
    expect(answer({ a: 1 }, "I read.")).not.toBe(answer({ a: 1 }, "I will read."));
    expect(answer({ a: 1 })).not.toBe(answer({ a: 2 }));
    expect(answer({ a: 1 })).not.toBe(hashAnswer(aTrial("a", 1, { turns: [turn("")] })));
  });
});

describe("addTrial", () => {
  it("fills the record from the lines of a journal, attempts included", () => {
    const record = new TrialRecord();
    const line = (trial: number, changes: Partial<Trial>) => addTrial(record, aTrial("a", trial, changes));
    line(1, broken("timeout"));
    line(2, { copy: true });
    line(1, {});
    line(2, broken("cancelled"));
    expect(record.answers("a", "head")).toEqual(["pass"]);
    expect(record.recovered("a", "head")).toEqual(new Set([1]));
    expect(record.attempts("a", "head", 2)).toBe(1);
    expect(record.paid("a", "head")).toEqual({ calls: 3, copies: 1, missing: 1 });
  });
});

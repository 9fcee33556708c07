import { describe, expect, it } from "vitest";
import { boundTokens, trialSchema } from "../../../src/evals/base/types/trial.ts";
import { aTrial } from "../../fakes/record.ts";

describe("amounts that a sum could not hold", () => {
  const [turn] = aTrial("c", 1).turns;
  if (!turn) throw new Error("there is no turn");

  it.each([
    ["a cost", { costUsd: 1e308 }],
    ["the cost of a judge", { judging: { model: "m", usage: turn.usage, costUsd: 1e308, ms: 1 } }],
    ["a reserved cost", { turns: [{ ...turn, reservedUsd: 1e308 }] }],
    ["tokens", { turns: [{ ...turn, usage: { ...turn.usage, outputTokens: 1e308 } }] }],
    ["tokens of replies that could not be used", { lost: { ...turn.usage, inputTokens: 1e308 } }],
  ])("are refused in a record: %s", (_, changes) => {
    expect(trialSchema.safeParse(aTrial("c", 1)).success).toBe(true);
    expect(trialSchema.safeParse(aTrial("c", 1, changes)).success).toBe(false);
  });

  it("are bounded where a service reports them", () => {
    expect([-5, 0, 7, 1e308].map(boundTokens)).toEqual([0, 0, 7, 1e12]);
  });
});

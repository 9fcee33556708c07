import { expect, it } from "vitest";
import type { Call, Trial, Turn } from "../../../src/evals/base/types/trial.ts";
import { DenialTally } from "../../../src/evals/experiments/results/denials.ts";
import { aTrial } from "../../fakes/record.ts";

const denied = (tool: string, args = {}): Call => ({
  ...{ id: tool, tool, arguments: args },
  execution: { status: "skipped", reason: "no", denied: true },
});
const done = (tool: string): Call => ({
  ...{ id: tool, tool, arguments: {} },
  execution: { status: "executed", result: { isError: false, content: [] }, ms: 1 },
});
const search: Call = { ...done("find_tools"), role: "search" };

function tally(...trials: Call[][][]) {
  const counts = new DenialTally();
  for (const [at, replies] of trials.entries()) {
    const { turns } = aTrial("a", at + 1);
    const turn = turns[0] as Turn;
    const trial: Partial<Trial> = { turns: replies.map((calls) => ({ ...turn, calls })) };
    counts.add(aTrial("a", at + 1, trial));
  }
  return counts.summary();
}

it("says nothing where no call was denied, nor of calls that were skipped for another reason", () => {
  const unknown: Call = { id: "x", tool: "x", execution: { status: "skipped", reason: "there is no tool x" } };
  expect(tally([[done("read")], []], [[unknown], []])).toBeUndefined();
});

it("reads the reply after the first denial", () => {
  const summary = tally(
    [[denied("read", { a: 1 })], [denied("read", { a: 1 })], []],
    [[denied("read", { a: 1 })], [denied("read", { a: 2 })]],
    [[denied("read")], [search], [done("list")]],
    [[denied("read")], []],
    [[denied("read")]],
  );
  expect(summary).toEqual({
    ...{ calls: 7, trials: 5, retries: 2 },
    next: { sameCall: 1, otherArguments: 1, otherTool: 1, noCall: 1, ended: 1 },
  });
});

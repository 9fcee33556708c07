import { expect, it } from "vitest";
import { improveDocument } from "../../../src/evals/experiments/improve/report.ts";
import {
  type ImproveSummary,
  improveSummarySchema,
  toOutcome,
} from "../../../src/evals/experiments/improve/verdict.ts";
import { variantVerdictSchema } from "../../../src/evals/experiments/variants/verdict.ts";
import { renderTerminal } from "../../../src/evals/reports/terminal.ts";

const rated = (challenger: string, rate: number) => ({ challenger, rate });
const proposal = (name: string, refused: string | null = null) => ({
  ...{ name, by: "anthropic:writer", variant: { read: "Reads." }, refused },
});
const loop = { room: ["open-notes", "open-bills"], rounds: [], best: null, proof: null };
const setup = {
  ...{ train: ["open-notes", "open-bills", "list"], heldOut: ["a", "b", "c", "d", "e"], siblings: () => [] },
  ...{ seed: 1, rounds: 2, isDeterministic: false },
};
const summary: ImproveSummary = {
  search: {
    ...{ train: setup.train, heldOut: setup.heldOut },
    recorded: 6,
    room: loop.room,
    writer: { model: "anthropic:writer", prompt: "0123456789abcdef" },
    rounds: [
      {
        proposals: [proposal("wording-1.1"), proposal("wording-1.2", "It changes nothing."), proposal("wording-1.3")],
        costUsd: 0.12,
        screening: [
          [rated("incumbent", 0.5), rated("wording-1.1", 0.5), rated("wording-1.3", 0.2)],
          [rated("incumbent", 0.55), rated("wording-1.1", 0.45)],
        ],
      },
      { proposals: [], costUsd: 0.1, problem: "The writer did not answer: the request timed out.", screening: [] },
    ],
  },
  proof: {
    ...{ run: "run-1", dir: "/home/me/reports/run-1", suite: "files", model: "anthropic:x", note: null, costUsd: 1.5 },
    ...{ margin: 0.1, cases: 5, notAsked: [], placebo: null, best: null, kind: "keep", winner: null, exitCode: 0 },
    wordings: [{ name: "incumbent", passed: 88, trials: 100, screened: null, tokens: 500 }],
    calls: { made: 420, missing: 0, most: 9000 },
    method: "sampled",
    verdict: variantVerdictSchema.parse(toOutcome(loop, setup).verdict),
  },
};

it("tells what was searched and refused, and why nothing was tested", async () => {
  expect(improveSummarySchema.parse(summary)).toEqual(summary);
  await expect(
    renderTerminal(improveDocument(summary), { width: 100, color: false, unicode: true }),
  ).toMatchFileSnapshot("snapshots/improved.txt");
});

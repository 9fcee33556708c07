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
    wordings: [{ name: "incumbent", passed: 88, trials: 100, screened: null, size: { kind: "tokens", mean: 500 } }],
    calls: { made: 420, missing: 0, most: 9000 },
    method: "sampled",
    verdict: variantVerdictSchema.parse(toOutcome(loop, setup, 420).verdict),
  },
};

it("tells what was searched and refused, and why nothing was tested", () => {
  expect(improveSummarySchema.parse(summary)).toEqual(summary);
  expect(renderTerminal(improveDocument(summary), { width: 100, color: false, unicode: true })).toMatchInlineSnapshot(`
    "KEEP the current wording
      No proposal that could be asked passed more often than the current wording on the train cases,
        so none was tested.
      Next: leave the wording as it is.

    files · anthropic:x · 1 wording, 5 cases
    wording    mean of the gain test  prompt tokens
    ───────────────────────────────────────────────
    incumbent  -                      500

    Search, round 1 of 2 (3 proposals)
    wording      train cases passed  halvings reached
    ─────────────────────────────────────────────────
    wording-1.1  45%                 2 of 2
    wording-1.3  20%                 1 of 2
    incumbent    55%                 2 of 2

    Refused before any call
      wording-1.2: It changes nothing.

    Refused before any call
      The writer did not answer: the request timed out.

    Split: 3 train, 5 held out; 2 not recorded in the suite, and split by their ids
    Train cases with room: open-notes, open-bills
    Proposals by: anthropic:writer, cost $0.22, prompt 0123456789ab
    Error rate: at most 5% of searches adopt a wording that is no better: one is tested, on cases that
      the search never asked
    Trials: 420 · cost $1.50
    Record: /home/me/reports/run-1
    "
  `);
});

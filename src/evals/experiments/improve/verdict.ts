import * as z from "zod";
import { costSchema } from "../../base/types/trial.ts";
import { variantSchema } from "../../servers/overlay.ts";
import {
  type CertainVariantVerdict,
  type Outcome,
  screeningSchema,
  startFigures,
  variantsSummarySchema,
} from "../variants/verdict.ts";
import type { LoopSetup, LoopVerdict } from "./design.ts";

/** One wording that was proposed, and why it was not asked, if so. `by`: the model, or the file. */
const proposalSchema = z.object({
  name: z.string(),
  by: z.string(),
  variant: variantSchema,
  refused: z.string().nullable(),
});
export type Proposal = z.infer<typeof proposalSchema>;

/**
 * The proposals of one round. `problem`: why the writer gave none, or too few. All are recorded before any is asked.
 */
export const proposalRoundSchema = z.object({
  proposals: z.array(proposalSchema),
  costUsd: costSchema,
  problem: z.string().optional(),
});
export type ProposalRound = z.infer<typeof proposalRoundSchema>;

const searchSchema = z.object({
  train: z.array(z.string()),
  heldOut: z.array(z.string()),
  recorded: z.int().nonnegative().describe("cases whose split is in their file; the others follow from their ids"),
  room: z
    .array(z.string())
    .nullable()
    .describe("the train cases that the current wording fails at times; null if the search was stopped"),
  writer: z.object({ model: z.string(), prompt: z.string().describe("its SHA-256") }).nullable(),
  rounds: z.array(proposalRoundSchema.extend({ screening: screeningSchema })),
});

/** The result of `evals improve`: what was searched, and the test of its best proposal. */
export const improveSummarySchema = z.object({ search: searchSchema, proof: variantsSummarySchema });
export type ImproveSummary = z.infer<typeof improveSummarySchema>;

/** The outcome of a loop in the form of a test of variants; without a proposal to test, why none was tested. */
export function toOutcome({ room, proof }: LoopVerdict, setup: LoopSetup): Outcome {
  if (proof) return proof;
  const certain: CertainVariantVerdict = { kind: "keep", because: "no-gain", tests: [] };
  if (setup.isDeterministic) return { method: "deterministic", verdict: certain };
  const because = room.length === 0 ? ("no-room" as const) : ("no-candidate" as const);
  const figures = startFigures(setup.heldOut.length, setup.margin);
  return { method: "sampled", verdict: { kind: "keep", because, broken: [], ...figures } };
}

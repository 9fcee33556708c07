import * as z from "zod";
import { costSchema } from "../../base/types/trial.ts";
import { variantSchema } from "../../base/types/variants.ts";
import { type CertainVariantVerdict, type Outcome, variantsSummarySchema } from "../variants/verdict.ts";
import type { LoopVerdict } from "./design.ts";

/** One wording that was proposed, and why it was not asked, if so. `by`: the model, or the file. */
const proposalSchema = z.object({
  name: z.string(),
  by: z.string(),
  variant: variantSchema,
  refused: z.string().nullable(),
});
export type Proposal = z.infer<typeof proposalSchema>;

/** The proposals of one round. `problem`: why the writer gave none. They are on the record before any is asked. */
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
  room: z.array(z.string()).describe("the train cases that the current wording fails at times"),
  writer: z.object({ model: z.string(), prompt: z.string().describe("its SHA-256") }).nullable(),
  rounds: z.array(
    proposalRoundSchema.extend({
      screening: z.array(z.array(z.object({ challenger: z.string(), rate: z.number() }))),
    }),
  ),
});

/** The result of `evals improve`: what was searched, and the test of its best proposal. */
export const improveSummarySchema = z.object({ search: searchSchema, proof: variantsSummarySchema });
export type ImproveSummary = z.infer<typeof improveSummarySchema>;

/** The outcome of a loop in the form of a test of variants; without a proposal to test, why none was tested. */
export function toOutcome(
  { room, proof }: LoopVerdict,
  cases: number,
  margin: number,
  method: Outcome["method"],
): Outcome {
  if (proof) return proof;
  const certain: CertainVariantVerdict = { kind: "keep", because: "no-gain", tests: [] };
  if (method === "deterministic") return { method, verdict: certain };
  const figures = { gain: null, change: null, certificates: [], screening: [], room: [], cases, margin };
  const because = room.length === 0 ? ("no-room" as const) : ("no-candidate" as const);
  const calls = { room: 0, screening: 0, test: 0, most: 0 };
  return { method, verdict: { kind: "keep", because, broken: [], ...figures, calls } };
}

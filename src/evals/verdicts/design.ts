import * as z from "zod";
import type { Counts } from "../stats/counts.ts";
import { costSchema } from "../types/trial.ts";

/** Where an experiment lies and what it asked: the beginning of every summary. */
export const experimentFacts = {
  run: z.string(),
  dir: z.string(),
  suite: z.string(),
  model: z.string(),
  note: z.string().nullable(),
  costUsd: costSchema,
};
const factsSchema = z.object(experimentFacts);
export type ExperimentFacts = z.infer<typeof factsSchema>;

/** The counts of two samples of the same thing together. */
export function pool(a: Counts, b: Counts): Counts {
  return { passed: a.passed + b.passed, trials: a.trials + b.trials };
}

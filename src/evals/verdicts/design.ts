import * as z from "zod";
import type { Counts } from "../stats/counts.ts";
import { costSchema } from "../types/trial.ts";

/** The common fields of all summaries of experiments: where the record is and what was run. */
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

/** Adds up the counts of two samples. */
export function pool(a: Counts, b: Counts): Counts {
  return { passed: a.passed + b.passed, trials: a.trials + b.trials };
}

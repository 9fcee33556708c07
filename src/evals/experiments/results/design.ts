import * as z from "zod";
import { costSchema } from "../../base/types/trial.ts";

/** The common fields of all summaries of experiments: where the record is and what was run. */
export const experimentFacts = {
  run: z.string(),
  dir: z.string(),
  suite: z.string(),
  model: z.string(),
  note: z.string().nullable(),
  costUsd: costSchema,
};
export type ExperimentFacts = z.infer<z.ZodObject<typeof experimentFacts>>;

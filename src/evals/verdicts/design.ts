import type { CaseCounts, Counts } from "../stats/counts.ts";
import type { Cost } from "../types/trial.ts";

/** Where an experiment lies and what it asked: the beginning of every summary. */
export type ExperimentFacts = {
  run: string;
  dir: string;
  suite: string;
  model: string;
  note: string | null;
  costUsd: Cost;
};

/** The passes of a case in both arms, with its id. */
export type NamedCounts = CaseCounts & { case: string };

/** The counts of two samples of the same thing together. */
export function pool(a: Counts, b: Counts): Counts {
  return { passed: a.passed + b.passed, trials: a.trials + b.trials };
}

import type { Cost } from "../types/trial.ts";

/** What one trial came to. `broken`: there is no answer to score (or it could not be graded); it leaves the denominator. */
export type Observation = "pass" | "fail" | "broken";

/** The record as a design sees it: case id -> arm name -> observations, trial number t at index t - 1, holes for not asked. */
export type Evidence = ReadonlyMap<string, ReadonlyMap<string, readonly (Observation | undefined)[]>>;

/** Trials to make: of this case and arm, every one numbered `from` to `trials`, both included, that is not on the record. */
export type Request = { case: string; arm: string; from: number; trials: number };

/** What to do next: make these trials (interleaved over cases and arms), or stop with the verdict. `look` counts from 1. */
export type Step<V> = { kind: "ask"; requests: readonly Request[]; look: number } | { kind: "decided"; verdict: V };

/**
 * A sequential design: a pure function of the record. It goes through its looks from the first one, each using only the
 * trials that belong to it, and asks for what a look is missing. Resuming a run and replaying a record therefore need
 * nothing but the record. `cap` is the most trials that it can ask for, over all cases and arms.
 */
export type Design<V> = { cap: number; next(evidence: Evidence): Step<V> };

/** One interim analysis: `trials` per case and arm, and the share of the one-sided error rate that it may spend. */
export type Look = { trials: number; alpha: number };

/** The arms of a regression check: base is the list as it stood at the baseline, head as it stands now. */
export const regressionArms = ["base", "head"] as const;

/** The arm of the wording in use, against which variants are tested. */
export const incumbent = "incumbent";

/** Where an experiment lies and what it asked: the beginning of every summary. */
export type ExperimentFacts = {
  run: string;
  dir: string;
  suite: string;
  model: string;
  note: string | null;
  costUsd: Cost;
};

import type { CaseCounts, Counts } from "../stats/counts.ts";
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

/** The passes of a case in both arms, with its id. */
export type NamedCounts = CaseCounts & { case: string };

/** Trials by number, both ends included. */
export type TrialRange = { from: number; to: number };

/** Builds the evidence of a run, one trial at a time, in any order. A trial that is added again replaces the first. */
export class EvidenceBook {
  readonly #cases = new Map<string, Map<string, (Observation | undefined)[]>>();

  get evidence(): Evidence {
    return this.#cases;
  }

  /** `trial` counts from 1. */
  add(id: string, arm: string, trial: number, observation: Observation): void {
    const arms = this.#cases.get(id) ?? new Map<string, (Observation | undefined)[]>();
    this.#cases.set(id, arms);
    const list = arms.get(arm) ?? [];
    arms.set(arm, list);
    list[trial - 1] = observation;
  }
}

/** The passes and the scored trials of one case in one arm; only of the trials in the span, when one is given. */
export function countTrials(evidence: Evidence, id: string, arm: string, span?: TrialRange): Counts {
  const list = evidence.get(id)?.get(arm) ?? [];
  const counts = { passed: 0, trials: 0 };
  for (let t = span?.from ?? 1; t <= Math.min(span?.to ?? list.length, list.length); t++) {
    const observation = list[t - 1];
    if (observation === "pass") counts.passed++;
    if (observation === "pass" || observation === "fail") counts.trials++;
  }
  return counts;
}

/** The passes of these cases in two arms, only of the trials in the span. */
export function countCases(
  evidence: Evidence,
  ids: readonly string[],
  [base, head]: readonly [string, string],
  span?: TrialRange,
): NamedCounts[] {
  return ids.map((id) => ({
    case: id,
    base: countTrials(evidence, id, base, span),
    head: countTrials(evidence, id, head, span),
  }));
}

/** Trials on the record, broken ones included: what was paid for. */
export function madeTrials(evidence: Evidence, ids: readonly string[], arm: string): { made: number; broken: number } {
  const all = ids.flatMap((id) => [...(evidence.get(id)?.get(arm) ?? [])]);
  return { made: all.filter((one) => one !== undefined).length, broken: all.filter((one) => one === "broken").length };
}

/** The requests of which at least one trial is not on the record. */
export function stillMissing(evidence: Evidence, requests: readonly Request[]): Request[] {
  return requests.filter(({ case: id, arm, from, trials }) => {
    const list = evidence.get(id)?.get(arm) ?? [];
    for (let t = from; t <= trials; t++) if (list[t - 1] === undefined) return true;
    return false;
  });
}

/** Requests for these trials of every case in every arm. */
export function requestAll(ids: readonly string[], arms: readonly string[], { from, to }: TrialRange): Request[] {
  return ids.flatMap((id) => arms.map((arm) => ({ case: id, arm, from, trials: to })));
}

/** The counts of two samples of the same thing together. */
export function pool(a: Counts, b: Counts): Counts {
  return { passed: a.passed + b.passed, trials: a.trials + b.trials };
}

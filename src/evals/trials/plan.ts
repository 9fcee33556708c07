import { deriveSeed } from "../stats/random.ts";
import type { Model } from "../types/model.ts";
import type { Case, Suite } from "../types/suite.ts";
import type { Toolset } from "../types/tool.ts";
import type { Broken, Cell } from "../types/trial.ts";

/** A case with the list that it is asked with, or with why there is none: then its trials break without being asked. */
export type PlannedCase = { suite: Suite; case: Case; toolset: Toolset; unavailable?: Broken };

/** One trial to run. `orderSeed` seeds the order in which its tools are shown. */
export type PlannedCell = { planned: PlannedCase; model: Model; cell: Cell; orderSeed: number };

/** How many trials a case gets on a model: a deterministic model says the same every time, so one tells all. */
export function trialsOf(planned: Pick<PlannedCase, "case">, model: Pick<Model, "deterministic">): number {
  return model.deterministic ? 1 : planned.case.trials;
}

/**
 * Every cell of a run, lazily. The first trial of all cases comes before the second of any, so that a drift of the
 * model, a rate limit or an early end touches all cases alike.
 *
 * The order of the tools depends on the seed, the suite and the trial's number: all cases of a suite see the same order
 * in the same trial, which lets a provider's prompt cache serve all but the first. Within a case the trials stay
 * independent of each other.
 */
export function* planCells(
  cases: readonly PlannedCase[],
  models: readonly Model[],
  seed: number,
): Generator<PlannedCell> {
  const rounds = Math.max(0, ...cases.map((planned) => planned.case.trials));
  for (let trial = 1; trial <= rounds; trial++) {
    for (const planned of cases) {
      const orderSeed = deriveSeed(seed, "order", planned.suite.name, trial);
      for (const model of models) {
        if (trial > trialsOf(planned, model)) continue;
        const cell = { suite: planned.suite.name, case: planned.case.id, arm: "head", model: model.id, trial };
        yield { planned, model, cell, orderSeed };
      }
    }
  }
}

import { deriveSeed } from "../stats/random.ts";
import type { Model } from "../types/model.ts";
import type { Case, Suite } from "../types/suite.ts";
import type { OfferedTool, Toolset } from "../types/tool.ts";
import type { Broken, Cell } from "../types/trial.ts";
import type { Request } from "../verdicts/design.ts";

/**
 * A case in one arm, with the tools that it is shown there, or why they are unavailable (then its trials break without a
 * model call). The arm of a plain run is `head`.
 */
export type PlannedCase = { suite: Suite; case: Case; arm: string; toolset: Toolset; unavailable?: Broken };

/** One trial to run. `orderSeed` seeds the order in which its tools are shown. */
export type PlannedCell = { planned: PlannedCase; model: Model; cell: Cell; orderSeed: number };

/** The number of trials of a case on a model; one trial of a deterministic model is enough. */
export function countTrials(planned: Pick<PlannedCase, "case">, model: Pick<Model, "deterministic">): number {
  return model.deterministic ? 1 : planned.case.trials;
}

/**
 * Every cell of a run, lazily. The first trial of all cases comes before the second of any, so that a drift of the
 * model, a rate limit or an early end affects all cases equally.
 */
export function* planCells(
  cases: readonly PlannedCase[],
  models: readonly Model[],
  seed: number,
): Generator<PlannedCell> {
  const rounds = Math.max(0, ...cases.map((planned) => planned.case.trials));
  for (let trial = 1; trial <= rounds; trial++) {
    for (const planned of cases)
      for (const model of models)
        if (trial <= countTrials(planned, model)) yield createCell(planned, model, trial, seed);
  }
}

/**
 * The cells that a design asks for, trial by trial, so that the arms are interleaved. Which arm of a case comes first
 * changes from trial to trial, by the seed.
 */
export function* requestedCells(
  requests: readonly Request[],
  find: (request: Request) => PlannedCase,
  model: Model,
  seed: number,
): Generator<PlannedCell> {
  const last = Math.max(0, ...requests.map(({ trials }) => trials));
  for (let trial = 1; trial <= last; trial++) {
    const due = requests.filter(({ from, trials }) => from <= trial && trial <= trials);
    const rank = new Map(due.map((request) => [request, deriveSeed(seed, "arm", request.case, request.arm, trial)]));
    const cases = new Map([...new Set(due.map((request) => request.case))].map((id, index) => [id, index]));
    const place = (request: Request) => cases.get(request.case) ?? 0;
    const order = due.toSorted((a, b) => place(a) - place(b) || (rank.get(a) ?? 0) - (rank.get(b) ?? 0));
    for (const request of order) yield createCell(find(request), model, trial, seed);
  }
}

function createCell(planned: PlannedCase, model: Model, trial: number, seed: number): PlannedCell {
  const { suite, case: one, arm } = planned;
  const cell = { suite: suite.name, case: one.id, arm, model: model.id, trial };
  return { planned, model, cell, orderSeed: deriveSeed(seed, "order", suite.name, trial) };
}

/**
 * The tools in the order of a trial. The seed depends on the run, the suite and the trial's number alone: all cases of a
 * suite and both arms see the same order in the same trial, which lets a provider's prompt cache serve all but the first.
 * A tool's position depends on its name, so adding or removing one does not change the order of the others. The trials of
 * a case are independent of each other.
 */
export function orderTools(tools: readonly OfferedTool[], orderSeed: number): OfferedTool[] {
  const keys = new Map(tools.map((tool) => [tool, deriveSeed(orderSeed, tool.name)]));
  const key = (tool: OfferedTool) => keys.get(tool) ?? 0;
  return tools.toSorted((a, b) => key(a) - key(b) || (a.name < b.name ? -1 : 1));
}

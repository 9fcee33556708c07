import type { TrialRequest } from "../decisions/design.ts";
import { countOrders } from "../decisions/orders.ts";
import { deriveSeed, orderBySeed } from "../stats/random.ts";
import { allDefinitions, type Exposure, type ExposureKind } from "../types/exposure.ts";
import type { Model } from "../types/model.ts";
import { once } from "../types/once.ts";
import { asksModel, type Case, plannedTrials, type Suite } from "../types/suite.ts";
import { isCallable, type OfferedTool, type Toolset } from "../types/tool.ts";
import type { Broken, Cell } from "../types/trial.ts";

/**
 * A case in one arm, with the tools that it is shown there, or why they are unavailable (then its trials break without a
 * model call). The arm of a plain run is `head`.
 */
export type PlannedCase = {
  suite: Suite;
  case: Case;
  arm: string;
  toolset: Toolset;
  /** How its tools are shown, one of those that its model has in this run. Absent: the first of them. */
  exposure?: ExposureKind;
  /** The suite with the server that executes its calls, where that is another surface. */
  source?: Suite;
  unavailable?: Broken;
  /** In a suite over a whole configuration: the server whose tools it expects, where it is one. */
  owner?: string;
};

/** The exposure of a kind that a model has in this run; of no kind, the first of them. */
export function getExposure({ askedUnder = [] }: Pick<Model, "askedUnder">, kind?: ExposureKind): Exposure {
  const found = kind === undefined ? askedUnder[0] : askedUnder.find((one) => one.kind === kind);
  return found ?? allDefinitions;
}

/**
 * Whether the trials of a case on a model can be asked in batches: each must be one request, with all definitions in it.
 */
export function isBatched({ case: one, exposure, unavailable }: PlannedCase, model: Model): boolean {
  const hasBatches = "ask" in model && model.batches !== undefined;
  const isOneRequest = one.maxTurns === 1 && !one.turns && getExposure(model, exposure).kind === "all";
  return hasBatches && isOneRequest && !unavailable;
}

/**
 * One trial to run. `orderSeed` seeds the order in which its tools are shown. `isRepeatable`: a design asks for it, and asks
 * again when the reply is one that was seen before.
 */
export type PlannedCell = {
  planned: PlannedCase;
  model: Model;
  cell: Cell;
  orderSeed: number;
  isRepeatable?: boolean;
};

/**
 * Every cell of a run, lazily. The first trial of all cases comes before the second of any, so that a drift of the
 * model, a rate limit or an early end affects all cases equally. `isAsked`: what a check asks elsewhere.
 */
export function* planCells(
  cases: readonly PlannedCase[],
  models: readonly Model[],
  seed: number,
  isAsked: (planned: PlannedCase, model: Model) => boolean = () => false,
): Generator<PlannedCell> {
  const rounds = Math.max(0, ...cases.flatMap((planned) => models.map((model) => plannedTrials(planned.case, model))));
  for (let trial = 1; trial <= rounds; trial++) {
    const seedFor = once((suite: Suite) => deriveSeed(seed, "order", suite.name, trial));
    for (const planned of cases)
      for (const model of models)
        if (asksModel(planned.suite, model) && trial <= plannedTrials(planned.case, model) && !isAsked(planned, model))
          yield createCell(planned, model, trial, seedFor(planned.suite));
  }
}

/** Where the cells of a design come from: its cases in arms, the orders of each, and how often a trial was asked so far. */
export type DesignCells = {
  find(cell: { case: string; arm: string }): PlannedCase;
  orders(id: string): TrialOrders;
  attempts(id: string, arm: string, trial: number): number;
  model: Model;
};

/** The cells that a design asks for, in its order: the arms of a trial are asked close in time. */
export function* requestedCells(
  requests: Iterable<TrialRequest>,
  { find, orders, attempts, model }: DesignCells,
): Generator<PlannedCell> {
  for (const { case: id, trial, arms } of requests)
    for (const arm of arms) {
      const planned = find({ case: id, arm });
      const attempt = attempts(id, arm, trial) + 1;
      const plain = { suite: planned.suite.name, case: id, arm, model: model.id, trial };
      const cell = { ...plain, ...(attempt > 1 && { attempt }) };
      yield { planned, model, cell, orderSeed: orders(id).seedAt(trial), isRepeatable: true };
    }
}

function createCell(planned: PlannedCase, model: Model, trial: number, orderSeed: number): PlannedCell {
  const { suite, case: one, arm } = planned;
  const cell = { suite: suite.name, case: one.id, arm, model: model.id, trial };
  return { planned, model, cell, orderSeed };
}

/** After so many draws an order may come again: only lists that share some names in a tangled way need as many. */
const mostDraws = 20_000;

/**
 * The orders in which the tools of one case are shown in a design: trial t has the same in all arms, no arm sees one twice
 * before all `count` are used, and then they come again in the same sequence. Cases have orders of their own: one schedule
 * for all cases would correlate their changes. `lists`: the tools of the case in each arm. `paraphrases`: how many
 * wordings of the query take turns; every wording meets every order before a request comes again.
 */
export class TrialOrders {
  /** How many different requests the case has. */
  readonly count: number;
  readonly #orders: number;
  readonly #paraphrases: number;
  readonly #seeds: number[] = [];
  readonly #draw: (trial: number, draw: number) => number;
  readonly #lists: readonly { tools: readonly OfferedTool[]; shown: Set<string> }[];

  constructor(seed: number, suite: string, id: string, lists: readonly (readonly OfferedTool[])[], paraphrases = 1) {
    this.#orders = Math.min(...lists.map(countOrders));
    this.#paraphrases = paraphrases;
    this.count = this.#orders * paraphrases;
    this.#draw = (trial, draw) => deriveSeed(seed, "order", suite, id, trial, draw);
    const byNames = new Map(lists.map((tools) => [JSON.stringify(tools.map(({ name }) => name).sort()), tools]));
    this.#lists = [...byNames.values()]
      .filter((tools) => countOrders(tools) < Number.POSITIVE_INFINITY)
      .map((tools) => ({ tools, shown: new Set() }));
  }

  /** The seed for `orderTools` of this trial, from 1. */
  seedAt(trial: number): number {
    const at = (trial - 1) % this.count;
    // Both lengths have come round at the same time after their least common multiple: then the orders move on by one.
    const together = leastCommonMultiple(this.#orders, this.#paraphrases);
    const place = (at + Math.floor(at / together)) % this.#orders;
    while (this.#seeds.length <= place) this.#seeds.push(this.#next(this.#seeds.length + 1));
    return this.#seeds[place] ?? 0;
  }

  #next(trial: number): number {
    for (let draw = 0; ; draw++) {
      const seed = this.#draw(trial, draw);
      const orders = this.#lists.map(({ tools }) => describeOrder(tools, seed));
      if (draw < mostDraws && this.#lists.some(({ shown }, i) => shown.has(orders[i] ?? ""))) continue;
      for (const [i, { shown }] of this.#lists.entries()) shown.add(orders[i] ?? "");
      return seed;
    }
  }
}

function leastCommonMultiple(a: number, b: number): number {
  if (!Number.isFinite(a)) return a;
  const divisor = (x: number, y: number): number => (y === 0 ? x : divisor(y, x % y));
  return (a / divisor(a, b)) * b;
}

/** Skills and tools are ordered apart, as they are shown. */
function describeOrder(tools: readonly OfferedTool[], seed: number): string {
  const ordered = orderTools(tools, seed);
  const names = (isSkill: boolean) =>
    ordered.filter((one) => (isSkill ? one.origin === "skill" : isCallable(one))).map(({ name }) => name);
  return JSON.stringify([names(false), names(true)]);
}

/**
 * The tools in the order of a trial. In a plain run the seed depends on the run, the suite and the trial's number alone, so
 * that all cases of a suite see the same order in the same trial, which lets a provider's prompt cache serve all but the
 * first; a design draws its own (see `TrialOrders`). A tool's position depends on its listed name.
 */
export function orderTools(
  tools: readonly OfferedTool[],
  orderSeed: number,
  listedName: (shown: string) => string = (name) => name,
): OfferedTool[] {
  return orderBySeed(tools, orderSeed, ({ name }) => listedName(name));
}

const lastOrder = once((_tools: readonly OfferedTool[]): { seed?: number; ordered: readonly OfferedTool[] } => ({
  ordered: [],
}));

/**
 * The same for a list that many trials are shown, under one host. Its last order is kept: a plain run repeats it for
 * every case.
 */
export function orderSurface(
  tools: readonly OfferedTool[],
  orderSeed: number,
  listedName: (shown: string) => string,
): readonly OfferedTool[] {
  const last = lastOrder(tools);
  if (last.seed !== orderSeed) {
    last.ordered = orderTools(tools, orderSeed, listedName);
    last.seed = orderSeed;
  }
  return last.ordered;
}

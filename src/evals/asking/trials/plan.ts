import { once } from "../../base/once.ts";
import { deriveSeed, orderBySeed } from "../../base/stats/random.ts";
import { allDefinitions, type Exposure, type ExposureKind } from "../../base/types/exposure.ts";
import type { Model } from "../../base/types/model.ts";
import { asksModel, type Case, plannedTrials, type Suite } from "../../base/types/suite.ts";
import { isCallable, type OfferedTool, type Toolset } from "../../base/types/tool.ts";
import type { Broken, Cell } from "../../base/types/trial.ts";
import type { TrialRequest } from "./design.ts";

/**
 * A case in one arm, with the tools that it is shown there. `unavailable`: why it cannot be asked; its trials then
 * break without a model call. The arm of a plain run is `head`.
 */
export type PlannedCase = {
  suite: Suite;
  case: Case;
  arm: string;
  toolset: Toolset;
  /** How its tools are shown: one of the model's exposures in this run. Default: the first. */
  exposure?: ExposureKind;
  /** On another surface: the suite whose server executes its calls. */
  source?: Suite;
  unavailable?: Broken;
  /** In a suite over a whole configuration: the server whose tools it expects, if it expects tools of exactly one. */
  owner?: string;
};

/** The exposure of this kind that a model has in the run; its first exposure without a kind. */
export function getExposure({ askedUnder = [] }: Pick<Model, "askedUnder">, kind?: ExposureKind): Exposure {
  const found = kind === undefined ? askedUnder[0] : askedUnder.find((one) => one.kind === kind);
  return found ?? allDefinitions;
}

/** Whether the trials of a case on a model can be asked in batches: each must be one request with all definitions. */
export function isBatched({ case: one, exposure, unavailable }: PlannedCase, model: Model): boolean {
  const hasBatches = "ask" in model && model.batches !== undefined;
  const isOneRequest = one.maxTurns === 1 && !one.turns && getExposure(model, exposure).kind === "all";
  return hasBatches && isOneRequest && !unavailable;
}

/**
 * One trial to run. `orderSeed` seeds the order of its tools. `isRepeatable`: requested by a design, which asks again
 * when the reply is a copy of an earlier one.
 */
export type PlannedCell = {
  planned: PlannedCase;
  model: Model;
  cell: Cell;
  orderSeed: number;
  isRepeatable?: boolean;
};

/**
 * Generates every cell of a run lazily. The first trial of all cases comes before the second of any, so that model
 * drift, a rate limit or an early end affects all cases equally.
 * @param isCovered whether a check or a night already asks the case on the model
 */
export function* planCells(
  cases: readonly PlannedCase[],
  models: readonly Model[],
  seed: number,
  isCovered: (planned: PlannedCase, model: Model) => boolean = () => false,
): Generator<PlannedCell> {
  const rounds = Math.max(0, ...cases.flatMap((planned) => models.map((model) => plannedTrials(planned.case, model))));
  for (let trial = 1; trial <= rounds; trial++) {
    const seedFor = once((suite: Suite) => deriveSeed(seed, "order", suite.name, trial));
    for (const planned of cases)
      for (const model of models)
        if (
          asksModel(planned.suite, model) &&
          trial <= plannedTrials(planned.case, model) &&
          !isCovered(planned, model)
        )
          yield createCell(planned, model, trial, seedFor(planned.suite));
  }
}

/** Looks up what a design asks for: cases in arms, the tool orders of a case, and the attempts at a trial so far. */
export type DesignCells = {
  find(cell: { case: string; arm: string }): PlannedCase;
  orders(id: string): TrialOrders;
  attempts(id: string, arm: string, trial: number): number;
  model: Model;
};

/** The cells that a design requests, in its order: the arms of a trial are asked close in time. */
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

/** After this many draws an order may repeat. Only lists that overlap in unusual ways need as many. */
const maxDraws = 20_000;

/**
 * The tool orders of one case in a design. Trial t has the same order in all arms. No arm sees an order twice before
 * all `count` requests are used; then they repeat in the same sequence. Each case has its own orders, because one
 * schedule for all cases would correlate their changes. `lists`: the tools of the case in each arm. `paraphrases`: the
 * number of wordings of the query; every wording meets every order before a request repeats.
 */
export class TrialOrders {
  /** The number of different requests of the case. */
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
    // Both cycles are back at their start after their least common multiple: shift the orders by one then.
    const period = leastCommonMultiple(this.#orders, this.#paraphrases);
    const index = (at + Math.floor(at / period)) % this.#orders;
    while (this.#seeds.length <= index) this.#seeds.push(this.#next(this.#seeds.length + 1));
    return this.#seeds[index] ?? 0;
  }

  #next(trial: number): number {
    for (let draw = 0; ; draw++) {
      const seed = this.#draw(trial, draw);
      const orders = this.#lists.map(({ tools }) => describeOrder(tools, seed));
      if (draw < maxDraws && this.#lists.some(({ shown }, i) => shown.has(orders[i] ?? ""))) continue;
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

/** Skills and tools are shown separately, so their orders are described separately. */
function describeOrder(tools: readonly OfferedTool[], seed: number): string {
  const ordered = orderTools(tools, seed);
  const names = (isSkill: boolean) =>
    ordered.filter((one) => (isSkill ? one.origin === "skill" : isCallable(one))).map(({ name }) => name);
  return JSON.stringify([names(false), names(true)]);
}

/**
 * Sorts tools into the order of a trial. In a plain run the seed depends only on the run, the suite and the trial
 * number: all cases of a suite see the same order in the same trial, so a provider's prompt cache serves all but the
 * first. Designs draw their own seeds (see `TrialOrders`). A tool's position depends on its listed name.
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

/** As `orderTools`, but keeps the last order of each list, because a plain run repeats it for every case. */
export function orderToolsOnce(
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

/** From this many tools on, two orders that are drawn at random are never the same within a run. */
const manyTools = 13;

/**
 * How many different orders a list can be shown in, which is how many different requests its case has: tools and skills are
 * ordered apart, and instructions have no order. Infinity where there are more than any run asks.
 */
export function countOrders(tools: readonly Pick<OfferedTool, "origin">[]): number {
  const skills = tools.filter(({ origin }) => origin === "skill").length;
  const plain = tools.filter(isCallable).length;
  if (Math.max(skills, plain) >= manyTools) return Number.POSITIVE_INFINITY;
  return factorial(plain) * factorial(skills);
}

function factorial(n: number): number {
  return n < 2 ? 1 : n * factorial(n - 1);
}

import { once } from "../../base/collections.ts";
import { deriveSeed, orderBySeed, orderOnLine } from "../../base/stats/random.ts";
import { isLocalModel } from "../../base/types/endpoint.ts";
import { usageError } from "../../base/types/errors.ts";
import { allDefinitions, type Exposure, type ExposureKind } from "../../base/types/exposure.ts";
import type { Model } from "../../base/types/model.ts";
import type { RunManifest } from "../../base/types/run.ts";
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
export type PlannedCell = { planned: PlannedCase; model: Model; cell: Cell; orderSeed: number; isRepeatable?: boolean };

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
      for (const model of models) {
        const { suite, case: one, arm } = planned;
        if (!asksModel(suite, model) || trial > plannedTrials(one, model) || isCovered(planned, model)) continue;
        const cell = { suite: suite.name, case: one.id, arm, model: model.id, trial };
        yield { planned, model, cell, orderSeed: seedFor(suite) };
      }
  }
}

/** Looks up what a design asks for: cases in arms, the line of orders of a case, and the attempts at a trial so far. */
export type DesignCells = {
  find(cell: { case: string; arm: string }): PlannedCase;
  line(id: string): OrderLine;
  attempts(id: string, arm: string, trial: number): number;
  model: Model;
};

/**
 * The cells that a design requests. Of requests in a row that share an order, the first is sent before the others of
 * the row before, so that the prompt caches of its arms are filled when the others come. A local server may keep one
 * prompt only: there the arms of a row follow each other.
 */
export function* requestedCells(requests: readonly TrialRequest[], cells: DesignCells): Generator<PlannedCell> {
  let waiting: readonly TrialRequest[] = [];
  for (const row of splitRows(requests)) {
    const arms = [...new Set(row.flatMap((one) => one.arms))];
    if (isLocalModel(cells.model)) for (const arm of arms) yield* createCells(row, cells, arm);
    else {
      yield* createCells(row.slice(0, 1), cells);
      yield* createCells(waiting, cells);
      waiting = row.slice(1);
    }
  }
  yield* createCells(waiting, cells);
}

/** Requests in a row that share an order. */
function splitRows(requests: readonly TrialRequest[]): TrialRequest[][] {
  const rows: TrialRequest[][] = [];
  for (const request of requests) {
    const row = rows.at(-1);
    if (row?.[0]?.order === request.order) row.push(request);
    else rows.push([request]);
  }
  return rows;
}

/** `only`: of this arm. */
function* createCells(requests: readonly TrialRequest[], { find, line, attempts, model }: DesignCells, only?: string) {
  for (const { case: id, trial, arms, order } of requests)
    for (const arm of arms) {
      if (only !== undefined && arm !== only) continue;
      const planned = find({ case: id, arm });
      const attempt = attempts(id, arm, trial) + 1;
      const plain = { suite: planned.suite.name, case: id, arm, model: model.id, trial };
      const cell = { ...plain, ...(attempt > 1 && { attempt }) };
      // A host may show tools in an order of its own: then requests are alike to a design, and still vary where they
      // can.
      const orderSeed = line(id).seedAt("converse" in model ? trial - 1 : order);
      yield { planned, model, cell, orderSeed, isRepeatable: true };
    }
}

/** After this many draws an order may repeat. Only lists that overlap in unusual ways need as many. */
const maxDraws = 20_000;

/**
 * The line of tool orders from which a design takes those of its trials: order n is the same in every arm and for all
 * cases with these `lists` (the tools in each arm), and no list has an order twice before all of them are used. Where
 * arms have different tools, those that they share have the same order.
 */
export class OrderLine {
  readonly #count: number;
  readonly #line: number;
  readonly #areAlike: boolean;
  readonly #seeds: number[] = [];
  readonly #lists: readonly { tools: readonly OfferedTool[]; shown: Set<string> }[];
  #drawn = 0;

  constructor(seed: number, suite: string, lists: readonly (readonly OfferedTool[])[]) {
    this.#count = Math.min(...lists.map(countOrders));
    this.#line = deriveSeed(seed, "order", suite);
    const byNames = new Map(lists.map((tools) => [JSON.stringify(tools.map(({ name }) => name).sort()), tools]));
    this.#areAlike = byNames.size === 1;
    this.#lists = [...byNames.values()]
      .filter((tools) => countOrders(tools) < Number.POSITIVE_INFINITY)
      .map((tools) => ({ tools, shown: new Set() }));
  }

  /** The seed for `orderTools` of an order, from 0. After the last order the first follows. */
  seedAt(order: number): number {
    const at = order % this.#count;
    while (this.#seeds.length <= at) this.#seeds.push(this.#next());
    return this.#seeds[at] ?? 0;
  }

  #next(): number {
    for (let draw = 0; ; draw++) {
      const at = this.#drawn++;
      const seed = this.#areAlike ? seedOfLine(this.#line, at) : deriveSeed(this.#line, at);
      const orders = this.#lists.map(({ tools }) => JSON.stringify(listShown(tools, seed)));
      if (draw < maxDraws && this.#lists.some(({ shown }, i) => shown.has(orders[i] ?? ""))) continue;
      for (const [i, { shown }] of this.#lists.entries()) shown.add(orders[i] ?? "");
      return seed;
    }
  }
}

/** The names of what a model is shown in a trial, in order: tools, then skills, which are shown apart from them. */
export function listShown(tools: readonly OfferedTool[], orderSeed: number): string[] {
  const parts = [tools.filter(isCallable), tools.filter(({ origin }) => origin === "skill")];
  return parts.flatMap((part) => orderTools(part, orderSeed).map(({ name }) => name));
}

/** Seeds below this are drawn; those above name a line of orders by their remainder, and the place on it. */
const lines = 2 ** 32;
const seedOfLine = (line: number, order: number) => (order + 1) * lines + line;

/**
 * Sorts tools into the order of a trial. In a plain run the seed depends only on the run, the suite and the trial
 * number: all cases of a suite see the same order in the same trial, so a provider's prompt cache serves all but the
 * first. Designs take orders from a line (see `OrderLine`).
 */
export function orderTools(
  tools: readonly OfferedTool[],
  orderSeed: number,
  listedName: (shown: string) => string = (name) => name,
): OfferedTool[] {
  const getName = ({ name }: OfferedTool) => listedName(name);
  const location = Math.floor(orderSeed / lines) - 1;
  if (location < 0) return orderBySeed(tools, orderSeed, getName);
  return orderOnLine(tools, orderSeed % lines, location, getName);
}

const lastOrder = once((tools: readonly OfferedTool[]) => ({ seed: Number.NaN, ordered: tools }));

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
 * How many different orders a list can be shown in, which is how many different requests its case has: tools and skills
 * are ordered apart, and instructions have no order. Infinity where there are more than any run asks.
 */
export function countOrders(tools: readonly Pick<OfferedTool, "origin">[]): number {
  const skills = tools.filter(({ origin }) => origin === "skill").length;
  const plain = tools.filter(isCallable).length;
  if (Math.max(skills, plain) >= manyTools) return Number.POSITIVE_INFINITY;
  return factorial(plain) * factorial(skills);
}

/** The different requests of cases, and the wordings of their queries, for a design that asks them with these lists. */
export function countRequests(
  cases: readonly PlannedCase[],
  getLists: (planned: PlannedCase) => readonly (readonly OfferedTool[])[],
) {
  const counts = new Map(
    cases.map((planned) => {
      const wordings = planned.case.paraphrases?.length ?? 1;
      return [planned.case.id, { wordings, requests: wordings * Math.min(...getLists(planned).map(countOrders)) }];
    }),
  );
  const requests = (id: string) => counts.get(id)?.requests ?? Number.POSITIVE_INFINITY;
  return { requests, wordings: (id: string) => counts.get(id)?.wordings ?? 1 };
}

const factorial = (n: number): number => (n < 2 ? 1 : n * factorial(n - 1));

/** One part of a run. `index` counts from 1 to `count`. */
export type Shard = { index: number; count: number };

const maxShards = 1_000;

/** Parses a shard such as `2/5`. Throws a usage error for any other text. */
export function parseShard(text: string): Shard {
  const [, index = 0, count = 0] = (/^(\d{1,4})\/(\d{1,4})$/.exec(text.trim()) ?? []).map(Number);
  if (index >= 1 && index <= count && count <= maxShards) return { index, count };
  const hint = `Write its number and how many there are, at most ${maxShards}, for example 1/3.`;
  throw usageError(`--shard: "${text}" is not a shard.`, hint);
}

/** The shard that a manifest belongs to; undefined for a whole run. */
export function readShard({ flags: { shard } }: Pick<RunManifest, "flags">): Shard | undefined {
  return typeof shard === "string" ? parseShard(shard) : undefined;
}

/** Assigns cells and designs to shards, by their index from 1. */
export type ShardAssignment = {
  /** The shard that asks a cell. */
  cell(cell: Omit<Cell, "attempt">): number;
  /** Whether a check or a night asks the cell. These ask again when a reply is a copy of an earlier one. */
  isDesigned(cell: Pick<Cell, "suite" | "case" | "model">): boolean;
  /** The shard that runs the check or the night of a suite on a model. */
  design(suite: string, model: string): number;
};

const key = (...parts: readonly string[]) => JSON.stringify(parts);

/**
 * Distributes the plan of a run over `count` shards, from its manifest alone. Cases go to the shards in turn, all arms
 * of a case to the same shard. A check or a night belongs to one shard as a whole, because which trial it asks next
 * depends on all previous ones.
 */
export function assignShards({ suites, models }: RunManifest, count: number): ShardAssignment {
  const ids = suites.flatMap(({ name, cases }) => cases.map(({ id }) => key(name, id)));
  const cases = new Map(ids.map((id, at) => [id, at]));
  const designed = suites.flatMap(({ name, checks = [] }) => checks.map((plan) => ({ name, plan })));
  const locations = new Map(designed.map(({ name, plan }, at) => [key(name, plan.model), at]));
  const nights = new Set<string>();
  const compared = new Set<string>();
  for (const { name, plan } of designed) {
    if (plan.kind === "compare") for (const { id } of plan.cases) compared.add(key(name, plan.model, id));
    else if (plan.kind === "unchanged" && plan.drift?.nightly) nights.add(key(name, plan.model));
  }
  const pick = (at: number) => (at % count) + 1;
  const design: ShardAssignment["design"] = (suite, model) => pick(locations.get(key(suite, model)) ?? 0);
  const isDesigned: ShardAssignment["isDesigned"] = ({ suite, case: id, model }) =>
    nights.has(key(suite, model)) || compared.has(key(suite, model, id));
  return {
    design,
    isDesigned,
    cell: (cell) => {
      const { suite, case: id, model, trial } = cell;
      if (isDesigned(cell)) return design(suite, model);
      return pick((cases.get(key(suite, id)) ?? 0) + models.findIndex((one) => one.id === model) + trial - 1);
    },
  };
}

import { bringRequests, type Design, type Play, type TrialRecord } from "../../asking/trials/design.ts";
import { getOrAdd, sumOf } from "../../base/collections.ts";
import { deriveSeed, seededRandom, shuffle } from "../../base/stats/random.ts";

/**
 * `from`: the first trial, where earlier ones had orders of another schedule. `cap`: the most trials of a case before
 * its verdict. `pairsPerOrder`: about how many pairs share a tool order, so that a prompt cache serves all but the
 * first of them; 1: every pair has its own, for lists that no provider caches. `requests`: how many different requests
 * a case has: its tool orders times the `wordings` of its query, which take turns.
 */
export type ScheduleSetup = {
  cases: readonly string[];
  seed: number;
  from?: number;
  cap?: number;
  pairsPerOrder?: number | undefined;
  requests?: (id: string) => number;
  wordings?: (id: string) => number;
};

const sharedPairs = 10;
/** So many orders are in use once every case has eight trials: what fewer do to one arm alone, no pair may show. */
export const enoughOrders = 11;
const enoughAt = 8;
const many = Number.POSITIVE_INFINITY;

/** The places on the line of orders that a case has taken, by trial, and its trials in the order of asking. */
type Taken = {
  locations: (number | undefined)[];
  asked: number[];
  /** How often each order was taken, and the places that each wording took, one after the other. */
  uses: Map<number, number>;
  byWording: Map<number, number[]>;
};

/**
 * Which tool order each trial of a design gets. All cases share one line of orders. Trials are asked in stages, and
 * each stage takes a pool of new orders from the line, about a tenth of its pairs; a case walks through the pool from a
 * place of its own, so that no case gets an order twice before all of its requests are used. After that they repeat in
 * the same sequence. Which order a trial gets depends on what was asked before, never on the answers to an order.
 */
export class OrderSchedule {
  readonly #setup: ScheduleSetup;
  readonly #pairs: number;
  readonly #taken = new Map<string, Taken>();
  #stages = 0;
  #trials = 0;
  #from = 0;
  #to = 0;
  #offsets = new Map<string, number>();
  readonly #ranks: ReadonlyMap<string, number>;

  constructor(setup: ScheduleSetup) {
    this.#setup = setup;
    this.#pairs = setup.pairsPerOrder ?? sharedPairs;
    this.#to = ((setup.from ?? 1) - 1) * setup.cases.length;
    this.#ranks = new Map(setup.cases.map((id, rank) => [id, rank]));
  }

  get isShared(): boolean {
    return this.#pairs > 1;
  }

  /** Begins a stage of so many trials a case. */
  openStage(trials: number): void {
    const { cases, seed, cap = enoughAt } = this.#setup;
    const soon = Math.min(enoughAt, cap);
    const countUsed = (all: number) => Math.ceil((enoughOrders * Math.min(all, soon)) / soon);
    const least = countUsed(this.#trials + trials) - countUsed(this.#trials);
    const size = Math.max(trials, Math.ceil((cases.length * trials) / this.#pairs), least);
    this.#trials += trials;
    [this.#from, this.#to] = [this.#to, this.#to + size];
    const dealt = shuffle(cases, seededRandom(deriveSeed(seed, "stage", this.#stages++)));
    this.#offsets = new Map(dealt.map((id, x) => [id, Math.floor((x * size) / cases.length)]));
  }

  /** The order of a trial of a case, a number from 0; undefined where the trial has none yet. */
  orderOf(id: string, trial: number): number | undefined {
    const location = this.#takenBy(id).locations[trial - 1];
    return location === undefined ? undefined : location % this.countOrders(id);
  }

  /** The trials of a case in the order in which they are asked. */
  askedTrials(id: string): readonly number[] {
    return this.#takenBy(id).asked;
  }

  /** How many different orders of its tools a case has. */
  countOrders(id: string): number {
    return (this.#setup.requests?.(id) ?? many) / this.countWordings(id);
  }

  /**
   * Gives trials `from`..`to` of a case their orders, where they have none. `isAhead`: trials beyond those of the stage
   * take the latest orders of its pool that the case has left, then the next of the line, which others will take later.
   */
  take(span: Pick<Span, "case" | "from" | "to">, isAhead: boolean): void {
    const taken = this.#takenBy(span.case);
    const { locations, asked } = taken;
    const fresh = this.#listNew(span);
    for (const trial of fresh) locations[trial - 1] = this.#choose(span.case, trial, taken, isAhead);
    if (this.isShared) fresh.sort((a, b) => (locations[a - 1] ?? 0) - (locations[b - 1] ?? 0) || a - b);
    asked.push(...fresh);
  }

  #listNew(span: Pick<Span, "case" | "from" | "to">): number[] {
    const { locations } = this.#takenBy(span.case);
    return listTrials(span).filter((trial) => locations[trial - 1] === undefined);
  }

  /**
   * Asks for what the record lacks of these trials, as a stage of their own, or with `isAhead` ahead of the stage that
   * was opened last. What shares an order is asked together; where orders are not shared, the first trial of every case
   * comes before the second of any. The seed decides which arm of a trial is asked first.
   */
  *bring(record: TrialRecord, spans: readonly Span[], look: number, isAhead = false): Play<void> {
    const most = isAhead ? 0 : Math.max(0, ...spans.map((span) => this.#listNew(span).length));
    if (most > 0) this.openStage(most);
    const requests = spans.flatMap((span) => {
      const { case: id, arms } = span;
      this.take(span, isAhead);
      const { locations } = this.#takenBy(id);
      return listTrials(span).map((trial) => ({
        request: { case: id, trial, arms, order: this.orderOf(id, trial) ?? 0 },
        location: this.isShared ? (locations[trial - 1] ?? 0) : trial,
      }));
    });
    const sorted = requests.toSorted((a, b) => a.location - b.location).map(({ request }) => request);
    yield* bringRequests(record, sorted, look, ({ case: id, trial, arms }) =>
      arms.length > 1 ? shuffle(arms, seededRandom(deriveSeed(this.#setup.seed, "arms", id, trial))) : arms,
    );
  }

  #choose(id: string, trial: number, { uses, byWording }: Taken, isAhead: boolean): number {
    const orders = this.countOrders(id);
    const sameWording = getOrAdd(byWording, (trial - 1) % this.countWordings(id), (): number[] => []);
    let chosen = sameWording.at(-orders);
    if (chosen === undefined) {
      const known = new Set(sameWording.map((location) => location % orders));
      let least = many;
      for (const location of this.#candidates(id, trial, isAhead, orders)) {
        const used = uses.get(location % orders) ?? 0;
        if (known.has(location % orders) || used >= least) continue;
        [chosen, least] = [location, used];
        if (used === 0) break;
      }
      if (chosen === undefined) throw new RangeError("a case has no order left");
      uses.set(chosen % orders, least + 1);
    }
    sameWording.push(chosen);
    return chosen;
  }

  *#candidates(id: string, trial: number, isAhead: boolean, orders: number): Generator<number> {
    const size = this.#to - this.#from;
    const own = (trial - 1) * this.#setup.cases.length + (this.#ranks.get(id) ?? 0);
    const offset = this.#offsets.get(id) ?? 0;
    if (this.isShared && isAhead) for (let location = this.#to - 1; location >= 0; location--) yield location;
    if (this.isShared && !isAhead) for (let x = 0; x < size; x++) yield this.#from + ((offset + x) % size);
    const next = this.isShared ? this.#to : own;
    for (let x = 0; x < orders; x++) yield next + x;
  }

  /** The wordings of the query of a case, which take turns. */
  countWordings(id: string): number {
    return this.#setup.wordings?.(id) ?? 1;
  }

  #takenBy(id: string): Taken {
    return getOrAdd(this.#taken, id, () => ({ locations: [], asked: [], uses: new Map(), byWording: new Map() }));
  }
}

/** Trials `from`..`to` of a case, each in all of these arms. */
export type Span = { case: string; arms: readonly string[]; from: number; to: number };

const listTrials = ({ from, to }: Pick<Span, "from" | "to">): number[] =>
  Array.from({ length: to - from + 1 }, (_, at) => from + at);

/** A design without interim decisions: asks every case once in every arm, and reads the record. */
export function askOnce<V>(
  cases: readonly string[],
  arms: readonly string[],
  seed: number,
  read: (record: TrialRecord) => V,
): Design<V> {
  return {
    cap: arms.length * cases.length,
    *play(record) {
      const spans = cases.map((id) => ({ case: id, arms, from: 1, to: 1 }));
      yield* new OrderSchedule({ cases, seed }).bring(record, spans, 1);
      return read(record);
    },
  };
}

/** The pairs of one case: their tool orders, and by how much base is better in each (1, 0 or -1). */
export type OrderedPairs = { orders: readonly number[]; differences: readonly number[] };

/**
 * By how much shared orders widen the error of a mean over pairs: pairs of one order differ alike where the order does
 * something to one arm alone. With r the difference of a pair less the mean of its case, and S_o their sum over an
 * order: sum S_o^2 / sum r^2 x R / (R - 1) for R orders, at least 1 (a variance over clusters against one over their
 * members; Kish 1965). 1 when no order is shared, when nothing differs, and when all orders that exist are in use,
 * which leaves nothing to chance. `exist`: how many orders there are.
 */
export function designEffect(cases: readonly OrderedPairs[], exist = many): { orders: number; effect: number } {
  const sums = new Map<number, number>();
  let [squares, pairs] = [0, 0];
  for (const { orders, differences } of cases) {
    const mean = sumOf(differences, (difference) => difference) / Math.max(1, differences.length);
    for (const [t, difference] of differences.entries()) {
      const [order = 0, rest] = [orders[t], difference - mean];
      sums.set(order, (sums.get(order) ?? 0) + rest);
      squares += rest * rest;
      pairs++;
    }
  }
  const count = sums.size;
  if (squares < 1e-12 || count < 2 || count === pairs || count >= exist) return { orders: count, effect: 1 };
  const between = sumOf(sums.values(), (sum) => sum * sum);
  return { orders: count, effect: Math.max(1, (between / squares) * (count / (count - 1))) };
}

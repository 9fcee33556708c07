import type { AskedModel, HostModel, Model } from "../types/model.ts";
import { addCost, type Broken, type Cost, type Usage } from "../types/trial.ts";
import { requestCeiling, trialCeiling } from "./ceiling.ts";

/** What a run may use. All are optional. `maxSeconds` counts from the creation of the limits. */
export type RunLimits = {
  budgetUsd?: number | undefined;
  maxRequests?: number | undefined;
  maxSeconds?: number | undefined;
};

/** What was used of a reservation. */
export type Used = { cost: Cost; requests: number };

/** At most what something can use. */
type Most = { cost: Cost; requests: number };

/** Whether a service says what a reply used. Some local servers and proxies do not. */
const isReported = (usage: Usage) => Object.values(usage).some((tokens) => tokens > 0);

/**
 * Keeps the requests of a run, of the judge too, within its limits. The most that a request can cost is reserved before it
 * is sent. So concurrent requests do not overspend; one that does not fit waits until those in flight have cost less than
 * their reserve. A reply without usage counts as its reserve. Only where nothing is in flight is a request sent that may
 * exceed the budget, by its own cost at most.
 */
export class SpendingLimits {
  readonly #limits: RunLimits;
  readonly #now: () => number;
  readonly #startedAt: number;
  readonly #waiting: (() => void)[] = [];
  #spentUsd = 0;
  #reservedUsd = 0;
  #requests = 0;
  #reservedRequests = 0;
  #inFlight = 0;
  #reached: string | undefined;

  /** `now`: a monotonic clock in ms. */
  constructor(limits: RunLimits, now: () => number = () => performance.now()) {
    this.#limits = limits;
    this.#now = now;
    this.#startedAt = now();
  }

  /** Adds what a resumed record has cost before. */
  addSpent(usd: number): void {
    this.#spentUsd += usd;
    this.#check();
  }

  /** The limit that was reached, as a sentence without its full stop; undefined while requests are sent. */
  get reached(): string | undefined {
    this.#check();
    return this.#reached;
  }

  /** The same model within the limits: a request beyond them is broken, with stage "budget". */
  guard<M extends Model>(model: M): M {
    return ("ask" in model ? this.#guardAsked(model) : this.#guardHost(model)) as M;
  }

  #guardAsked(model: AskedModel): AskedModel {
    const ask: AskedModel["ask"] = async (request, signal) => {
      const ceiling = () => requestCeiling(request, model);
      const settle = await this.#reserveOne(model, ceiling, signal);
      if (typeof settle !== "function") return settle;
      let cost: Cost = 0;
      try {
        const reply = await model.ask(request, signal);
        const paid =
          reply.kind === "turn" ? model.cost(isReported(reply.turn.usage) ? reply.turn.usage : ceiling()) : 0;
        cost = reply.lost ? addCost(paid, model.cost(reply.lost)) : paid;
        return reply;
      } finally {
        settle({ cost, requests: 1 });
      }
    };
    return { ...model, ask };
  }

  /** A host asks on its own, so the most that its whole trial can cost is reserved. */
  #guardHost(model: HostModel): HostModel {
    const converse: HostModel["converse"] = async (trial, signal) => {
      const settle = await this.#reserveOne(model, () => trialCeiling(trial, model), signal);
      if (typeof settle !== "function") return { outcome: settle, turns: [] };
      let cost: Cost = 0;
      try {
        const answer = await model.converse(trial, signal);
        cost = answer.costUsd ?? answer.turns.map(({ usage }) => model.cost(usage)).reduce(addCost, 0);
        return answer;
      } finally {
        settle({ cost, requests: 1 });
      }
    };
    return { ...model, converse };
  }

  #reserveOne(model: Model, ceiling: () => Usage, signal: AbortSignal) {
    const cost = this.#limits.budgetUsd === undefined ? 0 : model.cost(ceiling());
    return this.reserve({ cost, requests: 1 }, signal);
  }

  /**
   * Waits until so much is left, and reserves it until the function that this resolves with is called with what was used.
   * Resolves with the reason if a limit is reached.
   */
  async reserve({ cost, requests }: Most, signal: AbortSignal): Promise<Broken | ((used: Used) => void)> {
    const { budgetUsd, maxRequests = Number.POSITIVE_INFINITY } = this.#limits;
    const ceilingUsd = cost === "unknown" ? 0 : cost;
    const exceedsBudget = () =>
      budgetUsd !== undefined && this.#inFlight > 0 && this.#spentUsd + this.#reservedUsd + ceilingUsd > budgetUsd;
    const exceedsRequests = () => this.#requests + this.#reservedRequests + requests > maxRequests;
    const exceeds = () => exceedsBudget() || (exceedsRequests() && this.#reservedRequests > 0);
    for (let isFirst = true; !signal.aborted && this.reached === undefined && exceeds(); isFirst = false)
      await new Promise<void>((resolve) => {
        if (isFirst) this.#waiting.push(resolve);
        else this.#waiting.unshift(resolve);
      });
    // One at a time is woken, and wakes the next: many may wait.
    this.#waiting.shift()?.();
    if (signal.aborted)
      return { kind: "broken", stage: "cancelled", message: "the request was cancelled", again: true };
    if (exceedsRequests())
      this.#reached ??= `The limit of ${maxRequests} requests leaves no room for a trial of up to ${requests}`;
    if (this.reached !== undefined) return { kind: "broken", stage: "budget", message: `not asked: ${this.reached}` };
    // A single request is sent at once; of several, some may not be needed.
    const isCertain = requests === 1;
    if (isCertain) this.#requests++;
    else this.#reservedRequests += requests;
    this.#inFlight++;
    this.#reservedUsd += ceilingUsd;
    return (used) => {
      this.#inFlight--;
      this.#reservedUsd -= ceilingUsd;
      if (!isCertain) {
        this.#reservedRequests -= requests;
        this.#requests += used.requests;
      }
      if (used.cost !== "unknown") this.#spentUsd += Math.max(0, used.cost);
      this.#check();
      this.#waiting.shift()?.();
    };
  }

  #check(): void {
    const { budgetUsd, maxRequests, maxSeconds } = this.#limits;
    if (budgetUsd !== undefined && this.#spentUsd >= budgetUsd)
      this.#reached ??= `The budget of $${budgetUsd} is spent`;
    if (maxRequests !== undefined && this.#requests >= maxRequests)
      this.#reached ??= `The limit of ${maxRequests} requests is reached`;
    if (maxSeconds !== undefined && this.#now() - this.#startedAt >= maxSeconds * 1_000)
      this.#reached ??= `The time limit of ${maxSeconds} s is reached`;
  }
}

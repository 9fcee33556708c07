import type { AskedModel, HostModel, Model } from "../types/model.ts";
import { addCost, type Broken, type Cost, type Usage } from "../types/trial.ts";
import { requestCeiling, trialCeiling } from "./ceiling.ts";

/** What a run may use. All are optional. `maxSeconds` counts from the creation of the limits. */
export type RunLimits = {
  budgetUsd?: number | undefined;
  maxRequests?: number | undefined;
  maxSeconds?: number | undefined;
};

/**
 * Keeps the requests of a run, of the judge too, within its limits. The most that a request can cost is reserved before it
 * is sent. So concurrent requests do not overspend; one that does not fit waits until those in flight have cost less than
 * their reserve. Only where nothing is in flight is a request sent that may exceed the budget, by its own cost at most.
 */
export class SpendingLimits {
  readonly #limits: RunLimits;
  readonly #now: () => number;
  readonly #startedAt: number;
  readonly #waiting: (() => void)[] = [];
  #spentUsd = 0;
  #reservedUsd = 0;
  #requests = 0;
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
      const settle = await this.#reserve(model, ceiling, signal);
      if (typeof settle !== "function") return settle;
      let cost: Cost = 0;
      try {
        const reply = await model.ask(request, signal);
        const paid = reply.kind === "turn" ? model.cost(reply.turn.usage) : 0;
        cost = reply.lost ? addCost(paid, model.cost(reply.lost)) : paid;
        return reply;
      } finally {
        settle(cost);
      }
    };
    return { ...model, ask };
  }

  /** A host asks on its own, so the most that its whole trial can cost is reserved. */
  #guardHost(model: HostModel): HostModel {
    const converse: HostModel["converse"] = async (trial, signal) => {
      const settle = await this.#reserve(model, () => trialCeiling(trial, model), signal);
      if (typeof settle !== "function") return { outcome: settle, turns: [] };
      let cost: Cost = 0;
      try {
        const answer = await model.converse(trial, signal);
        cost = answer.costUsd ?? answer.turns.map(({ usage }) => model.cost(usage)).reduce(addCost, 0);
        return answer;
      } finally {
        settle(cost);
      }
    };
    return { ...model, converse };
  }

  async #reserve(model: Model, ceiling: () => Usage, signal: AbortSignal): Promise<Broken | ((cost: Cost) => void)> {
    const { budgetUsd } = this.#limits;
    const cost = budgetUsd === undefined ? 0 : model.cost(ceiling());
    const ceilingUsd = cost === "unknown" ? 0 : cost;
    const exceeds = () =>
      budgetUsd !== undefined && this.#inFlight > 0 && this.#spentUsd + this.#reservedUsd + ceilingUsd > budgetUsd;
    while (!signal.aborted && this.reached === undefined && exceeds())
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    if (signal.aborted) return { kind: "broken", stage: "cancelled", message: "the request was cancelled" };
    if (this.reached !== undefined) return { kind: "broken", stage: "budget", message: `not asked: ${this.reached}` };
    this.#requests++;
    this.#inFlight++;
    this.#reservedUsd += ceilingUsd;
    return (actual) => {
      this.#inFlight--;
      this.#reservedUsd -= ceilingUsd;
      if (actual !== "unknown") this.#spentUsd += actual;
      this.#check();
      for (const go of this.#waiting.splice(0)) go();
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

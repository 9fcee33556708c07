import { once, sumOf } from "../../base/collections.ts";
import {
  type AskedModel,
  type HostedTrial,
  type HostModel,
  type Model,
  type ModelRequest,
  noUsage,
} from "../../base/types/model.ts";
import type { OfferedTool } from "../../base/types/tool.ts";
import { addCost, type Broken, type Cost, type Usage } from "../../base/types/trial.ts";
import { resultCharacters } from "./execution.ts";

/** The limits of a run, all optional. `maxSeconds` counts from the creation of `SpendingLimits`. */
export type RunLimits = {
  budgetUsd?: number | undefined;
  maxRequests?: number | undefined;
  maxSeconds?: number | undefined;
};

/** An amount to reserve, or what was used of it. */
export type Spending = { cost: Cost; requests: number };

/** Whether a service reports the usage of a reply. Some local servers and proxies do not. */
const isReported = (usage: Usage) => Object.values(usage).some((tokens) => tokens > 0);

/**
 * Keeps all requests of a run, including those to the judge, within its limits. The maximum cost of a request is
 * reserved before it is sent, so that concurrent requests do not overspend. A request that does not fit waits until
 * those in flight have released what they did not use. A reply without usage counts as its whole reservation. A request
 * that may exceed the budget is sent only when nothing else is in flight, so the budget is exceeded by the cost of one
 * request at most.
 */
export class SpendingLimits {
  readonly #startedAt: number;
  readonly #waiting: (() => void)[] = [];
  #spentUsd = 0;
  #reservedUsd = 0;
  #requests = 0;
  #reservedRequests = 0;
  #inFlight = 0;
  #reached: string | undefined;

  /** `now`: a monotonic clock in ms. */
  constructor(
    private readonly limits: RunLimits,
    private readonly now: () => number = () => performance.now(),
  ) {
    this.#startedAt = now();
  }

  /** Adds what a resumed record has already cost. */
  addSpent(usd: number): void {
    this.#spentUsd += usd;
    this.#check();
  }

  /** The limit that was reached, as a sentence without its full stop; undefined while there is none. */
  get reached(): string | undefined {
    this.#check();
    return this.#reached;
  }

  /** Wraps a model so that a request beyond the limits is broken, with stage "budget". */
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
        const isUnreported = reply.kind === "turn" && !isReported(reply.turn.usage);
        const paid = reply.kind === "turn" ? model.cost(isUnreported ? ceiling() : reply.turn.usage) : 0;
        cost = reply.lost ? addCost(paid, model.cost(reply.lost)) : paid;
        // Recorded, so that a resumed run counts it too.
        return isUnreported && paid !== "unknown" && paid > 0
          ? { ...reply, turn: { ...reply.turn, reservedUsd: paid } }
          : reply;
      } finally {
        settle({ cost, requests: 1 });
      }
    };
    return { ...model, ask };
  }

  /** A host sends its own requests, so the maximum cost of its whole trial is reserved. */
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
    const cost = this.limits.budgetUsd === undefined ? 0 : model.cost(ceiling());
    return this.reserve({ cost, requests: 1 }, signal);
  }

  /**
   * Waits until this amount fits, and reserves it. Resolves with a function that releases the reservation and takes
   * what was used, or with the reason if a limit is reached.
   */
  async reserve({ cost, requests }: Spending, signal: AbortSignal): Promise<Broken | ((used: Spending) => void)> {
    const { budgetUsd, maxRequests = Number.POSITIVE_INFINITY } = this.limits;
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
    // Wake one waiter at a time, which wakes the next: there may be many.
    this.#waiting.shift()?.();
    if (signal.aborted)
      return { kind: "broken", stage: "cancelled", message: "the request was cancelled", again: true };
    if (exceedsRequests())
      this.#reached ??= `The limit of ${maxRequests} requests leaves no room for a trial of up to ${requests}`;
    if (this.reached !== undefined) return { kind: "broken", stage: "budget", message: `not asked: ${this.reached}` };
    // A single request is sent for certain; of several, some may not be needed.
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
    const { budgetUsd, maxRequests, maxSeconds } = this.limits;
    if (budgetUsd !== undefined && this.#spentUsd >= budgetUsd)
      this.#reached ??= `The budget of $${budgetUsd} is spent`;
    if (maxRequests !== undefined && this.#requests >= maxRequests)
      this.#reached ??= `The limit of ${maxRequests} requests is reached`;
    if (maxSeconds !== undefined && this.now() - this.#startedAt >= maxSeconds * 1_000)
      this.#reached ??= `The time limit of ${maxSeconds} s is reached`;
  }
}

/** Tokens that providers add when tools are used; published figures are between 260 and 530. */
const overheadTokens = 600;

/** An upper bound at two bytes per token: English and JSON have 3 to 4, other scripts come close to two. */
export const estimateTokens = (text: string) => Math.ceil(Buffer.byteLength(text) / 2);

/** The maximum number of tokens in a tool list. */
const estimateListTokens = once((tools: readonly OfferedTool[]): number => {
  const shown = tools.map(({ name, description, inputSchema }) => ({ name, description, inputSchema }));
  return estimateTokens(JSON.stringify(shown));
});

/** The maximum usage of one request. */
function requestCeiling({ messages, tools }: Pick<ModelRequest, "messages" | "tools">, model: Model): Usage {
  if (model.kind !== "language model") return noUsage;
  const tokens = sumOf(messages, (message) => {
    const { native } = message.role === "assistant" ? message : {};
    return estimateTokens(JSON.stringify(native ?? message));
  });
  const inputTokens = overheadTokens + estimateListTokens(tools) + tokens;
  return { ...noUsage, inputTokens, outputTokens: model.maxOutputTokens };
}

type TrialShape = Pick<HostedTrial, "maxTurns" | "tools" | "messages">;

/** The maximum usage of one trial: every turn sends the tools and all previous messages again. */
export function trialCeiling({ maxTurns, tools, messages }: TrialShape, model: Model): Usage {
  const host = "converse" in model ? model.ownPromptTokens : 0;
  const prompt = host + overheadTokens + estimateListTokens(tools) + estimateTokens(JSON.stringify(messages));
  const perTurn = model.maxOutputTokens + Math.ceil(resultCharacters / 2);
  return {
    ...noUsage,
    inputTokens: model.kind === "language model" ? maxTurns * prompt + (perTurn * maxTurns * (maxTurns - 1)) / 2 : 0,
    outputTokens: maxTurns * model.maxOutputTokens,
  };
}

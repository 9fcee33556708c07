import { maxSearchTurns } from "../../asking/trials/conversation.ts";
import { resultCharacters } from "../../asking/trials/execution.ts";
import { estimateTokens, trialCeiling } from "../../asking/trials/limits.ts";
import { getExposure, isBatched, type PlannedCase } from "../../asking/trials/plan.ts";
import { type Model, noUsage } from "../../base/types/model.ts";
import { asksModel, plannedTrials } from "../../base/types/suite.ts";
import { addCost, type Cost, multiplyCost } from "../../base/types/trial.ts";

function countSearchTurns({ exposure }: PlannedCase, model: Model, most: number): number {
  return "ask" in model && getExposure(model, exposure).kind === "names" ? most : 0;
}

function countTurns(planned: PlannedCase, model: Model): number {
  const { maxTurns, turns = [0] } = planned.case;
  return turns.length * (maxTurns + countSearchTurns(planned, model, maxSearchTurns));
}

/** The maximum that one trial can use, including its judge. A trial in a host counts as one request. */
export function computeTrialCeiling(planned: PlannedCase, model: Model, judge: Model | undefined) {
  const judged = judge ? estimateJudgeCost(planned, model, judge).most : 0;
  const requests = ("converse" in model ? 1 : countTurns(planned, model)) + (judge ? 1 : 0);
  return { cost: addCost(model.cost(computeUsageCeiling(planned, model)), judged), requests };
}

function computeUsageCeiling(planned: PlannedCase, model: Model, turns = countTurns(planned, model)) {
  const { case: one, toolset } = planned;
  const followUps = (one.turns ?? []).slice(1).map(({ content }) => ({ role: "user" as const, content }));
  return trialCeiling({ messages: [...one.messages, ...followUps], maxTurns: turns, tools: toolset.tools }, model);
}

/** Returns the price tier of a case's trials; undefined for list price. */
export type GetTier = (planned: PlannedCase, model: Model) => "batch" | undefined;

/** The price tiers of a run with or without `--batch`. */
export const chooseTier =
  (batch: boolean | undefined): GetTier =>
  (planned, model) =>
    batch && isBatched(planned, model) ? "batch" : undefined;

const standardTier = chooseTier(false);

/** The maximum that a plan uses on one model, and its typical cost. At list or batch price, without caching. */
export function computeCeiling(cases: readonly PlannedCase[], model: Model, getTier: GetTier = standardTier) {
  // `batched`: the number of trials that are asked in batches.
  const ceiling = {
    trials: 0,
    batched: 0,
    calls: 0,
    inputTokens: 0,
    outputTokens: 0,
    costUsd: 0 as Cost,
    typicalUsd: 0 as Cost,
  };
  for (const planned of cases.filter(({ suite }) => asksModel(suite, model))) {
    const trials = plannedTrials(planned.case, model);
    const each = computeUsageCeiling(planned, model);
    const cost = model.cost(each, getTier(planned, model));
    ceiling.trials += trials;
    if (getTier(planned, model)) ceiling.batched += trials;
    ceiling.calls += trials * countTurns(planned, model);
    ceiling.inputTokens += trials * each.inputTokens;
    ceiling.outputTokens += trials * each.outputTokens;
    ceiling.costUsd = addCost(ceiling.costUsd, multiplyCost(trials, cost));
    const typical = multiplyCost(trials, estimateTrialCost(planned, model, getTier));
    ceiling.typicalUsd = addCost(ceiling.typicalUsd, typical);
  }
  return ceiling;
}

/** Typical output tokens of a reply with a tool call. Reasoning models write several times as many. */
const typicalOutputTokens = 150;

/** The typical cost of one trial, of at most two turns. `cached`: the share of prompts with tools in a cache. */
export function estimateTrialCost(planned: PlannedCase, model: Model, getTier: GetTier = standardTier, cached = 0) {
  const { maxTurns, turns: messages = [0] } = planned.case;
  const turns = messages.length * (Math.min(2, maxTurns) + countSearchTurns(planned, model, 1));
  const prompt = (turns * computeUsageCeiling(planned, model, 1).inputTokens) / 2;
  const rest = (1 - cached) * prompt;
  const isCharged = cached > 0 && model.id.startsWith("anthropic:");
  const usage = {
    inputTokens: isCharged ? 0 : rest,
    cacheWriteTokens: isCharged ? rest : 0,
    cacheReadTokens: cached * prompt,
    outputTokens: turns * typicalOutputTokens,
  };
  return model.cost(usage, getTier(planned, model));
}

/** Tokens of a judge's prompt beside the conversation: its instructions and the schema of its answer. */
const judgeInstructions = 1000;

/** The cost of grading one trial: the judge reads the query, the expectations, and every turn with its results. */
export function estimateJudgeCost({ case: one }: PlannedCase, model: Model, judge: Model) {
  const asked = judgeInstructions + estimateTokens(JSON.stringify([one.messages, one.expectedBehavior, one.expect]));
  const turn = model.maxOutputTokens + Math.ceil(resultCharacters / 2);
  const price = (inputTokens: number, outputTokens: number) => judge.cost({ ...noUsage, inputTokens, outputTokens });
  return {
    typical: price(asked + Math.min(2, one.maxTurns) * typicalOutputTokens * 2, typicalOutputTokens),
    most: price(asked + one.maxTurns * turn, judge.maxOutputTokens),
  };
}

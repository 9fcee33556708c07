import { estimateTokens, trialCeiling } from "../trials/ceiling.ts";
import { maxSearchTurns } from "../trials/conversation.ts";
import { resultCharacters } from "../trials/execution.ts";
import { getExposure, isBatched, type PlannedCase } from "../trials/plan.ts";
import { type Model, noUsage } from "../types/model.ts";
import { asksModel, plannedTrials } from "../types/suite.ts";
import { addCost, type Cost } from "../types/trial.ts";

/** The maximum that a plan can use. */
export type Ceiling = {
  trials: number;
  /** Of these, in batches. */
  batched: number;
  calls: number;
  inputTokens: number;
  outputTokens: number;
  costUsd: Cost;
};

/** Turns of searching that a trial may have in addition to those of its case. */
function countSearchTurns({ exposure }: PlannedCase, model: Model, most: number): number {
  return "ask" in model && getExposure(model, exposure).kind === "names" ? most : 0;
}

/** The most turns of a trial. */
function countTurns(planned: PlannedCase, model: Model): number {
  const { maxTurns, turns = [0] } = planned.case;
  return turns.length * (maxTurns + countSearchTurns(planned, model, maxSearchTurns));
}

/** The most that one trial can use, with its judge. A host is one request. */
export function trialMost(planned: PlannedCase, model: Model, judge: Model | undefined) {
  const judged = judge ? judgeCosts(planned, model, judge).most : 0;
  const requests = ("converse" in model ? 1 : countTurns(planned, model)) + (judge ? 1 : 0);
  return { cost: addCost(model.cost(planCeiling(planned, model)), judged), requests };
}

function planCeiling(planned: PlannedCase, model: Model, turns = countTurns(planned, model)) {
  const { case: one, toolset } = planned;
  const followUps = (one.turns ?? []).slice(1).map(({ content }) => ({ role: "user" as const, content }));
  return trialCeiling({ messages: [...one.messages, ...followUps], maxTurns: turns, tools: toolset.tools }, model);
}

/** How the trials of a case are asked, which decides their price. */
export type By = (planned: PlannedCase, model: Model) => "batch" | undefined;

const directly: By = () => undefined;
const inBatches: By = (planned, model) => (isBatched(planned, model) ? "batch" : undefined);

/** How trials are asked with or without `--batch`. */
export const askedBy = (batch: boolean | undefined): By => (batch ? inBatches : directly);

/** The maximum that a plan uses on one model. The cost is at list price, or that of batches, without any cache. */
export function computeCeiling(cases: readonly PlannedCase[], model: Model, by: By = directly): Ceiling {
  const ceiling: Ceiling = { trials: 0, batched: 0, calls: 0, inputTokens: 0, outputTokens: 0, costUsd: 0 };
  for (const planned of cases.filter(({ suite }) => asksModel(suite, model))) {
    const trials = plannedTrials(planned.case, model);
    const each = planCeiling(planned, model);
    const cost = model.cost(each, by(planned, model));
    ceiling.trials += trials;
    if (by(planned, model)) ceiling.batched += trials;
    ceiling.calls += trials * countTurns(planned, model);
    ceiling.inputTokens += trials * each.inputTokens;
    ceiling.outputTokens += trials * each.outputTokens;
    ceiling.costUsd = addCost(ceiling.costUsd, cost === "unknown" ? cost : trials * cost);
  }
  return ceiling;
}

/** Output tokens of a reply that calls a tool; models that reason write several times as many. */
const typicalOutputTokens = 150;

/** What one trial costs as a rule, at list price without any cache: four bytes per token, two turns where there are more. */
export function typicalCost(planned: PlannedCase, model: Model, by: By = directly): Cost {
  const { maxTurns, turns: messages = [0] } = planned.case;
  const turns = messages.length * (Math.min(2, maxTurns) + countSearchTurns(planned, model, 1));
  const { inputTokens } = planCeiling(planned, model, 1);
  const usage = { ...noUsage, inputTokens: (turns * inputTokens) / 2, outputTokens: turns * typicalOutputTokens };
  return model.cost(usage, by(planned, model));
}

/** What a plan costs on one model as a rule. */
export function computeTypicalCost(cases: readonly PlannedCase[], model: Model, by: By = directly): Cost {
  return cases
    .filter(({ suite }) => asksModel(suite, model))
    .map((planned): Cost => {
      const each = typicalCost(planned, model, by);
      return each === "unknown" ? each : each * plannedTrials(planned.case, model);
    })
    .reduce(addCost, 0);
}

/** Tokens of the question to a judge besides the conversation: its instructions and the form of its answer. */
const judgeInstructions = 1000;

/** What grading one trial costs: the judge reads the query, what is expected, and every turn with its results. */
export function judgeCosts({ case: one }: PlannedCase, model: Model, judge: Model): { typical: Cost; most: Cost } {
  const asked = judgeInstructions + estimateTokens(JSON.stringify([one.messages, one.expectedBehavior, one.expect]));
  const turn = model.maxOutputTokens + Math.ceil(resultCharacters / 2);
  const price = (inputTokens: number, outputTokens: number) => judge.cost({ ...noUsage, inputTokens, outputTokens });
  return {
    typical: price(asked + Math.min(2, one.maxTurns) * typicalOutputTokens * 2, typicalOutputTokens),
    most: price(asked + one.maxTurns * turn, judge.maxOutputTokens),
  };
}

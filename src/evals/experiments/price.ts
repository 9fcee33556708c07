import { resultCharacters } from "../trials/execution.ts";
import type { PlannedCase } from "../trials/plan.ts";
import { type Model, noUsage } from "../types/model.ts";
import { plannedTrials } from "../types/suite.ts";
import type { OfferedTool } from "../types/tool.ts";
import { addCost, type Cost, type Usage } from "../types/trial.ts";

/** The maximum that a plan can use. */
export type Ceiling = { trials: number; calls: number; inputTokens: number; outputTokens: number; costUsd: Cost };

/** Tokens that providers add for the use of tools; published figures are between 260 and 530. */
const overheadTokens = 600;

/** Two bytes per token: English and JSON have 3 to 4, so this is an upper bound; other scripts come close to it. */
const estimateTokens = (text: string) => Math.ceil(Buffer.byteLength(text) / 2);

const listTokens = new WeakMap<readonly OfferedTool[], number>();

function estimateListTokens(tools: readonly OfferedTool[]): number {
  const known = listTokens.get(tools);
  if (known !== undefined) return known;
  const shown = tools.map(({ name, description, inputSchema }) => ({ name, description, inputSchema }));
  const tokens = estimateTokens(JSON.stringify(shown));
  listTokens.set(tools, tokens);
  return tokens;
}

/** The maximum of one trial: every turn sends the tools and all previous messages again. */
function trialCeiling(planned: PlannedCase, model: Model): Usage {
  const turns = planned.case.maxTurns;
  const host = "converse" in model ? model.ownPromptTokens : 0;
  const prompt =
    host +
    overheadTokens +
    estimateListTokens(planned.toolset.tools) +
    estimateTokens(JSON.stringify(planned.case.messages));
  const perTurn = model.maxOutputTokens + Math.ceil(resultCharacters / 2);
  return {
    ...noUsage,
    inputTokens: model.kind === "language model" ? turns * prompt + (perTurn * turns * (turns - 1)) / 2 : 0,
    outputTokens: turns * model.maxOutputTokens,
  };
}

/** The maximum that a plan uses on one model. The cost is at list price, without any cache. */
export function computeCeiling(cases: readonly PlannedCase[], model: Model): Ceiling {
  const ceiling: Ceiling = { trials: 0, calls: 0, inputTokens: 0, outputTokens: 0, costUsd: 0 };
  for (const planned of cases) {
    const trials = plannedTrials(planned.case, model);
    const each = trialCeiling(planned, model);
    const cost = model.cost(each);
    ceiling.trials += trials;
    ceiling.calls += trials * planned.case.maxTurns;
    ceiling.inputTokens += trials * each.inputTokens;
    ceiling.outputTokens += trials * each.outputTokens;
    ceiling.costUsd = addCost(ceiling.costUsd, cost === "unknown" ? cost : trials * cost);
  }
  return ceiling;
}

/** Output tokens of a reply that calls a tool; models that reason write several times as many. */
const typicalOutputTokens = 150;

/** What one trial costs as a rule, at list price without any cache: four bytes per token, two turns where there are more. */
export function typicalCost(planned: PlannedCase, model: Model): Cost {
  const turns = Math.min(2, planned.case.maxTurns);
  const { inputTokens } = trialCeiling({ ...planned, case: { ...planned.case, maxTurns: 1 } }, model);
  return model.cost({ ...noUsage, inputTokens: (turns * inputTokens) / 2, outputTokens: turns * typicalOutputTokens });
}

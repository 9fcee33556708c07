import { type Model, noUsage } from "../types/model.ts";
import type { OfferedTool } from "../types/tool.ts";
import { addCost, type Cost, type Usage } from "../types/trial.ts";
import { resultCharacters } from "./execution.ts";
import { countTrials, type PlannedCase } from "./plan.ts";

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

/** The maximum number of requests to a judge: one for each trial with sentences or values to grade. */
export function countJudgeRequests(cases: readonly PlannedCase[], models: readonly Model[]): number {
  const judged = cases.filter((planned) => needsJudge(planned.case));
  return judged.reduce((sum, planned) => sum + models.reduce((all, model) => all + countTrials(planned, model), 0), 0);
}

function needsJudge({ expectedBehavior, expect }: PlannedCase["case"]): boolean {
  return expectedBehavior.length > 0 || JSON.stringify(expect ?? null).includes('"judge":');
}

/** The maximum that a plan uses on one model. The cost is at list price, without any cache. */
export function computeCeiling(cases: readonly PlannedCase[], model: Model): Ceiling {
  const ceiling: Ceiling = { trials: 0, calls: 0, inputTokens: 0, outputTokens: 0, costUsd: 0 };
  for (const planned of cases) {
    const trials = countTrials(planned, model);
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

import { type Model, noUsage } from "../types/model.ts";
import type { OfferedTool } from "../types/tool.ts";
import { addCost, type Cost, type Usage } from "../types/trial.ts";
import { type PlannedCase, trialsOf } from "./plan.ts";
import { resultCharacters } from "./results.ts";

/** The most that a plan can use. */
export type Ceiling = { trials: number; calls: number; inputTokens: number; outputTokens: number; costUsd: Cost };

/** Tokens that providers add of their own for the use of tools; published figures lie between 260 and 530. */
const overheadTokens = 600;

/** Two bytes a token: English and JSON take 3 to 4, so this is a ceiling for them; other scripts come near it. */
const tokensOf = (text: string) => Math.ceil(Buffer.byteLength(text) / 2);

const listTokens = new WeakMap<readonly OfferedTool[], number>();

function tokensOfList(tools: readonly OfferedTool[]): number {
  const known = listTokens.get(tools);
  if (known !== undefined) return known;
  const shown = tools.map(({ name, description, inputSchema }) => ({ name, description, inputSchema }));
  const tokens = tokensOf(JSON.stringify(shown));
  listTokens.set(tools, tokens);
  return tokens;
}

/** The ceiling of one trial: every turn sends the list and all that came before it once more. */
function trialCeiling(planned: PlannedCase, model: Model): Usage {
  const turns = planned.case.maxTurns;
  const host = "converse" in model ? model.ownPromptTokens : 0;
  const prompt =
    host + overheadTokens + tokensOfList(planned.toolset.tools) + tokensOf(JSON.stringify(planned.case.messages));
  const perTurn = model.maxOutputTokens + Math.ceil(resultCharacters / 2);
  return {
    ...noUsage,
    inputTokens: model.kind === "language model" ? turns * prompt + (perTurn * turns * (turns - 1)) / 2 : 0,
    outputTokens: turns * model.maxOutputTokens,
  };
}

/** How many requests a judge gets at most: one for each trial with sentences or values to grade. */
export function judgeRequests(cases: readonly PlannedCase[], models: readonly Model[]): number {
  const judged = cases.filter((planned) => asksJudge(planned.case));
  return judged.reduce((sum, planned) => sum + models.reduce((all, model) => all + trialsOf(planned, model), 0), 0);
}

function asksJudge({ expectedBehavior, expect }: PlannedCase["case"]): boolean {
  return expectedBehavior.length > 0 || JSON.stringify(expect ?? null).includes('"judge":');
}

/** What a plan uses at most on one model, before anything is spent. The cost is at list price without any cache. */
export function ceilingOf(cases: readonly PlannedCase[], model: Model): Ceiling {
  const ceiling: Ceiling = { trials: 0, calls: 0, inputTokens: 0, outputTokens: 0, costUsd: 0 };
  for (const planned of cases) {
    const trials = trialsOf(planned, model);
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

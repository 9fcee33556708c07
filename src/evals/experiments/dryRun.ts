import { count } from "../reports/format.ts";
import { resultCharacters } from "../trials/execution.ts";
import type { PlannedCase } from "../trials/plan.ts";
import { type Model, noUsage } from "../types/model.ts";
import { plannedTrials } from "../types/suite.ts";
import { isCallable, type OfferedTool } from "../types/tool.ts";
import { addCost, type Cost, type Usage } from "../types/trial.ts";
import { selectDesign } from "../verdicts/check.ts";
import type { PlannedChecks } from "./check.ts";

const integer = (n: number) => Math.round(n).toLocaleString("en-US");
const dollars = (usd: number | "unknown") => (usd === "unknown" ? "unknown (no list price)" : `$${usd.toFixed(2)}`);

function renderCeiling(model: Model, { trials, calls, inputTokens, outputTokens, costUsd }: Ceiling): string[] {
  return [
    `${model.id}${model.note ? ` (${model.note})` : ""}`,
    `  trials         ${integer(trials)}${model.deterministic ? " (one per case: the model is deterministic)" : ""}`,
    `  calls          at most ${integer(calls)}`,
    `  input tokens   at most ${integer(inputTokens)}`,
    `  output tokens  at most ${integer(outputTokens)}`,
    `  cost           at most ${dollars(costUsd)}`,
  ];
}

function renderSuite(cases: readonly PlannedCase[]): string[] {
  const suite = cases[0]?.suite;
  if (!suite) return [];
  const tools = new Set(cases.flatMap(({ toolset }) => toolset.tools.filter(isCallable).map((tool) => tool.name)));
  const ids = new Set(cases.map((planned) => planned.case.id));
  const arms = suite.lift === undefined ? "" : `, each with and without the skill ${suite.lift}`;
  return [
    `${suite.name}: ${count(ids.size, "case")}${arms}, ${count(tools.size, "tool")}, execute ${suite.execute} (${suite.file})`,
  ];
}

/** A check takes the trials that its design asks for; only the maximum is known. */
function renderChecks({ plans }: PlannedChecks, models: readonly Model[]): string[] {
  return [...plans].flatMap(([suite, all]) =>
    all.map((plan) => {
      const name = `check of ${suite} on ${plan.model}`;
      if (plan.kind === "unchanged") return `${name}: the tools are unchanged, nothing to compare`;
      if (plan.kind === "not comparable") return `${name}: not comparable, ${plan.reasons.join("; ")}`;
      const deterministic = models.find(({ id }) => id === plan.model)?.deterministic ?? false;
      return `${name}: ${plan.design}, at most ${integer(selectDesign(plan, deterministic).cap)} trials, including those above`;
    }),
  );
}

/** The plan of a run as text: the trials of each model, and the maximum that it can use. */
export function renderPlan(
  cases: readonly PlannedCase[],
  models: readonly Model[],
  seed: number,
  checks: PlannedChecks,
  judge?: Model,
): string {
  const suites = [...new Set(cases.map(({ suite }) => suite))];
  const lines = suites.flatMap((suite) => renderSuite(cases.filter((planned) => planned.suite === suite)));
  const ceilings = models.flatMap((model) => renderCeiling(model, computeCeiling(cases, model)));
  const judged = judge
    ? [`judge ${judge.id}: at most ${integer(countJudgeRequests(cases, models))} additional requests`]
    : [];
  return [
    ...lines,
    ...renderChecks(checks, models),
    "",
    ...ceilings,
    ...judged,
    "",
    `seed ${seed}; no model was called`,
    "",
  ].join("\n");
}

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
function countJudgeRequests(cases: readonly PlannedCase[], models: readonly Model[]): number {
  const judged = cases.filter((planned) => needsJudge(planned.case));
  return judged.reduce(
    (sum, planned) => sum + models.reduce((all, model) => all + plannedTrials(planned.case, model), 0),
    0,
  );
}

function needsJudge({ expectedBehavior, expect }: PlannedCase["case"]): boolean {
  return expectedBehavior.length > 0 || JSON.stringify(expect ?? null).includes('"judge":');
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

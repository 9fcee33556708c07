import type { Json } from "../base/types/json.ts";
import type { Call, Trial, Usage } from "../base/types/trial.ts";
import type { CaseState } from "../experiments/results/text.ts";
import type { PageTrials } from "../experiments/run/report/page.ts";

// What the page shows of a trial, which it has as it was recorded, with long texts cut.

export function readResult({ outcome, verdict }: Trial): CaseState {
  if (outcome.kind === "broken") return "broken";
  if (!verdict || verdict.grade === "not-gradable") return "not gradable";
  return verdict.grade === "pass" ? "passed" : "failed";
}

/** The selection, or the stage at which the trial broke. */
export const readSelection = ({ outcome, verdict }: Trial): string =>
  outcome.kind === "broken" ? outcome.stage : (verdict?.selection ?? "not scored");

/** Why a trial has no grade. */
export function readReason({ outcome, verdict }: Trial): string | undefined {
  if (outcome.kind === "broken") return outcome.message;
  return verdict?.grade === "not-gradable" ? verdict.reason : undefined;
}

export const toneOf = (trial: Trial): string =>
  ({ passed: "good", failed: "bad" })[readResult(trial) as "passed"] ?? "warn";

export const tokensIn = (usage: Usage): number => usage.inputTokens + usage.cacheReadTokens + usage.cacheWriteTokens;

/** Arguments as indented JSON; as they are if they are a text, such as one that was cut or is no JSON. */
export function writeArguments(args: Json | undefined, text = ""): string {
  return args === undefined ? text : typeof args === "string" ? args : JSON.stringify(args, null, 2);
}

export const writeCall = ({ arguments: args, argumentsText }: Call): string => writeArguments(args, argumentsText);

/** The index of the case of each trial. */
export function placeTrials({ cases, trials }: PageTrials): number[] {
  const key = (suite: string, model: string, id: string) => JSON.stringify([suite, model, id]);
  const locations = new Map(cases.map(({ suite, model, id }, at) => [key(suite, model, id), at]));
  return trials.map(({ cell }) => locations.get(key(cell.suite, cell.model, cell.case)) ?? -1);
}

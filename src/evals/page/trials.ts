import { createContext } from "preact";
import { getOrAdd } from "../base/collections.ts";
import type { Json } from "../base/types/json.ts";
import type { Call, Trial, Usage } from "../base/types/trial.ts";
import type { CaseState } from "../experiments/results/text.ts";
import type { PageCase, PageTrials } from "../experiments/run/report/page.ts";

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

/** The fields of a filter that offer a choice, as the page names them. */
export const choiceLabels = {
  result: "Result",
  outcome: "Outcome",
  tool: "Tool picked",
  expected: "Expected",
  case: "Case",
  model: "Model",
  suite: "Suite",
  arm: "Arm",
} as const;

/** Selects trials. Empty fields match everything. `text`: words that must all occur. */
export type Filter = Record<"text" | keyof typeof choiceLabels, string>;
export const everything = Object.fromEntries(["text", ...Object.keys(choiceLabels)].map((key) => [key, ""])) as Filter;

/** Sets a filter from anywhere on the page, such as a cell of a grid, and scrolls to the trials. */
export const FilterContext = createContext<(filter: Partial<Filter>) => void>(() => {});

/** A case with its matching trials. `at`: the index of the case. */
export type Shown = { at: number; case: PageCase; trials: readonly Trial[] };

/** The searchable text of each trial. `places`: the index of the case of each. */
export function indexTrials({ cases, trials }: PageTrials, locations: readonly number[]): string[] {
  return trials.map((trial, at) => {
    const { suite = "", model = "", id = "", input = "", expected = "" } = cases[locations[at] ?? -1] ?? {};
    const turns = trial.turns.flatMap(({ text, calls }) => [
      text,
      ...calls.map((call) => `${call.tool} ${writeCall(call)}`),
    ]);
    const { picked = "", checks = [] } = trial.verdict ?? {};
    const reasons = [readReason(trial) ?? "", ...checks.map(({ why }) => why ?? "")];
    return [suite, model, id, input, expected, readSelection(trial), picked, ...turns, ...reasons]
      .join("\n")
      .toLowerCase();
  });
}

/**
 * The cases with matching trials, red ones first. A case without trials matches only if the filter sets no field of
 * trials.
 */
export function applyFilter(
  { cases, trials }: PageTrials,
  locations: readonly number[],
  texts: readonly string[],
  filter: Filter,
): Shown[] {
  const words = filter.text.toLowerCase().split(/\s+/).filter(Boolean);
  const fits = (wanted: string, given: string) => wanted === "" || wanted === given;
  const isCase = (one: PageCase) =>
    fits(filter.suite, one.suite) &&
    fits(filter.model, one.model) &&
    fits(filter.case, one.id) &&
    fits(filter.expected, one.expected);
  const left = new Map<number, Trial[]>();
  const wanted = cases.map(isCase);
  for (const [at, trial] of trials.entries()) {
    const location = locations[at] ?? -1;
    if (!wanted[location] || !fits(filter.result, readResult(trial)) || !fits(filter.outcome, readSelection(trial)))
      continue;
    if (!fits(filter.arm, trial.cell.arm) || (filter.tool !== "" && !isAbout(trial, filter.tool))) continue;
    if (!words.every((word) => texts[at]?.includes(word))) continue;
    getOrAdd(left, location, (): Trial[] => []).push(trial);
  }
  const isOpen =
    filter.result === "" && filter.outcome === "" && filter.tool === "" && filter.arm === "" && words.length === 0;
  const shown = cases.flatMap((one, at): Shown[] => {
    const own = left.get(at);
    if (own) return [{ at, case: one, trials: own }];
    return isOpen && wanted[at] ? [{ at, case: one, trials: [] }] : [];
  });
  const isRed = ({ case: { state }, trials: own }: Shown) =>
    state === undefined ? own.some((trial) => readResult(trial) !== "passed") : state !== "passed";
  return shown.sort((a, b) => Number(isRed(b)) - Number(isRed(a)) || a.at - b.at);
}

function isAbout({ verdict, turns }: Trial, tool: string): boolean {
  return verdict?.picked === tool || turns.some(({ calls }) => calls.some((call) => call.tool === tool));
}

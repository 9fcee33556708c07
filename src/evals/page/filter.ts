import { createContext } from "preact";
import { getOrAdd } from "../base/getOrAdd.ts";
import type { PageTrials } from "../experiments/run/report/pageData.ts";
import type { PageCase, PageTrial } from "../experiments/run/report/pageTrials.ts";

/** Selects trials. Empty fields match everything. `text`: words that must all occur. */
export const everything = {
  text: "",
  result: "",
  outcome: "",
  case: "",
  tool: "",
  expected: "",
  model: "",
  suite: "",
  arm: "",
};
export type Filter = typeof everything;

/** Sets a filter from anywhere on the page, such as a cell of a grid, and scrolls to the trials. */
export const FilterContext = createContext<(filter: Partial<Filter>) => void>(() => {});

/** A case with its matching trials. `at`: the index of the case. */
export type Shown = { at: number; case: PageCase; trials: readonly PageTrial[] };

/** The searchable text of each trial. */
export function indexTrials({ cases, trials }: PageTrials): string[] {
  return trials.map((trial) => {
    const { suite = "", model = "", id = "", input = "", expected = "" } = cases[trial.at] ?? {};
    const turns = trial.turns.flatMap(({ text, calls }) => [
      text,
      ...calls.map((call) => `${call.tool} ${call.arguments}`),
    ]);
    const reasons = [trial.reason ?? "", ...trial.checks.map(({ why }) => why ?? "")];
    return [suite, model, id, input, expected, trial.outcome, trial.picked, ...turns, ...reasons]
      .join("\n")
      .toLowerCase();
  });
}

/**
 * The cases with matching trials, red ones first. A case without trials matches only if the filter sets no field of
 * trials.
 */
export function applyFilter({ cases, trials }: PageTrials, texts: readonly string[], filter: Filter): Shown[] {
  const words = filter.text.toLowerCase().split(/\s+/).filter(Boolean);
  const fits = (wanted: string, given: string) => wanted === "" || wanted === given;
  const isCase = (one: PageCase) =>
    fits(filter.suite, one.suite) &&
    fits(filter.model, one.model) &&
    fits(filter.case, one.id) &&
    fits(filter.expected, one.expected);
  const left = new Map<number, PageTrial[]>();
  const wanted = cases.map(isCase);
  for (const [at, trial] of trials.entries()) {
    if (!wanted[trial.at]) continue;
    if (!fits(filter.result, trial.result) || !fits(filter.outcome, trial.outcome) || !fits(filter.arm, trial.arm))
      continue;
    if (filter.tool !== "" && !isAbout(trial, filter.tool)) continue;
    if (!words.every((word) => texts[at]?.includes(word))) continue;
    getOrAdd(left, trial.at, (): PageTrial[] => []).push(trial);
  }
  const isOpen =
    filter.result === "" && filter.outcome === "" && filter.tool === "" && filter.arm === "" && words.length === 0;
  const shown = cases.flatMap((one, at): Shown[] => {
    const own = left.get(at);
    if (own) return [{ at, case: one, trials: own }];
    return isOpen && wanted[at] ? [{ at, case: one, trials: [] }] : [];
  });
  const rank = ({ case: one, trials: own }: Shown) =>
    one.state === undefined ? (own.some(({ result }) => result !== "passed") ? 0 : 1) : one.state === "passed" ? 1 : 0;
  return shown.sort((a, b) => rank(a) - rank(b) || a.at - b.at);
}

function isAbout({ picked, turns }: PageTrial, tool: string): boolean {
  return picked === tool || turns.some(({ calls }) => calls.some((call) => call.tool === tool));
}

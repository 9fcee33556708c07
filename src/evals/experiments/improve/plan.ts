import { labelCase, listExpectedTools } from "../../asking/scoring/labels.ts";
import type { PlannedCase } from "../../asking/trials/plan.ts";
import { groupBy } from "../../base/collections.ts";
import { deriveSeed, orderBySeed } from "../../base/stats/random.ts";
import { printableLines } from "../../base/text/display.ts";
import { printProblem, usageError } from "../../base/types/errors.ts";
import type { Io } from "../../base/types/io.ts";
import { canonicalJson, type Json } from "../../base/types/json.ts";
import { skillEntryName } from "../../base/types/skill.ts";
import type { Split } from "../../base/types/suiteFile.ts";
import type { OfferedTool } from "../../base/types/tool.ts";
import { addCost, type Cost, multiplyCost } from "../../base/types/trial.ts";
import { count, integer, money, some } from "../../reports/format.ts";
import type { ExperimentWorkspace } from "../pipeline/experiment.ts";
import { computeTrialCeiling, estimateTrialCost } from "../pipeline/price.ts";
import type { Overlaid } from "../variants/ask.ts";
import type { forecastLoop } from "./design.ts";

const drafting = " `evals queries` drafts some: ";
const ofUsers = "of users with `--from <sessions>`, ";

/** Whether a case expects that no tool is called, or that a skill is not loaded. */
export const expectsNothing = ({ case: { expect } }: PlannedCase) =>
  expect?.kind === "none" || expect?.kind === "avoid";

/** The cases, and what each is for. Throws a usage error if too few are held out; warns if none expects no tool. */
export function splitSuite({ cases: all, suite }: ExperimentWorkspace, io: Io) {
  const cases = new Map(all.map((planned) => [planned.case.id, planned]));
  const labeled = all.map(({ case: one }) => ({ id: one.id, label: labelCase(one), split: one.split }));
  const splits = splitCases(suite.name, labeled);
  const heldOut = [...splits.values()].filter((one) => one === "held-out").length;
  const needed = minHeldOut - heldOut;
  if (needed > 0 || heldOut === all.length) {
    const kinds = listUnproved(labeled, splits);
    const wanted = kinds.length > 0 ? `, first of all for ${some(kinds)}` : "";
    throw usageError(
      needed > 0
        ? `Only ${count(heldOut, "case")} of "${suite.name}" ${heldOut === 1 ? "is" : "are"} held out: a proof needs at least ${minHeldOut}.`
        : `Every case of "${suite.name}" is held out, so there is none to search on.`,
      `Add ${count(2 * Math.max(1, needed), "case")}${wanted}.${drafting}${suite.server ? ofUsers : ""}of a model with \`--writer <model>\`.`,
      { file: suite.file },
    );
  }
  if (!all.some(expectsNothing))
    printProblem(io)({
      severity: "warning",
      message: `No case of "${suite.name}" expects that no tool is called, so a wording that is called too often can win.`,
      hint: "Add cases with `expect: { tool: none }`.",
      location: { file: suite.file },
    });
  return { cases, splits };
}

/** The tools that the cases are shown, and their only skill. */
export function listSubjects(cases: ReadonlyMap<string, PlannedCase>) {
  const prefix = skillEntryName("");
  const shown = [...cases.values()].flatMap(({ toolset }) => toolset.tools);
  const skills = new Set(shown.flatMap(({ name, origin }) => (origin === "skill" ? [name.slice(prefix.length)] : [])));
  return { tools: new Set(shown.map(({ name }) => name)), skill: skills.size === 1 ? [...skills][0] : undefined };
}

/** Whether a wording changes what a case is shown, but none of the tools that it expects. */
export function isSibling(planned: PlannedCase | undefined, wording: Overlaid | undefined): boolean {
  if (!planned || !wording) return false;
  const toText = (tool: OfferedTool) => canonicalJson(tool as unknown as Json);
  const before = new Set(planned.toolset.tools.map(toText));
  const after = wording.getToolset(planned).tools;
  const changed = after.filter((tool) => !before.has(toText(tool))).map(({ name }) => name);
  return changed.length > 0 && !listExpectedTools(planned.case).some((tool) => changed.includes(tool));
}

/**
 * Prints the trials that the loop takes, and what they cost; without a price of the model, the requests instead.
 * `writer`: the model that proposes, and how often. Throws a usage error if the budget cannot pay for a proof.
 */
export function announceCost(
  { least, typical, most }: ReturnType<typeof forecastLoop>,
  { cases, model }: ExperimentWorkspace,
  { budget, writer }: { budget?: number | undefined; writer: string | undefined },
  io: Io,
): void {
  const average = (all: readonly Cost[]) => multiplyCost(1 / cases.length, all.reduce(addCost, 0));
  const each = average(cases.map((one) => estimateTrialCost(one, model)));
  const price = (trials: number) => {
    const cost = multiplyCost(trials, each);
    return model.kind === "language model" && cost !== "unknown" ? ` (about ${money(cost)})` : "";
  };
  const requests = average(cases.map((one) => computeTrialCeiling(one, model, undefined).requests));
  const unpriced = `There is no price of ${model.id} (--prices): at most ${count(Math.ceil(most * Number(requests)), "request")}.`;
  const lines = [
    `Typically ${count(typical, "trial")}${price(typical)} on ${model.id}, at most ${integer(most)}${price(most)}; a proof takes at least ${integer(least)}${price(least)}.`,
    ...(each === "unknown" ? [unpriced] : []),
    ...(writer === undefined ? [] : [`Beside them, ${writer}.`]),
  ];
  io.err(printableLines(lines.join(" ")));
  const needed = multiplyCost(least, each);
  if (budget !== undefined && needed !== "unknown" && needed > budget)
    throw usageError(
      `The budget of ${money(budget)} does not pay for a proof, which takes about ${money(needed)}.`,
      "Raise --budget, or run fewer cases with --case.",
    );
}

/** A case, what it expects (the label of its expectation), and its split as recorded in its file. */
export type SplitCase = { id: string; label: string; split?: Split | undefined };

/**
 * Splits cases in halves, for each expectation by itself: a tool with one case is either searched on or proved on. What
 * a file records stays. The others follow from the name of the suite and their ids alone, so that a proof can be
 * repeated.
 */
export function splitCases(suite: string, cases: readonly SplitCase[]): Map<string, Split> {
  const seed = deriveSeed(0, "split", suite);
  const strata = orderBySeed([...groupBy(cases, ({ label }) => label)], seed, ([label]) => label);
  const splits = new Map<string, Split>();
  const count = (split: Split) => [...splits.values()].filter((one) => one === split).length;
  for (const { id, split } of cases) if (split) splits.set(id, split);
  for (const [, own] of strata) {
    const open = orderBySeed(own, seed, ({ id }) => id).filter(({ split }) => !split);
    // An odd one goes to where fewer cases are.
    const ofStratum = (split: Split) => own.filter(({ id }) => splits.get(id) === split).length;
    for (const { id } of open) {
      const surplus = ofStratum("held-out") - ofStratum("train") || count("held-out") - count("train");
      splits.set(id, surplus > 0 ? "train" : "held-out");
    }
  }
  return splits;
}

/** Fewer held-out cases prove little: a gain on one of them would have to be large. */
const minHeldOut = 5;

/** The expectations without a held-out case, of a suite that has too few; those with the fewest cases first. */
export function listUnproved(cases: readonly SplitCase[], splits: ReadonlyMap<string, Split>): string[] {
  return [...groupBy(cases, ({ label }) => label)]
    .filter(([, own]) => !own.some(({ id }) => splits.get(id) === "held-out"))
    .sort(([, a], [, b]) => a.length - b.length)
    .map(([label]) => label);
}

import { listExpectedTools } from "../../asking/scoring/labels.ts";
import { labelCase } from "../../asking/scoring/userTurns.ts";
import type { PlannedCase } from "../../asking/trials/plan.ts";
import { printableLines } from "../../base/secrets/visible.ts";
import { printProblem, usageError } from "../../base/types/errors.ts";
import type { Io } from "../../base/types/io.ts";
import { skillEntryName } from "../../base/types/skill.ts";
import { addCost, multiplyCost } from "../../base/types/trial.ts";
import { count, integer, money, some } from "../../reports/format.ts";
import type { ExperimentWorkspace } from "../pipeline/experiment.ts";
import { estimateTrialCost } from "../pipeline/price.ts";
import type { Overlaid } from "../variants/file.ts";
import type { forecastLoop } from "./design.ts";
import { listUnproved, minHeldOut, splitCases } from "./split.ts";

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
      `Add ${count(2 * Math.max(1, needed), "case")}${wanted}. \`evals init --writer <model>\` drafts queries.`,
      { file: suite.file },
    );
  }
  if (!all.some(({ case: one }) => one.expect?.kind === "none" || one.expect?.kind === "avoid"))
    printProblem(io)({
      severity: "warning",
      message: `No case of "${suite.name}" expects that no tool is called, so a wording that is called too often can win.`,
      hint: "Add cases with `expect: { tool: none }`.",
      place: { file: suite.file },
    });
  return { cases, splits };
}

/** The only skill of the cases. */
export function findSkill(cases: ReadonlyMap<string, PlannedCase>): string | undefined {
  const prefix = skillEntryName("");
  const tools = [...cases.values()].flatMap(({ toolset }) => toolset.tools);
  const skills = new Set(tools.flatMap(({ name, origin }) => (origin === "skill" ? [name.slice(prefix.length)] : [])));
  return skills.size === 1 ? [...skills][0] : undefined;
}

/** Whether a wording changes what a case is shown, but none of the tools that it expects. */
export function isSibling(planned: PlannedCase | undefined, wording: Overlaid | undefined): boolean {
  if (!planned || !wording || wording.getToolset(planned).hash === planned.toolset.hash) return false;
  return !listExpectedTools(planned.case).some((tool) => tool in wording.variant);
}

/** Prints what the loop can cost. Throws a usage error if the budget cannot pay for a proof. */
export function announceCost(
  { least, typical, most }: ReturnType<typeof forecastLoop>,
  { cases, model }: ExperimentWorkspace,
  { budget }: { budget?: number | undefined },
  io: Io,
): void {
  const each = multiplyCost(1 / cases.length, cases.map((one) => estimateTrialCost(one, model)).reduce(addCost, 0));
  const price = (trials: number) => {
    const cost = multiplyCost(trials, each);
    return model.kind === "language model" ? ` (about ${money(cost)})` : "";
  };
  io.err(
    printableLines(
      `Typically ${count(typical, "trial")}${price(typical)} on ${model.id}, at most ${integer(most)}${price(most)}; a proof takes at least ${integer(least)}${price(least)}.`,
    ),
  );
  const needed = multiplyCost(least, each);
  if (budget !== undefined && needed !== "unknown" && needed > budget)
    throw usageError(
      `The budget of ${money(budget)} does not pay for a proof, which takes about ${money(needed)}.`,
      "Raise --budget, or run fewer cases with --case.",
    );
}

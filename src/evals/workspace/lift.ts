import { freeze } from "../toolsets/toolset.ts";
import type { PlannedCase } from "../trials/plan.ts";
import { withoutArm } from "../types/run.ts";
import { skillEntryName } from "../types/skill.ts";

/**
 * The cases of a run in all their arms: beside each case of a suite that measures what a skill is worth, the same case
 * without that skill, so that both are asked interleaved.
 */
export function withLiftArms(cases: readonly PlannedCase[]): PlannedCase[] {
  const lists = new Map<string, PlannedCase["toolset"]>();
  return cases.flatMap((planned) => {
    const { suite, toolset } = planned;
    if (suite.lift === undefined) return [planned];
    const left = skillEntryName(suite.lift);
    const key = JSON.stringify([toolset.hash, left]);
    const without = lists.get(key) ?? freeze(toolset.tools.filter(({ name }) => name !== left));
    lists.set(key, without);
    return [planned, { ...planned, arm: withoutArm, toolset: without }];
  });
}

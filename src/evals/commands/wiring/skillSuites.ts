import type { Problem } from "../../errors.ts";
import { readSkillEvals } from "../../skills/evals.ts";
import { skillSuite } from "../../suites/skillSuite.ts";
import type { SkillEval, SkillPackage } from "../../types/skill.ts";
import type { Suite } from "../../types/suite.ts";
import type { Io } from "../io.ts";
import type { SuiteFlags } from "./select.ts";
import type { Offered } from "./skillsOffered.ts";

/** The suites that eval files of packages make, with the skills that each offers by its name. */
export type SkillSuites = {
  suites: Suite[];
  skills: Map<string, readonly SkillPackage[]>;
  warnings: Problem[];
};

/**
 * Reads the eval files of the packages that are asked for. With a judge their expected behaviour is measured too; without
 * one it is not, and that is said.
 */
export async function skillSuites(
  offered: readonly Offered[],
  flags: Pick<SuiteFlags, "skill" | "judge">,
  io: Io,
): Promise<SkillSuites> {
  const made: SkillSuites = { suites: [], skills: new Map(), warnings: [] };
  const names = new Set<string>();
  for (const { skills, folders, subjects, warnings } of offered) {
    made.warnings.push(...warnings);
    const wanted = subjects.filter(({ name }) => !names.has(name) && (flags.skill?.includes(name) ?? true));
    const read = await Promise.all(
      wanted.map(async (skill) => ({ skill, ...(await readSkillEvals(skill, { repository: io.cwd, cwd: io.cwd })) })),
    );
    for (const { skill, evals, warnings: found } of read) {
      names.add(skill.name);
      const suites = suitesOf(skill, evals, folders, flags.judge !== undefined);
      made.suites.push(...suites);
      for (const { name } of suites) made.skills.set(name, skills);
      made.warnings.push(...found, ...(flags.judge === undefined ? ungraded(skill, evals) : []));
    }
  }
  return made;
}

function suitesOf(skill: SkillPackage, evals: readonly SkillEval[], folders: readonly string[], judged: boolean) {
  const measures = judged ? (["trigger", "behaviour"] as const) : (["trigger"] as const);
  return measures.flatMap((measure) => skillSuite(skill, evals, measure, folders) ?? []);
}

function ungraded({ name, file }: SkillPackage, evals: readonly SkillEval[]): Problem[] {
  const sentences = evals.reduce((sum, { expectedBehavior }) => sum + expectedBehavior.length, 0);
  if (sentences === 0) return [];
  const message = `skill ${name}: ${sentences} sentences of expected behaviour are not graded, only whether it is loaded`;
  return [{ severity: "warning", message, hint: "Give a judge: --judge <model>.", place: { file } }];
}

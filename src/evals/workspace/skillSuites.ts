import { EvalsError, type Problem } from "../errors.ts";
import type { Io } from "../io.ts";
import { readSkillEvals } from "../skills/evals.ts";
import { skillSuite } from "../suites/skillSuite.ts";
import type { SkillEval, SkillPackage } from "../types/skill.ts";
import type { Suite } from "../types/suite.ts";
import type { Offered } from "./skillsOffered.ts";
import type { SuiteOptions } from "./suites.ts";

/** The suites that eval files of packages make, with the skills that each offers by its name. */
export type SkillSuites = {
  suites: Suite[];
  skills: Map<string, readonly SkillPackage[]>;
  warnings: Problem[];
};

/**
 * Reads the eval files of the packages that are asked for. With a judge their expected behaviour is measured too; without
 * one it is not, and that is said. Throws one EvalsError with all that is wrong in any of them.
 */
export async function skillSuites(
  offered: readonly Offered[],
  flags: Pick<SuiteOptions, "skill" | "judge">,
  io: Io,
): Promise<SkillSuites> {
  const made: SkillSuites = { suites: [], skills: new Map(), warnings: [] };
  const errors: EvalsError[] = [];
  const taken = new Map<string, SkillPackage>();
  // What hosts load stands here once more where a package of theirs was named: nothing is told twice.
  made.warnings.push(...new Set(offered.flatMap(({ warnings }) => warnings)));
  for (const { skills, folders, subjects } of offered) {
    for (const skill of subjects.filter(({ name }) => flags.skill?.includes(name) ?? true)) {
      const other = taken.get(skill.name);
      if (other && other.dir !== skill.dir) made.warnings.push(nameTaken(skill, other));
      if (other) continue;
      taken.set(skill.name, skill);
      const read = await readSkillEvals(skill, { repository: io.cwd, cwd: io.cwd }).catch(asEvalsError);
      if (read instanceof EvalsError) {
        errors.push(read);
        continue;
      }
      const suites = suitesOf(skill, read.evals, folders, flags.judge !== undefined);
      made.suites.push(...suites);
      for (const { name } of suites) made.skills.set(name, skills);
      made.warnings.push(...read.warnings, ...(flags.judge === undefined ? ungraded(skill, read.evals) : []));
    }
  }
  if (errors.length > 0) throw EvalsError.all(errors);
  return made;
}

function asEvalsError(thrown: unknown): EvalsError {
  if (thrown instanceof EvalsError) return thrown;
  throw thrown;
}

function nameTaken({ name, file }: SkillPackage, other: SkillPackage): Problem {
  const message = `the eval files of this skill are not run: ${other.file} has the name ${name} too`;
  return { severity: "warning", message, hint: "Give one of them another name, or name its path.", place: { file } };
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

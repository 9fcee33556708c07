import { resolve } from "node:path";
import { EvalsError, type ExitCode, exitCodes, formatProblem, type Problem } from "../base/types/errors.ts";
import type { Io } from "../base/types/io.ts";
import type { SkillEval, SkillPackage, SkillRoot } from "../base/types/skill.ts";
import { discoverSkills } from "../input/skills/discover.ts";
import { readSkillEvals } from "../input/skills/evals.ts";
import { findHostSkills } from "../input/skills/hosts.ts";
import { printResult } from "../reports/result.ts";
import { type EvalCounts, type SkillListing, skillsDocument } from "./skillsReport.ts";
import { requireFolder } from "./targets.ts";

/** The options of `evals tools --skills`. `hostDir` are folders such as `.claude`, `dir` folders of packages. */
export type SkillsOptions = {
  host: string;
  hostDir?: string[] | undefined;
  dir?: string[] | undefined;
  json: boolean;
};

/**
 * `evals tools --skills`: prints which skills a host shows to its model, and which it does not. Exits with 2 if an eval file
 * is invalid, after printing the list. Throws EvalsError for a folder that does not exist.
 */
export async function listSkills(options: SkillsOptions, io: Io): Promise<ExitCode> {
  const { host, hostDir, dir = [], json } = options;
  for (const folder of dir) await requireFolder(folder, io);
  const home = io.env.HOME ?? io.env.USERPROFILE;
  const ofHost = findHostSkills(host, { home: home || undefined, cwd: io.cwd, env: io.env, withUser: true }, hostDir);
  const { rules } = ofHost;
  const roots: SkillRoot[] = [
    ...dir.map((folder) => ({ dir: resolve(io.cwd, folder), level: "named" as const })),
    ...ofHost.roots,
  ];
  const found = await discoverSkills(roots, { cwd: io.cwd, rules });
  const read = await Promise.all(found.skills.map((skill) => countEvals(skill, io)));
  const listing: SkillListing = {
    host,
    folders: roots.map(({ dir }) => dir),
    skills: found.skills.flatMap((skill, at) => {
      const shown = rules.show(skill);
      if ("hidden" in shown) return [];
      const { name, level, file, hash } = skill;
      const declared = rules.namedBy === "folder" ? readDeclaredName(skill) : undefined;
      return {
        ...{ name, ...(declared !== undefined && declared !== name && { declared }), level, file },
        ...{ description: shown.description, hash, evals: read[at]?.counts ?? "unreadable" },
      };
    }),
    hidden: found.skills.flatMap((skill) => {
      const shown = rules.show(skill);
      return "hidden" in shown ? [{ name: skill.name, file: skill.file, reason: shown.hidden }] : [];
    }),
    shadowed: found.shadowed,
    skipped: found.skipped,
  };
  printResult(listing, skillsDocument(listing), json, io);
  const problems = [...found.warnings, ...read.flatMap((one) => one.problems)];
  for (const problem of problems) io.err(`${formatProblem(problem)}\n`);
  return problems.some(({ severity }) => severity === "error") ? exitCodes.usage : exitCodes.passed;
}

/** The name in the front matter, with that of the plugin as in the skill's name. */
function readDeclaredName({ name, level, document: { frontMatter } }: SkillPackage): string | undefined {
  const plugin = level === "plugin" ? name.slice(0, name.indexOf(":") + 1) : "";
  return frontMatter.name ? `${plugin}${frontMatter.name}` : undefined;
}

async function countEvals(skill: SkillPackage, io: Io): Promise<{ counts: EvalCounts; problems: readonly Problem[] }> {
  try {
    const { evals, warnings } = await readSkillEvals(skill, { repository: io.cwd, cwd: io.cwd });
    return { counts: countCases(evals), problems: warnings };
  } catch (error) {
    if (!(error instanceof EvalsError)) throw error;
    return { counts: "unreadable", problems: error.problems };
  }
}

function countCases(evals: readonly SkillEval[]): EvalCounts {
  const positives = evals.filter(({ triggers }) => triggers).length;
  const checks = evals.reduce((sum, { expectedBehavior }) => sum + expectedBehavior.length, 0);
  return { positives, negatives: evals.length - positives, checks };
}

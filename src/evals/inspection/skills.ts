import { resolve } from "node:path";
import { type EvalCounts, type SkillListing, skillsDocument } from "../reports/skills.ts";
import { renderTerminal } from "../reports/terminal.ts";
import { discoverSkills, getPrecedence, type SkillRoot, skillRoots } from "../skills/discover.ts";
import { readSkillEvals } from "../skills/evals.ts";
import { EvalsError, type ExitCode, exitCodes, formatProblem, type Problem } from "../types/errors.ts";
import type { Io } from "../types/io.ts";
import type { SkillEval, SkillPackage } from "../types/skill.ts";
import { requireFolder } from "./targets.ts";

/** The options of `evals skills list`. `hostDir` are folders such as `.claude`, `dir` folders of packages. */
export type SkillsOptions = {
  host: string;
  hostDir?: string[] | undefined;
  dir?: string[] | undefined;
  json: boolean;
};

/**
 * `evals skills list`: prints which skills a host loads and which it skips. Exits with 2 if an eval file is invalid, after
 * printing the list. Throws EvalsError for a folder that does not exist.
 */
export async function listSkills(options: SkillsOptions, io: Io): Promise<ExitCode> {
  const { host, hostDir, dir = [], json } = options;
  for (const folder of dir) await requireFolder(folder, io);
  const home = io.env.HOME ?? io.env.USERPROFILE;
  const roots: SkillRoot[] = [
    ...dir.map((folder) => ({ dir: resolve(io.cwd, folder), level: "named" as const })),
    ...skillRoots({ ...(home && { home }), project: io.cwd, ...(hostDir && { hostDirs: hostDir }) }),
  ];
  const found = await discoverSkills(roots, { precedence: getPrecedence(host), cwd: io.cwd });
  const read = await Promise.all(found.skills.map((skill) => countEvals(skill, io)));
  const listing: SkillListing = {
    host,
    folders: roots.map(({ dir }) => dir),
    skills: found.skills.map(({ name, level, file, description, hash }, at) => {
      return { name, level, file, description, hash, evals: read[at]?.counts ?? "unreadable" };
    }),
    shadowed: found.shadowed,
    skipped: found.skipped,
  };
  io.out(json ? `${JSON.stringify(listing, null, 2)}\n` : renderTerminal(skillsDocument(listing), io));
  const problems = [...found.warnings, ...read.flatMap((one) => one.problems)];
  for (const problem of problems) io.err(`${formatProblem(problem)}\n`);
  return problems.some(({ severity }) => severity === "error") ? exitCodes.usage : exitCodes.passed;
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

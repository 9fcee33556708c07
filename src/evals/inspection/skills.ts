import { stat } from "node:fs/promises";
import { resolve } from "node:path";
import type { SkillsFlags } from "../commands/skills.ts";
import { EvalsError, type ExitCode, exitCodes, formatProblem, type Problem, usageError } from "../errors.ts";
import type { Io } from "../io.ts";
import { type EvalCounts, type SkillListing, skillsDocument } from "../reports/skills.ts";
import { renderTerminal } from "../reports/terminal.ts";
import { discoverSkills, getPrecedence, type SkillRoot, skillRoots } from "../skills/discover.ts";
import { readSkillEvals } from "../skills/evals.ts";
import type { SkillEval, SkillPackage } from "../types/skill.ts";

/**
 * `evals skills list`: prints what a host would load and what it would pass over. Exits 2 when eval files are wrong; the
 * listing is printed all the same.
 */
export async function listSkills(flags: SkillsFlags, io: Io): Promise<ExitCode> {
  const roots = await rootsOf(flags, io);
  const { host } = flags;
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
  io.out(flags.json ? `${JSON.stringify(listing, null, 2)}\n` : renderTerminal(skillsDocument(listing), io));
  const problems = [...found.warnings, ...read.flatMap((one) => one.problems)];
  for (const problem of problems) io.err(`${formatProblem(problem)}\n`);
  return problems.some(({ severity }) => severity === "error") ? exitCodes.usage : exitCodes.passed;
}

/** The folders of the host, and those that are named, which must exist. */
async function rootsOf({ hostDir, dir = [] }: SkillsFlags, io: Io): Promise<SkillRoot[]> {
  const home = io.env.HOME ?? io.env.USERPROFILE;
  const named = dir.map((one) => ({ dir: resolve(io.cwd, one), level: "named" as const }));
  for (const [at, root] of named.entries()) {
    const kind = await stat(root.dir).catch(() => undefined);
    if (!kind?.isDirectory())
      throw usageError(`there is no folder "${dir[at]}"`, "Give a folder of skill packages, or one package.");
  }
  return [...named, ...skillRoots({ ...(home && { home }), project: io.cwd, ...(hostDir && { hostDirs: hostDir }) })];
}

async function countEvals(skill: SkillPackage, io: Io): Promise<{ counts: EvalCounts; problems: readonly Problem[] }> {
  try {
    const { evals, warnings } = await readSkillEvals(skill, { repository: io.cwd, cwd: io.cwd });
    return { counts: countsOf(evals), problems: warnings };
  } catch (error) {
    if (!(error instanceof EvalsError)) throw error;
    return { counts: "unreadable", problems: error.problems };
  }
}

function countsOf(evals: readonly SkillEval[]): EvalCounts {
  const positives = evals.filter(({ triggers }) => triggers).length;
  const checks = evals.reduce((sum, { expectedBehavior }) => sum + expectedBehavior.length, 0);
  return { positives, negatives: evals.length - positives, checks };
}

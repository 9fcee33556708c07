import { createHash } from "node:crypto";
import { resolve } from "node:path";
import { realPath } from "../parsing/confined.ts";
import { type Discovery, discoverSkills } from "../skills/discover.ts";
import { readSkillEvals } from "../skills/evals.ts";
import { findHostSkills, formatRules, type Hidden, type HostRules } from "../skills/hosts.ts";
import { findOfferedFolder } from "../skills/packageFiles.ts";
import { buildSkillSuite } from "../suites/skillSuite.ts";
import type { HostName } from "../toolsets/host.ts";
import { EvalsError, type Place, type Problem } from "../types/errors.ts";
import type { Io } from "../types/io.ts";
import type { SkillEval, SkillPackage, SkillRoot } from "../types/skill.ts";
import type { Case, Suite } from "../types/suite.ts";

/** Which skills are looked up, as which host, and whether their expected behaviour is judged. */
export type SkillOptions = {
  skill?: readonly string[] | undefined;
  hostDir?: readonly string[] | undefined;
  userSkills?: boolean | undefined;
  host?: HostName | undefined;
  judge?: string | undefined;
};

/** Skills that are offered together, the folders they were found in, and those whose eval files are wanted. */
export type Offered = {
  skills: readonly SkillPackage[];
  folders: readonly string[];
  subjects: readonly SkillPackage[];
  warnings: readonly Problem[];
};

type OfferedSkills = Pick<Offered, "skills" | "warnings">;

/**
 * The skills that a host would load here, from its own folders: those of the project, and those of the user if they are
 * wanted. Results that others should get too, and baselines that are committed, cannot depend on what is installed on one
 * machine. A run can tell skills apart by their name only, so it offers one of each.
 */
export async function findOfferedSkills(
  { host = "plain", hostDir, userSkills = false }: SkillOptions,
  io: Io,
): Promise<Offered> {
  const home = io.env.HOME ?? io.env.USERPROFILE;
  const place = { home: home || undefined, cwd: io.cwd, env: io.env, withUser: userSkills };
  const { roots, rules } = findHostSkills(host, place, hostDir);
  const { skills, warnings } = await findUnder(roots, io, { rules: { ...rules, keepsEqualNames: false } });
  return { skills, folders: roots.map(({ dir }) => dir), subjects: skills, warnings };
}

/**
 * The packages with these paths, each with what it would be loaded with: the skills of the hosts when it is one of them,
 * else the packages in the same folder, as far as that belongs to the same repository.
 */
export async function findNamedSkills(
  packages: readonly string[],
  byHosts: Offered | undefined,
  io: Io,
): Promise<Offered[]> {
  const folders = new Map<string, Set<string>>();
  for (const path of packages) {
    const dir = realPath(resolve(io.cwd, path)) ?? resolve(io.cwd, path);
    const folder = findOfferedFolder(dir, io.cwd);
    folders.set(folder, (folders.get(folder) ?? new Set()).add(dir));
  }
  const offered = await Promise.all(
    [...folders].map(async ([folder, wanted]): Promise<Offered> => {
      const { skills, warnings } = await findUnder([{ dir: folder, level: "named" }], io, { isReported: isSkillFile });
      const subjects = skills.filter((skill) => wanted.has(skill.dir));
      return { skills, folders: [folder], subjects, warnings };
    }),
  );
  return offered.map((one) => {
    const loaded = byHosts?.skills.filter(({ dir }) => one.subjects.some((subject) => subject.dir === dir)) ?? [];
    return byHosts && loaded.length > 0 && loaded.length === one.subjects.length
      ? { ...byHosts, subjects: loaded }
      : one;
  });
}

/** Next to a named package there may be any files; a host's folder holds nothing but packages. */
const isSkillFile = (file: string) => /[/\\]SKILL\.md(?::\d+)?$/.test(file);

/** The skills of suites that name folders of skills, by suite name. A folder that several suites name is read once. */
export async function findSuiteSkills(
  suites: readonly Suite[],
  io: Io,
): Promise<{ skills: Map<string, readonly SkillPackage[]>; warnings: Problem[] }> {
  const skills = new Map<string, readonly SkillPackage[]>();
  const warnings: Problem[] = [];
  const read = new Map<string, Promise<OfferedSkills>>();
  for (const suite of suites) {
    if (suite.skills.length === 0) continue;
    const roots = suite.skills.map((folder) => ({ dir: resolve(suite.dir, folder), level: "named" as const }));
    const key = JSON.stringify(roots);
    const known = read.get(key);
    const reading = known ?? findUnder(roots, io);
    read.set(key, reading);
    const found = await reading;
    if (!known) warnings.push(...found.warnings);
    skills.set(suite.name, found.skills);
    if (found.skills.length === 0) warnings.push(emptyFolders(suite));
  }
  return { skills, warnings };
}

function emptyFolders({ name, skills, file }: Suite): Problem {
  return {
    severity: "warning",
    message: `The suite "${name}" offers no skill: none was found in ${skills.join(", ")}.`,
    hint: "Name folders that hold skill packages, each with a SKILL.md; paths are relative to the suite's folder.",
    place: { file },
  };
}

/** The packages in some folders that a model is offered, as it is shown them, with a warning for each that it is not. */
async function findUnder(
  roots: readonly SkillRoot[],
  io: Io,
  { rules = formatRules, isReported = () => true }: { rules?: HostRules; isReported?: (file: string) => boolean } = {},
): Promise<OfferedSkills> {
  const found = await discoverSkills(roots, { cwd: io.cwd, rules });
  const all = found.skills.map((skill) => ({ skill, shown: rules.show(skill) }));
  const skills = all.flatMap(({ skill, shown }) => ("hidden" in shown ? [] : [{ ...skill, ...shown }]));
  const hidden = all.flatMap(({ skill, shown }) => ("hidden" in shown ? [describeHidden(skill, shown)] : []));
  const skipped = describeSkipped(found).filter(({ place }) => isReported(place.file));
  return { skills, warnings: [...found.warnings, ...skipped, ...hidden] };
}

function describeHidden({ name, file, document }: SkillPackage, { hidden, key }: Hidden): Problem {
  const message = `The skill "${name}" is not offered to models: ${hidden}.`;
  const hint = `Its eval files are not run. ${key === undefined ? "See `evals skills list`." : "Remove the key to let models load it."}`;
  const place = { file, ...(key !== undefined && document.places[key]) };
  return { severity: "warning", message, hint, place };
}

function describeSkipped({ shadowed, skipped }: Discovery): (Problem & { place: Place })[] {
  const hint = "Its eval files are not run. See `evals skills list`.";
  const warning = (message: string, file: string) => ({ severity: "warning" as const, message, hint, place: { file } });
  return [
    ...skipped.map(({ file, reason }) => warning(`No host can load this skill: ${reason}.`, file)),
    ...shadowed.map(({ name, file, by }) =>
      warning(`Another skill "${name}" is loaded instead of this one: ${by}.`, file),
    ),
  ];
}

/** The suites that eval files of packages make, with the skills that each offers, by its name. */
export type SkillSuites = {
  suites: Suite[];
  skills: Map<string, readonly SkillPackage[]>;
  warnings: Problem[];
};

/**
 * Reads the eval files of the wanted packages. Expected behaviour is measured only with a judge; without one a warning
 * says so. Throws one EvalsError with all that is wrong in any of the files.
 */
export async function makeSkillSuites(
  offered: readonly Offered[],
  { skill: wanted, judge }: Pick<SkillOptions, "skill" | "judge">,
  io: Io,
): Promise<SkillSuites> {
  const made: SkillSuites = { suites: [], skills: new Map(), warnings: [] };
  const errors: EvalsError[] = [];
  const taken = new Map<string, SkillPackage>();
  // A package that was named can be among those that hosts load, too: each warning is printed once.
  made.warnings.push(...new Set(offered.flatMap(({ warnings }) => warnings)));
  for (const { skills, folders, subjects } of offered) {
    for (const skill of subjects.filter(({ name }) => wanted?.includes(name) ?? true)) {
      const other = taken.get(skill.name);
      if (other && other.dir !== skill.dir) made.warnings.push(duplicateName(skill, other));
      if (other) continue;
      taken.set(skill.name, skill);
      const read = await readSkillEvals(skill, { repository: io.cwd, cwd: io.cwd }).catch(expectEvalsError);
      if (read instanceof EvalsError) {
        errors.push(read);
        continue;
      }
      const measures = judge === undefined ? (["trigger"] as const) : (["trigger", "behaviour"] as const);
      const suites = measures.flatMap((measure) => buildSkillSuite(skill, read.evals, measure, folders) ?? []);
      made.suites.push(...suites);
      for (const { name } of suites) made.skills.set(name, skills);
      made.warnings.push(...read.warnings, ...(judge === undefined ? describeUngraded(skill, read.evals) : []));
    }
  }
  if (errors.length > 0) throw EvalsError.all(errors);
  return made;
}

function expectEvalsError(thrown: unknown): EvalsError {
  if (thrown instanceof EvalsError) return thrown;
  throw thrown;
}

function duplicateName({ name, file }: SkillPackage, other: SkillPackage): Problem {
  const message = `The eval files of this skill are skipped: ${other.file} has the name "${name}" too.`;
  return { severity: "warning", message, hint: "Rename one of them, or give its path.", place: { file } };
}

function describeUngraded({ name, file }: SkillPackage, evals: readonly SkillEval[]): Problem[] {
  const sentences = evals.reduce((sum, { expectedBehavior }) => sum + expectedBehavior.length, 0);
  if (sentences === 0) return [];
  const message = `The expected behaviour of the skill "${name}" (${sentences} sentences) is not graded, only whether it is loaded.`;
  return [{ severity: "warning", message, hint: "Name a judge with --judge <model>.", place: { file } }];
}

/** Makes the judged cases of a suite depend on the instructions of its skills too. Their hashes are not changed. */
export function addPackageHash(suite: Suite, skills: readonly SkillPackage[] = []): Suite {
  if (skills.length === 0) return suite;
  const hash = createHash("sha256");
  for (const skill of skills) hash.update(`${skill.name}\0${skill.hash}\n`);
  const packageHash = hash.digest("hex");
  const add = (one: Case) => (one.expectedBehavior.length > 0 ? { ...one, packageHash } : one);
  return { ...suite, cases: suite.cases.map(add) };
}

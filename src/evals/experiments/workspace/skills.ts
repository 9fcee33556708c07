import { createHash } from "node:crypto";
import { resolve } from "node:path";
import { sumOf } from "../../base/collections.ts";
import { knownSecrets } from "../../base/secrets/secrets.ts";
import { EvalsError, type Location, type Problem } from "../../base/types/errors.ts";
import type { Io } from "../../base/types/io.ts";
import type { SkillPackage, SkillRoot } from "../../base/types/skill.ts";
import type { Case, Suite } from "../../base/types/suite.ts";
import { findOfferedFolder, realPath } from "../../input/parsing/folders.ts";
import type { Discovery } from "../../input/skills/discover.ts";
import { readSkillEvals } from "../../input/skills/evals.ts";
import type { Hidden, HostRules } from "../../input/skills/hosts.ts";
import { buildSkillSuite } from "../../input/suites/skillSuite.ts";
import { count } from "../../reports/format.ts";
import type { HostName } from "../../servers/host.ts";

/** Which skills to find, as which host, and whether to judge their expected behavior. */
export type SkillOptions = {
  skill?: readonly string[] | undefined;
  hostDir?: readonly string[] | undefined;
  userSkills?: boolean | undefined;
  host?: HostName | undefined;
  judge?: string | undefined;
};

/** Skills that are offered together, and the folders they were found in. `subjects`: those whose evals are run. */
export type Offered = {
  skills: readonly SkillPackage[];
  folders: readonly string[];
  subjects: readonly SkillPackage[];
  warnings: readonly Problem[];
};

type OfferedSkills = Pick<Offered, "skills" | "warnings">;

/** The folders in which a host looks for skills here, and the rules that it applies. */
export async function findSkillFolders({ host = "plain", hostDir, userSkills = false }: SkillOptions, io: Io) {
  const home = io.env.HOME ?? io.env.USERPROFILE;
  const location = { home: home || undefined, cwd: io.cwd, env: io.env, withUser: userSkills };
  const { findHostSkills } = await loadSkillReader();
  return findHostSkills(host, location, hostDir);
}

/**
 * Finds the skills that a host would load here: those of the project, and with `userSkills` those of the user. The
 * latter are not included by default, because reproducible results and committed baselines must not depend on one
 * machine. A run distinguishes skills by name only, so it offers one of each name.
 */
export async function findOfferedSkills(options: SkillOptions, io: Io): Promise<Offered> {
  const { roots, rules } = await findSkillFolders(options, io);
  const { skills, warnings } = await findUnder(roots, io, { rules: { ...rules, keepsEqualNames: false } });
  return { skills, folders: roots.map(({ dir }) => dir), subjects: skills, warnings };
}

/**
 * Finds the packages with these paths, each with the skills it is offered with: those that the host loads if it is one
 * of them, otherwise the packages in the same folder, if that belongs to the same repository.
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

/** Only skill files are reported next to a named package, where there may be any files. */
const isSkillFile = (file: string) => /[/\\]SKILL\.md(?::\d+)?$/.test(file);

/** Finds the skills of suites that name folders of skills, by suite name. Reads each folder once. */
export async function findSuiteSkills(suites: readonly Suite[], io: Io) {
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
  const message = `The suite "${name}" offers no skill: none was found in ${skills.join(", ")}.`;
  const hint = "Name folders that hold skill packages, each with a SKILL.md; paths are relative to the suite's folder.";
  return { severity: "warning", message, hint, location: { file } };
}

/** Loads the reader of skills, with its YAML parser, which suites in JSON do without. */
async function loadSkillReader() {
  return { ...(await import("../../input/skills/discover.ts")), ...(await import("../../input/skills/hosts.ts")) };
}

/** Finds the packages in folders that a model is offered, as shown to it. Warns about those that it is not offered. */
async function findUnder(
  roots: readonly SkillRoot[],
  io: Io,
  given: { rules?: HostRules; isReported?: (file: string) => boolean } = {},
): Promise<OfferedSkills> {
  const { discoverSkills, formatRules } = await loadSkillReader();
  const { rules = formatRules, isReported = () => true } = given;
  const found = await discoverSkills(roots, { cwd: io.cwd, rules });
  const all = found.skills.map((skill) => ({ skill, shown: rules.show(skill) }));
  const skills = all.flatMap(({ skill, shown }) => ("hidden" in shown ? [] : [{ ...skill, ...shown }]));
  const hidden = all.flatMap(({ skill, shown }) => ("hidden" in shown ? [describeHidden(skill, shown)] : []));
  const skipped = describeSkipped(found).filter(({ location }) => isReported(location.file));
  return { skills, warnings: [...found.warnings, ...skipped, ...hidden] };
}

function describeHidden({ name, file, document }: SkillPackage, { hidden, key }: Hidden): Problem {
  const message = `The skill "${name}" is not offered to models: ${hidden}.`;
  const hint = `Its eval files are not run. ${key === undefined ? "See `evals tools --skills`." : "Remove the key to let models load it."}`;
  const location = { file, ...(key !== undefined && document.locations[key]) };
  return { severity: "warning", message, hint, location };
}

function describeSkipped({ shadowed, skipped }: Discovery): (Problem & { location: Location })[] {
  const hint = "Its eval files are not run. See `evals tools --skills`.";
  const warning = (message: string, file: string) => {
    return { severity: "warning" as const, message, hint, location: { file } };
  };
  return [
    ...skipped.map(({ file, reason }) => warning(`This skill is not loaded: ${reason}.`, file)),
    ...shadowed.map(({ name, file, by }) =>
      warning(`Another skill "${name}" is loaded instead of this one: ${by}.`, file),
    ),
  ];
}

/** Suites made from eval files of packages. `skills`: the skills that each suite offers, by suite name. */
export type SkillSuites = {
  suites: Suite[];
  skills: Map<string, readonly SkillPackage[]>;
  warnings: Problem[];
};

/** Makes suites from eval files. Behavior is measured only with a judge. Throws EvalsError with all problems. */
export async function makeSkillSuites(
  offered: readonly Offered[],
  { skill: wanted, judge }: Pick<SkillOptions, "skill" | "judge">,
  io: Io,
): Promise<SkillSuites> {
  const made: SkillSuites = { suites: [], skills: new Map(), warnings: [] };
  const errors: EvalsError[] = [];
  const { redact } = knownSecrets(io.env);
  const taken = new Map<string, SkillPackage>();
  const ungraded: { skill: SkillPackage; sentences: number }[] = [];
  // A named package may also be among those that hosts load: print each warning once.
  made.warnings.push(...new Set(offered.flatMap(({ warnings }) => warnings)));
  for (const { skills, folders, subjects } of offered) {
    for (const skill of subjects.filter(({ name }) => wanted?.includes(name) ?? true)) {
      const other = taken.get(skill.name);
      if (other && other.dir !== skill.dir) made.warnings.push(duplicateName(skill, other));
      if (other) continue;
      taken.set(skill.name, skill);
      const read = await readSkillEvals(skill, { repository: io.cwd, cwd: io.cwd }).catch((error: unknown) => {
        if (!(error instanceof EvalsError)) throw error;
        errors.push(error);
      });
      if (!read) continue;
      const measures = judge === undefined ? (["trigger"] as const) : (["trigger", "behavior"] as const);
      const suites = measures.flatMap((measure) => buildSkillSuite(skill, read.evals, measure, folders, redact) ?? []);
      made.suites.push(...suites);
      for (const { name } of suites) made.skills.set(name, skills);
      made.warnings.push(...read.warnings);
      const sentences = sumOf(read.evals, ({ expectedBehavior }) => expectedBehavior.length);
      if (judge === undefined && sentences > 0) ungraded.push({ skill, sentences });
    }
  }
  made.warnings.push(...describeUngraded(ungraded));
  if (errors.length > 0) throw EvalsError.all(errors);
  return made;
}

function duplicateName({ name, file }: SkillPackage, other: SkillPackage): Problem {
  const message = `The eval files of this skill are skipped: ${other.file} has the name "${name}" too.`;
  return { severity: "warning", message, hint: "Rename one of them, or give its path.", location: { file } };
}

function describeUngraded(ungraded: readonly { skill: SkillPackage; sentences: number }[]): Problem[] {
  const [first, ...others] = ungraded.map(({ skill }) => skill);
  if (!first) return [];
  const total = sumOf(ungraded, ({ sentences }) => sentences);
  const sentences = count(total, "sentence");
  const names = ungraded.map(({ skill }) => skill.name).join(", ");
  const message =
    others.length === 0
      ? `The expected behavior of the skill "${first.name}" (${sentences}) is not graded, only whether it is loaded.`
      : `The expected behavior of ${ungraded.length} skills (${sentences}) is not graded, only whether they are loaded: ${names}.`;
  const location = others.length === 0 && { location: { file: first.file } };
  return [{ severity: "warning", message, hint: "Name a judge with --judge <model>.", ...location }];
}

/** Adds the hash of its skills to the judged cases of a suite, whose results depend on the skills' instructions. */
export function addPackageHash(suite: Suite, skills: readonly SkillPackage[] = []): Suite {
  if (skills.length === 0) return suite;
  const hash = createHash("sha256");
  for (const skill of skills) hash.update(`${skill.name}\0${skill.hash}\n`);
  const packageHash = hash.digest("hex");
  const add = (one: Case) => (one.expectedBehavior.length > 0 ? { ...one, packageHash } : one);
  return { ...suite, cases: suite.cases.map(add) };
}

import { createHash } from "node:crypto";
import { basename, dirname, resolve } from "node:path";
import type { Place, Problem } from "../errors.ts";
import type { Io } from "../io.ts";
import { type Discovery, discoverSkills, precedenceOf, type SkillRoot, skillRoots } from "../skills/discover.ts";
import type { SkillPackage } from "../types/skill.ts";
import type { Case, Suite } from "../types/suite.ts";
import type { SuiteOptions } from "./suites.ts";

/** Skills that are offered beside each other, the folders they were found in, and those whose eval files are asked for. */
export type Offered = {
  skills: readonly SkillPackage[];
  folders: readonly string[];
  subjects: readonly SkillPackage[];
  warnings: readonly Problem[];
};

type HostFlags = Pick<SuiteOptions, "host" | "hostDir" | "userSkills">;
type Found = Pick<Offered, "skills" | "warnings">;

/** What a model is offered of the packages under some folders. What it is not is told, for its eval files are not run. */
async function offeredUnder(
  roots: readonly SkillRoot[],
  host: SuiteOptions["host"],
  io: Io,
  isTold: (file: string) => boolean = () => true,
): Promise<Found> {
  const found = await discoverSkills(roots, { precedence: precedenceOf(host ?? "plain"), cwd: io.cwd });
  const skills = found.skills.filter(offersItself);
  const hidden = found.skills.filter((skill) => !offersItself(skill));
  const passed = passedOver(found).filter(({ place }) => isTold(place.file));
  return { skills, warnings: [...found.warnings, ...passed, ...hidden.map(onlyForUsers)] };
}

/** Hosts that know the key show such a skill to users alone: a model that never sees it leaves it alone for nothing. */
const offersItself = ({ document }: SkillPackage) => document.frontMatter["disable-model-invocation"] !== true;

function onlyForUsers({ name, file, document }: SkillPackage): Problem {
  const message = `the skill ${name} is not offered to a model, for its \`disable-model-invocation\` is true`;
  const hint = "No eval file of it is run. Take the key out to have it loaded by a model.";
  const place = { file, ...document.places["disable-model-invocation"] };
  return { severity: "warning", message, hint, place };
}

function passedOver({ shadowed, skipped }: Discovery): (Problem & { place: Place })[] {
  const hint = "No eval file of it is run. See `evals skills list`.";
  const warning = (message: string, file: string) => ({ severity: "warning" as const, message, hint, place: { file } });
  return [
    ...skipped.map(({ file, reason }) => warning(`no host can load this skill: ${reason}`, file)),
    ...shadowed.map(({ name, file, by }) =>
      warning(`another skill ${name} is loaded in the place of this: ${by}`, file),
    ),
  ];
}

/** The skills that a host would load here: those of the project, and of the user unless they are left out. */
export async function skillsOfHosts({ host, hostDir, userSkills }: HostFlags, io: Io): Promise<Offered> {
  const home = userSkills === false ? undefined : (io.env.HOME ?? io.env.USERPROFILE);
  const roots = skillRoots({ ...(home && { home }), project: io.cwd, ...(hostDir && { hostDirs: hostDir }) });
  const { skills, warnings } = await offeredUnder(roots, host, io);
  return { skills, folders: roots.map(({ dir }) => dir), subjects: skills, warnings };
}

/**
 * Packages that were named, each beside what it would be loaded with: the skills of the hosts when it is one of them,
 * else the packages in the same folder.
 */
export async function skillsOfPackages(
  packages: readonly string[],
  byHosts: Offered | undefined,
  io: Io,
): Promise<Offered[]> {
  const folders = new Map<string, string[]>();
  for (const path of packages) {
    const dir = resolve(io.cwd, path);
    folders.set(dirname(dir), [...(folders.get(dirname(dir)) ?? []), basename(dir)]);
  }
  const offered = await Promise.all(
    [...folders].map(async ([folder, names]): Promise<Offered> => {
      const { skills, warnings } = await offeredUnder([{ dir: folder, level: "named" }], undefined, io, isSkillFile);
      const subjects = skills.filter((skill) => names.includes(skill.folder));
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

/** Beside a package that was named anything may lie; a host's folder is there for packages only. */
const isSkillFile = (file: string) => /[/\\]SKILL\.md(?::\d+)?$/.test(file);

/** The skills of suites that name folders of them, by suite name. Folders that several suites name are read once. */
export async function skillsOfSuites(
  suites: readonly Suite[],
  { host }: HostFlags,
  io: Io,
): Promise<{ skills: Map<string, readonly SkillPackage[]>; warnings: Problem[] }> {
  const skills = new Map<string, readonly SkillPackage[]>();
  const warnings: Problem[] = [];
  const read = new Map<string, Promise<Found>>();
  for (const suite of suites) {
    if (suite.skills.length === 0) continue;
    const roots = suite.skills.map((folder) => ({ dir: resolve(suite.dir, folder), level: "named" as const }));
    const key = JSON.stringify(roots);
    const known = read.get(key);
    const reading = known ?? offeredUnder(roots, host, io);
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
    message: `the suite ${name} offers no skill: none was found in ${skills.join(", ")}`,
    hint: "Name folders that hold skill packages, each with a SKILL.md; paths start from the suite's folder.",
    place: { file },
  };
}

/** The suite whose judged cases depend on the instructions of the skills that it offers too. Its hashes are not renewed. */
export function withPackageHash(suite: Suite, skills: readonly SkillPackage[] = []): Suite {
  if (skills.length === 0) return suite;
  const hash = createHash("sha256");
  for (const skill of skills) hash.update(`${skill.name}\0${skill.hash}\n`);
  const packageHash = hash.digest("hex");
  const judged = (one: Case) => (one.expectedBehavior.length > 0 ? { ...one, packageHash } : one);
  return { ...suite, cases: suite.cases.map(judged) };
}

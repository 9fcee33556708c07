import { basename, dirname, resolve } from "node:path";
import type { Problem } from "../../errors.ts";
import { discoverSkills, precedenceOf, skillRoots } from "../../skills/discover.ts";
import type { SkillPackage } from "../../types/skill.ts";
import type { Suite } from "../../types/suite.ts";
import type { Io } from "../io.ts";
import type { SuiteFlags } from "./select.ts";

/** Skills that are offered beside each other, the folders they were found in, and those whose eval files are asked for. */
export type Offered = {
  skills: readonly SkillPackage[];
  folders: readonly string[];
  subjects: readonly SkillPackage[];
  warnings: readonly Problem[];
};

type HostFlags = Pick<SuiteFlags, "host" | "hostDir" | "userSkills">;

/** The skills that a host would load here: those of the project, and of the user unless they are left out. */
export async function skillsOfHosts({ host, hostDir, userSkills }: HostFlags, io: Io): Promise<Offered> {
  const home = userSkills === false ? undefined : io.env.HOME;
  const roots = skillRoots({ ...(home && { home }), project: io.cwd, ...(hostDir && { hostDirs: hostDir }) });
  const { skills, warnings } = await discoverSkills(roots, { precedence: precedenceOf(host ?? "plain"), cwd: io.cwd });
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
      const roots = [{ dir: folder, level: "named" as const }];
      const { skills, warnings } = await discoverSkills(roots, { precedence: "project", cwd: io.cwd });
      const subjects = skills.filter((skill) => names.includes(skill.folder));
      return { skills, folders: [folder], subjects, warnings };
    }),
  );
  return offered.map((one) => {
    const loaded = byHosts?.skills.filter(({ dir }) => one.subjects.some((subject) => subject.dir === dir)) ?? [];
    return byHosts && loaded.length === one.subjects.length ? { ...byHosts, subjects: loaded } : one;
  });
}

/** The skills of suites that name folders of them, by suite name. Folders that several suites name are read once. */
export async function skillsOfSuites(
  suites: readonly Suite[],
  flags: HostFlags,
  io: Io,
): Promise<{ skills: Map<string, readonly SkillPackage[]>; warnings: Problem[] }> {
  const skills = new Map<string, readonly SkillPackage[]>();
  const warnings: Problem[] = [];
  const read = new Map<string, ReturnType<typeof discoverSkills>>();
  for (const suite of suites) {
    if (suite.skills.length === 0) continue;
    const roots = suite.skills.map((folder) => ({ dir: resolve(suite.dir, folder), level: "named" as const }));
    const key = JSON.stringify(roots);
    const known = read.get(key);
    const reading = known ?? discoverSkills(roots, { precedence: precedenceOf(flags.host ?? "plain"), cwd: io.cwd });
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

import { EvalsError, type Problem, usageError } from "../errors.ts";
import type { Io } from "../io.ts";
import { type Discovered, discover } from "../suites/discover.ts";
import { loadSuites } from "../suites/load.ts";
import { override } from "../suites/override.ts";
import type { HostName } from "../toolsets/host.ts";
import { type SkillPackage, skillEntryName } from "../types/skill.ts";
import type { ExecutionPolicy, Suite } from "../types/suite.ts";
import { skillSuites } from "./skillSuites.ts";
import { type Offered, skillsOfHosts, skillsOfPackages, skillsOfSuites, withPackageHash } from "./skillsOffered.ts";

/** Which cases are run, with which skills, and what overrides their suites. */
export type SuiteOptions = {
  paths?: readonly string[] | undefined;
  trials?: number | undefined;
  passRate?: number | undefined;
  maxTurns?: number | undefined;
  execute?: ExecutionPolicy | undefined;
  case?: readonly string[] | undefined;
  skill?: readonly string[] | undefined;
  hostDir?: readonly string[] | undefined;
  userSkills?: boolean | undefined;
  host?: HostName | undefined;
  judge?: string | undefined;
};

/** The suites that a command is about, and the skills that each offers, by its name. */
export type Selected = {
  suites: Suite[];
  skills: ReadonlyMap<string, readonly SkillPackage[]>;
  warnings: Problem[];
};

/**
 * The suites that a command is about, as its flags change and filter them: those of suite files, and those that the
 * eval files of skill packages make. Without paths the skills of the project and of the user are looked up too.
 * No suite and no case at all is an error.
 */
export async function selectSuites(
  given: SuiteOptions & { model?: string | readonly string[] },
  io: Io,
): Promise<Selected> {
  const flags = { ...given, host: loadingHost(given) };
  const paths = flags.paths ?? [];
  const found = await discover(paths, io.cwd);
  const loaded = await loadSuites(flags.skill ? [] : found.files, { cwd: io.cwd });
  const byHosts = paths.length === 0 || found.packages.length > 0 ? await skillsOfHosts(flags, io) : undefined;
  const offered: Offered[] = [
    ...(byHosts && paths.length === 0 ? [byHosts] : []),
    ...(await skillsOfPackages(found.packages, byHosts, io)),
  ];
  const fromSkills = await skillSuites(offered, flags, io);
  const bySuites = await skillsOfSuites(loaded.suites, flags, io);
  const warnings = [...loaded.warnings, ...bySuites.warnings, ...fromSkills.warnings];
  const own = loaded.suites.map((suite) => withPackageHash(suite, bySuites.skills.get(suite.name)));
  const all = [...own, ...fromSkills.suites];
  const missing = flags.skill?.filter((name) => !all.some((suite) => suite.name === skillEntryName(name))) ?? [];
  if (missing.length > 0 || all.length === 0)
    throw new EvalsError([nothingFound(paths, found, missing, offered), ...fromSkills.warnings]);
  const suites = all.map((suite) => override(suite, overridesOf(flags))).filter(({ cases }) => cases.length > 0);
  if (suites.length > 0) return { suites, skills: new Map([...bySuites.skills, ...fromSkills.skills]), warnings };
  throw usageError(
    `no case matches ${flags.case?.join(", ")}`,
    "See the ids with `evals run --dry-run`, or leave --case out.",
  );
}

/** Claude Code loads skills in its own way, however the tools of other models are shown. */
export function loadingHost({
  host = "plain",
  model = [],
}: Pick<SuiteOptions, "host"> & {
  model?: string | readonly string[];
}): HostName {
  const models = [model].flat();
  const isOwn = models.length > 0 && models.every((id) => id === "claude-code" || id.startsWith("claude-code:"));
  return isOwn ? "claude-code" : host;
}

function overridesOf(flags: SuiteOptions) {
  return {
    ...(flags.trials !== undefined && { trials: flags.trials }),
    ...(flags.passRate !== undefined && { passRate: flags.passRate }),
    ...(flags.maxTurns !== undefined && { maxTurns: flags.maxTurns }),
    ...(flags.execute !== undefined && { execute: flags.execute }),
    ...(flags.case !== undefined && { cases: flags.case }),
  };
}

function nothingFound(
  paths: readonly string[],
  { packages }: Discovered,
  missing: readonly string[],
  offered: readonly Offered[],
): Problem {
  const error = (message: string, hint: string): Problem => ({ severity: "error", message, hint });
  const where = paths.length > 0 ? paths.join(", ") : "evals";
  if (missing.length > 0) {
    const names = [...new Set(offered.flatMap(({ skills }) => skills.map(({ name }) => name)))];
    const known = names.length > 0 ? `There are: ${names.join(", ")}.` : "None was found.";
    return error(`no skill ${missing.join(", ")} with eval files was found`, `${known} See \`evals skills list\`.`);
  }
  if (packages.length > 0)
    return error(
      `no skill package under ${where} can be asked: they have no eval files, or none is loaded`,
      'Write evals/evals.json in the package: { "evals": [ { "input": "...", "expected_behavior": ["..."] } ] }.',
    );
  return error(
    `no suite found under ${where}${paths.length > 0 ? "" : ", and no skill with eval files"}`,
    "Write one as evals/<name>.yaml with `cases`, or give the path of a suite file or a skill package.",
  );
}

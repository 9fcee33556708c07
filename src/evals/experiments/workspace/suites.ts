import { knownSecrets } from "../../base/secrets/secrets.ts";
import { didYouMean, nearest } from "../../base/text/nearest.ts";
import type { Gate } from "../../base/types/check.ts";
import { EvalsError, type Problem, usageError } from "../../base/types/errors.ts";
import type { ExecutionPolicy } from "../../base/types/flagValues.ts";
import type { Io } from "../../base/types/io.ts";
import { type SkillPackage, skillEntryName } from "../../base/types/skill.ts";
import type { Case, Suite } from "../../base/types/suite.ts";
import type { DispatchRules, SuiteSettings } from "../../base/types/suiteFile.ts";
import { hashCase, hashSuite } from "../../input/suites/build.ts";
import { type DiscoveredPaths, discover } from "../../input/suites/discover.ts";
import { loadInlineSuites, loadSuites } from "../../input/suites/load.ts";
import { some } from "../../reports/format.ts";
import { type HostName, hosts } from "../../servers/host.ts";
import {
  addPackageHash,
  findNamedSkills,
  findOfferedSkills,
  findSuiteSkills,
  makeSkillSuites,
  type Offered,
  type SkillOptions,
} from "./skills.ts";

/** Which cases to run, with which skills, and what overrides the settings of suites. */
export type SuiteOptions = SkillOptions & {
  paths?: readonly string[] | undefined;
  /** Suites as objects, from the library, instead of files and skills. */
  inline?: readonly unknown[] | undefined;
  trials?: number | undefined;
  passRate?: number | undefined;
  maxTurns?: number | undefined;
  execute?: ExecutionPolicy | undefined;
  denial?: string | undefined;
  case?: readonly string[] | undefined;
  /** Only cases with one of these tags. */
  filter?: readonly string[] | undefined;
  /** Only these cases, by `caseKey`. */
  selected?: readonly string[] | undefined;
  /** Names of the explicitly given options, which override the settings of single suites. */
  given?: ReadonlySet<string> | undefined;
  /** Settings of single suites from the project file, by suite name. */
  suiteSettings?: Readonly<Record<string, SuiteSettings>> | undefined;
};

/** The suites of a command. `skills`: the skills that each suite offers, by suite name. */
export type Selected = {
  suites: Suite[];
  skills: ReadonlyMap<string, readonly SkillPackage[]>;
  warnings: Problem[];
};

/**
 * Loads suite files, makes suites from the eval files of skill packages (without paths: of all skills here), and
 * applies overrides and filters. Throws EvalsError if no case is left.
 */
export async function selectSuites(
  given: SuiteOptions & { model?: string | readonly string[] },
  io: Io,
): Promise<Selected> {
  const options = { ...given, host: chooseLoadingHost(given) };
  const { inline, paths = [] } = options;
  const { redact } = knownSecrets(io.env);
  const found = inline ? { files: [], packages: [], warnings: [], parsed: new Map() } : await discover(paths, io.cwd);
  const loaded = inline
    ? await loadInlineSuites(inline, { cwd: io.cwd, redact })
    : await loadSuites(options.skill ? [] : found.files, { cwd: io.cwd, parsed: found.parsed, redact });
  const ofProject = paths.length === 0 && !inline;
  const byHosts = ofProject || found.packages.length > 0 ? await findOfferedSkills(options, io) : undefined;
  const offered: Offered[] = [
    ...(byHosts && ofProject ? [byHosts] : []),
    ...(await findNamedSkills(found.packages, byHosts, io)),
  ];
  const fromSkills = await makeSkillSuites(offered, options, io);
  const bySuites = await findSuiteSkills(loaded.suites, io);
  const own = loaded.suites.map((suite) => addPackageHash(suite, bySuites.skills.get(suite.name)));
  const all = [...own, ...fromSkills.suites];
  const missing = options.skill?.filter((name) => !all.some((suite) => suite.name === skillEntryName(name))) ?? [];
  if (missing.length > 0 || all.length === 0)
    throw new EvalsError([nothingFound(paths, found, missing, offered), ...found.warnings, ...fromSkills.warnings]);
  refuseUnknownSettings(options.suiteSettings, all);
  const suites = all
    .map((suite) => applyOverrides(suite, collectOverrides(suite, options)))
    .filter((suite) => suite.cases.length > 0);
  if (suites.length === 0) throw nothingMatches(options, all);
  return {
    suites: nameModels(suites, [given.model ?? []].flat()),
    skills: new Map([...bySuites.skills, ...fromSkills.skills]),
    warnings: [...found.warnings, ...loaded.warnings, ...bySuites.warnings, ...fromSkills.warnings],
  };
}

/** Explicit options override the settings of the suite in the project file, which override other options. */
function collectOverrides(
  { name }: Suite,
  { given, suiteSettings = {}, case: cases, filter, selected, ...options }: SuiteOptions,
): Overrides {
  const { trials, passRate, maxTurns, execute, denial } = options;
  const explicit = (option: keyof SuiteSettings) => given?.has(option) === true;
  const own = Object.fromEntries(
    Object.entries(suiteSettings[name] ?? {}).filter(([option]) => !explicit(option as keyof SuiteSettings)),
  ) as SuiteSettings;
  const { model, failOn, ...settings } = own;
  const models = explicit("model") ? "all" : model === undefined ? undefined : [model].flat();
  const gates = failOn === undefined ? undefined : [failOn].flat();
  return { failOn: gates, trials, passRate, maxTurns, execute, denial, ...settings, models, cases, filter, selected };
}

/** If any suite names its own models, all others get those of the command. */
function nameModels(suites: readonly Suite[], models: readonly string[]): Suite[] {
  if (models.length === 0 || !suites.some((suite) => suite.models)) return [...suites];
  return suites.map((suite) => ({ ...suite, models: suite.models ?? models }));
}

/** Throws for settings of a misspelled suite. Other suites may just not be selected, so only near misses count. */
function refuseUnknownSettings(settings: SuiteOptions["suiteSettings"] = {}, suites: readonly Suite[]): void {
  const names = suites.map(({ name }) => name);
  for (const name of Object.keys(settings)) {
    const near = names.includes(name) ? undefined : nearest(name, names);
    if (near !== undefined)
      throw usageError(`The project file has settings for a suite "${name}".`, `Did you mean "${near}"?`);
  }
}

function nothingMatches({ case: ids = [], filter, selected }: SuiteOptions, suites: readonly Suite[]): EvalsError {
  if (selected)
    return usageError("The cases that failed in the last run are not among these.", "Name the same suites.");
  const cases = suites.flatMap((suite) => suite.cases);
  const given = filter ?? ids;
  const known = [...new Set(filter ? cases.flatMap(({ tags = [] }) => tags) : cases.map(({ id }) => id))];
  const listed = known.length === 0 ? "No case has `tags`." : `The ${filter ? "tags" : "ids"} are: ${some(known, 20)}.`;
  return usageError(
    `No case ${filter ? "has the tag" : "matches"} ${given.map((one) => `"${one}"`).join(" or ")}.`,
    [didYouMean(given[0] ?? "", known, ""), listed].filter(Boolean).join(" "),
  );
}

/** The host whose rules apply to skills: the one under test if there is exactly one, otherwise `host`. */
export function chooseLoadingHost(
  given: Pick<SuiteOptions, "host"> & { model?: string | readonly string[] },
): HostName {
  const { host = "plain", model = [] } = given;
  const [first, ...others] = new Set([model].flat().map((id) => id.split(":")[0]));
  return first !== undefined && others.length === 0 && isHostName(first) ? first : host;
}

const isHostName = (name: string): name is HostName => Object.hasOwn(hosts, name);

const evalFileHint =
  'Write evals/evals.json in the package: { "evals": [ { "input": "...", "expected_behavior": ["..."] } ] }.';

function nothingFound(
  paths: readonly string[],
  { packages }: DiscoveredPaths,
  missing: readonly string[],
  offered: readonly Offered[],
): Problem {
  const error = (message: string, hint: string): Problem => ({ severity: "error", message, hint });
  const where = paths.length > 0 ? paths.join(", ") : "evals";
  if (missing.length > 0) {
    const names = new Set(offered.flatMap(({ skills }) => skills.map(({ name }) => name)));
    const quote = (some: Iterable<string>) => [...some].map((name) => `"${name}"`).join(", ");
    const unknown = missing.filter((name) => !names.has(name));
    if (unknown.length === 0) return error(`No eval files are in the package of ${quote(missing)}.`, evalFileHint);
    return error(
      `No skill ${quote(unknown)} was found.`,
      `${names.size > 0 ? `Use one of ${quote(names)}` : "No skill was found at all"}; see \`evals tools --skills\`.`,
    );
  }
  if (packages.length > 0)
    return error(
      `No skill package under ${where} can be run: they have no eval files, or no host loads them.`,
      evalFileHint,
    );
  return error(
    `No suite was found under ${where}${paths.length > 0 ? "" : ", and no skill with eval files"}.`,
    "Draft evals/<name>.yaml, or the evals/evals.json of skills, with `evals init`; or give the path of a suite or a skill.",
  );
}

/** Values from the command line that replace those of the suite files. */
export type Overrides = Pick<SuiteOptions, "trials" | "passRate" | "maxTurns" | "execute" | "denial"> & {
  dispatch?: DispatchRules | undefined;
  failOn?: readonly Gate[] | undefined;
  margin?: number | undefined;
  /** The models of the suite; `all`: those of the command. */
  models?: readonly string[] | "all" | undefined;
  /** Keeps cases whose id matches one of these: a part of the id or, with `*` or `?`, a pattern for the whole id. */
  cases?: readonly string[] | undefined;
} & Pick<SuiteOptions, "filter" | "selected">;

/** A case of a suite, as one text. */
export const caseKey = (suite: string, id: string) => JSON.stringify([suite, id]);

/** Applies overrides to a suite and updates its hashes. The caller must drop a suite without cases. */
export function applyOverrides(suite: Suite, overrides: Overrides): Suite {
  const { trials, passRate, maxTurns, execute, denial, dispatch, failOn, margin, models } = overrides;
  const { cases: filters, filter, selected } = overrides;
  const cases = suite.cases
    .filter(({ id }) => !filters || filters.some((one) => matchesFilter(id, one)))
    .filter(({ id }) => !selected || selected.includes(caseKey(suite.name, id)))
    .filter(({ tags = [] }) => !filter || tags.some((tag) => filter.some((one) => matchesGlob(tag, one))))
    .map((one): Case => {
      const changed = {
        ...one,
        trials: trials ?? one.trials,
        passRate: passRate ?? one.passRate,
        maxTurns: maxTurns ?? one.maxTurns,
        ...(dispatch && { dispatch }),
      };
      const isSame = maxTurns === undefined && dispatch === undefined && one.packageHash === undefined;
      return isSame ? changed : { ...changed, hash: hashCase(changed) };
    });
  const { models: own, ...rest } = suite;
  const asked = models === "all" ? undefined : (models ?? own);
  const changed = {
    ...rest,
    ...(asked && { models: asked }),
    ...(failOn && { failOn }),
    ...(margin !== undefined && { margin }),
    // The overriding rules are not written in the suite, so they have no place in it.
    ...(dispatch && { dispatch, dispatchLocation: () => ({ file: suite.file }) }),
    execute: execute ?? suite.execute,
    ...(denial !== undefined && { denial }),
    cases,
  };
  return { ...changed, hash: hashSuite(changed) };
}

/** Whether an id contains this text, or matches it as a pattern if it has `*` or `?`. */
export function matchesFilter(id: string, filter: string): boolean {
  return /[*?]/.test(filter) ? matchesGlob(id, filter) : id.includes(filter);
}

/** `*` matches any text, `?` any character. Backtracks only to the last `*`, so it takes at most id x pattern steps. */
function matchesGlob(id: string, pattern: string): boolean {
  let [at, p] = [0, 0];
  let star: { p: number; at: number } | undefined;
  while (at < id.length) {
    if (pattern[p] === "*") star = { p: p++, at };
    else if (pattern[p] === "?" || pattern[p] === id[at]) [at, p] = [at + 1, p + 1];
    else if (star) {
      star.at++;
      [at, p] = [star.at, star.p + 1];
    } else return false;
  }
  return /^\**$/.test(pattern.slice(p));
}

import { EvalsError, type Problem } from "../errors.ts";
import { preflight } from "../scoring/preflight.ts";
import { type Grade, grader } from "../scoring/score.ts";
import { ownTools } from "../scoring/skill.ts";
import { readPackageFile } from "../skills/packageFile.ts";
import { type HostName, show, skillFormOf } from "../toolsets/host.ts";
import { skillEntry } from "../toolsets/skillEntry.ts";
import type { Source } from "../toolsets/source.ts";
import { freeze } from "../toolsets/toolset.ts";
import { judgeTrial } from "../trials/judge.ts";
import type { SkillShelf } from "../trials/library.ts";
import type { PlannedCase } from "../trials/plan.ts";
import type { Shown, TrialContext } from "../trials/runTrial.ts";
import { isolatedPool, type ServerPool, sharedPool } from "../trials/serverPool.ts";
import type { JsonObject } from "../types/json.ts";
import type { AskedModel } from "../types/model.ts";
import type { SkillPackage } from "../types/skill.ts";
import type { Case, Suite } from "../types/suite.ts";
import type { Toolset } from "../types/tool.ts";
import type { Broken } from "../types/trial.ts";
import { isUnavailable, type Opened, refuseMistakes } from "./servers.ts";

/** What suites are asked in: the host, the skills that each offers by its name, and who judges, if anyone. */
export type Surroundings = {
  host: HostName;
  skills: ReadonlyMap<string, readonly SkillPackage[]>;
  judge?: AskedModel | undefined;
};

/** Suites that were opened and checked, ready to be asked. */
export type Prepared = {
  suites: readonly Suite[];
  cases: readonly PlannedCase[];
  context: TrialContext;
  /** What the server of each suite said of itself, by suite name. */
  servers: ReadonlyMap<string, JsonObject>;
  warnings: readonly Problem[];
};

/** The list of a suite whose server could not be had. */
export const neverListed: Toolset = freeze([]);

/**
 * Freezes the lists and checks every expectation against them. A suite whose server cannot be had does not stop the
 * others: its trials break, with the cause. Throws one EvalsError with all that is wrong with the suites themselves,
 * before anything is spent.
 */
export function prepare(opened: readonly Opened[], { host, skills, judge }: Surroundings): Prepared {
  refuseMistakes(opened);
  const cases = opened.flatMap((one) => planCases(one, skills.get(one.suite.name) ?? []));
  const problems = [
    ...opened.flatMap(({ suite }) => refuseLift(suite, skills.get(suite.name) ?? [])),
    ...opened.flatMap(({ suite }) => refuseNames(suite, cases)),
    ...cases
      .filter(({ unavailable }) => !unavailable)
      .flatMap(({ suite, case: one, toolset }) => preflight(one, toolset, suite.execute)),
  ];
  if (problems.some(({ severity }) => severity === "error")) throw new EvalsError(problems);
  const sources = opened.flatMap((one) => ("source" in one ? [one] : []));
  const unavailable = opened.flatMap((one) =>
    "failure" in one && isUnavailable(one.failure) ? one.failure.problems : [],
  );
  return {
    suites: opened.map(({ suite }) => suite),
    cases,
    context: contextOf(sources, { host, skills, judge }),
    servers: new Map(
      sources.flatMap(({ suite, source }) => (source.server ? [[suite.name, source.server.about]] : [])),
    ),
    warnings: [...unavailable, ...sources.flatMap(({ source }) => source.warnings), ...problems],
  };
}

/** A lift is measured of a skill that the suite offers. */
function refuseLift({ lift, name, file }: Suite, skills: readonly SkillPackage[]): Problem[] {
  if (lift === undefined || skills.some((skill) => skill.name === lift)) return [];
  const offered = skills.map((skill) => skill.name).join(", ");
  return [
    {
      severity: "error",
      message: `the suite ${name} measures the lift of the skill ${lift}, which it does not offer`,
      hint: offered === "" ? "Name the folder of the skill under `skills`." : `It offers: ${offered}.`,
      place: { file },
    },
  ];
}

/** Beside skills and files the harness offers tools of its own: a call of such a name could be meant for either. */
function refuseNames({ name, file }: Suite, cases: readonly PlannedCase[]): Problem[] {
  const beside = cases.filter(({ suite, case: one, toolset }) => {
    return suite.name === name && (one.files || toolset.tools.some(({ origin }) => origin === "skill"));
  });
  const taken = new Set(beside.flatMap(({ toolset }) => toolset.tools).map((tool) => tool.name));
  return [...ownTools]
    .filter((own) => taken.has(own))
    .map((own) => ({
      severity: "error",
      message: `the suite ${name} lists a tool ${own}, the name of a tool that models are offered beside skills`,
      hint: "Ask about it in a suite without skills.",
      place: { file },
    }));
}

function planCases(opened: Opened, skills: readonly SkillPackage[]): PlannedCase[] {
  const { suite } = opened;
  if ("failure" in opened) {
    const message = isUnavailable(opened.failure)
      ? opened.failure.problems.map((problem) => problem.message).join("; ")
      : "";
    const unavailable: Broken = { kind: "broken", stage: "server", message };
    return suite.cases.map((one) => ({ suite, case: one, arm: "head", toolset: neverListed, unavailable }));
  }
  const toolsetOf = caseToolsets(suite, opened.source, skills);
  return suite.cases.map((one) => ({ suite, case: one, arm: "head", toolset: toolsetOf(one) }));
}

/**
 * The list that a case is asked with: its own, with the suite's distractors beside it, or else the server's; and with
 * either the suite's skills.
 */
export function caseToolsets(
  suite: Suite,
  { tools }: Pick<Source, "tools">,
  skills: readonly SkillPackage[],
): (one: Case) => Toolset {
  const entries = skills.map(skillEntry);
  const whole = freeze([...tools, ...entries]);
  const beside = [...tools.filter(({ origin }) => origin === "distractor"), ...entries];
  return (one) => (one.tools ? caseToolset(suite, one, beside) : whole);
}

function caseToolset(suite: Suite, { tools = [] }: Case, beside: Toolset["tools"]): Toolset {
  return freeze([...tools.map((tool) => ({ ...tool, server: suite.name, origin: "static" as const })), ...beside]);
}

/** Everything that is made once for a case or a suite and used for all of its trials. */
function contextOf(
  opened: readonly { suite: Suite; source: Source }[],
  { host, skills, judge }: Surroundings,
): TrialContext {
  const pools = new Map(opened.map(({ suite, source }) => [suite, poolOf(suite, source)]));
  const shelves = new Map([...skills].map(([suite, packages]) => [suite, shelfOf(packages, host)]));
  const shown = remembered((toolset: Toolset): Shown => {
    const { tools, listed } = show(toolset.tools, host);
    return { tools, listedName: (name) => listed(name)?.name ?? name };
  });
  const graderOf = remembered((planned: PlannedCase): Grade => grader(planned.case, planned.toolset));
  return {
    pool: ({ planned }) => pools.get(planned.suite),
    show: ({ planned }) => shown(planned.toolset),
    skills: ({ planned }) => shelves.get(planned.suite.name),
    grade: async ({ planned, cell }, turns, signal) => {
      const grade = graderOf(planned);
      if (!judge) return { verdict: grade(turns) };
      return await judgeTrial({ grade, turns, messages: planned.case.messages, judge, cell }, signal);
    },
    now: () => new Date(),
  };
}

function shelfOf(packages: readonly SkillPackage[], host: HostName): SkillShelf {
  return {
    form: skillFormOf(host),
    packages: new Map(packages.map((skill) => [skill.name, skill])),
    read: readPackageFile,
  };
}

function poolOf(suite: Suite, { server, reopen }: Source): ServerPool | undefined {
  if (!server) return undefined;
  return suite.isolate === "trial" ? isolatedPool(reopen) : sharedPool(server, reopen);
}

function remembered<Key extends object, Value>(make: (key: Key) => Value): (key: Key) => Value {
  const made = new WeakMap<Key, Value>();
  return (key) => {
    const known = made.get(key);
    if (known !== undefined) return known;
    const value = make(key);
    made.set(key, value);
    return value;
  };
}

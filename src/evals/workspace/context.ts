import { createGrader, type Grade } from "../scoring/score.ts";
import { readPackageFile } from "../skills/packageFiles.ts";
import { getSkillForm, type HostName, presentTools } from "../toolsets/host.ts";
import type { Source } from "../toolsets/source.ts";
import type { Shown } from "../trials/conversation.ts";
import { isolatedPool, type ServerPool, sharedPool } from "../trials/execution.ts";
import { judgeTrial } from "../trials/judge.ts";
import type { PlannedCase } from "../trials/plan.ts";
import type { TrialContext } from "../trials/runTrial.ts";
import type { SkillShelf } from "../trials/skills.ts";
import type { AskedModel } from "../types/model.ts";
import type { SkillPackage } from "../types/skill.ts";
import type { Suite } from "../types/suite.ts";
import type { Toolset } from "../types/tool.ts";

/** What surrounds a trial: the host, the skills that each suite offers by its name, and the judge, if there is one. */
export type Surroundings = {
  host: HostName;
  skills: ReadonlyMap<string, readonly SkillPackage[]>;
  judge?: AskedModel | undefined;
};

/** Everything that is made once for a case or a suite and used for all of its trials. */
export function createTrialContext(
  opened: readonly { suite: Suite; source: Source }[],
  { host, skills, judge }: Surroundings,
): TrialContext {
  const pools = new Map(opened.map(({ suite, source }) => [suite, createPool(suite, source)]));
  const shelves = new Map([...skills].map(([suite, packages]) => [suite, createShelf(packages, host)]));
  const showOnce = memoize((toolset: Toolset): Shown => {
    const { tools, findListed } = presentTools(toolset.tools, host);
    return { tools, listedName: (name) => findListed(name)?.name ?? name };
  });
  const graderFor = memoize((planned: PlannedCase): Grade => createGrader(planned.case, planned.toolset));
  return {
    pool: ({ planned }) => pools.get(planned.suite),
    show: ({ planned }) => showOnce(planned.toolset),
    skills: ({ planned }) => shelves.get(planned.suite.name),
    grade: async ({ planned, cell }, turns, signal) => {
      const grade = graderFor(planned);
      if (!judge) return { verdict: grade(turns) };
      return await judgeTrial({ grade, turns, messages: planned.case.messages, judge, cell }, signal);
    },
    now: () => new Date(),
  };
}

function createShelf(packages: readonly SkillPackage[], host: HostName): SkillShelf {
  return {
    form: getSkillForm(host),
    packages: new Map(packages.map((skill) => [skill.name, skill])),
    read: readPackageFile,
  };
}

function createPool(suite: Suite, { server, reopen }: Source): ServerPool | undefined {
  if (!server) return undefined;
  return suite.isolate === "trial" ? isolatedPool(reopen) : sharedPool(server, reopen);
}

function memoize<Key extends object, Value>(make: (key: Key) => Value): (key: Key) => Value {
  const made = new WeakMap<Key, Value>();
  return (key) => {
    const known = made.get(key);
    if (known !== undefined) return known;
    const value = make(key);
    made.set(key, value);
    return value;
  };
}

import { preflight } from "../../asking/scoring/preflight.ts";
import type { PlannedCase } from "../../asking/trials/plan.ts";
import { getOrAdd, groupBy } from "../../base/collections.ts";
import { orderBySeed } from "../../base/stats/random.ts";
import { type Problem, usageError } from "../../base/types/errors.ts";
import type { ExposureKind } from "../../base/types/exposure.ts";
import { withoutArm } from "../../base/types/run.ts";
import { type SkillPackage, skillEntryName } from "../../base/types/skill.ts";
import type { Case, Expectation, ExpectedCall, Suite } from "../../base/types/suite.ts";
import type { Surface } from "../../base/types/suiteFile.ts";
import type { OfferedTool, Toolset } from "../../base/types/tool.ts";
import type { Source } from "../../servers/source.ts";
import { createToolset } from "../../servers/toolList.ts";
import { breakTrial, createCaseToolsets, neverListed, type Opened } from "./cases.ts";

// The arms of a run besides `head`: exposures, surfaces, numbers of distractors, and the arm without a skill.

/** A change of tool lists by key. Equal lists share the result, so it is computed once. */
class ChangedLists {
  readonly #made = new Map<string, Toolset>();

  change({ hash, tools }: Toolset, by: string, isKept: (tool: OfferedTool) => boolean): Toolset {
    return getOrAdd(this.#made, JSON.stringify([hash, by]), () => createToolset(tools.filter(isKept)));
  }
}

/** Follows each case by itself in its other arms, so that the arms are interleaved. */
export function interleaveArms(
  cases: readonly PlannedCase[],
  further: readonly ExposureKind[],
  armCases: readonly PlannedCase[],
): PlannedCase[] {
  const lists = new ChangedLists();
  const removeSkill = (toolset: Toolset, skill: string) =>
    lists.change(toolset, skill, ({ name }) => name !== skillEntryName(skill));
  const key = ({ suite, case: one }: PlannedCase) => JSON.stringify([suite.name, one.id]);
  const inArms = groupBy(armCases, key);
  return cases.flatMap((head) => {
    const exposures = further.map((kind) => ({ ...head, arm: kind, exposure: kind }));
    const { lift } = head.suite;
    const without = lift === undefined ? [] : [{ ...head, arm: withoutArm, toolset: removeSkill(head.toolset, lift) }];
    return [head, ...exposures, ...without, ...(inArms.get(key(head)) ?? [])];
  });
}

function parseSizes(text: string): number[] {
  const parts = text.split(",").map((part) => part.trim());
  const wrong = parts.find((part) => !/^\d{1,6}$/.test(part));
  if (wrong !== undefined)
    throw usageError(
      `--distractors: "${wrong}" is not a number of tools.`,
      "Give integers, for example --distractors 0,10,50.",
    );
  return [...new Set(parts.map(Number))].sort((a, b) => a - b);
}

/** The arm of a run with this many distractors, other than `head`. */
export const distractorsArm = (size: number) => `distractors-${size}`;

/**
 * Limits the tools that do not belong to a case to several numbers: the distractors of its suite in an order that only
 * depends on their names, so that a longer list contains the shorter ones; in a whole configuration the other servers,
 * in the order of the file. The arm `head` has the smallest number. Throws a usage error if there are fewer.
 */
export function addDistractorArms(
  cases: readonly PlannedCase[],
  text: string,
  configurations: ReadonlyMap<string, NonNullable<Source["members"]>>,
): { cases: PlannedCase[]; armCases: PlannedCase[] } {
  const sizes = parseSizes(text);
  const lists = new ChangedLists();
  const limit = (planned: PlannedCase): PlannedCase[] => {
    const members = configurations.get(planned.suite.name);
    const { keys, getKey } = members ? listOtherServers(planned, members) : listDistractors(planned);
    if (keys.length === 0 || planned.unavailable) return [planned];
    const largest = sizes.at(-1) ?? 0;
    if (keys.length < largest)
      throw usageError(
        `--distractors ${largest}: the suite "${planned.suite.name}" has only ${keys.length} ${members ? "other servers" : "distractors"}.`,
        members
          ? "In a suite over a whole configuration, the numbers count other servers."
          : "Add files with tools to `distractors` of the suite.",
      );
    return sizes.map((size, at) => {
      const hidden = new Set(keys.slice(size));
      const isKept = (tool: OfferedTool) => !hidden.has(getKey(tool));
      const toolset = lists.change(planned.toolset, JSON.stringify([size, planned.owner]), isKept);
      return { ...planned, arm: at === 0 ? "head" : distractorsArm(size), toolset };
    });
  };
  const limited = cases.map(limit);
  if (limited.every((arms) => arms.length === 1))
    throw usageError(
      "--distractors: no suite has other tools to add.",
      "Name files with tools under `distractors` of a suite, or write a suite over a whole configuration.",
    );
  return { cases: limited.flatMap(([head]) => head ?? []), armCases: limited.flatMap(([, ...others]) => others) };
}

function listDistractors({ toolset }: PlannedCase) {
  const tools = toolset.tools.filter(({ origin }) => origin === "distractor");
  const keys = orderBySeed(tools, 0, ({ name }) => name).map(({ name }) => name);
  return { keys, getKey: ({ name }: OfferedTool) => name };
}

/** Only a case about one server has other servers. */
function listOtherServers({ owner }: PlannedCase, members: NonNullable<Source["members"]>) {
  const others = members.filter(({ name, failure }) => name !== owner && failure === undefined);
  return {
    keys: owner === undefined ? [] : others.map(({ name }) => name),
    getKey: ({ server }: OfferedTool) => server,
  };
}

/** A surface as a suite: the same cases, with the tool names of the surface. */
export type SurfaceSuite = { name: string; of: Suite; suite: Suite };

/** Lists the surfaces of suites as suites of their own. */
export function listSurfaces(suites: readonly Suite[]): SurfaceSuite[] {
  return suites.flatMap((of) =>
    (of.surfaces ?? []).map((surface) => ({ name: surface.name, of, suite: createSurfaceSuite(of, surface) })),
  );
}

function createSurfaceSuite(
  { dispatch: _, dispatchLocation: __, catalog: ___, surfaces: ____, ...suite }: Suite,
  surface: Surface,
): Suite {
  const { server, dispatch, catalog, names = {} } = surface;
  return {
    ...suite,
    server,
    ...(dispatch && { dispatch }),
    ...(catalog !== undefined && { catalog }),
    cases: suite.cases.flatMap((one) => renameTools(one, names, dispatch) ?? []),
  };
}

type Names = NonNullable<Surface["names"]>;

/** Renames the tools of a case for a surface. Undefined if the surface does not have an expected tool. */
function renameTools({ dispatch: _, ...one }: Case, names: Names, dispatch: Surface["dispatch"]): Case | undefined {
  const renamed = one.expect && renameExpectation(one.expect, names);
  const turns = one.turns?.map((turn) => {
    return { ...turn, ...(turn.expect && { expect: renameExpectation(turn.expect, names) }) };
  });
  if (renamed === "absent" || turns?.some(({ expect }) => expect === "absent")) return undefined;
  return {
    ...one,
    ...(renamed && { expect: renamed }),
    ...(turns && { turns: turns as NonNullable<Case["turns"]> }),
    ...(dispatch && { dispatch }),
  };
}

function renameExpectation(expect: Expectation, names: Names): Expectation | "absent" {
  const rename = (list: readonly string[]) => [
    ...new Set(list.flatMap((name) => (Object.hasOwn(names, name) ? [names[name] ?? []].flat() : [name]))),
  ];
  const avoid = rename(expect.avoid);
  if (expect.kind !== "tool" && expect.kind !== "calls") return { ...expect, avoid };
  const renameCall = (call: ExpectedCall): ExpectedCall => ({
    ...call,
    tools: rename(call.tools),
    ...(call.acceptable && { acceptable: rename(call.acceptable) }),
  });
  const calls = (expect.kind === "tool" ? [expect.call] : expect.calls).map(renameCall);
  if (calls.some(({ tools }) => tools.length === 0)) return "absent";
  const [call] = calls;
  return expect.kind === "tool" && call ? { ...expect, avoid, call } : ({ ...expect, avoid, calls } as Expectation);
}

/**
 * Adds arms for surfaces. Each case is followed by itself in these arms. A case whose expectation no trial could meet
 * on a surface (for example a tool that a read-only surface lacks) is not asked there; a problem reports how many.
 */
export function addSurfaceArms(
  cases: readonly PlannedCase[],
  opened: readonly (SurfaceSuite & { opened: Opened })[],
  skills: ReadonlyMap<string, readonly SkillPackage[]>,
): { cases: PlannedCase[]; problems: Problem[] } {
  const surfaces = opened.map((one) => {
    return { ...one, skipped: [] as string[], asked: 0, plan: createPlanner(one, skills) };
  });
  const planned = cases.flatMap((head) => {
    if (head.arm !== "head" || head.unavailable) return [head];
    const others = surfaces.flatMap((surface): PlannedCase[] => {
      if (surface.of !== head.suite) return [];
      const found = surface.plan(head);
      if (typeof found !== "object") {
        // Undefined means that the author declared the tool absent (`names: { tool: null }`), which is no problem.
        if (found !== undefined) surface.skipped.push(found);
        return [];
      }
      surface.asked++;
      return [found];
    });
    return [head, ...others];
  });
  return { cases: planned, problems: surfaces.flatMap(describeSkipped) };
}

function createPlanner(
  { name, suite, opened }: SurfaceSuite & { opened: Opened },
  skills: ReadonlyMap<string, readonly SkillPackage[]>,
) {
  const byId = new Map(suite.cases.map((one) => [one.id, one]));
  const toolsetFor =
    "source" in opened ? createCaseToolsets(suite, opened.source, skills.get(suite.name) ?? []) : undefined;
  return (head: PlannedCase): PlannedCase | string | undefined => {
    const one = byId.get(head.case.id);
    if (!one) return undefined;
    const arm = { ...head, case: one, arm: name, source: suite };
    if (!toolsetFor) {
      const unavailable = breakTrial("server", `The server of surface "${name}" cannot be reached`);
      return { ...arm, toolset: neverListed, unavailable };
    }
    const toolset = toolsetFor(one);
    const [problem] = preflight(one, toolset, suite.execute).filter(({ severity }) => severity === "error");
    return problem ? problem.message : { ...arm, toolset };
  };
}

function describeSkipped({ name, of, skipped, asked }: SurfaceSuite & { skipped: string[]; asked: number }): Problem[] {
  const [first] = skipped;
  if (first === undefined) return [];
  const message = `Surface "${name}": ${skipped.length} of ${skipped.length + asked} cases are not asked there. The first: ${first}`;
  const hint = "Map names under `names` of the surface, where its tools have others.";
  return [{ severity: asked === 0 ? "error" : "warning", message, hint, location: { file: of.file } }];
}

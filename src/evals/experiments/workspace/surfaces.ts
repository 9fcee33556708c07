import { preflight } from "../../asking/scoring/preflight.ts";
import type { PlannedCase } from "../../asking/trials/plan.ts";
import type { Problem } from "../../base/types/errors.ts";
import type { SkillPackage } from "../../base/types/skill.ts";
import type { Case, Expectation, ExpectedCall, Suite, Surface } from "../../base/types/suite.ts";
import { createCaseToolsets, neverListed } from "./cases.ts";
import type { Opened } from "./servers.ts";

/** A surface as a suite: the same cases, with the tool names of the surface. */
export type SurfaceSuite = { name: string; of: Suite; suite: Suite };

/** Lists the surfaces of suites as suites of their own. */
export function listSurfaces(suites: readonly Suite[]): SurfaceSuite[] {
  return suites.flatMap((of) =>
    (of.surfaces ?? []).map((surface) => ({ name: surface.name, of, suite: createSurfaceSuite(of, surface) })),
  );
}

function createSurfaceSuite(
  { dispatch: _, dispatchPlace: __, catalog: ___, surfaces: ____, ...suite }: Suite,
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
  const turns = one.turns?.map((turn) => ({
    ...turn,
    ...(turn.expect && { expect: renameExpectation(turn.expect, names) }),
  }));
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
  const surfaces = opened.map((one) => ({
    ...one,
    skipped: [] as string[],
    asked: 0,
    plan: createPlanner(one, skills),
  }));
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
      const unavailable = {
        kind: "broken",
        stage: "server",
        message: `The server of surface "${name}" cannot be reached`,
      } as const;
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
  return [{ severity: asked === 0 ? "error" : "warning", message, hint, place: { file: of.file } }];
}

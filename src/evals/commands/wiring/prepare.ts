import { EvalsError, type Problem } from "../../errors.ts";
import { preflight } from "../../scoring/preflight.ts";
import { type Grade, grader } from "../../scoring/score.ts";
import { type HostName, show } from "../../toolsets/host.ts";
import type { Source } from "../../toolsets/source.ts";
import { freeze } from "../../toolsets/toolset.ts";
import type { PlannedCase } from "../../trials/plan.ts";
import type { Shown, TrialContext } from "../../trials/runTrial.ts";
import { isolatedPool, type ServerPool, sharedPool } from "../../trials/serverPool.ts";
import type { JsonObject } from "../../types/json.ts";
import type { Case, Suite } from "../../types/suite.ts";
import type { Toolset } from "../../types/tool.ts";
import type { Broken } from "../../types/trial.ts";
import { isUnavailable, type Opened, refuseMistakes } from "./servers.ts";

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
export function prepare(opened: readonly Opened[], host: HostName): Prepared {
  refuseMistakes(opened);
  const cases = opened.flatMap(planCases);
  const problems = [
    ...opened.flatMap(({ suite }) => refuseSkills(suite)),
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
    context: contextOf(sources, host),
    servers: new Map(
      sources.flatMap(({ suite, source }) => (source.server ? [[suite.name, source.server.about]] : [])),
    ),
    warnings: [...unavailable, ...sources.flatMap(({ source }) => source.warnings), ...problems],
  };
}

/** Suites may name skills, but no model is offered any yet: a case that wants one could only fail. */
function refuseSkills(suite: Suite): Problem[] {
  const wanting = suite.cases.filter(({ expect }) => expect?.kind === "skill");
  const places = [...(suite.skills.length > 0 ? [{ file: suite.file }] : []), ...wanting.map(({ place }) => place)];
  return places.map((place) => ({
    severity: "error",
    message: "this version of tool-evals does not offer skills to a model",
    hint: "Leave `skills` and cases that expect a skill out.",
    place,
  }));
}

function planCases(opened: Opened): PlannedCase[] {
  const { suite } = opened;
  if ("failure" in opened) {
    const message = isUnavailable(opened.failure)
      ? opened.failure.problems.map((problem) => problem.message).join("; ")
      : "";
    const unavailable: Broken = { kind: "broken", stage: "server", message };
    return suite.cases.map((one) => ({ suite, case: one, arm: "head", toolset: neverListed, unavailable }));
  }
  const toolsetOf = caseToolsets(suite, opened.source);
  return suite.cases.map((one) => ({ suite, case: one, arm: "head", toolset: toolsetOf(one) }));
}

/** The list that a case is asked with: its own, with the suite's distractors beside it, or else the server's. */
export function caseToolsets(suite: Suite, { tools }: Source): (one: Case) => Toolset {
  const whole = freeze(tools);
  const distractors = tools.filter(({ origin }) => origin === "distractor");
  return (one) => (one.tools ? caseToolset(suite, one, distractors) : whole);
}

function caseToolset(suite: Suite, { tools = [] }: Case, distractors: Toolset["tools"]): Toolset {
  return freeze([...tools.map((tool) => ({ ...tool, server: suite.name, origin: "static" as const })), ...distractors]);
}

/** Everything that is made once for a case or a suite and used for all of its trials. */
function contextOf(opened: readonly { suite: Suite; source: Source }[], host: HostName): TrialContext {
  const pools = new Map(opened.map(({ suite, source }) => [suite, poolOf(suite, source)]));
  const shown = remembered((toolset: Toolset): Shown => {
    const { tools, listed } = show(toolset.tools, host);
    return { tools, listedName: (name) => listed(name)?.name ?? name };
  });
  const graderOf = remembered((planned: PlannedCase): Grade => grader(planned.case, planned.toolset));
  return {
    pool: ({ planned }) => pools.get(planned.suite),
    show: ({ planned }) => shown(planned.toolset),
    grade: ({ planned }, turns) => graderOf(planned)(turns),
    now: () => new Date(),
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

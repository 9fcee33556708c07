import { EvalsError, exitCodes, type Problem } from "../../errors.ts";
import { preflight } from "../../scoring/preflight.ts";
import { type Grade, grader } from "../../scoring/score.ts";
import { type HostName, show } from "../../toolsets/host.ts";
import { openSource, type Source } from "../../toolsets/source.ts";
import { freeze } from "../../toolsets/toolset.ts";
import type { PlannedCase } from "../../trials/plan.ts";
import type { Shown, TrialContext } from "../../trials/runTrial.ts";
import { isolatedPool, type ServerPool, sharedPool } from "../../trials/serverPool.ts";
import type { JsonObject } from "../../types/json.ts";
import type { Case, Suite } from "../../types/suite.ts";
import type { Toolset } from "../../types/tool.ts";
import type { Broken } from "../../types/trial.ts";
import type { Io } from "../io.ts";

/** Suites with their servers open and listed, checked, and ready to be asked. */
export type Prepared = {
  suites: readonly Suite[];
  cases: readonly PlannedCase[];
  context: TrialContext;
  /** What the server of each suite said of itself, by suite name. */
  servers: ReadonlyMap<string, JsonObject>;
  warnings: readonly Problem[];
  /** Ends every server. Does not throw. */
  close(): Promise<void>;
};

type Opened =
  | { suite: Suite; source: Source; unavailable?: undefined }
  | { suite: Suite; source?: undefined; unavailable: EvalsError };

/**
 * Opens the servers of all suites at once, freezes their lists and checks every expectation against them. A suite whose
 * server cannot be had does not stop the others: its trials break, with the cause. Throws one EvalsError with all that is
 * wrong with the suites themselves, before anything is spent; then no server is left open.
 */
export async function prepare(suites: readonly Suite[], host: HostName, io: Io): Promise<Prepared> {
  const ends = await Promise.allSettled(suites.map((suite) => open(suite, io)));
  const opened = ends.flatMap((end) => (end.status === "fulfilled" ? [end.value] : []));
  const close = async () => void (await Promise.all(opened.map(({ source }) => source?.close())));
  try {
    throwFailures(ends);
    const cases = opened.flatMap(planCases);
    const problems = cases
      .filter(({ unavailable }) => !unavailable)
      .flatMap(({ suite, case: one, toolset }) => preflight(one, toolset, suite.execute));
    if (problems.some(({ severity }) => severity === "error")) throw new EvalsError(problems);
    return {
      suites,
      cases,
      context: contextOf(opened, host),
      servers: new Map(
        opened.flatMap(({ suite, source }) => (source?.server ? [[suite.name, source.server.about]] : [])),
      ),
      warnings: [
        ...opened.flatMap((one) => (one.unavailable ? one.unavailable.problems : one.source.warnings)),
        ...problems,
      ],
      close,
    };
  } catch (thrown) {
    await close();
    throw thrown;
  }
}

async function open(suite: Suite, io: Io): Promise<Opened> {
  try {
    return { suite, source: await openSource(suite, io.env, io.signal) };
  } catch (thrown) {
    if (thrown instanceof EvalsError && thrown.exitCode === exitCodes.incomplete) return { suite, unavailable: thrown };
    throw thrown;
  }
}

/** Throws the problems of all that failed as one error; a defect goes first, as it is. */
function throwFailures(ends: readonly PromiseSettledResult<unknown>[]): void {
  const errors: unknown[] = ends.flatMap((end) => (end.status === "rejected" ? [end.reason] : []));
  const defect = errors.find((error) => !(error instanceof EvalsError));
  if (defect !== undefined) throw defect;
  if (errors.length > 0) throw EvalsError.all(errors.filter((error) => error instanceof EvalsError));
}

function planCases({ suite, source, unavailable }: Opened): PlannedCase[] {
  if (unavailable) {
    const broken: Broken = {
      kind: "broken",
      stage: "server",
      message: unavailable.problems.map(({ message }) => message).join("; "),
    };
    return suite.cases.map((one) => ({ suite, case: one, toolset: neverListed, unavailable: broken }));
  }
  const own = freeze(source.tools);
  const distractors = source.tools.filter(({ origin }) => origin === "distractor");
  return suite.cases.map((one) => ({
    suite,
    case: one,
    toolset: one.tools ? caseToolset(suite, one, distractors) : own,
  }));
}

/** The list of a suite whose server could not be had. */
export const neverListed: Toolset = freeze([]);

/** A case's own list is shown instead of the server's, with the suite's distractors beside it. */
function caseToolset(suite: Suite, { tools = [] }: Case, distractors: Toolset["tools"]): Toolset {
  return freeze([...tools.map((tool) => ({ ...tool, server: suite.name, origin: "static" as const })), ...distractors]);
}

/** Everything that is made once for a case or a suite and used for all of its trials. */
function contextOf(opened: readonly Opened[], host: HostName): TrialContext {
  const pools = new Map(opened.map(({ suite, source }) => [suite, source && poolOf(suite, source)]));
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

import { resolve } from "node:path";
import { SpendingLimits } from "../../asking/trials/limits.ts";
import type { PlannedCase } from "../../asking/trials/plan.ts";
import type { TrialContext } from "../../asking/trials/runTrial.ts";
import { CodeCaller } from "../../base/code/caller.ts";
import { EvalsError, type Problem, printProblem, usageError } from "../../base/types/errors.ts";
import type { Io } from "../../base/types/io.ts";
import type { JsonObject } from "../../base/types/json.ts";
import type { AskedModel, Model } from "../../base/types/model.ts";
import type { RunManifest } from "../../base/types/run.ts";
import type { Suite } from "../../base/types/suite.ts";
import type { HostName } from "../../servers/host.ts";
import type { Source } from "../../servers/source.ts";
import { addDistractorArms, addSurfaceArms, listSurfaces, type SurfaceSuite } from "./arms.ts";
import {
  closeServers,
  isUnavailable,
  type Opened,
  openServers,
  planCases,
  refuseMistakes,
  suggestDoctor,
} from "./cases.ts";
import { createTrialContext, type TrialSetup } from "./context.ts";
import { applyExposures, type ExposureOptions } from "./exposures.ts";
import { readGitState } from "./git.ts";
import { addCache, openJudge, openModels, type RequestOptions } from "./models.ts";
import {
  announceExecuted,
  excludeImpossible,
  findDispatchProblems,
  findSuiteProblems,
  findUnlistedMocks,
  listExecuted,
} from "./problems.ts";
import { type SuiteOptions, selectSuites } from "./suites.ts";
import { claimCalls, claimSuites, requireTrust } from "./trust.ts";

export type WorkspaceOptions = SuiteOptions &
  RequestOptions &
  ExposureOptions & {
    model: string | readonly string[];
    host: HostName;
    /** Takes exactly one suite, of this name if one is given. Its server must be available. */
    only?: { suite?: string | undefined };
    surfaces?: boolean | undefined;
    /** Numbers of distractors, such as `0,10,50`: each case is planned with each of them. */
    distractors?: string | undefined;
    /** Limits that several workspaces share, instead of those in the options. */
    limits?: SpendingLimits | undefined;
    /**
     * Whether a suite has a baseline on one of these models. If none of its cases can be asked with the current tools,
     * the check reports that, and it is not treated as a mistake in the suite. Default: no suite has one.
     */
    isAccepted?: ((suite: Suite, models: readonly Model[], all: readonly Suite[]) => Promise<boolean>) | undefined;
    isServed?: ((id: string) => boolean) | undefined;
  };

/** Everything that trials need, opened and validated. */
export type Workspace = {
  suites: readonly Suite[];
  /** The cases of all suites, in the arm `head`. */
  cases: readonly PlannedCase[];
  /** With --surfaces or --distractors: the same cases in arms beside `head`. */
  armCases: readonly PlannedCase[];
  context: TrialContext;
  /** What the server of each suite reports about itself, by suite name. */
  servers: ReadonlyMap<string, JsonObject>;
  /** The servers of each suite over a whole configuration, by suite name. */
  configurations: ReadonlyMap<string, NonNullable<Source["members"]>>;
  models: readonly Model[];
  judge: AskedModel | undefined;
  /** How far the judge agrees with people, as a sentence; undefined if not measured. */
  judgeFigure: string | undefined;
  host: HostName;
  git: RunManifest["git"];
};

/**
 * Opens suites, skills, servers, models and the judge, checks every expectation against the tools, calls `use`, and
 * closes the servers, even after an error. Prints warnings. `meanwhile` runs while servers start.
 *
 * An unreachable server does not stop other suites, and an expectation that no trial could meet does not stop other
 * cases: the affected trials break, with the cause. Throws one EvalsError with all mistakes in the suites, before any
 * model call.
 */
export async function withWorkspace<R>(
  options: WorkspaceOptions,
  io: Io,
  use: (workspace: Workspace) => Promise<R>,
  meanwhile: () => Promise<unknown> = async () => {},
): Promise<R> {
  const readingGit = readGitState(io);
  const { suites: found, skills, warnings } = await selectSuites(options, io);
  const suites = options.only ? [pickSuite(found, options.only.suite)] : found;
  const surfaces = options.surfaces ? listSurfaces(suites) : [];
  const served = [...suites, ...surfaces.map(({ suite }) => suite)];
  const calls = options.execute === undefined ? claimCalls(served) : [];
  await requireTrust([...(await claimSuites(served, io)), ...calls], io);
  const opening = openServers(served, io);
  const code = new CodeCaller((message) => warn([{ severity: "warning", message }], io));
  try {
    warn(warnings, io);
    const ids = listModels(suites, options);
    const limits = options.limits ?? createLimits(options);
    const [asked, grader] = await Promise.all([openModels(ids, options, io), openJudge(options, io), meanwhile()]);
    // The cache wraps the limits, because a cached reply is not a request.
    const withCache = await addCache([...asked, ...(grader ? [grader] : [])], options, io);
    const models = applyExposures(asked, options).map((model) => withCache(limits.guard(model)));
    const judge = grader && withCache(limits.guard(grader));
    if (options.only) refuseSeveralExposures(models);
    const [all, git] = await Promise.all([opening, readingGit]);
    const opened = all.slice(0, suites.length);
    const others = surfaces.map((surface, at) => ({ ...surface, opened: all[suites.length + at] as Opened }));
    for (const one of options.only ? opened : [])
      if ("failure" in one && isUnavailable(one.failure)) throw suggestDoctor(one.failure, one.suite.file);
    const { host } = options;
    const isAccepted = async (suite: Suite) => (await options.isAccepted?.(suite, models, suites)) ?? false;
    const prepared = await prepare(opened, { host, skills, judge, code, limits }, models, others, isAccepted);
    // An experiment compares cases, so drop those that cannot be asked.
    if (options.only) prepared.cases = prepared.cases.filter(({ unavailable }) => !unavailable);
    warn(prepared.warnings, io);
    if (options.distractors !== undefined)
      Object.assign(prepared, addDistractorArms(prepared.cases, options.distractors, prepared.configurations));
    if (!options.dryRun) announceExecuted(listExecuted([...prepared.cases, ...prepared.armCases], models), io);
    const judgeFigure = judge && (await readFigure(judge, io.cwd));
    return await use({ suites, ...prepared, models, judge, judgeFigure, host, git });
  } finally {
    await code.close();
    await closeServers(await opening);
  }
}

/** Creates the limits that the options set. */
export function createLimits({ budget: budgetUsd, maxRequests, maxTime: maxSeconds }: RequestOptions): SpendingLimits {
  return new SpendingLimits({ budgetUsd, maxRequests, maxSeconds });
}

function warn(problems: readonly Problem[], io: Io): void {
  for (const problem of problems) printProblem(io)(problem);
}

/** The only suite, or the one of this name. Throws a usage error. */
export function pickSuite(found: readonly Suite[], name: string | undefined): Suite {
  const suites = found.filter((suite) => name === undefined || suite.name === name);
  const [suite, ...others] = suites;
  if (suite && others.length === 0) return suite;
  if (!suite) {
    const names = found.map((one) => `"${one.name}"`).join(", ");
    throw usageError(`There is no suite "${name}"; found are ${names}.`, "Name its file.");
  }
  const files = suites.map(({ file }) => file).join(", ");
  throw usageError(`This command takes one suite, but there are ${suites.length}: ${files}.`, "Name one of them.");
}

function listModels(suites: readonly Suite[], { model, only, isServed = () => true }: WorkspaceOptions): string[] {
  const ids = [...new Set(suites.flatMap(({ models }) => models ?? [model].flat()))].filter(isServed);
  if (only && ids.length > 1)
    throw usageError(
      `This command takes one model, but the suite names ${ids.join(", ")}.`,
      "Name one of them with -m.",
    );
  return ids;
}

function refuseSeveralExposures(models: readonly Model[]): void {
  const kinds = models.flatMap(({ askedUnder = [] }) => askedUnder.map(({ kind }) => kind));
  if (kinds.length <= models.length) return;
  throw usageError(
    `This command takes one exposure, but there are ${kinds.length}: ${kinds.join(", ")}.`,
    "Name one of them; `evals run` compares several.",
  );
}

async function prepare(
  opened: readonly Opened[],
  setup: TrialSetup,
  models: readonly Model[],
  surfaces: readonly (SurfaceSuite & { opened: Opened })[],
  isAccepted: (suite: Suite) => Promise<boolean>,
) {
  refuseMistakes([...opened, ...surfaces.map((one) => one.opened)]);
  const { skills } = setup;
  const planned = opened.flatMap((one) => planCases(one, skills.get(one.suite.name) ?? []));
  const { cases, problems: ofCases } = await excludeImpossible(planned, isAccepted);
  const inSurfaces = addSurfaceArms(cases, surfaces, skills);
  const sources = opened.flatMap((one) => ("source" in one ? [one] : []));
  const listNames = (suite: Suite) =>
    new Set(sources.flatMap((one) => (one.suite === suite ? one.source.tools.map(({ name }) => name) : [])));
  const problems = [
    ...findSuiteProblems(opened, planned, skills, models),
    // Check mocks with the impossible cases excluded: these make no calls.
    ...opened.flatMap(({ suite }) => findUnlistedMocks(suite, cases)),
    ...ofCases,
    // A surface often dispatches to the tools that the suite itself lists.
    ...surfaces.flatMap((one) => findDispatchProblems(one.opened, listNames(one.of))),
    ...inSurfaces.problems,
  ];
  if (problems.some(({ severity }) => severity === "error")) throw new EvalsError(problems);
  const ofSurfaces = surfaces.flatMap((one) => ("source" in one.opened ? [one.opened] : []));
  const unavailable = opened.flatMap((one) =>
    "failure" in one && isUnavailable(one.failure) ? suggestDoctor(one.failure, one.suite.file).problems : [],
  );
  return {
    cases,
    armCases: inSurfaces.cases.filter(({ source }) => source !== undefined),
    context: createTrialContext([...sources, ...ofSurfaces], setup),
    servers: new Map(
      sources.flatMap(({ suite, source }) => (source.server ? [[suite.name, source.server.about]] : [])),
    ),
    configurations: new Map(
      sources.flatMap(({ suite, source }) => (source.members ? [[suite.name, source.members]] : [])),
    ),
    warnings: [...unavailable, ...sources.flatMap(({ source }) => source.warnings), ...problems],
  };
}

/** Reads how far the judge agrees with people. The module is loaded late, because few runs have a judge. */
async function readFigure({ id }: AskedModel, cwd: string): Promise<string | undefined> {
  const { judgesFolder, readJudgeFigure } = await import("./judgeFigure.ts");
  return (await readJudgeFigure(resolve(cwd, judgesFolder), id))?.sentence;
}

import { relative, resolve } from "node:path";
import { measureCoverage } from "../asking/scoring/coverage.ts";
import type { Baseline } from "../base/types/baseline.ts";
import { type ExitCode, exitCodes, formatProblem } from "../base/types/errors.ts";
import type { Io } from "../base/types/io.ts";
import type { SkillPackage } from "../base/types/skill.ts";
import type { Suite } from "../base/types/suite.ts";
import { isCallable, isOwnTool, type OfferedTool, type Tool } from "../base/types/tool.ts";
import type { VerifiedCoverage, VerifiedSuite, VerifyGate, VerifyReport } from "../base/types/verify.ts";
import { createCaseToolsets } from "../experiments/workspace/cases.ts";
import { closeServers, isUnavailable, openServers, refuseMistakes } from "../experiments/workspace/servers.ts";
import { type SuiteOptions, selectSuites } from "../experiments/workspace/suites.ts";
import { claimSuites, requireTrust } from "../experiments/workspace/trust.ts";
import { readBaselines } from "../records/baseline.ts";
import { printResult } from "../reports/result.ts";
import { type Acceptance, compareAccepted } from "../servers/changes/accepted.ts";
import { readStaticList } from "../servers/toolList.ts";
import { verifyDocument } from "./verifyReport.ts";

/** The options of `evals baseline verify`. `tools`: a file with the tool list to use instead of starting the servers. */
export type VerifyOptions = SuiteOptions & {
  baselines: string;
  tools?: string | undefined;
  failOn: readonly VerifyGate[];
  json: boolean;
};

/**
 * `evals baseline verify`: whether the accepted baselines match the current tools and cases, and what no case covers. No model is
 * called. Exits with 1 for results that `failOn` names, otherwise with 3 when a server could not be listed. Throws
 * EvalsError for mistakes in suites, tool lists and baselines.
 */
export async function verify(options: VerifyOptions, io: Io): Promise<ExitCode> {
  const { baselines: dir, tools: file, failOn, json, ...selected } = options;
  const [{ suites, skills, warnings }, found, listed] = await Promise.all([
    selectSuites(selected, io),
    readBaselines(resolve(io.cwd, dir)),
    file === undefined ? undefined : readStaticList(resolve(io.cwd, file)),
  ]);
  for (const problem of warnings) io.err(`${formatProblem({ ...problem, severity: "warning" })}\n`);
  // The lift of a skill is measured within each run, so such a suite has no baseline.
  const checked = suites.filter(({ lift }) => lift === undefined);
  const current = await listCurrent(checked, skills, listed, io);
  const accepted = found.map((one) => ({ ...one, file: relative(io.cwd, one.file) }));
  const verified = current.map((one) =>
    verifySuite(
      one,
      accepted.filter(({ baseline }) => baseline.suite === one.suite.name),
    ),
  );
  const coverage = coverTools(current);
  const names = new Set(suites.map(({ name }) => name));
  const isWhole = (options.paths ?? []).length === 0;
  const report: VerifyReport = {
    gates: [...failOn],
    failed: failOn.filter((gate) => isFailed[gate](verified, coverage)),
    suites: verified,
    coverage,
    withoutSuite: isWhole ? accepted.filter(({ baseline }) => !names.has(baseline.suite)).map((one) => one.file) : [],
  };
  printResult(report, verifyDocument(report), json, io);
  if (report.failed.length > 0) return exitCodes.failed;
  return verified.some(({ problem }) => problem !== undefined) ? exitCodes.incomplete : exitCodes.passed;
}

/** Whether each gate fails. A suite whose server could not be listed fails none, because its tools are unknown. */
const isFailed: Record<VerifyGate, (suites: VerifiedSuite[], coverage: VerifiedCoverage[]) => boolean> = {
  changed: (suites) => suites.some(({ records }) => records.some(({ lists }) => lists.length > 0)),
  stale: (suites) => suites.some(({ records }) => records.some(({ cases }) => cases.length > 0)),
  unaccepted: (suites) => suites.some(({ records, problem }) => problem === undefined && records.length === 0),
  "uncovered-tools": (_, coverage) => coverage.some(({ uncovered }) => uncovered.length > 0),
  "uncovered-parameters": (_, coverage) => coverage.some(({ parameters }) => parameters.length > 0),
};

/** A suite with its current tools, or why they are unknown. `isPartial`: only the tools of its server are known. */
type Current = { suite: Suite; skills: readonly SkillPackage[] } & (
  | { tools: readonly OfferedTool[]; isPartial: boolean }
  | { problem: string }
);

async function listCurrent(
  suites: readonly Suite[],
  skills: ReadonlyMap<string, readonly SkillPackage[]>,
  listed: readonly Tool[] | undefined,
  io: Io,
): Promise<Current[]> {
  const describe = (suite: Suite) => ({ suite, skills: skills.get(suite.name) ?? [] });
  if (listed)
    return suites.map((suite) => {
      const tools = listed.map((tool): OfferedTool => ({ ...tool, server: suite.name, origin: "static" }));
      return { ...describe(suite), tools, isPartial: true };
    });
  await requireTrust(await claimSuites(suites, io), io);
  const opened = await openServers(suites, io);
  try {
    refuseMistakes(opened);
    return opened.map((one) => {
      if ("source" in one) {
        const lost = (one.source.members ?? []).flatMap(({ failure }) => failure ?? []);
        if (lost.length > 0) return { ...describe(one.suite), problem: lost.join(" ") };
        return { ...describe(one.suite), tools: one.source.tools, isPartial: false };
      }
      const problems = isUnavailable(one.failure) ? one.failure.problems : [];
      return { ...describe(one.suite), problem: problems.map(({ message }) => message).join(" ") };
    });
  } finally {
    await closeServers(opened);
  }
}

function verifySuite(current: Current, accepted: readonly { file: string; baseline: Baseline }[]): VerifiedSuite {
  const { suite } = current;
  const about = { suite: suite.name, file: suite.file };
  if ("problem" in current) return { ...about, records: [], problem: current.problem };
  const { tools, isPartial, skills } = current;
  const records = accepted.map(({ file, baseline }) => {
    const offered = isPartial ? completeList(tools, baseline) : tools;
    const { lists, cases, removed } = compare(baseline, { suite, tools: offered, skills });
    const outdated = cases.flatMap(({ state, ...one }) => (state === "accepted" ? [] : [{ ...one, state }]));
    const { model, acceptedAt, run } = baseline;
    const counts = { total: cases.length, accepted: cases.length - outdated.length };
    return { file, model: model.id, acceptedAt, run, ...counts, lists, cases: outdated, removed };
  });
  return { ...about, records };
}

const unlisted: ReadonlySet<OfferedTool["origin"]> = new Set(["instructions", "distractor", "dispatched"]);

/**
 * The tools of a file, completed from a baseline: a file has neither the name of the server nor its instructions,
 * distractors and dispatched tools, so these are assumed to be as accepted.
 */
function completeList(tools: readonly OfferedTool[], { toolsets }: Baseline): OfferedTool[] {
  const accepted = new Map(Object.values(toolsets).flatMap((list) => list.map((tool) => [tool.name, tool])));
  const own = [...accepted.values()].find((tool) => isOwnTool(tool) && isCallable(tool));
  const others = [...accepted.values()].filter(({ origin }) => unlisted.has(origin));
  return [...tools.map((tool) => (own ? { ...tool, server: own.server, origin: own.origin } : tool)), ...others];
}

type Offer = { suite: Suite; tools: readonly OfferedTool[]; skills: readonly SkillPackage[] };

function compare(baseline: Baseline, { suite, tools, skills }: Offer): Acceptance {
  const toolsetFor = createCaseToolsets(suite, { tools }, skills);
  const shown = suite.cases.map((one) => ({ one, toolset: toolsetFor(one) }));
  return compareAccepted(baseline, {
    cases: shown.map(({ one, toolset }) => ({ ...one, toolset: toolset.hash })),
    toolsets: Object.fromEntries(shown.map(({ toolset }) => [toolset.hash, toolset.tools])),
  });
}

/**
 * The coverage of each tool list by all of its suites. Cases with tools of their own do not count, because they do not test
 * the tools of the server.
 */
function coverTools(current: readonly Current[]): VerifiedCoverage[] {
  const groups = new Map<string, { tools: readonly OfferedTool[]; suites: Suite[] }>();
  for (const one of current) {
    if ("problem" in one) continue;
    const dispatchers = one.suite.dispatch ?? {};
    const own = one.tools.filter((tool) => isOwnTool(tool) && !Object.hasOwn(dispatchers, tool.name));
    const key = JSON.stringify(own.map(({ name }) => name).sort());
    const group = groups.get(key) ?? { tools: own, suites: [] };
    groups.set(key, group);
    group.suites.push(one.suite);
  }
  return [...groups.values()]
    .filter(({ tools }) => tools.length > 0)
    .map(({ tools, suites }) => {
      const cases = suites.flatMap((suite) => suite.cases.filter((one) => one.tools === undefined));
      return { suites: suites.map(({ name }) => name), ...measureCoverage(tools, cases) };
    });
}

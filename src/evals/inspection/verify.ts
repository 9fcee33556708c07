import { relative, resolve } from "node:path";
import * as z from "zod";
import { getOrAdd, groupBy, sumOf } from "../base/collections.ts";
import { listProperties } from "../base/jsonSchema/keywords.ts";
import type { Baseline } from "../base/types/check.ts";
import { type ExitCode, exitCodes, printProblem } from "../base/types/errors.ts";
import { listChangeSchema } from "../base/types/finding.ts";
import { verifyGates } from "../base/types/flagValues.ts";
import type { Io } from "../base/types/io.ts";
import type { SkillPackage } from "../base/types/skill.ts";
import { type Case, listCaseCalls, type Suite } from "../base/types/suite.ts";
import { isCallable, isOwnTool, type OfferedTool, type Tool } from "../base/types/tool.ts";
import {
  closeServers,
  createCaseToolsets,
  isUnavailable,
  openServers,
  refuseMistakes,
} from "../experiments/workspace/cases.ts";
import { type SuiteOptions, selectSuites } from "../experiments/workspace/suites.ts";
import { claimSuites, requireTrust } from "../experiments/workspace/trust.ts";
import { readBaselines } from "../records/baseline.ts";
import { type Block, diff, facts, heading, list, makeColumns, section, table, text } from "../reports/document.ts";
import { count, integer, some } from "../reports/format.ts";
import { printResult } from "../reports/result.ts";
import { compareAccepted } from "../servers/changes/changes.ts";
import { readStaticList } from "../servers/toolList.ts";

const amount = z.number().int().min(0);
const names = z.array(z.string());

const verifyGateSchema = z.enum(verifyGates);
export type VerifyGate = z.infer<typeof verifyGateSchema>;

const changeSchema = z.object({
  id: z.string(),
  tool: z.string(),
  kind: z.string(),
  label: z.string(),
  class: z.enum(["breaking", "compatible", "description only", "unknown"]),
  before: z.string().optional(),
  after: z.string().optional(),
  to: z.string().optional().describe("the new name of a renamed tool"),
  parameter: z.string().optional().describe("the path of a parameter, such as filter.tags[].name"),
  what: z.string().optional().describe("what changed of the parameter"),
  effects: z.array(listChangeSchema).readonly().describe("on those who call the tool"),
});

/** One accepted baseline against the suite and the tools as they are now. */
const recordSchema = z.object({
  file: z.string(),
  model: z.string(),
  acceptedAt: z.string().describe("ISO 8601"),
  run: z.string().describe("id of the run that it was made from"),
  total: amount.describe("cases of the suite"),
  accepted: amount.describe("cases that the record covers as they are now"),
  lists: z
    .array(
      z.object({
        base: z.string().describe("hash of the accepted list"),
        head: z.string().describe("hash of the list as it is now"),
        cases: names,
        changes: z.array(changeSchema),
      }),
    )
    .describe("tool lists that changed, with the cases that are shown them"),
  cases: z
    .array(
      z.object({
        id: z.string(),
        state: z.enum(["stale", "edited", "new", "not graded"]),
        tools: names.describe("changed tools that make it stale"),
      }),
    )
    .describe("cases that the record does not cover"),
  removed: names.describe("cases that only the record has"),
});

const verifiedSuiteSchema = z.object({
  suite: z.string(),
  file: z.string(),
  records: z.array(recordSchema).describe("one per model"),
  problem: z.string().optional().describe("why its tools could not be listed: nothing else is known of it"),
});
export type VerifiedSuite = z.infer<typeof verifiedSuiteSchema>;

const coverageSchema = z.object({
  suites: names.describe("suites on one list of tools"),
  tools: amount,
  uncovered: names.describe("tools that no case expects"),
  parameters: z
    .array(z.object({ tool: z.string(), names }))
    .describe("parameters of expected tools that no case names in `args`"),
});
export type VerifiedCoverage = z.infer<typeof coverageSchema>;

/** The report of `evals baseline verify`. */
export const verifyReportSchema = z.object({
  gates: z.array(verifyGateSchema).describe("what exits with code 1"),
  failed: z.array(verifyGateSchema),
  suites: z.array(verifiedSuiteSchema),
  coverage: z.array(coverageSchema),
  withoutSuite: names.describe("baselines of suites that were not found; only where all suites are verified"),
});
export type VerifyReport = z.infer<typeof verifyReportSchema>;

/** The options of `evals baseline verify`. `tools`: a file with the tool list, instead of starting the servers. */
export type VerifyOptions = SuiteOptions & {
  baselines: string;
  tools?: string | undefined;
  failOn: readonly VerifyGate[];
  json: boolean;
};

/**
 * `evals baseline verify`: whether the accepted baselines match the current tools and cases, and what no case covers.
 * No model is called. Exits with 1 for results that `failOn` names, otherwise with 3 when a server could not be listed.
 * Throws EvalsError for mistakes in suites, tool lists and baselines.
 */
export async function verify(options: VerifyOptions, io: Io): Promise<ExitCode> {
  const { baselines: dir, tools: file, failOn, json, ...selected } = options;
  const [{ suites, skills, warnings }, found, listed] = await Promise.all([
    selectSuites(selected, io),
    readBaselines(resolve(io.cwd, dir)),
    file === undefined ? undefined : readStaticList(resolve(io.cwd, file)),
  ]);
  for (const problem of warnings) printProblem(io)({ ...problem, severity: "warning" });
  // The lift of a skill is measured within each run, so such a suite has no baseline.
  const checked = suites.filter(({ lift }) => lift === undefined);
  const current = await listCurrent(checked, skills, listed, io);
  const accepted = found.map((one) => ({ ...one, file: relative(io.cwd, one.file) }));
  const verified = current.map((one) => {
    const own = accepted.filter(({ baseline }) => baseline.suite === one.suite.name);
    return verifySuite(one, own);
  });
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
  unaccepted: (suites) => suites.some(hasNoBaseline),
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
    const toolsetFor = createCaseToolsets(suite, { tools: isPartial ? completeList(tools, baseline) : tools }, skills);
    const shown = suite.cases.map((one) => ({ one, toolset: toolsetFor(one) }));
    const { lists, cases, removed } = compareAccepted(baseline, {
      cases: shown.map(({ one, toolset }) => ({ ...one, toolset: toolset.hash })),
      toolsets: Object.fromEntries(shown.map(({ toolset }) => [toolset.hash, toolset.tools])),
    });
    const outdated = cases.flatMap(({ state, ...one }) => (state === "accepted" ? [] : [{ ...one, state }]));
    const { model, acceptedAt, run } = baseline;
    const counts = { total: cases.length, accepted: cases.length - outdated.length };
    return { file, model: model.id, acceptedAt, run, ...counts, lists, cases: outdated, removed };
  });
  return { ...about, records };
}

const unlisted: ReadonlySet<OfferedTool["origin"]> = new Set(["instructions", "distractor", "dispatched"]);

/** The tools of a file, completed by what a baseline has beside tools: a file names no server and no instructions. */
function completeList(tools: readonly OfferedTool[], { toolsets }: Baseline): OfferedTool[] {
  const accepted = new Map(Object.values(toolsets).flatMap((list) => list.map((tool) => [tool.name, tool])));
  const own = [...accepted.values()].find((tool) => isOwnTool(tool) && isCallable(tool));
  const others = [...accepted.values()].filter(({ origin }) => unlisted.has(origin));
  return [...tools.map((tool) => (own ? { ...tool, server: own.server, origin: own.origin } : tool)), ...others];
}

/** The coverage of each tool list by all of its suites. Cases with tools of their own do not count. */
function coverTools(current: readonly Current[]): VerifiedCoverage[] {
  const known = current.flatMap((one) => {
    if ("problem" in one) return [];
    const { suite, tools } = one;
    return { suite, own: tools.filter((tool) => isOwnTool(tool) && !Object.hasOwn(suite.dispatch ?? {}, tool.name)) };
  });
  const groups = groupBy(known, ({ own }) => JSON.stringify(own.map(({ name }) => name).sort()));
  return [...groups.values()].flatMap((group) => {
    const { own = [] } = group[0] ?? {};
    const cases = group.flatMap(({ suite }) => suite.cases.filter((one) => one.tools === undefined));
    const suites = group.map(({ suite }) => suite.name);
    return own.length === 0 ? [] : [{ suites, ...measureCoverage(own, cases) }];
  });
}

type Verified = VerifiedSuite["records"][number];

function verifyDocument(report: VerifyReport): Block[] {
  const { suites, coverage, failed, withoutSuite } = report;
  const [first = "", ...more] = listStatements(report);
  const isOk = failed.length === 0;
  const isKnown = suites.every(({ problem }) => problem === undefined);
  return [
    heading(1, first, !isOk ? "bad" : isKnown && !listRecords(suites).some(isOutdated) ? "good" : "warn"),
    text(...more, describeNext(report)),
    ...suites.flatMap(listSuite),
    ...coverage.flatMap(listCoverage),
    ...section("Baselines without a suite", [list("baseline", withoutSuite)]),
    facts(["Exit code", failed.length > 0 ? `1, because of --fail-on ${failed.join(", ")}` : undefined]),
  ];
}

const listRecords = (suites: readonly VerifiedSuite[]) => suites.flatMap(({ records }) => records);

const hasNoBaseline = ({ records, problem }: VerifiedSuite) => problem === undefined && records.length === 0;

/** Whether a baseline does not match the current tools and cases of its suite. */
const isOutdated = ({ lists, cases }: Verified) => lists.length > 0 || cases.length > 0;

function listStatements({ suites, coverage, gates }: VerifyReport): string[] {
  const names = (of: readonly VerifiedSuite[]) => some(of.map(({ suite }) => suite));
  const unknown = suites.filter(({ problem }) => problem !== undefined);
  const unaccepted = suites.filter(hasNoBaseline);
  const records = listRecords(suites);
  const outdated = records.filter(isOutdated);
  const cases = sumOf(outdated, (one) => one.cases.length);
  const total = sumOf(records, (one) => one.total);
  const current = records.length - outdated.length;
  const missing = sumOf(coverage, (one) => one.uncovered.length);
  const isCoverageGated = gates.some((gate) => gate.startsWith("uncovered"));
  const statements: (string | false)[] = [
    cases > 0 && `OUTDATED: the baselines do not cover ${integer(cases)} of ${count(total, "case")} as they are now.`,
    outdated.length > 0 &&
      cases === 0 &&
      "OUTDATED: tools changed since the baselines were accepted, but none that a case names.",
    unaccepted.length > 0 &&
      `NOT ACCEPTED: ${names(unaccepted)} ${unaccepted.length === 1 ? "has" : "have"} no baseline.`,
    unknown.length > 0 && `NOT VERIFIED: the tools of ${names(unknown)} could not be listed.`,
    outdated.length === 0 &&
      current > 0 &&
      `VERIFIED: ${count(current, "baseline")} ${current === 1 ? "matches" : "match"} the current tools and cases.`,
    isCoverageGated && missing > 0 && `NOT COVERED: no case expects ${count(missing, "tool")}.`,
  ];
  return statements.filter((one) => one !== false);
}

function describeNext({ suites, failed }: VerifyReport): string {
  const stale = suites.filter(({ records }) => records.some(isOutdated));
  const [first] = [...stale, ...suites.filter(hasNoBaseline)];
  if (suites.some(({ problem }) => problem !== undefined)) return "Next: find out why with `evals doctor`.";
  if (first) return `Next: \`evals run ${first.file}\`, then \`evals baseline accept\`.`;
  return failed.length > 0
    ? "Next: write a case for each tool or parameter that users rely on."
    : "Next: nothing, until a tool or a case changes.";
}

function listSuite({ suite, file, records, problem }: VerifiedSuite): Block[] {
  const shown = records.filter((one) => isOutdated(one) || one.removed.length > 0);
  if (shown.length === 0 && problem === undefined) return [];
  return [heading(2, `${suite} (${file})`), text(problem), ...shown.flatMap(listRecord)];
}

const reasons: Record<Verified["cases"][number]["state"], string> = {
  stale: "its tool changed",
  edited: "its query or expectation changed",
  new: "not in the baseline",
  "not graded": "no graded trial in the baseline",
};

function listRecord({ file, model, acceptedAt, lists, cases, removed, total, accepted }: Verified): Block[] {
  const rows = cases.map(({ id, state, tools }) => [{ code: id }, reasons[state], { lines: tools }]);
  const columns = makeColumns(["id", "case"], ["text", "why"], ["name", "changed"]);
  const covered = `${integer(accepted)} of ${count(total, "case")} covered`;
  return [
    heading(3, `${model}: ${covered}, accepted ${acceptedAt.slice(0, 10)}`),
    table("case", columns, rows, { max: 20 }),
    ...lists.flatMap(({ cases: affected, changes }) => [
      text(affected.length < total ? `Tools of ${some(affected)}:` : undefined),
      diff(changes, 20),
    ]),
    text(removed.length > 0 ? `No longer in the suite: ${some(removed)}.` : undefined),
    facts(["Baseline", file]),
  ];
}

function listCoverage({ suites, tools, uncovered, parameters }: VerifiedCoverage): Block[] {
  const rows = parameters.map(({ tool, names }) => [{ code: tool }, { lines: names }]);
  const columns = makeColumns(["name", "tool"], ["text", "parameters that no case names"]);
  const share = `${integer(tools - uncovered.length)} of ${count(tools, "tool")}`;
  return section(`Coverage of ${some(suites)}: cases expect ${share}`, [
    text(uncovered.length > 0 ? `Not expected by any case: ${some(uncovered, 20)}.` : undefined),
    table("tool", columns, rows, { max: 10 }),
  ]);
}

/** Which of these tools, and which of their parameters, the expectations of cases name. */
export function measureCoverage(tools: readonly Tool[], cases: readonly Pick<Case, "expect" | "turns">[]) {
  const named = new Map<string, Set<string>>();
  for (const { tools: names, args = {} } of cases.flatMap(listCaseCalls))
    for (const name of names) {
      const parameters = getOrAdd(named, name, () => new Set());
      for (const parameter of Object.keys(args)) parameters.add(parameter);
    }
  const parameters = tools.flatMap(({ name, inputSchema }) => {
    const checked = named.get(name);
    const names = listProperties(inputSchema).flatMap(([one]) => (checked && !checked.has(one) ? [one] : []));
    return names.length > 0 ? [{ tool: name, names }] : [];
  });
  const uncovered = tools.map(({ name }) => name).filter((name) => !named.has(name));
  return { tools: tools.length, uncovered, parameters };
}

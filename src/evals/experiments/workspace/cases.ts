import { readingTools, skillTools } from "../../asking/scoring/activity.ts";
import { checkDispatch } from "../../asking/scoring/dispatch.ts";
import type { CodeQuestion } from "../../asking/scoring/match.ts";
import { createGrader, type Grade } from "../../asking/scoring/score.ts";
import { listExpectations } from "../../asking/scoring/userTurns.ts";
import { isWritable } from "../../asking/scoring/writtenFiles.ts";
import type { ShownTools } from "../../asking/trials/conversation.ts";
import { isolatedPool, type ServerPool, sharedPool } from "../../asking/trials/execution.ts";
import { judgeTrial } from "../../asking/trials/judge.ts";
import type { SpendingLimits } from "../../asking/trials/limits.ts";
import { getExposure, type PlannedCase } from "../../asking/trials/plan.ts";
import type { TrialContext } from "../../asking/trials/runTrial.ts";
import type { SkillShelf } from "../../asking/trials/skills.ts";
import { indexTools, searchToolName } from "../../asking/trials/toolSearch.ts";
import type { CodeCaller } from "../../base/code/caller.ts";
import { once } from "../../base/once.ts";
import { findRanker, type RankerName } from "../../base/search/rankers.ts";
import { listingHosts } from "../../base/search/skillListing.ts";
import { didYouMean } from "../../base/text/nearest.ts";
import type { Problem } from "../../base/types/errors.ts";
import type { AskedModel, Model } from "../../base/types/model.ts";
import type { SkillPackage } from "../../base/types/skill.ts";
import {
  type Case,
  findRepeatedQueries,
  getMessages,
  listCaseCalls,
  listExpectedCalls,
  plannedTrials,
  type Suite,
} from "../../base/types/suite.ts";
import { isCallable, type OfferedTool, type Tool, type Toolset } from "../../base/types/tool.ts";
import { readPackageFile } from "../../input/skills/packageFiles.ts";
import { nameInConfiguration } from "../../servers/configuration.ts";
import { getSkillForm, type HostName, presentTools } from "../../servers/host.ts";
import type { Source } from "../../servers/source.ts";
import { createSkillEntry, createToolset } from "../../servers/toolList.ts";
import { askFile } from "./code.ts";
import { isUnavailable, type Opened } from "./servers.ts";

/** The tool list of cases whose server could not be reached. */
export const neverListed: Toolset = createToolset([]);

/** Plans the cases of a suite in the arm `head`, each with its tools. All break if the server was not reached. */
export function planCases(opened: Opened, skills: readonly SkillPackage[]): PlannedCase[] {
  const { suite } = opened;
  if ("failure" in opened) {
    const problems = isUnavailable(opened.failure) ? opened.failure.problems : [];
    const message = problems.map((problem) => problem.message).join("; ");
    const unavailable = { kind: "broken", stage: "server", message } as const;
    return suite.cases.map((one) => ({ suite, case: one, arm: "head", toolset: neverListed, unavailable }));
  }
  const toolsetFor = createCaseToolsets(suite, opened.source, skills);
  const { members = [] } = opened.source;
  return suite.cases.map((one): PlannedCase => {
    const owner = findOwner(one, members);
    const planned = {
      ...{ suite, case: one, arm: "head", toolset: toolsetFor(one) },
      ...(owner !== undefined && { owner }),
    };
    const lost = members.find(({ name, failure }) => failure !== undefined && listServers(one, members).has(name));
    if (lost?.failure !== undefined)
      return { ...planned, unavailable: { kind: "broken", stage: "server", message: lost.failure } };
    if (one.unusable === undefined) return planned;
    return { ...planned, unavailable: { kind: "broken", stage: "setup", message: one.unusable } };
  });
}

type Members = NonNullable<Source["members"]>;

/** The server of a configuration whose tools a case expects; undefined if it expects tools of none or of several. */
function findOwner(one: Case, members: Members): string | undefined {
  const expected = listCaseCalls(one).flatMap(({ tools }) => tools);
  const [owner, ...others] = new Set(expected.flatMap((tool) => findServer(tool, members) ?? []));
  return others.length === 0 ? owner : undefined;
}

/** The servers of a configuration whose tools a case names anywhere. All of them must be available to ask it. */
function listServers(one: Case, members: Members): ReadonlySet<string> {
  const named = listExpectations(one).flatMap(({ expect }) => [
    ...listExpectedCalls(expect).flatMap(({ tools, acceptable = [] }) => [...tools, ...acceptable]),
    ...expect.avoid,
  ]);
  return new Set(named.flatMap((tool) => findServer(tool, members) ?? []));
}

/** The server of a tool: the one with the longest name that is the prefix of the tool's name. */
function findServer(tool: string, members: Members): string | undefined {
  const fitting = members.filter(({ name }) => tool.startsWith(nameInConfiguration(name, "")));
  return fitting.sort((a, b) => b.name.length - a.name.length)[0]?.name;
}

/** Returns the tools of a case: its own with the suite's distractors, or the server's; both with the suite's skills. */
export function createCaseToolsets(
  suite: Suite,
  { tools }: Pick<Source, "tools">,
  skills: readonly SkillPackage[],
): (one: Case) => Toolset {
  const entries = skills.map(createSkillEntry);
  const whole = createToolset([...tools, ...entries]);
  const foreign = new Set(tools.filter(({ origin }) => origin === "distractor").map(({ server }) => server));
  const isAdded = ({ origin, server }: OfferedTool) =>
    origin === "distractor" || (origin === "instructions" && foreign.has(server));
  const added = [...tools.filter(isAdded), ...entries];
  const createOwn = once((own: readonly Tool[]) =>
    createToolset([...own.map((tool) => ({ ...tool, server: suite.name, origin: "static" as const })), ...added]),
  );
  return ({ tools: own }) => (own ? createOwn(own) : whole);
}

/** The lift of a skill can be measured only where the suite offers that skill. */
export function findUnofferedLift({ lift, name, file }: Suite, skills: readonly SkillPackage[]): Problem[] {
  if (lift === undefined || skills.some((skill) => skill.name === lift)) return [];
  const offered = skills.map((skill) => `"${skill.name}"`).join(", ");
  return [
    {
      severity: "error",
      message: `The suite "${name}" measures the lift of the skill "${lift}", which it does not offer.`,
      hint: offered === "" ? "Name the folder of the skill under `skills`." : `Use one of its skills: ${offered}.`,
      place: { file },
    },
  ];
}

/** Checks the dispatchers of a suite, and warns if tools cannot be checked. `known`: other tools known to exist. */
export function findDispatchProblems(opened: Opened, known: ReadonlySet<string> = new Set()): Problem[] {
  const { suite } = opened;
  const { dispatch, dispatchPlace = () => ({ file: suite.file }), catalog } = suite;
  if (!dispatch) {
    const message = `The suite "${suite.name}" has a "catalog" and no "dispatch", so no tool calls those of the catalog.`;
    const hint = 'Add "dispatch", or remove "catalog".';
    return catalog === undefined ? [] : [{ severity: "error", message, hint, place: { file: suite.file } }];
  }
  if ("failure" in opened) return [];
  const { tools } = opened.source;
  const problems = checkDispatch(dispatch, tools.filter(isCallable), dispatchPlace);
  const expected = suite.cases.flatMap(({ expect }) => listExpectedCalls(expect).flatMap((call) => call.tools));
  const open = new Set(expected.filter((name) => !known.has(name) && !tools.some((tool) => tool.name === name)));
  if (problems.length > 0 || catalog !== undefined || open.size === 0) return problems;
  const message = `${open.size} expected ${open.size === 1 ? "tool is" : "tools are"} not listed by the server: their names and arguments are not checked.`;
  const hint = 'Name a file with the list of the tools behind the dispatchers under "catalog".';
  return [{ severity: "warning", message, hint, place: dispatchPlace([]) }];
}

/** Trials of a case break in a host that cannot run it; see `findUnfit`. */
export function findHostProblems(
  { name, file }: Suite,
  cases: readonly PlannedCase[],
  models: readonly Model[],
): Problem[] {
  const own = cases.filter(({ suite }) => suite.name === name);
  const hosts = models.flatMap((model) => ("converse" in model ? [model] : []));
  const kinds = [
    { hosts, affects: ({ turns }: Case) => turns !== undefined, says: turnsInHost },
    {
      hosts: hosts.filter(({ writesFiles }) => !writesFiles),
      affects: ({ expectedFiles }: Case) => expectedFiles !== undefined,
      says: filesInHost,
    },
  ];
  return kinds.flatMap(({ hosts: unfit, affects, says }): Problem[] => {
    const affected = own.filter((one) => affects(one.case));
    if (unfit.length === 0 || affected.length === 0) return [];
    const ids = affected.slice(0, 3).map(({ case: one }) => `"${one.id}"`);
    const more = affected.length > ids.length ? ` and ${affected.length - ids.length} more` : "";
    const message = `${unfit.map(({ id }) => id).join(", ")} ${says}: ${ids.join(", ")}${more}. Their trials break.`;
    const hint = "Ask these cases on a model instead of a host.";
    const isWhole = unfit.length === models.length && affected.length === own.length;
    return [{ severity: isWhole ? "error" : "warning", message, hint, place: { file } }];
  });
}

const turnsInHost = "accepts only one user message, but cases have several turns";
const filesInHost = "writes no files in a trial, but cases expect some";

/** A repeated query counts twice in every rate, and adds no information. */
export function findRepeats({ name, file, cases }: Suite): Problem[] {
  const repeated = findRepeatedQueries(cases);
  const [first] = repeated;
  if (!first) return [];
  const more = repeated.length > 1 ? `, and ${repeated.length - 1} more` : "";
  const message = `${repeated.length} of ${cases.length} cases of the suite "${name}" ask the same as an earlier one: "${first.id}" as "${first.first}"${more}.`;
  const hint = "Rephrase them, or raise `trials` instead: a query that is asked twice counts twice in every rate.";
  return [{ severity: "warning", message, hint, place: cases[first.index]?.place ?? { file } }];
}

/** A mock of a tool that no case lists never answers a call. */
export function findUnlistedMocks({ name, file }: Suite, cases: readonly PlannedCase[]): Problem[] {
  const own = cases.filter(({ suite, unavailable }) => suite.name === name && !unavailable);
  const listed = new Set(own.flatMap(({ toolset }) => toolset.tools.map((tool) => tool.name)));
  const mocks = own.flatMap(({ case: one }) => one.mocks?.list ?? []);
  // Without a catalog, the tools behind a dispatcher are unknown.
  if (own.some(({ suite }) => suite.dispatch && suite.catalog === undefined)) return [];
  return [...new Map(mocks.map((mock) => [mock.label, mock])).values()]
    .filter(({ tool }) => !listed.has(tool))
    .map(({ label, tool }) => {
      const hint = didYouMean(tool, listed, "Mock a listed tool, or remove the mock.");
      const message = `The suite "${name}" mocks "${label}", but the tool "${tool}" is not listed.`;
      return { severity: "error", message, hint, place: { file } };
    });
}

/** Skills and files add tools of the harness. A listed tool with the same name would make calls ambiguous. */
export function findReservedNames({ name, file }: Suite, cases: readonly PlannedCase[]): Problem[] {
  const ofSuite = cases.filter(({ suite }) => suite.name === name);
  const affected = ofSuite.filter(({ case: one, toolset }) => {
    return one.files || isWritable(one) || toolset.tools.some(({ origin }) => origin === "skill");
  });
  const listNames = (some: typeof cases) =>
    new Set(some.flatMap(({ toolset }) => toolset.tools.map((tool) => tool.name)));
  const taken = listNames(affected);
  const written = listNames(affected.filter(({ case: one }) => isWritable(one)));
  return [skillTools.load, ...readingTools, skillTools.write]
    .filter((own) => (own === skillTools.write ? written : taken).has(own))
    .map((own) => ({
      severity: "error",
      message: `The suite "${name}" lists a tool "${own}", a name that is reserved where skills or files are offered.`,
      hint: "Test this tool in a suite without skills.",
      place: { file },
    }));
}

/** When only names are shown, the search is a tool of the harness, whose name must be free. */
export function findReservedSearch(
  { name, file }: Suite,
  cases: readonly PlannedCase[],
  models: readonly Model[],
): Problem[] {
  const searches = models.some(({ askedUnder = [] }) => askedUnder.some(({ kind }) => kind === "names"));
  const isTaken = cases.some(({ suite, toolset }) => {
    return suite.name === name && toolset.tools.some((tool) => tool.name === searchToolName);
  });
  if (!searches || !isTaken) return [];
  const message = `The suite "${name}" lists a tool "${searchToolName}", a name that is reserved where only names are shown.`;
  return [{ severity: "error", message, hint: "Use --exposure all for this suite.", place: { file } }];
}

/** What the trials of a run share. `skills`: the skills that each suite offers, by suite name. */
export type TrialSetup = {
  host: HostName;
  skills: ReadonlyMap<string, readonly SkillPackage[]>;
  judge?: AskedModel | undefined;
  code: CodeCaller;
  limits: SpendingLimits;
};

/** Creates the context of trials. What depends only on a case or a suite is created once and reused. */
export function createTrialContext(
  opened: readonly { suite: Suite; source: Source }[],
  { host, skills, judge, code, limits }: TrialSetup,
): TrialContext {
  const pools = new Map(opened.map(({ suite, source }) => [suite, createPool(suite, source)]));
  const shelves = new Map([...skills].map(([suite, packages]) => [suite, createShelf(packages, host)]));
  const showOnce = once((toolset: Toolset): ShownTools => {
    const { tools, findListed } = presentTools(toolset.tools, host);
    return { tools, listedName: (name) => findListed(name)?.name ?? name };
  });
  const indexOnce = (ranker: RankerName) => once((toolset: Toolset) => indexTools(showOnce(toolset).tools, ranker));
  const indexes = { keyword: indexOnce("keyword"), bm25: indexOnce("bm25"), regex: indexOnce("regex") };
  const showAs = ({ toolset, exposure }: PlannedCase, model: Model): ShownTools => {
    const { kind, ranker } = getExposure(model, exposure);
    const shown = showOnce(toolset);
    if (kind === "names") return { ...shown, index: indexes[findRanker(ranker) ?? "keyword"](toolset) };
    return kind === "search" && ranker !== undefined ? { ...shown, search: ranker } : shown;
  };
  const createGraderFor = ({ case: one, toolset }: PlannedCase) => createGrader(one, toolset);
  const createToolGraderFor = ({ case: one, toolset }: PlannedCase) => createGrader(one, toolset, { unjudged });
  // Keep the graders of cases that are asked more than once.
  const [graderFor, toolGraderFor] = [once(createGraderFor), once(createToolGraderFor)];
  return {
    pool: ({ planned }) => pools.get(planned.source ?? planned.suite),
    show: ({ planned, model }) => showAs(planned, model),
    skills: ({ planned }) => shelves.get(planned.suite.name),
    grade: async ({ planned, model, cell }, turns, signal, { deferred, workspace } = {}) => {
      const isAskedOnce = plannedTrials(planned.case, model) === 1;
      const [create, keep] = model.makesUpArguments
        ? [createToolGraderFor, toolGraderFor]
        : [createGraderFor, graderFor];
      const getGrader = isAskedOnce ? create : keep;
      const grade: Grade = (given, by) => getGrader(planned)(given, by, deferred, workspace);
      const messages = getMessages(planned.case, cell.trial);
      const followUps = planned.case.turns?.slice(1).map(({ content }) => content);
      const askCode = (question: CodeQuestion) =>
        askFile(code, question, { suite: planned.suite, case: planned.case, messages, turns, cell, workspace });
      return await judgeTrial({ grade, turns, messages, followUps, judge, askCode, cell }, signal);
    },
    now: () => new Date(),
    limits,
  };
}

const unjudged = "arguments and results: a keyword search finds tools, and makes the arguments up";

function createShelf(packages: readonly SkillPackage[], host: HostName): SkillShelf {
  return {
    form: getSkillForm(host),
    listing: listingHosts.find((name) => name === host),
    packages: new Map(packages.map((skill) => [skill.name, skill])),
    read: readPackageFile,
  };
}

function createPool(suite: Suite, { server, tools, reopen }: Source): ServerPool | undefined {
  if (!server) return undefined;
  return { tools, ...(suite.isolate === "trial" ? isolatedPool(reopen) : sharedPool(server, reopen)) };
}

import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { inspect } from "node:util";
import { listWorkspace } from "../../asking/scoring/activity.ts";
import { type CodeQuestion, type Match, no, yes } from "../../asking/scoring/matchers.ts";
import { createGrader, type Grade } from "../../asking/scoring/score.ts";
import type { ShownTools } from "../../asking/trials/conversation.ts";
import { HeldResults, isolatedPool, type ServerPool, sharedPool } from "../../asking/trials/execution.ts";
import { judgeTrial } from "../../asking/trials/judge.ts";
import type { SpendingLimits } from "../../asking/trials/limits.ts";
import { getExposure, type PlannedCase } from "../../asking/trials/plan.ts";
import type { TrialContext } from "../../asking/trials/runTrial.ts";
import type { SkillShelf } from "../../asking/trials/skills.ts";
import { indexTools } from "../../asking/trials/toolSearch.ts";
import type { CodeCaller } from "../../base/code/caller.ts";
import { defined, once } from "../../base/collections.ts";
import { findRanker, type RankerName } from "../../base/search/rankers.ts";
import { listingHosts } from "../../base/search/skillListing.ts";
import { showJson } from "../../base/text/text.ts";
import { type AssertionInput, assertionResultSchema, type MatcherInput } from "../../base/types/custom.ts";
import type { Json } from "../../base/types/json.ts";
import type { AskedModel, Model } from "../../base/types/model.ts";
import type { EvalFile, SkillPackage } from "../../base/types/skill.ts";
import { type Case, getMessages, plannedTrials, type Suite } from "../../base/types/suite.ts";
import { joinText, type Toolset } from "../../base/types/tool.ts";
import type { Broken, Call, Cell, Turn } from "../../base/types/trial.ts";
import { readPackageFile } from "../../input/skills/package.ts";
import { type HostName, hosts, presentTools, restoreArguments } from "../../servers/host.ts";
import type { Source } from "../../servers/source.ts";
import { breakTrial } from "./cases.ts";

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
  const pools = new Map(opened.map(({ suite, source }) => [suite, createPool(suite.isolate, source)]));
  const ownPools = new Map(opened.map(({ suite, source }) => [suite, createPool("trial", source)]));
  const shelves = new Map([...skills].map(([suite, packages]) => [suite, createShelf(packages, host)]));
  const showOnce = once((toolset: Toolset): ShownTools => {
    const { tools, findListed, listedName } = presentTools(toolset.tools, host);
    const hasRenamed = toolset.tools.some(({ shownAs }) => shownAs?.parameters);
    return {
      tools,
      listedName,
      ...(hasRenamed && { listedArguments: (shown, args) => restoreArguments(findListed(shown) ?? {}, args) }),
    };
  });
  const indexOnce = (ranker: RankerName) => once((toolset: Toolset) => indexTools(showOnce(toolset).tools, ranker));
  const indexes = { keyword: indexOnce("keyword"), bm25: indexOnce("bm25"), regex: indexOnce("regex") };
  const showAs = ({ toolset, exposure }: PlannedCase, model: Model): ShownTools => {
    const { kind, ranker } = getExposure(model, exposure);
    const shown = showOnce(toolset);
    if (kind === "names") return { ...shown, index: indexes[findRanker(ranker) ?? "keyword"](toolset) };
    return kind === "search" && ranker !== undefined ? { ...shown, search: ranker } : shown;
  };
  const makeGraders = (options: Parameters<typeof createGrader>[2]) => {
    const create = ({ case: one, toolset }: PlannedCase) => createGrader(one, toolset, options);
    return { create, keep: once(create) };
  };
  const [graders, toolGraders] = [makeGraders({}), makeGraders({ unjudged })];
  return {
    // What a server asks belongs to no call: only in a session of its own is it the trial's.
    pool: ({ planned }) => (planned.case.elicit ? ownPools : pools).get(planned.source ?? planned.suite),
    show: ({ planned, model }) => showAs(planned, model),
    skills: ({ planned }) => shelves.get(planned.suite.name),
    grade: async ({ planned, model, cell }, turns, signal, { deferred, workspace } = {}) => {
      const { create, keep } = model.makesUpArguments ? toolGraders : graders;
      // Graders are kept for cases that are asked more than once.
      const getGrader = plannedTrials(planned.case, model) === 1 ? create : keep;
      const grade: Grade = (given, by) => getGrader(planned)(given, by, deferred, workspace);
      const messages = getMessages(planned.case, cell.trial);
      const followUps = planned.case.turns?.slice(1).map(({ content }) => content);
      const askCode = (question: CodeQuestion) =>
        askFile(code, question, { suite: planned.suite, case: planned.case, messages, turns, cell, workspace });
      return await judgeTrial({ grade, turns, messages, followUps, judge, askCode, cell }, signal);
    },
    now: () => new Date(),
    limits,
    held: new HeldResults(),
  };
}

const unjudged = "arguments and results: a keyword search finds tools, and makes the arguments up";

function createShelf(packages: readonly SkillPackage[], host: HostName): SkillShelf {
  return {
    form: hosts[host],
    listing: listingHosts.find((name) => name === host),
    packages: new Map(packages.map((skill) => [skill.name, skill])),
    read: readPackageFile,
  };
}

function createPool(isolate: Suite["isolate"], { server, tools, reopen }: Source): ServerPool | undefined {
  if (!server) return undefined;
  return isolate === "trial" ? { tools, ...isolatedPool(reopen) } : sharedPool(server, reopen, tools);
}

type AskedTrial = {
  suite: Suite;
  case: Case;
  messages: Case["messages"];
  turns: readonly Turn[];
  cell: Cell;
  /** The files as a host left them. */
  workspace?: readonly EvalFile[] | undefined;
};

/** Calls a file of user code. If it throws, hangs or returns anything unexpected, the trial breaks. Does not reject. */
async function askFile(code: CodeCaller, question: CodeQuestion, asked: AskedTrial): Promise<Match | Broken> {
  const { file } = question;
  const call = (input: MatcherInput | AssertionInput) => code.call(resolve(asked.suite.dir, file), input);
  const result =
    question.about === "argument"
      ? await call({ value: question.value, at: question.at, ...defined({ with: question.with }) })
      : await inWorkspace(asked, (workspace) => call(describeTrial(asked, workspace)));
  if (result.kind === "broken") return breakTrial("setup", `${file}: ${result.why}`);
  const parsed = assertionResultSchema.safeParse(result.value);
  if (!parsed.success)
    return breakTrial("setup", `${file}: it returned ${show(result.value)}, not true, false or { pass, reason }`);
  const { pass, reason } = typeof parsed.data === "boolean" ? { pass: parsed.data, reason: undefined } : parsed.data;
  if (pass) return yes;
  const at = question.about === "argument" ? `${question.at}: ` : "";
  return no(`${at}${reason ?? `${file} returned false`}`);
}

function show(value: unknown): string {
  if (value === undefined) return "nothing";
  try {
    return showJson(JSON.parse(JSON.stringify(value) ?? "null") as Json);
  } catch {
    // A bigint, or an object that contains itself.
    return inspect(value, { depth: 1, breakLength: Number.POSITIVE_INFINITY });
  }
}

/** Calls with the folder that an assertion reads: the files of the trial, or without files, the server's folder. */
async function inWorkspace<T>({ suite, case: one, turns, workspace }: AskedTrial, call: (dir: string) => Promise<T>) {
  const { server, dir } = suite;
  if (!one.files && !one.expectedFiles) return call(resolve(dir, (server && "cwd" in server && server.cwd) || "."));
  const folder = await mkdtemp(join(tmpdir(), "evals-workspace-"));
  try {
    for (const { path, content } of workspace ?? listWorkspace(one.files ?? [], turns)) {
      await mkdir(dirname(join(folder, path)), { recursive: true });
      await writeFile(join(folder, path), content);
    }
    return await call(folder);
  } finally {
    await rm(folder, { recursive: true, force: true, maxRetries: 3 });
  }
}

function describeTrial({ messages, turns, cell }: AskedTrial, workspace: string): AssertionInput {
  return {
    case: cell.case,
    model: cell.model,
    trial: cell.trial,
    input: messages.findLast(({ role }) => role === "user")?.content ?? "",
    text: turns.flatMap(({ text }) => (text === "" ? [] : [text])).join("\n"),
    calls: turns.flatMap(({ calls }) => calls.filter(({ role }) => role === undefined).map(describeCall)),
    workspace,
  };
}

function describeCall({ tool, arguments: args, execution }: Call): AssertionInput["calls"][number] {
  const call = { tool, ...(args !== undefined && { arguments: args }) };
  if (execution === undefined) return call;
  if (execution.status === "skipped") return { ...call, skipped: execution.reason };
  const { content, isError, structuredContent } = execution.result;
  const text = joinText({ content });
  return { ...call, result: { text, isError, ...(structuredContent && { structuredContent }) } };
}

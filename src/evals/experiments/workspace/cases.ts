import { listExpectations } from "../../asking/scoring/labels.ts";
import type { PlannedCase } from "../../asking/trials/plan.ts";
import { defined, once } from "../../base/collections.ts";
import { EvalsError, exitCodes } from "../../base/types/errors.ts";
import type { Io } from "../../base/types/io.ts";
import type { SkillPackage } from "../../base/types/skill.ts";
import { type Case, listCaseCalls, listExpectedCalls, type Suite } from "../../base/types/suite.ts";
import type { OfferedTool, Tool, Toolset } from "../../base/types/tool.ts";
import type { Broken } from "../../base/types/trial.ts";
import { ServerFailure } from "../../servers/session.ts";
import { nameInConfiguration, openSource, type Source } from "../../servers/source.ts";
import { createSkillEntry, createToolset } from "../../servers/toolList.ts";

// The servers of suites, and their cases planned with the tools that the servers list.

/** A suite with its server open and its tools listed, or with the error. */
export type Opened = { suite: Suite; source: Source } | { suite: Suite; failure: unknown };

/** Opens the servers of all suites concurrently. Never rejects. */
export function openServers(suites: readonly Suite[], io: Io): Promise<Opened[]> {
  return Promise.all(
    suites.map((suite) =>
      openSource({ ...suite, elicits: suite.cases.some(({ elicit }) => elicit) }, io).then(
        (source) => ({ suite, source }),
        (failure: unknown) => ({ suite, failure }),
      ),
    ),
  );
}

/** Closes every server. Does not throw. */
export async function closeServers(opened: readonly Opened[]): Promise<void> {
  await Promise.all(opened.map((one) => ("source" in one ? one.source.close() : undefined)));
}

/** Throws an internal error, or the mistakes in the suites as one error. An unreachable server is not a mistake. */
export function refuseMistakes(opened: readonly Opened[]): void {
  const failures = opened.flatMap((one) => ("failure" in one && !isUnavailable(one.failure) ? [one.failure] : []));
  const internal = failures.find((failure) => !(failure instanceof EvalsError));
  if (internal !== undefined) throw internal;
  const mistakes = failures.filter((failure) => failure instanceof EvalsError);
  if (mistakes.length > 0) throw EvalsError.all(mistakes);
}

/** Whether a server could not be reached, as opposed to a mistake in the suite. */
export function isUnavailable(failure: unknown): failure is EvalsError {
  return failure instanceof EvalsError && failure.exitCode === exitCodes.incomplete;
}

/** Adds the command that finds out why a server cannot be reached, unless the cause is known. */
export function suggestDoctor(error: EvalsError, words: string): EvalsError {
  const { problems, exitCode } = error;
  if (error instanceof ServerFailure && error.isExplained) return error;
  const command = `To find the cause, run: \`evals doctor ${words}\``;
  const more = problems.map((problem, at) =>
    at === 0 ? { ...problem, hint: [problem.hint, command].filter(Boolean).join(" ") } : problem,
  );
  return new EvalsError(more, exitCode);
}

/** Why the trials of a case break without a request. */
export const breakTrial = (stage: "server" | "setup", message: string): Broken => ({ kind: "broken", stage, message });

/** The tool list of cases whose server could not be reached. */
export const neverListed: Toolset = createToolset([]);

/** Plans the cases of a suite in the arm `head`, each with its tools. All break if the server was not reached. */
export function planCases(opened: Opened, skills: readonly SkillPackage[]): PlannedCase[] {
  const { suite } = opened;
  if ("failure" in opened) {
    const problems = isUnavailable(opened.failure) ? opened.failure.problems : [];
    const message = problems.map((problem) => problem.message).join("; ");
    const unavailable = breakTrial("server", message);
    return suite.cases.map((one) => ({ suite, case: one, arm: "head", toolset: neverListed, unavailable }));
  }
  const toolsetFor = createCaseToolsets(suite, opened.source, skills);
  const { members = [] } = opened.source;
  return suite.cases.map((one): PlannedCase => {
    const owner = findOwner(one, members);
    const planned = { suite, case: one, arm: "head", toolset: toolsetFor(one), ...defined({ owner }) };
    const lost = members.find(({ name, failure }) => failure !== undefined && listServers(one, members).has(name));
    if (lost?.failure !== undefined) return { ...planned, unavailable: breakTrial("server", lost.failure) };
    return one.unusable === undefined ? planned : { ...planned, unavailable: breakTrial("setup", one.unusable) };
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

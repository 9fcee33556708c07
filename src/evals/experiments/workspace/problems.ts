import { isWritable, readingTools, skillTools } from "../../asking/scoring/activity.ts";
import { checkDispatch } from "../../asking/scoring/dispatch.ts";
import { preflight } from "../../asking/scoring/preflight.ts";
import { executable } from "../../asking/scoring/tools.ts";
import type { PlannedCase } from "../../asking/trials/plan.ts";
import { searchToolName } from "../../asking/trials/toolSearch.ts";
import { groupBy } from "../../base/collections.ts";
import { printableLines } from "../../base/text/display.ts";
import { didYouMean } from "../../base/text/nearest.ts";
import type { Problem } from "../../base/types/errors.ts";
import { executionPolicies } from "../../base/types/flagValues.ts";
import type { Io } from "../../base/types/io.ts";
import type { Model } from "../../base/types/model.ts";
import type { SkillPackage } from "../../base/types/skill.ts";
import { asksModel, listExpectedCalls, type Suite } from "../../base/types/suite.ts";
import { isCallable } from "../../base/types/tool.ts";
import { some } from "../../reports/format.ts";
import { breakTrial, type Opened } from "./cases.ts";

// What is wrong with the suites, checked against the tools that their cases will be shown, before a model is asked.

/** Finds what is wrong with suites as a whole. `skills`: those that each suite offers, by suite name. */
export function findSuiteProblems(
  opened: readonly Opened[],
  planned: readonly PlannedCase[],
  skills: ReadonlyMap<string, readonly SkillPackage[]>,
  models: readonly Model[],
): Problem[] {
  const ofSuites = opened.flatMap((one) => [
    ...findUnofferedLift(one.suite, skills.get(one.suite.name) ?? []),
    ...findDispatchProblems(one),
    ...findReservedNames(one.suite, planned),
    ...findReservedSearch(one.suite, planned, models),
    ...findNothingListed(one.suite, planned),
  ]);
  return [...findUnknownExecuted(opened), ...ofSuites];
}

/** The lift of a skill can be measured only where the suite offers that skill. */
function findUnofferedLift({ lift, name, file }: Suite, skills: readonly SkillPackage[]): Problem[] {
  if (lift === undefined || skills.some((skill) => skill.name === lift)) return [];
  const offered = skills.map((skill) => `"${skill.name}"`).join(", ");
  const message = `The suite "${name}" measures the lift of the skill "${lift}", which it does not offer.`;
  const hint = offered === "" ? "Name the folder of the skill under `skills`." : `Use one of its skills: ${offered}.`;
  return [{ severity: "error", message, hint, location: { file } }];
}

/** Checks the dispatchers of a suite, and warns if tools cannot be checked. `known`: other tools known to exist. */
export function findDispatchProblems(opened: Opened, known: ReadonlySet<string> = new Set()): Problem[] {
  const { suite } = opened;
  const { dispatch, dispatchLocation = () => ({ file: suite.file }), catalog } = suite;
  if (!dispatch) {
    const message = `The suite "${suite.name}" has a "catalog" and no "dispatch", so no tool calls those of the catalog.`;
    const hint = 'Add "dispatch", or remove "catalog".';
    return catalog === undefined ? [] : [{ severity: "error", message, hint, location: { file: suite.file } }];
  }
  if ("failure" in opened) return [];
  const { tools } = opened.source;
  const problems = checkDispatch(dispatch, tools.filter(isCallable), dispatchLocation);
  const expected = suite.cases.flatMap(({ expect }) => listExpectedCalls(expect).flatMap((call) => call.tools));
  const open = new Set(expected.filter((name) => !known.has(name) && !tools.some((tool) => tool.name === name)));
  if (problems.length > 0 || catalog !== undefined || open.size === 0) return problems;
  const message = `${open.size} expected ${open.size === 1 ? "tool is" : "tools are"} not listed by the server: their names and arguments are not checked.`;
  const hint = 'Name a file with the list of the tools behind the dispatchers under "catalog".';
  return [{ severity: "warning", message, hint, location: dispatchLocation([]) }];
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
      return { severity: "error", message, hint, location: { file } };
    });
}

/** Without a tool, a case that expects none tells nothing: no model could fail it. */
function findNothingListed({ name, file, server }: Suite, cases: readonly PlannedCase[]): Problem[] {
  const own = cases.filter(({ suite, unavailable }) => suite.name === name && !unavailable);
  if (!server || own.length === 0 || own.some(({ toolset }) => toolset.tools.length > 0)) return [];
  const message = `The suite "${name}" is shown no tool: a case that expects none passes whatever the model does.`;
  const hint = "Find out why the server lists none: it may lack a key or a setting.";
  return [{ severity: "warning", message, hint, location: { file } }];
}

/** Skills and files add tools of the harness. A listed tool with the same name would make calls ambiguous. */
function findReservedNames({ name, file }: Suite, cases: readonly PlannedCase[]): Problem[] {
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
    .map((own) => {
      const message = `The suite "${name}" lists a tool "${own}", a name that is reserved where skills or files are offered.`;
      return { severity: "error", message, hint: "Test this tool in a suite without skills.", location: { file } };
    });
}

/** When only names are shown, the search is a tool of the harness, whose name must be free. */
function findReservedSearch({ name, file }: Suite, cases: readonly PlannedCase[], models: readonly Model[]): Problem[] {
  const searches = models.some(({ askedUnder = [] }) => askedUnder.some(({ kind }) => kind === "names"));
  const isTaken = cases.some(({ suite, toolset }) => {
    return suite.name === name && toolset.tools.some((tool) => tool.name === searchToolName);
  });
  if (!searches || !isTaken) return [];
  const message = `The suite "${name}" lists a tool "${searchToolName}", a name that is reserved where only names are shown.`;
  return [{ severity: "error", message, hint: "Use --exposure all for this suite.", location: { file } }];
}

/**
 * Checks every expectation against the tools. The trials of a case that none could pass break without a request, with
 * the reason. Its problems are warnings if its suite has other cases to ask, or has a baseline, and errors otherwise.
 */
export async function excludeImpossible(
  planned: readonly PlannedCase[],
  isAccepted: (suite: Suite) => Promise<boolean>,
): Promise<{ cases: PlannedCase[]; problems: Problem[] }> {
  const checked = planned.map((one) => {
    const problems = one.unavailable ? [] : preflight(one.case, one.toolset, one.suite.execute);
    const errors = problems.filter(({ severity }) => severity === "error").map(({ message }) => message);
    if (errors.length === 0) return { one, problems };
    return { one: { ...one, unavailable: breakTrial("setup", errors.join(" ")) }, problems };
  });
  const asked = new Set(checked.flatMap(({ one }) => (one.unavailable ? [] : [one.suite])));
  for (const suite of new Set(planned.map((one) => one.suite)))
    if (!asked.has(suite) && (await isAccepted(suite))) asked.add(suite);
  const downgrade = (suite: Suite, problem: Problem): Problem => {
    if (problem.severity !== "error" || !asked.has(suite)) return problem;
    return { ...problem, severity: "warning", hint: `${problem.hint ?? ""} Until then the case is left out.`.trim() };
  };
  const found = checked.flatMap(({ one, problems }) =>
    problems.map((problem) => ({ ...one, problem: downgrade(one.suite, problem) })),
  );
  return { cases: checked.map(({ one }) => one), problems: foldAlike(mergeProblems(found)) };
}

/** Merges equal problems of several cases of a suite into the first, which then names the other cases. */
function mergeProblems(found: readonly { suite: Suite; case: PlannedCase["case"]; problem: Problem }[]): Problem[] {
  const groups = groupBy(found, ({ suite, case: one, problem: { severity, message, hint } }) =>
    JSON.stringify([suite.name, severity, message.replace(`Case "${one.id}"`, ""), hint]),
  );
  return [...groups.values()].flatMap(([first, ...others]) => {
    if (first === undefined || others.length === 0) return first?.problem ?? [];
    const named = others.slice(0, 3).map((one) => `"${one.case.id}"`);
    const more = others.length > named.length ? `, and ${others.length - named.length} more` : "";
    const { problem } = first;
    return { ...problem, message: `${problem.message.slice(0, -1)}; likewise ${named.join(", ")}${more}.` };
  });
}

const mostAlike = 5;

/** Shows the first problems of a file that have the same remedy, and counts the others. */
function foldAlike(problems: readonly Problem[]): Problem[] {
  const groups = groupBy(problems, ({ severity, hint, location }) => JSON.stringify([location?.file, severity, hint]));
  return [...groups.values()].flatMap((group) => {
    const shown = group.slice(0, mostAlike);
    const [first, ...others] = group.slice(mostAlike);
    if (!first || others.length === 0) return group;
    return [...shown, { ...first, message: `${others.length + 1} more problems like these, from this one on.` }];
  });
}

/** The names of the tools whose calls are executed in trials of these cases on these models. */
export function listExecuted(cases: readonly PlannedCase[], models: readonly Model[]): string[] {
  const executed = cases.filter(({ suite, case: { mocks } }) => {
    const isAsked = models.some((model) => !model.makesUpArguments && asksModel(suite, model));
    return isAsked && mocks?.unmatched !== "error";
  });
  // Many cases are shown the same list.
  const lists = new Map(executed.map((one) => [JSON.stringify([one.suite.name, one.toolset.hash]), one]));
  const names = [...lists.values()].flatMap(({ suite, toolset }) =>
    toolset.tools.filter((tool) => executable(tool, suite.execute).yes).map(({ name }) => name),
  );
  return [...new Set(names)];
}

/** Prints which tools a command will execute, before its first request. Prints nothing if it executes none. */
export function announceExecuted(names: readonly string[], io: Pick<Io, "err">): void {
  if (names.length > 0) io.err(printableLines(`Calls of these tools are executed: ${some(names, 20)}.`));
}

function findUnknownExecuted(opened: readonly Opened[]): Problem[] {
  if (opened.some((one) => "failure" in one)) return [];
  const listed = new Set(opened.flatMap((one) => ("source" in one ? one.source.tools.map(({ name }) => name) : [])));
  // By name, because --execute is the same for all suites.
  const files = new Map(
    opened.flatMap(({ suite: { execute, file } }) =>
      Array.isArray(execute) ? execute.map((name) => [name, file] as const) : [],
    ),
  );
  const unknown = [...files].filter(([name]) => !listed.has(name));
  const known = [...executionPolicies, ...listed];
  return unknown.map(([name, file]) => {
    const hint = didYouMean(name, known, `A policy is one of: ${executionPolicies.join(", ")}.`);
    const message = `"execute" names "${name}", which is no listed tool.`;
    return { severity: "error", message, hint, location: { file } };
  });
}

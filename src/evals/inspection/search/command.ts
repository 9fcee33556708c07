import type { PlannedCase } from "../../asking/trials/plan.ts";
import { groupBy, sumOf } from "../../base/collections.ts";
import { type SearchDocument, toSearchDocument } from "../../base/search/document.ts";
import { type RankerName, rankerNames } from "../../base/search/rankers.ts";
import { type ListingHost, listingHosts, listSkills, skillListings } from "../../base/search/skillListing.ts";
import { type ExitCode, exitCodes, usageError } from "../../base/types/errors.ts";
import type { Io } from "../../base/types/io.ts";
import { skillEntryName } from "../../base/types/skill.ts";
import { type Case, type Expectation, listExpectedCalls, type Suite } from "../../base/types/suite.ts";
import { isAlwaysLoaded, type OfferedTool, type Toolset } from "../../base/types/tool.ts";
import type { SuiteOptions } from "../../experiments/workspace/suites.ts";
import { withWorkspace } from "../../experiments/workspace/workspace.ts";
import { type Block, facts, heading, list, makeColumns, section, table, text } from "../../reports/document.ts";
import { count, integer, percent, some } from "../../reports/format.ts";
import { printResult } from "../../reports/result.ts";
import { type HostName, presentTools } from "../../servers/host.ts";
import {
  evaluateSearch,
  findShortfall,
  isWithin,
  type ListingResult,
  parseThreshold,
  type QueryResult,
  recallDepths,
  type SearchCase,
  type SearchReport,
  type SuiteSearch,
  summarizeRanker,
  type Threshold,
} from "./evaluate.ts";

export type SearchOptions = SuiteOptions & {
  host: HostName;
  ranker?: readonly RankerName[] | undefined;
  failOn?: readonly string[] | undefined;
  json: boolean;
};

/**
 * `evals search`: how well a search finds the tools and skills that the cases of suites expect. No model is called.
 * Exits with 1 if a threshold is not reached, otherwise with 3 if a case could not be searched for or none expects a
 * tool. Throws EvalsError for mistakes in thresholds and suites.
 */
export async function search(options: SearchOptions, io: Io): Promise<ExitCode> {
  const { ranker: chosen, failOn = [], json, ...selected } = options;
  const thresholds = failOn.map(readThreshold);
  const rankers = rankerNames.filter((name) => chosen?.includes(name) ?? true);
  const suites = await withWorkspace({ ...selected, model: [], out: "reports" }, io, async ({ suites, cases, host }) =>
    suites.map((suite) => {
      const own = cases.filter((planned) => planned.suite === suite);
      return searchSuite(suite, own, { rankers, host, thresholds });
    }),
  );
  const report: SearchReport = { host: options.host, thresholds: thresholds.map(({ text }) => text), suites };
  const blocks = [headline(report), nextStep(report), ...suites.flatMap(listSuite)];
  printResult(report, blocks, json, io);
  if (suites.some(({ shortfalls }) => shortfalls.length > 0)) return exitCodes.failed;
  const isSearched = suites.some(({ queries, listings }) => queries.length > 0 || listings.length > 0);
  const isBroken = suites.some(({ leftOut }) => leftOut.some(({ broken }) => broken));
  return isSearched && !isBroken ? exitCodes.passed : exitCodes.incomplete;
}

function readThreshold(text: string): Threshold {
  const threshold = parseThreshold(text);
  if (threshold) return threshold;
  throw usageError(
    `--fail-on: "${text}" is not a threshold.`,
    "Write recall@<1, 3, 5 or 10>=<share>, for example recall@5=0.9.",
  );
}

type Searched = { kind: "tools" | "skills"; toolset: Toolset; search: SearchCase };

type Settings = { rankers: readonly RankerName[]; host: HostName; thresholds: readonly Threshold[] };

function searchSuite(suite: Suite, cases: readonly PlannedCase[], settings: Settings): SuiteSearch {
  const { rankers, host, thresholds } = settings;
  const searched: Searched[] = [];
  const leftOut: SuiteSearch["leftOut"][number][] = [];
  for (const planned of cases) {
    const made = listRequests(planned.case).map((request) => toSearched(planned, request));
    const found = made.filter((one) => "search" in one);
    searched.push(...found);
    const [reason] = made.filter((one) => "reason" in one);
    if (found.length === 0 && reason) leftOut.push({ case: planned.case.id, ...reason });
  }
  const queries = groupByToolset(searched, "tools").flatMap(([{ tools }, asked]) => {
    const { documents, toShown } = indexTools(tools, host);
    const shown = asked.map((one) => ({ ...one, expected: one.expected.map((names) => names.map(toShown)) }));
    return evaluateSearch(documents, shown, rankers);
  });
  const results = queries.length > 0 ? rankers.map((ranker) => summarizeRanker(ranker, queries)) : [];
  const ofSkills = groupByToolset(searched, "skills");
  const listed = ofSkills.length > 0 ? listingHosts.map((name) => searchListing(name, ofSkills)) : [];
  const measured = [
    ...results.map((result) => ({ subject: result.ranker, result })),
    ...listed.map((result) => ({ subject: `skills as ${result.host} lists them`, result })),
  ];
  const shortfalls = thresholds.flatMap((threshold) =>
    measured.flatMap(({ subject, result }) => {
      const shortfall = findShortfall(threshold, result);
      return shortfall === undefined ? [] : [`${subject}: ${shortfall}`];
    }),
  );
  const offered = [...new Map(cases.flatMap(({ toolset }) => toolset.tools.map((tool) => [tool.name, tool]))).values()];
  return {
    suite: suite.name,
    file: suite.file,
    tools: offered.filter(({ origin }) => origin !== "skill" && origin !== "instructions").length,
    skills: offered.filter(({ origin }) => origin === "skill").length,
    queries,
    rankers: results,
    listings: listed,
    leftOut,
    shortfalls,
  };
}

/** What the user asks for at one point of a case. */
type Request = { queries: SearchCase["queries"]; expect: Expectation | undefined };

/** What a case asks for: a conversation, once for each message; what it expects on the whole is then of none. */
function listRequests({ messages, paraphrases, searches = [], turns, expect }: Case): Request[] {
  const ask = (texts: readonly string[]) => texts.map((text) => ({ kind: "request" as const, text }));
  const written = searches.map((text) => ({ kind: "written" as const, text }));
  if (turns?.some((turn) => turn.expect))
    return turns.map((turn, at) => ({
      queries: [...ask([turn.content]), ...(at === 0 ? written : [])],
      expect: turn.expect,
    }));
  return [{ queries: [...ask(paraphrases ?? [messages.at(-1)?.content ?? ""]), ...written], expect }];
}

/** What a request of a case searches for, or why nothing. */
function toSearched(
  { case: { id }, toolset, unavailable }: PlannedCase,
  { queries, expect }: Request,
): Searched | { reason: string; broken: boolean } {
  if (unavailable?.stage === "server") return { reason: "The server could not be listed.", broken: true };
  if (unavailable) return { reason: unavailable.message, broken: true };
  if (expect?.kind === "skill" && expect.skill !== "none") {
    return { kind: "skills", toolset, search: { id, queries, expected: [[expect.skill]] } };
  }
  const calls = listExpectedCalls(expect);
  if (calls.length === 0) return { reason: "It expects no tool and no skill by name.", broken: false };
  const loaded = new Set(toolset.tools.filter(isAlwaysLoaded).map(({ name }) => name));
  const sets = new Map(calls.map(({ tools }) => [JSON.stringify(tools), tools]));
  const expected = [...sets.values()].filter((names) => !names.some((name) => loaded.has(name)));
  if (expected.length === 0) return { reason: "Its tool is always loaded, so no search is needed.", broken: false };
  return { kind: "tools", toolset, search: { id, queries, expected } };
}

function groupByToolset(searched: readonly Searched[], kind: Searched["kind"]): [Toolset, SearchCase[]][] {
  const own = searched.filter((one) => one.kind === kind);
  return [...groupBy(own, ({ toolset }) => toolset.hash).values()].flatMap((group): [Toolset, SearchCase[]][] =>
    group.slice(0, 1).map(({ toolset }) => [toolset, group.map(({ search }) => search)]),
  );
}

/** The tools that a host defers, with the names that it shows; `toShown` maps a listed name to the shown one. */
function indexTools(tools: readonly OfferedTool[], host: HostName) {
  const presented = presentTools(tools, host);
  const shownNames = new Map(presented.tools.map(({ name }) => [presented.listedName(name), name]));
  const deferred = presented.tools.filter((tool) => !isAlwaysLoaded(tool));
  return {
    documents: deferred.map((tool) => toSearchDocument(tool, tool._meta?.["anthropic/searchHint"])),
    toShown: (name: string) => shownNames.get(name) ?? name,
  };
}

/** How well queries find their skills in the list that a host shows. BM25 stands in for the model that reads it. */
function searchListing(host: ListingHost, groups: readonly [Toolset, SearchCase[]][]): ListingResult {
  const lists = groups.map(([toolset, cases]) => ({ cases, listed: listSkills(listOffered(toolset), host) }));
  const queries = lists.flatMap(({ listed, cases }): QueryResult[] => {
    const documents = listed.map((skill): SearchDocument => ({ ...skill, parameterNames: [] }));
    return evaluateSearch(documents, cases, ["bm25"]);
  });
  const all = lists.flatMap(({ listed }) => listed);
  const { ranker: _, ...found } = summarizeRanker("bm25", queries);
  const { version, budget } = skillListings[host];
  const names = (shown: "whole" | "cut" | "name only") => [
    ...new Set(all.filter((skill) => skill.shown === shown).map(({ name }) => name)),
  ];
  const counts = { whole: names("whole").length, cut: names("cut").length, nameOnly: names("name only") };
  return { host, version, budget, ...counts, ...found };
}

function listOffered({ tools }: Toolset): { name: string; description: string }[] {
  const skills = tools.filter(({ origin }) => origin === "skill");
  return skills.map(({ name, description = "" }) => ({ name: name.slice(skillEntryName("").length), description }));
}

function headline({ suites, thresholds }: SearchReport): Block {
  const queries = sumOf(suites, (one) => one.queries.length + (one.listings[0]?.queries ?? 0));
  const shortfalls = suites.flatMap((one) => one.shortfalls);
  const scope = `${count(queries, "query")} · ${count(suites.length, "suite")}`;
  if (shortfalls.length > 0)
    return heading(1, `FAILED ${count(shortfalls.length, "threshold")} not reached · ${scope}`, "bad");
  if (queries === 0) return heading(1, "NOT SEARCHED: no case could be searched for; the reasons are below", "warn");
  if (thresholds.length > 0) return heading(1, `PASSED ${thresholds.join(", ")} · ${scope}`, "good");
  const asked = suites.flatMap((one) => one.queries);
  const rankers = new Set(suites.flatMap((one) => one.rankers.map(({ ranker }) => ranker)));
  const found = [...rankers].map((ranker) => `${ranker} ${percent(summarizeRanker(ranker, asked).recall[seen])}`);
  const title = rankers.size === 0 ? "Tool search" : `Found among the first ${seen}: ${found.join(", ")}`;
  return heading(1, `${title} · ${scope}`);
}

function nextStep({ suites }: SearchReport): Block {
  const isLate = suites.some(({ queries }) => queries.some(isLateQuery));
  return text(
    "How sure: certain for these queries; queries in other words may find more or less.",
    isLate
      ? "Next: write the missing words (below) into the description or the search hint of the tool, if they say what it does."
      : "Next: see whether a model picks what is found with `evals run --exposure names`.",
  );
}

/** How many results hosts and APIs return for a search. The model does not see a tool beyond them. */
const seen = 5;

function isLateQuery({ ranks }: QueryResult): boolean {
  return Object.values(ranks).some((each) => each.some((rank) => !isWithin(rank, seen)));
}

function listSuite(one: SuiteSearch): Block[] {
  const { suite, file, tools, skills, leftOut, shortfalls } = one;
  const counts = [...(tools > 0 ? [count(tools, "tool")] : []), ...(skills > 0 ? [count(skills, "skill")] : [])];
  return [
    heading(2, [suite, ...counts].join(" · ")),
    list("threshold", shortfalls),
    listRankers(one),
    ...listLate(one),
    ...listListings(one),
    ...section(`Not searched for: ${count(leftOut.length, "case")}`, [list("reason", groupReasons(leftOut))]),
    facts(["Suite", file]),
  ];
}

function groupReasons(leftOut: SuiteSearch["leftOut"]): string[] {
  return [...groupBy(leftOut, ({ reason }) => reason)].map(([reason, own]) => {
    const ids = own.map((one) => one.case);
    return `${reason} ${some(ids, 10)}`;
  });
}

const recallHeads = recallDepths.map((depth) => `recall@${depth}`);

function listRankers({ rankers }: SuiteSearch): Block {
  const rows = rankers.map(({ ranker, queries, recall, notFound }) => [
    ...[ranker, integer(queries)],
    ...recallDepths.map((depth) => recall[depth].toFixed(2)),
    integer(notFound),
  ]);
  const columns = makeColumns(["text", "ranker"], ["figure", "queries", ...recallHeads, "not found"]);
  return table("ranker", columns, rows);
}

function listLate({ queries, rankers }: SuiteSearch): Block[] {
  const late = queries.filter(isLateQuery);
  const rows = late.map((query) => [
    { code: query.case },
    { code: query.query.text, max: 200 },
    { lines: query.expected.map((names) => names.join(" or ")) },
    ...rankers.map(({ ranker }) => describeRanks(query, ranker)),
    some(query.missing),
  ]);
  const columns = makeColumns(
    ["id", "case"],
    ["text", "query"],
    ["name", "expected"],
    ["figure", ...rankers.map(({ ranker }) => ranker)],
    ["prose", "missing words"],
  );
  const title = `Not among the first ${seen}: ${count(late.length, "query")}, with the rank of each expected tool`;
  return section(title, [table("query", columns, rows, { max: 20 })]);
}

function describeRanks({ ranks, refused }: QueryResult, ranker: keyof QueryResult["ranks"]): string {
  if (refused[ranker] !== undefined) return "refused";
  return ranks[ranker]?.map((rank) => (rank === null ? "none" : integer(rank))).join(", ") ?? "·";
}

function listListings({ listings }: SuiteSearch): Block[] {
  const rows = listings.map(({ host, version, whole, cut, nameOnly, recall }) => [
    `${host} ${version}`,
    ...[whole, cut, nameOnly.length].map(integer),
    ...recallDepths.map((depth) => recall[depth].toFixed(2)),
  ]);
  const columns = makeColumns(["text", "listed by"], ["figure", "whole", "cut", "name only", ...recallHeads]);
  const dropped = listings.flatMap(({ host, budget, nameOnly }) => {
    if (nameOnly.length === 0) return [];
    return `${host} (${integer(budget)} characters) lists by name only: ${some(nameOnly, 10)}.`;
  });
  return section("Skills under the listing budget of each host, found by BM25", [
    table("host", columns, rows),
    list("host", dropped),
  ]);
}

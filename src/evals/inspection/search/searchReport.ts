import { groupBy } from "../../base/groupBy.ts";
import { skillListings } from "../../base/search/skillListing.ts";
import { sumOf } from "../../base/sum.ts";
import {
  type Block,
  facts,
  heading,
  list,
  makeColumns,
  section,
  type TableCell,
  type Tone,
  table,
  text,
} from "../../reports/document.ts";
import { count, integer, percent, some } from "../../reports/format.ts";
import {
  isWithin,
  type QueryResult,
  recallDepths,
  type SearchReport,
  type SuiteSearch,
  summarizeRanker,
} from "./evaluate.ts";

/** The report of `evals search`: whether thresholds are reached, then recall, and the queries that miss a tool. */
export function searchDocument(report: SearchReport): Block[] {
  return [heading(1, ...headline(report)), nextStep(report), ...report.suites.flatMap(listSuite)];
}

function headline({ suites, thresholds }: SearchReport): [string, Tone?] {
  const queries = sumOf(suites, (one) => countQueries(one));
  const shortfalls = suites.flatMap((one) => one.shortfalls);
  const scope = `${count(queries, "query")} · ${count(suites.length, "suite")}`;
  if (shortfalls.length > 0) return [`FAILED ${count(shortfalls.length, "threshold")} not reached · ${scope}`, "bad"];
  if (queries === 0) return ["NOT SEARCHED: no case could be searched for; the reasons are below", "warn"];
  if (thresholds.length > 0) return [`PASSED ${thresholds.join(", ")} · ${scope}`, "good"];
  const found = describeFound(suites);
  return [found === "" ? `Tool search · ${scope}` : `Found among the first ${seen}: ${found} · ${scope}`];
}

function describeFound(suites: readonly SuiteSearch[]): string {
  const queries = suites.flatMap((one) => one.queries);
  const rankers = new Set(suites.flatMap((one) => one.rankers.map(({ ranker }) => ranker)));
  const found = [...rankers].map((ranker) => `${ranker} ${percent(summarizeRanker(ranker, queries).recall[seen])}`);
  return found.join(", ");
}

function countQueries({ queries, listings }: SuiteSearch): number {
  return queries.length + (listings[0]?.queries ?? 0);
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
  const groups = groupBy(leftOut, ({ reason }) => reason);
  return [...groups].map(([reason, own]) => {
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
  const rows = late.map((query): TableCell[] => [
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
  const rows = listings.map(({ host, version, whole, cut, nameOnly, recall }): TableCell[] => [
    `${host} ${version}`,
    ...[whole, cut, nameOnly.length].map(integer),
    ...recallDepths.map((depth) => recall[depth].toFixed(2)),
  ]);
  const columns = makeColumns(["text", "listed by"], ["figure", "whole", "cut", "name only", ...recallHeads]);
  const dropped = listings.filter(({ nameOnly }) => nameOnly.length > 0);
  return section("Skills under the listing budget of each host, found by BM25", [
    table("host", columns, rows),
    list(
      "host",
      dropped.map(({ host, nameOnly }) => {
        const budget = integer(skillListings[host].budget);
        return `${host} (${budget} characters) lists by name only: ${some(nameOnly, 10)}.`;
      }),
    ),
  ]);
}

import * as z from "zod";
import { readRequest } from "../../asking/models/lexical.ts";
import { sumOf } from "../../base/collections.ts";
import { type SearchDocument, shortenDocument, splitWords } from "../../base/search/document.ts";
import { buildKeywordFinder } from "../../base/search/keyword.ts";
import { buildRanker, type RankerName, rankerNames } from "../../base/search/rankers.ts";
import { maxPattern } from "../../base/search/regex.ts";
import { type ListingHost, listingHosts } from "../../base/search/skillListing.ts";

/** The k of recall@k. APIs and hosts return 3 to 5 tools for a search, 10 at most. */
export const recallDepths = [1, 3, 5, 10] as const;
type RecallDepth = (typeof recallDepths)[number];

/**
 * A query. `request`: what a user says, which a model turns into a search text. `written`: a search text written by a
 * person or a model; between slashes (`/read|open/`) it is a pattern, which only the regex ranker is asked.
 */
const searchQuerySchema = z.object({ kind: z.enum(["request", "written"]), text: z.string() });
export type SearchQuery = z.infer<typeof searchQuerySchema>;

/** The queries of one case, and the tools that each query should find: any one of each set. */
export type SearchCase = { id: string; queries: readonly SearchQuery[]; expected: readonly (readonly string[])[] };

const rankerSchema = z.enum(rankerNames as [RankerName, ...RankerName[]]);

/** One query with the results of each ranker. Rankers that were not asked have no ranks. */
const queryResultSchema = z.object({
  case: z.string(),
  query: searchQuerySchema,
  expected: z.array(z.array(z.string()).readonly()).readonly(),
  ranks: z
    .partialRecord(rankerSchema, z.array(z.number().int().nullable()).readonly())
    .describe("for each expected set the rank of its best tool, from 1; null where none of it was found"),
  refused: z
    .partialRecord(rankerSchema, z.string())
    .describe("why a ranker refused the query: such a query finds nothing"),
  missing: z
    .array(z.string())
    .readonly()
    .describe(
      "the query's words, without numbers, that no expected tool has in its name, hint or description, literally",
    ),
});
export type QueryResult = z.infer<typeof queryResultSchema>;

const share = z.number().min(0).max(1);

/** Recall@k: the mean over queries of the share of expected sets that are found among the first k results. */
const rankerResultSchema = z.object({
  ranker: rankerSchema,
  queries: z.number().int(),
  recall: z.object({ 1: share, 3: share, 5: share, 10: share }),
  notFound: z.number().int().describe("queries of which no expected tool was found at any rank"),
});
export type RankerResult = z.infer<typeof rankerResultSchema>;

const number = z.number().int().min(0);
const texts = z.array(z.string()).readonly();

/** The skills of a suite as one host lists them, and how well BM25 finds the expected ones in that list. */
const listingResultSchema = rankerResultSchema.omit({ ranker: true }).extend({
  host: z.enum(listingHosts as [ListingHost, ...ListingHost[]]),
  version: z.string(),
  budget: number,
  whole: number,
  cut: number,
  nameOnly: texts.describe("skills that are listed without a description"),
});
export type ListingResult = z.infer<typeof listingResultSchema>;

const suiteSearchSchema = z.object({
  suite: z.string(),
  file: z.string(),
  tools: number,
  skills: number,
  queries: z.array(queryResultSchema).readonly(),
  rankers: z.array(rankerResultSchema).readonly(),
  listings: z.array(listingResultSchema).readonly(),
  leftOut: z
    .array(z.object({ case: z.string(), reason: z.string(), broken: z.boolean() }))
    .readonly()
    .describe("cases without a query for a search; `broken`: it should have had one"),
  shortfalls: texts.describe("the thresholds that are not reached, a sentence each"),
});
export type SuiteSearch = z.infer<typeof suiteSearchSchema>;

/** What `evals search` prints with --json. */
export const searchReportSchema = z.object({
  host: z.string(),
  thresholds: texts,
  suites: z.array(suiteSearchSchema).readonly(),
});
export type SearchReport = z.infer<typeof searchReportSchema>;

const nothing: SearchDocument = { name: "", description: "", parameterNames: [] };

/** Searches the documents for every query of every case with each ranker, in time linear in documents times queries. */
export function evaluateSearch(
  documents: readonly SearchDocument[],
  cases: readonly SearchCase[],
  rankers: readonly RankerName[],
): QueryResult[] {
  const byName = new Map(documents.map((document) => [document.name, document]));
  const queries = cases.flatMap(({ id, queries, expected }): QueryResult[] => {
    const has = buildKeywordFinder(expected.flat().flatMap((name) => shortenDocument(byName.get(name) ?? nothing)));
    return queries.map((query) => {
      const missing = listQueryWords(query.text).filter((word) => /\p{L}/u.test(word) && !has(word));
      return { case: id, query, expected, ranks: {}, refused: {}, missing };
    });
  });
  for (const ranker of rankers) {
    const rank = buildRanker(ranker, documents);
    for (const result of queries) {
      const text = toSearchText(result.query, ranker);
      if (text === undefined) continue;
      const found = rank(text, documents.length);
      if (found.kind === "refused") result.refused[ranker] = found.reason;
      const names = found.kind === "found" ? found.ranked.map(({ document }) => document.name) : [];
      result.ranks[ranker] = result.expected.map((set) => {
        const at = names.findIndex((name) => set.includes(name));
        return at < 0 ? null : at + 1;
      });
    }
  }
  return queries;
}

/** The recall of one ranker over the queries that it was asked. */
export function summarizeRanker(ranker: RankerName, queries: readonly QueryResult[]): RankerResult {
  const ranks = queries.flatMap((query) => (query.ranks[ranker] ? [query.ranks[ranker]] : []));
  const share = (each: readonly (number | null)[], depth: number) =>
    each.filter((rank) => isWithin(rank, depth)).length / each.length;
  const recallAt = (depth: number) => sumOf(ranks, (each) => share(each, depth)) / Math.max(1, ranks.length);
  return {
    ranker,
    queries: ranks.length,
    recall: { 1: recallAt(1), 3: recallAt(3), 5: recallAt(5), 10: recallAt(10) },
    notFound: ranks.filter((each) => each.every((rank) => rank === null)).length,
  };
}

/** Whether a tool was found among the first `depth` results. */
export function isWithin(rank: number | null, depth: number): boolean {
  return rank !== null && rank <= depth;
}

/**
 * The search text of a query for a ranker; undefined if the query is not for this ranker. A written text is used as it
 * is. For a request, `bm25` gets what the keyword search of a run reads, `keyword` its words without stop words, and
 * `regex` a case-insensitive pattern that matches any of these words, as many as fit into the longest pattern.
 */
export function toSearchText({ kind, text }: SearchQuery, ranker: RankerName): string | undefined {
  const pattern = kind === "written" ? /^\/(.+)\/$/s.exec(text)?.[1] : undefined;
  if (pattern !== undefined) return ranker === "regex" ? pattern : undefined;
  if (ranker === "regex") return writePattern(text);
  if (kind === "written") return text;
  return ranker === "bm25" ? readRequest(text).text : listQueryWords(text).join(" ");
}

/** The distinct words of a text without stop words, lower-cased, as they are spelled. */
export function listQueryWords(text: string): string[] {
  return [...new Set(splitWords(text).map((word) => word.text))];
}

function writePattern(text: string): string {
  let pattern = "";
  for (const word of listQueryWords(text)) {
    const longer = pattern === "" ? `(?i)${word}` : `${pattern}|${word}`;
    if (longer.length > maxPattern) break;
    pattern = longer;
  }
  return pattern;
}

/** The least share of the expected tools that must be among the first `depth` results. */
export type Threshold = { depth: RecallDepth; least: number; text: string };

/** Reads `recall@5=0.9` or `recall@5=90%`; undefined for anything else. */
export function parseThreshold(text: string): Threshold | undefined {
  const [, at, value = "", sign] = /^recall@(\d+)=(\d*\.?\d+)(%?)$/.exec(text) ?? [];
  const depth = recallDepths.find((known) => known === Number(at));
  const least = Number(value) / (sign ? 100 : 1);
  return depth !== undefined && least > 0 && least <= 1 ? { depth, least, text } : undefined;
}

/** Why a search does not reach a threshold, as the end of a sentence; undefined if it does. */
export function findShortfall({ depth, least }: Threshold, { recall }: Pick<RankerResult, "recall">) {
  const reached = recall[depth];
  return reached >= least ? undefined : `recall@${depth} is ${reached.toFixed(2)}, below ${least.toFixed(2)}`;
}

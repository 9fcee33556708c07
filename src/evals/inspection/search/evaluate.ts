import * as z from "zod";
import { type SearchDocument, shortenDocument } from "../../base/search/document.ts";
import { buildKeywordFinder } from "../../base/search/keyword.ts";
import { buildRanker, type RankerName, rankerNames } from "../../base/search/rankers.ts";
import { listQueryWords, type SearchQuery, searchQuerySchema, toSearchText } from "./queries.ts";

/** The k of recall@k. APIs and hosts return 3 to 5 tools for a search, 10 at most. */
export const recallDepths = [1, 3, 5, 10] as const;
export type RecallDepth = (typeof recallDepths)[number];

/** The queries of one case, and the tools that each query should find: any one of each set. */
export type SearchCase = { id: string; queries: readonly SearchQuery[]; expected: readonly (readonly string[])[] };

const rankerSchema = z.enum(rankerNames as [RankerName, ...RankerName[]]);

/** One query with the results of each ranker. Rankers that were not asked have no ranks. */
export const queryResultSchema = z.object({
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
export const rankerResultSchema = z.object({
  ranker: rankerSchema,
  queries: z.number().int(),
  recall: z.object({ 1: share, 3: share, 5: share, 10: share }),
  notFound: z.number().int().describe("queries of which no expected tool was found at any rank"),
});
export type RankerResult = z.infer<typeof rankerResultSchema>;

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
  const recallAt = (depth: number) =>
    ranks.reduce((sum, each) => sum + each.filter((rank) => isWithin(rank, depth)).length / each.length, 0) /
    Math.max(1, ranks.length);
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
